"""Table B.1: an L1 penalty on the stitch, and no regularisation at all."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers import Claim, Gate, Item, PaperTable, Profile, with_options
from seamripper.papers.smith2025.setting import CUTS, NAMES, PLACES, SIX_CUTS, SmithParts, of_stitch, shares

_PAIRS = {"A into B": "digit", "A into A": "colour"}
_TABLE = {
    ("A into B", "L1 0.01"): (99.90, 99.96, 100.00, 100.00, 100.00, 100.00),
    ("A into B", "L1 0.1"): (96.06, 99.09, 99.83, 59.96, 66.07, 99.92),
    ("A into B", "L1 1"): (53.43, 22.23, 49.04, 96.66, 9.74, 9.74),
    ("A into A", "L1 0.01"): (100.00,) * 6,
    ("A into A", "L1 0.1"): (98.74, 93.12, 88.16, 85.74, 23.07, 88.97),
    ("A into A", "L1 1"): (54.12, 38.46, 81.59, 86.72, 10.28, 10.28),
}
"""Per cent; A names the colour, B the digit."""
_WORDS = {"L1 0.01": "0.01", "L1 0.1": "0.1", "L1 1": "1", "none": "none at all"}


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    strengths = {word: own.l1_scale * float(word[3:]) for word in ("L1 0.01", "L1 0.1", "L1 1")}
    words = {word: with_options(own.l1_stitch, loss="bce", l1=f"{l1:g}") for word, l1 in strengths.items()}
    # Without L1 it may train until it rests.
    words["none"] = with_options(own.stitch, loss="bce", weight_decay=0.0)
    return Experiment(
        name="table-b1",
        about="L1 strength (Smith et al. 2025, Table B.1)",
        data=smith.samples("correlated").model_copy(update={"n_test": own.test_alone}),
        models=smith.resnets("colour", "digit", seeds=(0,)),
        matchings=words,
        stitch=(smith.stitches(("colour",), ("digit", "colour"), matchings=tuple(words), freeze=("weights",)),),
    )


def _intact(receiver: str, says: str) -> Gate:
    select = of_stitch(sender="colour", receiver=receiver, receiver_cut=CUTS, matching="none")
    return Gate(f"{says} without a penalty, at 99 % at every cut", select, "at least", bound=0.99)


_INTACT = _intact("colour", "the network stitched into itself is intact")
_JOINED = _intact("digit", "the colour network stitches into the digit network")
CLAIMS = (
    Claim("With λ = 0.01 the colour network still stitches into the digit network, at 99.9 % or more", "Table B.1",
        of_stitch(sender="colour", receiver="digit", receiver_cut=CUTS, matching="L1 0.01"), "at least", bound=0.99,
        remark="The interval is over samples of one network, as in the paper.", gates=(_INTACT, _JOINED)),
    Claim("Larger λ are too strong: they break stitches, of the network into itself as well", "B.6",
        of_stitch(sender="colour", matching=("L1 0.1", "L1 1"), receiver=("digit", "colour"), receiver_cut=CUTS),
        "below", bound=0.9, within=("some", "receiver_cut"), gates=(_INTACT,)),
    Claim("With no regularisation at all, accuracy is above 99 % at all layers", "B.6",
        of_stitch(sender="colour", receiver=("digit", "colour"), receiver_cut=CUTS, matching="none"), "at least",
        bound=0.99, ours=False),
)  # fmt: skip


def _rows(pair: str, word: str) -> list[tuple[Any, ...]]:
    ours = of_stitch(sender="colour", receiver=_PAIRS[pair], matching=word, receiver_cut=CUTS)
    theirs = _TABLE.get((pair, word))
    paper: list[tuple[Any, ...]] = [(pair, _WORDS[word], "paper", shares(*theirs))] if theirs else []
    return [*paper, (pair, _WORDS[word], "ours", ours)]


_SHOWS = PaperTable(
    "Table B.1: L1 on the stitch (A names the colour, B the digit)",
    ("pair", "λ", "whose", *PLACES),
    tuple(row for pair in _PAIRS for word in _WORDS for row in _rows(pair, word)),
    "The most that L1 can take off a weight is the learning rate × λ × the steps, so that λ is scaled in the quick "
    "profile to take off as much as in the authors' training: 0.47 × the λ of the table.",
)
_STRENGTHS = {word: f"λ = {strength}" for word, strength in _WORDS.items()} | {"none": "no regularisation"}
ITEM = Item("table-b1", ("Table B.1",),
    "Colour into Digit and into itself with an L1 penalty of 0.01, 0.1 and 1 on the stitch, and with none at all.",
    _experiment, CLAIMS, (_SHOWS,), (SIX_CUTS, "One network of each, as in the paper."),
    NAMES | {"matching": _STRENGTHS})  # fmt: skip
