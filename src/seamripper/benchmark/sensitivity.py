"""The test `sensitivity`: whether a measure sees what a layer loses when its rank is reduced."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from seamripper._words import word_list
from seamripper.benchmark.base import BenchTest, Rating, family_ratings, rating_of
from seamripper.benchmark.bench_set import BenchSet
from seamripper.benchmark.contestants import Contestant
from seamripper.benchmark.scores import Net, Row, StudyScores, families_of
from seamripper.benchmark.statistics import KENDALL, SPEARMAN, Array, Points, ding, sensitivity
from seamripper.benchmark.study_parts import probe_parts
from seamripper.errors import ExperimentError
from seamripper.experiment import Experiment, Part
from seamripper.measures.base import TASK

DING = "full layers for references, pooled over networks; SciPy's p, averaged over cuts, takes pairs for independent"


@dataclass(frozen=True)
class SensitivityTest(BenchTest):
    """Whether distance follows the loss of probing accuracy over low-rank approximations (Ding et al. 2021).

    F is the accuracy of a linear probe. For each network and cut, |F(full) − F(rank r)| is correlated with the
    dissimilarity of the layer and its approximation of rank r, over `ranks`: by default the layer's width halved until
    1. With `cuts=half`, the later half of the cuts is tested. No stitch is trained, so `task_functional` takes no part.
    """

    name = "sensitivity"
    about = (
        "The rank correlation, over low-rank approximations of a layer, of the distance to the layer with the probing "
        "accuracy that is lost: 1 is best, 0 is chance, and below 0 a larger loss looks like a smaller distance."
    )
    columns = (KENDALL, SPEARMAN)
    unable = (TASK,)

    cuts: Literal["half", "all"] = "half"
    ranks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ranks and (min(self.ranks) < 1 or len(set(self.ranks)) < 3):
            raise ExperimentError(
                f"Expected ranks of the test {self.name!r} to be three whole numbers or more, of at least 1, but got "
                f"{', '.join(map(str, self.ranks))}."
            )

    def experiment(self, bench_set: BenchSet, contestants: Sequence[Contestant]) -> Experiment:
        """Probes of every network, one part for the cuts of each width."""
        # A layer and its approximation have one shape.
        alike = [replace(contestant, samplings=contestant.samplings[:1]) for contestant in contestants]
        asked: list[Part] = []
        for family, every in bench_set.layouts.items():
            chosen = every if self.cuts == "all" else every[len(every) // 2 :]
            for width, group in itertools.groupby(sorted(chosen, key=lambda cut: cut.width), lambda cut: cut.width):
                ranks = self.ranks or halvings(width)
                names = tuple(cut.name for cut in group)
                asked += probe_parts(family, names, ranks=ranks, contestants=alike)
        return bench_set.experiment(self.name, asked, about=self.about)

    def rate(self, rows: Sequence[Row], bench_set: BenchSet, contestants: Sequence[Contestant]) -> Iterator[Rating]:
        """Both correlations on each family, and Ding's own beside them."""
        scores = StudyScores(rows)
        families = families_of(list(scores.probed_cuts))
        for contestant in contestants:
            points = {family: [_points(scores, contestant, net) for net in nets] for family, nets in families.items()}
            rated = {family: sensitivity(networks) for family, networks in points.items()}
            for name in self.columns:
                statistics = {family: both[name] for family, both in rated.items()}
                yield from family_ratings(self.label, name, contestant.label, statistics)
            for family, networks in points.items():
                cuts = dict.fromkeys(cut for network in networks for cut in network)
                pooled = [_pool_points([network[cut] for network in networks if cut in network]) for cut in cuts]
                for name, (statistic, p) in ding(pooled, len(networks), note=DING).items():
                    if not math.isnan(statistic.value):
                        yield rating_of(statistic, self.label, f"ding {name}", family, contestant.label, p=p)

    def remarks(self, rows: Sequence[Row], contestants: Sequence[Contestant]) -> Iterator[str]:
        """Which measures bring the approximations of every layer into the same order: their figures are the same."""
        scores, alike = StudyScores(rows), defaultdict[tuple[Order, ...], list[str]](list)
        for contestant in contestants:
            orders = tuple(_order(scores, contestant, *place) for place in scores.ranks)
            if any(map(any, orders)):
                alike[orders].append(contestant.label)
        for orders, labels in alike.items():
            if len(labels) > 1:
                yield (
                    f"{word_list(labels, quote='')} bring the approximations of every layer into the same order, so "
                    f"the test cannot tell them apart.{_BY_RANK if all(map(_is_by_rank, orders)) else ''}"
                )


Order = tuple[float, ...]
"""The place of each rank's distance among those of its layer, from the smallest rank on; 0 where there is none."""
_BY_RANK = (
    " It is the order of the ranks or its reverse, at every layer: these figures are of the probe, and say nothing of "
    "the measures but the sign."
)


def _order(scores: StudyScores, contestant: Contestant, net: Net, cut: str) -> Order:
    distances = [scores.distance_to_rank(contestant, net, cut, rank) for rank in scores.ranks[net, cut]]
    return tuple(np.nan_to_num(rankdata(distances, nan_policy="omit")).tolist())


def _is_by_rank(order: Order) -> bool:
    return order in (tuple(sorted(set(order))), tuple(sorted(set(order), reverse=True)))


def halvings(width: int) -> tuple[int, ...]:
    """Half of a width, half of that, and so on until 1.

    >>> halvings(64)
    (32, 16, 8, 4, 2, 1)
    """
    return tuple(width >> k for k in range(1, width.bit_length()))


def _points(scores: StudyScores, contestant: Contestant, net: Net) -> dict[str, Points]:
    """For each cut and rank: the accuracy that is lost, and the distance."""
    return {
        cut: {
            rank: (
                abs(scores.accuracy(net, cut) - scores.accuracy(net, cut, rank)),
                scores.distance_to_rank(contestant, net, cut, rank),
            )
            for rank in scores.ranks.get((net, cut), ())
        }
        for cut in scores.probed_cuts[net]
    }


def _pool_points(networks: Sequence[Points]) -> tuple[Array, Array]:
    pairs = np.array([pair for points in networks for pair in points.values()], dtype=float).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
