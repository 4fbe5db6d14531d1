"""Stitches: the small layers between a sender's cut and a receiver's, one file each.

`stitches` lists them, `stitches.make("conv?kernel=5")` makes one, `auto` picks the plain one that fits.
"""

from seamripper.stitches.auto import auto
from seamripper.stitches.base import Layer, LinearLayer, Stitch, stitches
from seamripper.stitches.positions import to_rows

__all__ = [
    "Layer",
    "LinearLayer",
    "Stitch",
    "auto",
    "stitches",
    "to_rows",
]
