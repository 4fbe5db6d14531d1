"""The test `specificity`: whether a measure sees function and not the training seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from seamripper.benchmark.base import BenchTest, Rating, family_ratings, rating_of
from seamripper.benchmark.bench_set import BenchSet, samples_of
from seamripper.benchmark.contestants import Contestant
from seamripper.benchmark.scores import Net, Row, StudyScores, cuts_of, families_of
from seamripper.benchmark.statistics import KENDALL, SPEARMAN, Array, ding, specificity
from seamripper.benchmark.study_parts import family_parts, probe_parts
from seamripper.experiment import Experiment

DING = "the reference is the best by the same accuracies; SciPy's p takes all pairs for independent"


@dataclass(frozen=True)
class SpecificityTest(BenchTest):
    """Whether distance follows the difference in probing accuracy over layers of many seeds (Ding et al. 2021).

    S is every cut of every network of a family, and F the accuracy of a linear probe. The reference A is the member
    with the highest accuracy, chosen on other samples than F is reported on; over all other members B, |F(A) − F(B)|
    is correlated with d(A, B), A being the sender.
    """

    name = "specificity"
    about = (
        "The rank correlation, over all layers of all networks of a family, of the distance to the layer that can be "
        "probed best with the difference in probing accuracy: 1 is best, 0 is chance. A measure that tells seeds apart "
        "rather than layers scores low."
    )
    columns = (KENDALL, SPEARMAN)

    def experiment(self, bench_set: BenchSet, contestants: Sequence[Contestant]) -> Experiment:
        """Every family with itself, all seeds and all cuts, as resamples have other references; and its probes."""
        pairs = family_parts(bench_set, contestants, self.name)
        probes = (part for family in bench_set.models for part in probe_parts(family, bench_set.cut_names(family)))
        return bench_set.experiment(self.name, (*pairs, *probes), about=self.about)

    def rate(self, rows: Sequence[Row], bench_set: BenchSet, contestants: Sequence[Contestant]) -> Iterator[Rating]:
        """Both correlations on each family, and Ding's own beside them."""
        scores, data = StudyScores(rows), samples_of(bench_set.data).name
        families = families_of(list(scores.probed_cuts))
        for contestant in contestants:
            rated = {}
            for family, nets in families.items():
                cuts = cuts_of(nets, scores.probed_cuts)
                distances = -np.swapaxes(scores.grids(contestant, data, nets, cuts), 1, 2)
                if np.isnan(distances).all():
                    continue
                report, choose = (_accuracies(scores, nets, cuts, figure) for figure in ("probe", "probe_choose"))
                rated[family] = specificity(report, choose, distances)
                for name, (statistic, p) in ding([_pairs(report, distances)], len(nets), note=DING).items():
                    if not math.isnan(statistic.value):
                        yield rating_of(statistic, self.label, f"ding {name}", family, contestant.label, p=p)
            for name in self.columns:
                statistics = {family: both[name] for family, both in rated.items()}
                yield from family_ratings(self.label, name, contestant.label, statistics)


def _accuracies(scores: StudyScores, nets: Sequence[Net], cuts: Sequence[str], figure: str) -> Array:
    return np.array([[scores.accuracy(net, cut, figure=figure) for cut in cuts] for net in nets])


def _pairs(accuracies: Array, distances: Array) -> tuple[Array, Array]:
    """|F(A) − F(B)| and d(A, B), where A is the best by the same accuracies."""
    best = np.unravel_index(int(np.nanargmax(accuracies)), accuracies.shape)
    others = np.ones(accuracies.shape, dtype=bool)
    others[best] = False
    return np.abs(accuracies - accuracies[best])[others], distances[best][others]
