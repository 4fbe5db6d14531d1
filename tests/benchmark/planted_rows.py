"""Rows of studies that were never run: families, seeds and cuts, with scores as a function says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from seamripper.benchmark import BenchSet, Contestant

CUTS = ("a", "b", "c", "d", "e")
RANKS = (16, 8, 4, 2, 1)
SEEDS = (0, 1, 2, 3)
SIMILAR, DISTANT = Contestant("similar", "similar"), Contestant("distant", "distant", "distance")
Row = dict[str, Any]
Place = tuple[str, int, str]
"""Family, seed and cut."""


def bench_set(**more: Any) -> BenchSet:
    """Families that are trained nowhere."""
    families = more.pop("families", ("digit", "colour"))
    network = {"train": "zoo:lenet", "data": "digits/digit", "seeds": more.pop("seeds", SEEDS)}
    return BenchSet(name="planted", data="agree", models=dict.fromkeys(families, network), **more)


def places(family: str) -> list[Place]:
    return [(family, seed, cut) for seed in SEEDS for cut in CUTS]


def compare_rows(
    measure: str, score: Callable[[Place, Place], float | None], *, pairs: Any = None, data: str = "agree"
) -> Iterator[Row]:
    """The rows of [[compare]]: by default of two families, each with itself."""
    families = pairs or [("digit", "digit"), ("colour", "colour")]
    for first, second in families:
        for a in places(first):
            for b in places(second):
                labels = pair_labels(a, b) | {"data": data, "measure": measure, "sampling": "positions"}
                yield {"kind": "compare", "figure": "score", **labels, "value": score(a, b)}


def functional_rows(
    matching: str, score: Callable[[Place, Place], float], *, kind: str = "functional"
) -> Iterator[Row]:
    """The rows of [[functional]], of one family with itself."""
    for a in places("digit"):
        for b in places("digit"):
            labels = pair_labels(a, b) | {"data": "agree", "matching": matching}
            for figure in ("relative_accuracy", "top1"):
                value = score(a, b) if figure == "relative_accuracy" else 0.1
                yield {"kind": kind, "figure": figure, **labels, "value": value, "low": 0.0, "high": 1.0}


def pair_labels(a: Place, b: Place) -> Row:
    sender = {"sender": a[0], "sender_seed": a[1], "sender_cut": a[2]}
    return sender | {"receiver": b[0], "receiver_seed": b[1], "receiver_cut": b[2]}


def probe_rows(
    family: str,
    accuracy: Callable[[Place, int | None], float],
    scores: dict[str, Callable[[Place, int], float]] | None = None,
) -> Iterator[Row]:
    """The rows of [[probe]]: accuracies of layers and of their approximations, and what measures say of these."""
    for place in places(family):
        labels = {"receiver": place[0], "receiver_seed": place[1], "receiver_cut": place[2], "data": "agree"}
        probe = {"kind": "probe", **labels}
        for figure in ("probe", "probe_choose"):
            yield {**probe, "figure": figure, "value": accuracy(place, None)}
            for rank in RANKS if scores else ():
                yield {**probe, "figure": figure, "rank": rank, "value": accuracy(place, rank)}
        for measure, score in (scores or {}).items():
            for rank in RANKS:
                yield {**probe, "figure": "score", "measure": measure, "rank": rank, "value": score(place, rank)}
