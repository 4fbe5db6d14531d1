"""The audit `identification`: whether a measure finds the corresponding layer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seamripper._notebook import short
from seamripper.audits.base import Answer, Audit, Evidence, Verdict
from seamripper.comparing import Comparison, Rule, Stitching, batch_for, compare, requested_measures
from seamripper.controls import Case
from seamripper.cut.many import heads
from seamripper.data.samples import Samples
from seamripper.errors import AuditError, CutError, DataError, InapplicableError, MeasureError
from seamripper.estimate import Estimate, proportion
from seamripper.matching.task import Task
from seamripper.measures.base import FUNCTIONAL
from seamripper.measures.score import Sampling

_LEVEL = 0.05


@dataclass(frozen=True)
class Identification(Audit):
    """Whether each layer is most similar to itself, or to the corresponding layer (Balogh & Jelasity 2025, Table 1).

    Between two networks of one architecture the layer of the same name should be nearest (Kornblith et al. 2019):
    linear CKA found it in 96 % of the cases on ResNet-18, task-loss matching in 35 %. Within one network it should be
    the layer itself. A structural measure gives that its best value by definition, so the test is trivial there. For
    stitching it is not: task-loss matching failed it in 36 % of the cases.

    `measures` are names with commas between them; `direct_functional` and `task_functional` are also allowed. The first
    one decides the answer, and the figures have all of them. A trained stitch is trained like the case's own. The
    verdict is on the two networks if they have the same cuts with the same shapes, else on the receiver alone.
    """

    name = "identification"
    paper = "Kornblith, Norouzi, Lee, Hinton 2019; Balogh, Jelasity 2025, Table 1"
    formula = "the share of layers i whose most similar layer is i"
    question = "Is each layer most similar to itself?"
    least = {"n": 20}

    measures: str = "linear_cka"
    n: int = 1000
    sampling: Sampling = "positions"

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            requested_measures([self.measures])
        except MeasureError as e:
            raise AuditError(f"Expected measures of the audit {self.name!r} to be names of measures. {e}") from e

    def put(self, evidence: Evidence) -> Verdict:
        """The first measure's answer, between the networks if they correspond, else within the receiver."""
        case = evidence.case
        samples = case.test.receiver.draw(self.n)
        comparisons = {"within": self._compare(case, samples, within=True)}
        if corresponding(case, samples):
            comparisons["between"] = self._compare(case, samples, within=False)
        verdicts = {where: _verdicts(comparison) for where, comparison in comparisons.items()}
        where = "between" if "between" in comparisons else "within"
        # Matrices that are filled by stitching come after the others, whichever was named first.
        first = self.measures.partition(",")[0].strip()
        label = min(verdicts[where], key=lambda label: label != first)
        verdict = verdicts[where][label]
        sentence = _place(case, where) + verdict.sentence
        if where == "within" and label not in FUNCTIONAL:
            sentence += " This shows little: most measures give a layer and itself the best score by definition."
        figures = {place: {m: _summary(v) for m, v in by_measure.items()} for place, by_measure in verdicts.items()}
        return replace(verdict, sentence=sentence, figures={"measure": label, "where": where, **figures})

    def _compare(self, case: Case, samples: Samples, *, within: bool) -> Comparison:
        receiver = case.receiver.model
        stitching = Stitching(case.matching) if isinstance(case.matching, Task) else Stitching()
        rule = Rule(sampling=self.sampling, batch=batch_for(len(samples)), interval=False)
        try:
            return compare(
                receiver if within else case.sender.model,
                receiver,
                samples,
                measures=[self.measures],
                rule=rule,
                stitching=stitching,
                watch=case.watch,
            )
        except (CutError, MeasureError, DataError) as e:
            raise InapplicableError(f"The layers could not be compared: {e}") from e


def corresponding(case: Case, samples: Samples) -> bool:
    """Whether sender and receiver are networks of one architecture: the same cuts with the same shapes."""
    if not case.looks:
        return False
    few = samples.first(2)
    try:
        ours, theirs = (
            heads(half.model, None, half.model.present(few).batch(slice(0, 2))).cuts
            for half in (case.sender, case.receiver)
        )
    except CutError:
        return False
    return [(cut.name, cut.shape) for cut in ours] == [(cut.name, cut.shape) for cut in theirs]


