"""The five sentences that the page of Bansal et al. 2021 begins with, worded before the run of record."""

from __future__ import annotations

from typing import Any

from seamripper.papers.bansal2021.setting import ANY_RANDOM, accuracy
from seamripper.papers.findings import Finding
from seamripper.papers.results import Select

_SEEDS = (
    "behind Stage 3 a network with the front of another seed has an accuracy of {trained:.2f}, with a random front "
    "{random:.2f}"
)
_SELF = "behind Stage 3 a self-supervised front gives {rotation:.2f}, one of another seed {trained:.2f}"
_MORE = "with a front of more data behind Stage 3, a network that was trained on fewer images has {better:.2f}"
_LABELS = (
    "behind Stage 1 a front that was trained with half of the labels at random gives {early:.2f}, behind Stage 4 "
    "{late:.2f}"
)


def _number(item: str, sender: Any, receiver: str = "base", cuts: str = "layer3") -> tuple[str, Select]:
    return item, accuracy(sender, receiver, cuts)


FINDINGS = (
    Finding(
        f"Networks of different seeds can be stitched at every layer, and random ones cannot: {_SEEDS}.",
        f"Networks of different seeds cannot be stitched at every layer without loss here: {_SEEDS}.",
        f"Whether networks of different seeds can be stitched at every layer is open or not testable: {_SEEDS}.",
        ("Networks that differ in their initialisation alone", "A random bottom network cannot"),
        {"trained": _number("fig-2a", "base"), "random": _number("fig-2a", ANY_RANDOM)},
    ),
    Finding(
        f"Self-supervised and supervised networks can be stitched: {_SELF}.",
        f"Self-supervised and supervised networks cannot be stitched without loss here: {_SELF}.",
        f"Whether self-supervised and supervised networks can be stitched is open or not testable here: {_SELF}.",
        ("Supervised and self-supervised networks of similar error can be stitched in early",
         "Supervised and self-supervised networks of similar error can be stitched in middle"),
        {"trained": _number("fig-2b", "base"), "rotation": _number("fig-2b", "rotation")},
    ),
    Finding(
        f"More is better: {_MORE}, and more training and width improve weaker networks as well.",
        f"More is not always better: {_MORE}, but more data, training or width fails to improve a weaker network.",
        f"Whether more is better is open for data, training or width: {_MORE}.",
        tuple(f"Representations learnt with {more}" for more in ("more data", "more training time", "bigger width")),
        {"better": _number("fig-2c", "base", "few")},
    ),
    Finding(
        f"Early layers depend little on the labels, and late ones do: {_LABELS}.",
        f"Early and late layers do not depend on the labels as the paper says: {_LABELS}.",
        f"How layers depend on the labels is open: {_LABELS}.",
        ("Early layers learn similar representations even when", "Late layers do not: behind the last stage"),
        {"early": _number("fig-3a", "noise-50", cuts="layer1"), "late": _number("fig-3a", "noise-50", cuts="layer4")},
    ),
    Finding(
        "Beyond the paper: with a better front, a weaker network gives its own answers as often as with a front of its "
        "own kind.",
        "Beyond the paper: with a better front, a weaker network gives its own answers less often than with a front of "
        "its own kind.",
        "Beyond the paper: whether a weaker network with a better front still gives its own answers is open in one "
        "case or more.",
        tuple(f"With {more} in front, does a weaker network" for more in
              ("more data", "more training time", "bigger width")),
    ),
)  # fmt: skip
