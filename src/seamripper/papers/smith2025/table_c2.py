"""Table C.2: LeNet-like networks of colour patches and of Correlated into one of greyscale digits."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers import ALONE, Claim, Item, PaperTable, Profile, Units
from seamripper.papers.smith2025.setting import (
    LENET_CUTS,
    LENET_PLACES,
    NAMES,
    UNTRAINED,
    SmithParts,
    of_stitch,
    shares,
)

_TABLE = {
    "colour-only": ("Colour to Digit", (76.94, 76.68, 97.94, 97.34)),
    "correlated": ("Correlated to Digit", (79.11, 78.66, 93.24, 92.90)),
}
"""Per cent; what the table calls Colour are colour patches, and Digit is greyscale MNIST. The reference is 88.19."""
_REFERENCE = 0.8819
_RANDOMS = Units(UNTRAINED, "three untrained senders")


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    names = ("colour-only", "correlated", "greyscale")
    lenet = {"training": own.lenet_training, "seeds": own.cheap_seeds}
    models = {n: smith.network("zoo:lenet", f"mnist/{n}", **lenet) for n in names} | smith.untrained_networks(
        "zoo:lenet"
    )
    return Experiment(
        name="table-c2",
        about="LeNet-like networks (Smith et al. 2025, Table C.2)",
        data=smith.samples("correlated"),
        models=models,
        matchings={"theirs": own.lenet_stitch},
        stitch=(
            smith.stitches(tuple(_TABLE), ("greyscale",), cuts=LENET_CUTS),
            smith.stitches(UNTRAINED, ("greyscale/0",), cuts=LENET_CUTS),
        ),
    )


CLAIMS = (
    Claim("LeNets of colour patches and of Correlated stitch into one of greyscale digits at one layer or more", "",
        of_stitch(sender=tuple(_TABLE), receiver="greyscale", receiver_cut=LENET_CUTS, freeze="all"), "no worse", ALONE,
        within=("some", "receiver_cut")),
    Claim("Does a LeNet that was never trained stitch as well, at one layer or more?", "",
        of_stitch(sender=_RANDOMS, receiver="greyscale", receiver_cut=LENET_CUTS, freeze="all"), "no worse", ALONE,
        over="some", beyond=True, answers=("yes", "no")),
)  # fmt: skip


def _rows(name: str, title: str, theirs: tuple[float, ...]) -> tuple[tuple[Any, ...], ...]:
    ours = of_stitch(sender=name, receiver_cut=LENET_CUTS, freeze="all")
    alone = of_stitch("receiver_here", sender=name, receiver_cut="conv1", freeze="all")
    return (title, "paper", shares(*theirs), _REFERENCE), (title, "ours", ours, alone)


_SHOWS = PaperTable(
    "Table C.2: LeNet-like networks into greyscale",
    ("pair", "whose", *LENET_PLACES, "receiver alone on Correlated"),
    (
        *(row for name, (title, theirs) in _TABLE.items() for row in _rows(name, title, theirs)),
        ("untrained to Digit", "ours", of_stitch(sender=_RANDOMS, receiver_cut=LENET_CUTS, freeze="all"), None),
    ),
)
_DEPARTS = (
    "LeNet is trained with learning rate 0.02, as the paper gives none for it. Strictly frozen: LeNet has no BN, so "
    "that only the stitch's own statistics adapt in either way."
)
ITEM = Item("table-c2", ("Table C.2",),
    "LeNet-like senders of colour patches and of Correlated into a receiver of greyscale digits, four cuts.",
    _experiment, CLAIMS, (_SHOWS,), (_DEPARTS,), NAMES)  # fmt: skip