def identify(comparison: Comparison, label: str) -> Verdict:
    """How many rows and columns of a measure's matrix have their best score on the diagonal; ties count against it.

    share = (rows + columns that do) / 2k, with Wilson's interval for k layers, which is too narrow, as layers are not
    independent. p is the probability of as many hits under random matchings of the layers (see `Ranking.p`).

    >>> from seamripper.comparing import Matrix
    >>> rows = ((0.9, 0.2, 0.1), (0.3, 0.8, 0.4), (0.2, 0.5, 0.6))
    >>> scores = tuple(tuple(Estimate(v) for v in row) for row in rows)
    >>> cuts = ("a", "b", "c")
    >>> print(identify(Comparison(cuts, cuts, {"cka": Matrix("cka", "similarity", scores)}, {}), "cka").observed)
    1.000 [0.439, 1.000]
    """
    matrix, k = comparison[label], len(comparison.senders)
    if comparison.senders != comparison.receivers:
        raise InapplicableError(
            "Layers can be identified if both sides have the same cuts in the same order, but these are "
            f"{', '.join(comparison.senders)} and {', '.join(comparison.receivers)}."
        )
    if k < 2:
        raise InapplicableError("With a single layer there is nothing to confuse it with: give two cuts or more.")
    values = np.array(matrix.values, dtype=np.float64)
    if np.isnan(np.diag(values)).all():
        raise InapplicableError(f"{label} has no score for any layer with its own counterpart. {_why(comparison)}")
    ranking = Ranking.of(values if matrix.direction == "similarity" else -values)
    p, share, chance = ranking.p(), _share(ranking), 1 / k
    figures = _figures(comparison, ranking, values)
    answer: Answer = "no" if share.value < 1 else "yes" if p <= _LEVEL else "unknown"
    effect = Estimate(share.value - chance, share.low - chance, share.high - chance, k, "layers")
    sentence = _sentence(label, ranking, figures, share, p)
    controls = {"chance": (Estimate(chance, chance, chance, k, "layers"),)}
    return Identification().verdict(
        answer, sentence, observed=share, effect=effect, controls=controls, figures=figures, p=p
    )


def _share(ranking: Ranking) -> Estimate:
    k = len(ranking.rows)
    rows, columns = (proportion(hits, k) for hits in ranking.hits)
    # Rows and columns belong to the same layers: their intervals are averaged, as there are not 2k layers.
    low, high = (rows.low + columns.low) / 2, (rows.high + columns.high) / 2
    return Estimate(sum(ranking.hits) / (2 * k), low, high, k, "layers")


def _figures(comparison: Comparison, ranking: Ranking, values: Any) -> dict[str, Any]:
    cuts, k = comparison.senders, len(comparison.senders)
    taken = {cuts[i]: "tied" if j < 0 else cuts[j] for i, j in enumerate(ranking.rows) if i != j}
    mistaken = {cuts[j]: "tied" if i < 0 else cuts[i] for j, i in enumerate(ranking.columns) if i != j}
    return {
        "layers": k,
        "rows": ranking.hits[0],
        "columns": ranking.hits[1],
        "mean_rank": sum(ranking.ranks) / (2 * k),
        "mean_distance": sum(ranking.distances) / (2 * k),
        "taken_for": {"sender": taken, "receiver": mistaken},
        "missing": int(np.isnan(values).sum()),
    }


def _sentence(label: str, ranking: Ranking, figures: Mapping[str, Any], share: Estimate, p: float) -> str:
    k = len(ranking.rows)
    rows, columns = ranking.hits
    sentence = (
        f"by {label} the corresponding layer is the most similar one in {rows} of {k} rows and {columns} of {k} "
        f"columns: {share}, where chance is {1 / k:.3f} (p = {p:.2g}; the interval takes layers for independent, which "
        f"they are not). The mean rank of the corresponding layer is {figures['mean_rank']:.2f}; the most similar one "
        f"is on average {figures['mean_distance']:.2f} layers away from it."
    )
    if share.value == 1 and p > _LEVEL:
        sentence += f" With only {k} layers, chance does as well too often to decide."
    if figures["missing"]:
        sentence += f" {figures['missing']} cells have no score."
    return sentence


def _summary(verdict: Verdict) -> dict[str, Any]:
    return {**verdict.figures, "share": verdict.observed, "p": verdict.p, "answer": verdict.answer}


