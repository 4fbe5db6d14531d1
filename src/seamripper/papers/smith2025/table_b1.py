"""Table B.1: an L1 penalty on the stitch, and no regularisation at all."""

from __future__ import annotations

from typing import Any

from seamripper.estimate import Estimate
from seamripper.experiment.spec import Experiment, Stitching
from seamripper.figures import Sheet
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import claim, denied, every, reaches, some
from seamripper.papers.smith2025._setting import CUTS, PLACE, PLACES, STITCH, setting, share, sizes

_PAIRS = {"A into B": ("colour", "digit"), "A into A": ("colour", "colour")}
_TABLE = {
    ("A into B", "0.01"): (99.90, 99.96, 100.00, 100.00, 100.00, 100.00),
    ("A into B", "0.1"): (96.06, 99.09, 99.83, 59.96, 66.07, 99.92),
    ("A into B", "1"): (53.43, 22.23, 49.04, 96.66, 9.74, 9.74),
    ("A into A", "0.01"): (100.00,) * 6,
    ("A into A", "0.1"): (98.74, 93.12, 88.16, 85.74, 23.07, 88.97),
    ("A into A", "1"): (54.12, 38.46, 81.59, 86.72, 10.28, 10.28),
}
"""Per cent; A names the colour, B the digit."""


def _experiment(profile: Profile) -> Experiment:
    own = setting(profile)
    ways = {f"L1 {strength}": own.way(loss="bce", l1=float(strength)) for strength in ("0.01", "0.1", "1")}
    ways["none"] = own.way(loss="bce", weight_decay=0.0)
    joined: dict[str, Any] = {"cuts": CUTS, "matchings": tuple(ways), "stitches": (STITCH,), "freeze": ("weights",)}
    return Experiment(
        name="table-b1",
        about="L1 strength (Smith et al. 2025, Table B.1)",
        data=own.stitched,
        models=own.networks("colour", "digit", seeds=own.seeds[:1]),
        matchings=ways,
        stitch=tuple(Stitching(senders=(a,), receivers=(b,), **joined) for a, b in _PAIRS.values()),
    )


def _read(cells: Cells, profile: Profile) -> Finding:
    def of(pair: str, cut: str, matching: str) -> Estimate:
        sender, receiver = _PAIRS[pair]
        return cells.of("top1", sender=sender, receiver=receiver, receiver_cut=cut, matching=matching)

    def all_cuts(pair: str, matching: str) -> list[tuple[str, Any]]:
        return [(f"{pair} at {PLACE[cut]}", reaches(of(pair, cut, matching), 0.99)) for cut in CUTS]

    claims = (
        claim(
            "With λ = 0.01 the colour network still stitches into the digit network, at 99.9 % or more (Table B.1)",
            "In the authors' way, accuracy is at least 0.99 (ours) at each of 6 cuts (interval over samples; one "
            "network, as in the paper).",
            every(all_cuts("A into B", "L1 0.01")),
        ),
        claim(
            "Larger λ are too strong: they break stitches, of the network into itself as well (B.6)",
            "For λ of 0.1 and of 1 and for both pairs, accuracy at one cut or more is below 0.9 (ours).",
            every(
                (
                    f"λ = {strength}, {pair}",
                    some((PLACE[cut], denied(reaches(of(pair, cut, f"L1 {strength}"), 0.9))) for cut in CUTS),
                )
                for strength in ("0.1", "1")
                for pair in _PAIRS
            ),
        ),
        claim(
            "With no regularisation at all, accuracy is above 99 % at all layers (B.6)",
            "For both pairs, accuracy is at least 0.99 at each of 6 cuts, no L1 and no weight decay.",
            every(check for pair in _PAIRS for check in all_cuts(pair, "none")),
        ),
    )
    rows = []
    for pair in _PAIRS:
        for strength, matching in (("0.01", "L1 0.01"), ("0.1", "L1 0.1"), ("1", "L1 1"), ("none at all", "none")):
            theirs = _TABLE.get((pair, strength))
            if theirs:
                rows.append((pair, strength, "paper", *(f"{value / 100:.3f}" for value in theirs)))
            rows.append((pair, strength, "ours", *(share(of(pair, cut, matching)) for cut in CUTS)))
    sheet = Sheet(
        "Table B.1: L1 on the stitch (A names the colour, B the digit)", ("pair", "λ", "whose", *PLACES), tuple(rows)
    )
    return Finding(claims, (sheet,), (*sizes(profile, seeds=False), *_steps(profile)))


def _steps(profile: Profile) -> tuple[str, ...]:
    """What a penalty can do goes with learning rate × λ × steps, which the quick profile has more of."""
    if profile == "paper":
        return ()
    return (
        "One network of each, as in the paper. λ does not weigh the same: the most that L1 can take off a weight is "
        "the learning rate × λ × the steps, 2.6 λ here and 0.47 λ in the authors' training, of weights that start at "
        "about twice the size.",
    )


ITEM = Item(
    "table-b1",
    ("Table B.1",),
    "Colour into Digit and into itself with an L1 penalty of 0.01, 0.1 and 1 on the stitch, and with none at all.",
    _experiment,
    _read,
    minutes=1.2,
    times=300.0,
)
