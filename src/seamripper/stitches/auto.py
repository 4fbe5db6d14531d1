"""The plain affine stitch that fits between two cuts."""

from __future__ import annotations

from seamripper.cut.place import Cut
from seamripper.errors import StitchError
from seamripper.stitches.affine import Affine
from seamripper.stitches.base import Stitch
from seamripper.stitches.expand_linear import ExpandLinear
from seamripper.stitches.map_to_tokens import MapToTokens
from seamripper.stitches.pool_linear import PoolLinear
from seamripper.stitches.resample_tokens import ResampleTokens
from seamripper.stitches.resize import Resize
from seamripper.stitches.tokens_to_map import TokensToMap


def auto(source: Cut, target: Cut) -> Stitch:
    """The plain affine stitch that fits between the two cuts.

    At the same positions `affine`; otherwise the one that brings the sender's positions to the receiver's,
    and then maps. A CLS token is kept where both sides have one, learnt where only the receiver has, and
    left out otherwise.

    >>> auto(Cut("a", (8, 4, 4), "nchw"), Cut("b", (16, 2, 2), "nchw"))
    Resize()
    >>> auto(Cut("a", (16, 8), "ntd"), Cut("b", (10, 8), "ntd"))
    ResampleTokens(cls='learn')
    """
    tried = (
        Affine(),
        Resize(),
        MapToTokens(),
        TokensToMap(),
        ResampleTokens(),
        ResampleTokens(cls="learn" if source.prefix < target.prefix else "drop"),
        PoolLinear(),
        ExpandLinear(),
    )
    misfits = [(stitch, stitch.misfit(source, target)) for stitch in tried]
    for stitch, why in misfits:
        if why is None:
            return stitch
    reasons = "".join(f"\n  {stitch}: {why}." for stitch, why in misfits)
    raise StitchError(f"No plain stitch can join {source} to {target}:{reasons}")
