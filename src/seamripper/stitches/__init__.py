"""Stitches: the small layers between a sender's cut and a receiver's, a file each.

`stitches()` lists them, `stitch_named` makes one, `auto` picks the plain one that fits.
"""

from seamripper.stitches.base import Layer, LinearLayer, Stitch
from seamripper.stitches.choosing import auto, from_record, stitch_named, stitches
from seamripper.stitches.positions import to_rows

__all__ = [
    "Layer",
    "LinearLayer",
    "Stitch",
    "auto",
    "from_record",
    "stitch_named",
    "stitches",
    "to_rows",
]
