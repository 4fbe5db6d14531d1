"""Choosing a stitch: by name, from a record, or the plain one that fits."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from seamripper._doors import require
from seamripper._options import read_options, require_known, split_options
from seamripper._plugins import discover, named
from seamripper._words import listed
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


@functools.cache
def stitches() -> Mapping[str, type[Stitch]]:
    """Every stitch there is, by name: the files of this package, and third parties' entry points.

    >>> stitches()["low_rank"](rank=2)
    LowRank(rank=2)
    """
    # mypy wants a concrete class here, and the base of them all is abstract.
    return MappingProxyType(discover("seamripper.stitches", Stitch))  # type: ignore[type-abstract]


def stitch_named(words: str, /, **options: Any) -> Stitch:
    """The stitch that goes by the name, with these options; they may stand behind the name: `conv?kernel=5`.

    >>> stitch_named("conv", kernel=5)
    Conv(kernel=5, norm=False)
    >>> stitch_named("conv", kernal=5)
    Traceback (most recent call last):
    seamripper.errors.StitchError: The stitch 'conv' has no option 'kernal': did you mean 'kernel'? ...
    """
    require(words, str, "the name of a stitch", error=StitchError)
    name, written = split_options(words, error=StitchError)
    cls = named(name, dict(stitches()), what="stitch", error=StitchError)
    require_known(options, cls, f"The stitch {name!r}", error=StitchError)
    return cls(**{**read_options(written, cls, f"stitch {name!r}", error=StitchError), **options})


def from_record(record: Mapping[str, Any]) -> Stitch:
    """The stitch that `as_record` wrote down.

    >>> from_record({"name": "low_rank", "rank": 4})
    LowRank(rank=4)
    """
    if not isinstance(record.get("name"), str):
        raise StitchError(
            f"Expected the record of a stitch to have a 'name', but got {dict(record)!r}; "
            f"there are {listed(stitches())}."
        )
    return stitch_named(record["name"], **{key: value for key, value in record.items() if key != "name"})


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
