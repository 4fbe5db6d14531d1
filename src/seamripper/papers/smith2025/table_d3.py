"""Table D.3: the radius of the noise, and what it does to the stitch."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers import TRAINED, Claim, Item, PaperTable, Profile, Select
from seamripper.papers.smith2025.setting import BOTH, NAMES, ONE_DRAW, TITLES, SmithParts, leak

_RADII = (0.1, 0.5, 0.9, 0.99, 1.0)
_TABLE = {
    "greyscale": {0.5: 0.997, 0.9: 0.973, 0.99: 0.964, 1.0: 0.960},
    "colour-only": {0.5: 0.998, 0.9: 0.978, 0.99: 0.963, 1.0: 0.966},
}
"""One network of each, cut before Block 3."""


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    part = {"cuts": ("layer2",), "radius": _RADII, "freeze": BOTH, "rank": False}
    return Experiment(
        name="table-d3",
        about="the radius of clustered noise (Smith et al. 2025, Table D.3)",
        models=smith.resnets(*_TABLE, seeds=own.cheap_seeds),
        matchings={"from noise": own.noise},
        noise=(smith.noises(tuple(_TABLE), **part),),
    )


def _noise(**labels: Any) -> Select:
    return Select("top1", **{"kind": "noise", "receiver": tuple(_TABLE), "freeze": "weights", **labels})


_TIGHT = Claim("", "", _noise(radius=0.1), "no worse", TRAINED)
CLAIMS = (
    Claim("A larger radius makes clusters overlap, and the stitch worse", "Table D.3", _noise(radius=(0.5, 0.9)),
        "above", Select(radius=(0.9, 1.0))),
    Claim("By its radius, noise can be put above the original network", "99.7 % against 98 %; D.3",
        _noise(receiver="greyscale", radius=_RADII), "above", TRAINED, within=("some", "radius"),
        remark="Colour-Only is right on all of its images, so that nothing can be above it; in the paper, too."),
    Claim("By its radius, noise can be put below the original network", "D.3", _noise(radius=_RADII), "below", TRAINED,
        within=("some", "radius")),
    leak(_TIGHT, "Tight clusters of noise are fully compatible"),
)  # fmt: skip


def _cells(name: str, radius: float) -> tuple[Any, ...]:
    select = Select("top1", kind="noise", receiver=name, radius=radius, freeze=("weights", "all"))
    return _TABLE[name].get(radius), select


_WHOSE = ("paper", "ours (BN adapts)", "ours (frozen)")
_SHOWS = PaperTable(
    "Table D.3: noise of several radii, cut before Block 3",
    ("radius", *(f"{TITLES[name]}, {whose}" for name in _TABLE for whose in _WHOSE)),
    tuple((f"{radius:g}", *(_cells(name, radius) for name in _TABLE)) for radius in _RADII),
)
ITEM = Item("table-d3", ("Table D.3",),
    "Clustered noise of radius 0.1 to 1.0 into greyscale and Colour-Only networks, cut before Block 3.",
    _experiment, CLAIMS, (_SHOWS,), (ONE_DRAW, "The paper has one network of each kind."),
    NAMES)  # fmt: skip
