"""Fig. 4: the kernel size of the stitch."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers.bansal2021.setting import (
    ANY_RANDOM,
    GOOD,
    NAMES,
    READ_SECOND_HAND,
    STITCH,
    accuracy,
    from_random,
    into_next,
    networks,
    samples,
)
from seamripper.papers.claims import Claim
from seamripper.papers.items import Item, PaperPlot, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Range, Select

_CUTS = ("layer1", "layer2", "layer3")
_SHOWN = (1, 3, 5)
"""Kernels that both profiles have."""


def _stitch(kernel: int) -> str:
    return STITCH if kernel == 1 else f"conv?kernel={kernel}&norm=true"


def _experiment(own: Profile) -> Experiment:
    more: dict[str, Any] = {"cuts": _CUTS, "stitches": tuple(map(_stitch, own.kernels))}
    return Experiment(
        name="fig-4",
        about="the kernel size of the stitch (Bansal et al. 2021, Fig. 4)",
        data=samples(own),
        models=networks(own, "base", "random"),
        matchings={"theirs": own.stitch},
        stitch=(*into_next(own, "base", "base", **more), *from_random(own, "base", **more)),
    )


_WAYS = {_stitch(k): f"{k} × {k}" for k in _SHOWN}
_SIZES = Range(tuple(_WAYS), "kernels of 1, 3 and 5")
CLAIMS = (
    Claim("The kernel size of the stitch hardly changes the error of a stitched network", "Fig. 4",
        accuracy("base", "base", _CUTS, stitch=_SIZES).with_name("the range of accuracy over kernels of 1, 3 and 5"),
        "at most", bound=0.05, gates=(GOOD,)),
    Claim("Does a larger kernel bring a random network nearer?", "",
        accuracy(ANY_RANDOM, "base", _CUTS, stitch=_stitch(5)), "above", Select(stitch=STITCH), beyond=True,
        answers=("yes", "no"), gates=(GOOD,)),
    Claim("Does a larger kernel let a random network stitch as well as a trained one does with 1 × 1?", "",
        accuracy(ANY_RANDOM, "base", _CUTS, stitch=_stitch(5)), "no worse",
        Select(sender="base", stitch=STITCH).with_name("that of a trained network with 1 × 1"), bound=0.02, over="some",
        beyond=True, answers=("yes", "no"), gates=(GOOD,)),
)  # fmt: skip
_PLOTS = tuple(
    PaperPlot(f"Fig. 4: accuracy by kernel size, {called}",
        (accuracy(sender, "base", _CUTS, stitch=tuple(_WAYS)).with_name(""),), along="stitch")
    for sender, called in (("base", "another seed"), (ANY_RANDOM, "a random network"))
)  # fmt: skip
_TABLE = PaperTable(
    "Fig. 4 as a table: accuracy by kernel size",
    ("sender", "cut", *_WAYS.values()),
    tuple(
        (called, NAMES["receiver_cut"][cut], accuracy(sender, "base", cut, stitch=tuple(_WAYS)))
        for sender, called in (("base", "another seed"), (ANY_RANDOM, "random"))
        for cut in _CUTS
    ),
)
ITEM = Item("fig-4", ("Fig. 4",), "Stitches of 1 × 1, 3 × 3 and 5 × 5 from another seed and from random networks.",
    _experiment, CLAIMS, (*_PLOTS, _TABLE),
    ("At three cuts; the paper's curves are not named in its caption.", READ_SECOND_HAND),
    NAMES | {"stitch": _WAYS})  # fmt: skip
