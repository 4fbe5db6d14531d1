"""Table D.3: the radius of the noise, and what it does to the stitch."""

from __future__ import annotations

from typing import Any

from seamripper.estimate import Estimate
from seamripper.experiment.spec import Experiment, Noising
from seamripper.figures import Sheet
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import above, below, claim, every, leaks, no_worse
from seamripper.papers.smith2025._setting import STITCH, TITLES, setting, share, sizes

_RADII = (0.1, 0.5, 0.9, 0.99, 1.0)
_TABLE = {
    "greyscale": {0.5: 99.7, 0.9: 97.3, 0.99: 96.4, 1.0: 96.0},
    "colour-only": {0.5: 99.8, 0.9: 97.8, 0.99: 96.3, 1.0: 96.6},
}
"""Per cent; one network of each, cut before Block 3."""


def _experiment(profile: Profile) -> Experiment:
    own = setting(profile)
    return Experiment(
        name="table-d3",
        about="the radius of clustered noise (Smith et al. 2025, Table D.3)",
        models=own.networks(*_TABLE),
        matchings={"from noise": own.noise_way()},
        noise=(
            Noising(
                receivers=tuple(_TABLE),
                cuts=("layer2",),
                radius=_RADII,
                per_class=own.per_class,
                per_class_test=own.per_class_test,
                matchings=("from noise",),
                stitches=(STITCH,),
                freeze=("all", "weights"),
            ),
        ),
    )


def _read(cells: Cells, profile: Profile) -> Finding:
    def of(name: str, radius: float, freeze: str = "weights") -> Estimate:
        return cells.of("top1", kind="noise", receiver=name, radius=radius, freeze=freeze)

    falls = [
        (f"{TITLES[name]}, radius {a:g} against {b:g}", above(of(name, a), of(name, b)))
        for name in _TABLE
        for a, b in ((0.5, 0.9), (0.9, 1.0))
    ]
    own = {name: cells.of("accuracy", kind="train", model=name) for name in _TABLE}
    tight, frozen = (
        [(TITLES[name], no_worse(of(name, 0.1, freeze), own[name])) for name in _TABLE] for freeze in ("weights", "all")
    )
    claims = (
        claim(
            "A larger radius makes clusters overlap, and the stitch worse (Table D.3)",
            "In the authors' way, accuracy at radius 0.5 is above that at 0.9, and that above the one at 1.0 (interval "
            "over seeds).",
            every(falls),
        ),
        claim(
            "By its radius, noise can be put above the original network or below it (D.3)",
            "In the authors' way, greyscale: accuracy at radius 0.5 is above the network's own. Both: accuracy at "
            "1.0 is below it.",
            every(
                [
                    ("Greyscale, radius 0.5", above(of("greyscale", 0.5), own["greyscale"])),
                    *((f"{TITLES[name]}, radius 1", below(of(name, 1.0), own[name])) for name in _TABLE),
                ]
            ),
        ),
        leaks("Tight clusters of noise are fully compatible", tight, frozen),
    )
    rows = []
    for radius in _RADII:
        row: list[Any] = [f"{radius:g}"]
        for name, theirs in _TABLE.items():
            row.append(f"{theirs[radius] / 100:.3f}" if radius in theirs else "–")
            row += [share(of(name, radius, freeze)) for freeze in ("weights", "all")]
        rows.append(tuple(row))
    columns = (
        "radius",
        *(f"{TITLES[name]}, {whose}" for name in _TABLE for whose in ("paper", "ours (BN adapts)", "ours (frozen)")),
    )
    sheet = Sheet("Table D.3: noise of several radii, cut before Block 3", columns, tuple(rows))
    return Finding(
        claims, (sheet,), (*sizes(profile, stitched=False, noise=True), "The paper has one network of each kind.")
    )


ITEM = Item(
    "table-d3",
    ("Table D.3",),
    "Clustered noise of radius 0.1 to 1.0 into greyscale and Colour-Only networks, cut before Block 3.",
    _experiment,
    _read,
    minutes=0.9,
    times=900.0,
)