def _place(case: Case, where: str) -> str:
    sender, receiver = (short(half.model.source, 120) for half in (case.sender, case.receiver))
    return f"Between {sender} and {receiver}, " if where == "between" else f"Within {receiver}, "


def _verdicts(comparison: Comparison) -> dict[str, Verdict]:
    """The verdict on each measure; if there is none at all, the first reason is raised."""
    verdicts, reasons = {}, list[InapplicableError]()
    for label in comparison.matrices:
        try:
            verdicts[label] = identify(comparison, label)
        except InapplicableError as e:
            reasons.append(e)
    if not verdicts:
        raise reasons[0]
    return verdicts


def _why(comparison: Comparison) -> str:
    return next((why for matrix in comparison.matrices.values() for why in matrix.failed.values()), "")


_EXACT = 7
"""Up to this many layers every matching of them is counted; 7! = 5040."""
_DRAWS = 10_000

Grid = NDArray[np.float64]


@dataclass(frozen=True)
class Ranking:
    """The best layer of each row and column of a matrix of similarities, where larger is nearer.

    `rows[i]` is the best layer of row i, −1 if several tie; `columns[j]` likewise. `ranks` are the ranks of the right
    layer in each row and then each column, with ties against it; `distances` say how far away the best layer is, the
    farthest of those that tie.

    >>> ranking = Ranking.of(np.array([[0.9, 0.2, 0.1], [0.8, 0.7, 0.2], [0.1, 0.6, 0.6]]))
    >>> ranking.rows, ranking.columns, ranking.hits
    ((0, 0, -1), (0, 1, 2), (1, 3))
    >>> ranking.ranks, ranking.distances
    ((1, 2, 2, 1, 1, 1), (0, 1, 1, 0, 0, 0))
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    ranks: tuple[int, ...]
    distances: tuple[int, ...]

    @classmethod
    def of(cls, similarities: Grid) -> Ranking:
        """The ranking by these similarities; a cell that is NaN is never the best."""
        lines = [(line, i) for grid in (similarities, similarities.T) for i, line in enumerate(grid)]
        best = [_best(line) for line, _ in lines]
        winners = tuple(layers[0] if len(layers) == 1 else -1 for layers in best)
        ranks = tuple(_rank(line, i) for line, i in lines)
        distances = tuple(max(abs(j - i) for j in layers) for layers, (_, i) in zip(best, lines, strict=True))
        k = len(similarities)
        return cls(winners[:k], winners[k:], ranks, distances)

    @property
    def hits(self) -> tuple[int, int]:
        """In how many rows, and in how many columns, the right layer is the best."""
        rows, columns = (sum(i == j for i, j in enumerate(winners)) for winners in (self.rows, self.columns))
        return rows, columns

    def p(self) -> float:
        """How often a random matching of the layers is the best in as many rows and columns as the true one.

        One-sided. Exact for up to seven layers, by 10,000 draws for more: (1 + as good) / (1 + draws).

        >>> Ranking.of(np.eye(4)).p() == 1 / math.factorial(4)
        True
        """
        k = len(self.rows)
        votes = np.zeros((k, k), dtype=np.int64)
        for i in range(k):
            if self.rows[i] >= 0:
                votes[i, self.rows[i]] += 1
            if self.columns[i] >= 0:
                votes[self.columns[i], i] += 1
        observed = sum(self.hits)
        if k <= _EXACT:
            orders = np.array(list(itertools.permutations(range(k))))
            return float((votes[np.arange(k), orders].sum(1) >= observed).mean())
        orders = np.random.default_rng(0).permuted(np.tile(np.arange(k), (_DRAWS, 1)), axis=1)
        as_good = int((votes[np.arange(k), orders].sum(1) >= observed).sum())
        return (1 + as_good) / (1 + _DRAWS)


def _best(line: Grid) -> Sequence[int]:
    """The layers with the largest value of a line; all of them if every value is missing."""
    if np.isnan(line).all():
        return range(len(line))
    return [int(j) for j in np.flatnonzero(line == np.nanmax(line))]


def _rank(line: Grid, i: int) -> int:
    """The rank of the i-th value, with ties against it; a missing value comes last."""
    if math.isnan(line[i]):
        return len(line)
    return int((line >= line[i]).sum())
