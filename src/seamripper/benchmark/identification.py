"""The test `identification`: whether a measure finds the corresponding layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seamripper.benchmark.base import BenchTest, Rating, family_ratings
from seamripper.benchmark.bench_set import BenchSet, samples_of
from seamripper.benchmark.contestants import Contestant
from seamripper.benchmark.scores import Row, StudyScores, cuts_of, families_of
from seamripper.benchmark.statistics import identification
from seamripper.benchmark.study_parts import family_parts
from seamripper.experiment import Experiment

WITHIN, BETWEEN = "share within", "share between"


@dataclass(frozen=True)
class IdentificationTest(BenchTest):
    """Whether each layer is most similar to its counterpart (Kornblith et al. 2019; Balogh & Jelasity 2025, Table 1).

    Within a network the counterpart is the layer itself. A structural measure gives that its best value by definition,
    so this is trivial for it; for stitching it is not. Between networks of one family and different seeds, it is the
    layer of the same name. A tie counts against the measure.
    """

    name = "identification"
    about = (
        "The share of layers whose counterpart is the most similar layer: 1 is best, one over the number of layers is "
        "chance. Within a network the counterpart is the layer itself, which structural measures find by definition; "
        "between networks of one family it is the layer of the same name."
    )
    columns = (WITHIN, BETWEEN)
    by_definition = (WITHIN,)

    def experiment(self, bench_set: BenchSet, contestants: Sequence[Contestant]) -> Experiment:
        """Every family with itself: all seeds, all cuts."""
        return bench_set.experiment(self.name, family_parts(bench_set, contestants, self.name), about=self.about)

    def rate(self, rows: Sequence[Row], bench_set: BenchSet, contestants: Sequence[Contestant]) -> Iterator[Rating]:
        """The share within networks, and between networks of each family that has several seeds."""
        scores, data = StudyScores(rows), samples_of(bench_set.data).name
        families = families_of(list(scores.compared_cuts))
        for contestant in contestants:
            grids = {
                family: scores.grids(contestant, data, nets, cuts_of(nets, scores.compared_cuts))
                for family, nets in families.items()
            }
            for name, between in ((WITHIN, False), (BETWEEN, True)):
                shares = {family: identification(grid, between=between) for family, grid in grids.items()}
                yield from family_ratings(self.label, name, contestant.label, shares)
