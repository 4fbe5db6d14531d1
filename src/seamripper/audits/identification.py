"""The audit `identification`: whether a measure finds the layer that corresponds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from seamripper._options import require_options
from seamripper.audits._identified import Found
from seamripper.audits.base import Answer, Audit, Evidence, Verdict
from seamripper.comparing import Comparison, Rule, Stitching, batch_for, compare, requested_measures
from seamripper.controls import Case
from seamripper.cut.many import heads
from seamripper.data.samples import Samples
from seamripper.errors import AuditError, CutError, DataError, InapplicableError, MeasureError
from seamripper.estimate import Estimate, proportion
from seamripper.matching.task import Task
from seamripper.measures.choosing import FUNCTIONAL
from seamripper.measures.score import Sampling

_LEVEL = 0.05


@dataclass(frozen=True)
class Identification(Audit):
    """Whether every layer's most similar one is its own, or the corresponding one (Balogh & Jelasity 2025, Table 1).

    Between two networks of one architecture the layer of the same name should be nearest (Kornblith et al. 2019):
    linear CKA found it in 96 % of the cases on ResNet-18, task-loss matching in 35 %. Within one network it should be
    the layer itself. A structural measure gives that its best value by definition, so there the test is trivial. For
    stitching it is not: task-loss matching failed it in 36 % of the cases.

    `measures` are names with commas between them, `direct_functional` and `task_functional` included; the answer is the
    first one's, and the figures are all of theirs. A trained stitch is trained as the case's own is. The verdict is on
    the two networks if they have the same cuts with the same shapes, else on the receiver alone.
    """

    name: ClassVar[str] = "identification"
    question: ClassVar[str] = "Is each layer most similar to itself?"

    measures: str = "linear_cka"
    n: int = 1000
    sampling: Sampling = "positions"

    def __post_init__(self) -> None:
        require_options(self, f"the audit {self.name!r}", error=AuditError, n=20)
        try:
            requested_measures([self.measures])
        except MeasureError as e:
            raise AuditError(f"Expected measures of the audit {self.name!r} to be names of measures. {e}") from e

    def put(self, evidence: Evidence) -> Verdict:
        """The first measure's answer, between the networks if they correspond, else within the receiver."""
        case = evidence.case
        samples = case.test.receiver.draw(self.n)
        found = {"within": self._compared(case, samples, within=True)}
        if corresponding(case, samples):
            found["between"] = self._compared(case, samples, within=False)
        verdicts = {where: _verdicts(comparison) for where, comparison in found.items()}
        where = "between" if "between" in found else "within"
        # Matrices that are filled by stitching come after the others, whatever was asked for first.
        first = self.measures.partition(",")[0].strip()
        label = min(verdicts[where], key=lambda label: label != first)
        verdict = verdicts[where][label]
        said = _place(case, where) + verdict.sentence
        if where == "within" and label not in FUNCTIONAL:
            said += " It tells little: by definition, most measures score a layer with itself as high as can be."
        figures = {place: {m: _summary(v) for m, v in each.items()} for place, each in verdicts.items()}
        return replace(verdict, sentence=said, figures={"measure": label, "where": where, **figures})

    def _compared(self, case: Case, samples: Samples, *, within: bool) -> Comparison:
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


def identified(comparison: Comparison, label: str) -> Verdict:
    """How many rows and columns of a measure's matrix have their best score on the diagonal; ties count against it.

    share = (rows + columns that do) / 2k, with Wilson's interval for k layers, which is too narrow in so far as layers
    are not independent of each other. p is that of as many hits under random matchings of the layers (see `Found.p`).

    >>> from seamripper.comparing import Matrix
    >>> rows = ((0.9, 0.2, 0.1), (0.3, 0.8, 0.4), (0.2, 0.5, 0.6))
    >>> scores = tuple(tuple(Estimate(v) for v in row) for row in rows)
    >>> cuts = ("a", "b", "c")
    >>> print(identified(Comparison(cuts, cuts, {"cka": Matrix("cka", "similarity", scores)}, {}), "cka").observed)
    1.000 [0.439, 1.000]
    """
    matrix, k = comparison[label], len(comparison.senders)
    if comparison.senders != comparison.receivers:
        raise InapplicableError(
            "Layers are identified where both sides have the same cuts in the same order, but these are "
            f"{', '.join(comparison.senders)} and {', '.join(comparison.receivers)}."
        )
    if k < 2:
        raise InapplicableError("One layer alone cannot be taken for another: give two cuts or more.")
    values = np.array(matrix.values, dtype=np.float64)
    if np.isnan(np.diag(values)).all():
        raise InapplicableError(f"{label} has no score for any layer with its own counterpart. {_why(comparison)}")
    found = Found.of(values if matrix.direction == "similarity" else -values)
    p, share, chance = found.p(), _share(found), 1 / k
    figures = _figures(comparison, found, values)
    answer: Answer = "no" if share.value < 1 else "yes" if p <= _LEVEL else "unknown"
    effect = Estimate(share.value - chance, share.low - chance, share.high - chance, k, "layers")
    said = _said(label, found, figures, share, p)
    controls = {"chance": (Estimate(chance, chance, chance, k, "layers"),)}
    return Verdict(Identification.name, Identification.question, answer, share, controls, effect, said, p, figures)


def _share(found: Found) -> Estimate:
    k = len(found.rows)
    one, other = (proportion(hits, k) for hits in found.hits)
    # Rows and columns are of the same layers: their intervals are averaged, and not that of 2k layers taken.
    return Estimate(sum(found.hits) / (2 * k), (one.low + other.low) / 2, (one.high + other.high) / 2, k, "layers")


def _figures(comparison: Comparison, found: Found, values: Any) -> dict[str, Any]:
    cuts, k = comparison.senders, len(comparison.senders)
    taken = {cuts[i]: "tied" if j < 0 else cuts[j] for i, j in enumerate(found.rows) if i != j}
    mistaken = {cuts[j]: "tied" if i < 0 else cuts[i] for j, i in enumerate(found.columns) if i != j}
    return {
        "layers": k,
        "rows": found.hits[0],
        "columns": found.hits[1],
        "mean_rank": sum(found.ranks) / (2 * k),
        "mean_distance": sum(found.distances) / (2 * k),
        "taken_for": {"sender": taken, "receiver": mistaken},
        "missing": int(np.isnan(values).sum()),
    }


def _said(label: str, found: Found, figures: Mapping[str, Any], share: Estimate, p: float) -> str:
    k = len(found.rows)
    rows, columns = found.hits
    said = (
        f"by {label} the corresponding layer is the most similar one in {rows} of {k} rows and {columns} of {k} "
        f"columns: {share}, where chance is {1 / k:.3f} (p = {p:.2g}; the interval takes layers for independent, which "
        f"they are not). Its mean rank is {figures['mean_rank']:.2f}; the layer named is on average "
        f"{figures['mean_distance']:.2f} away from it."
    )
    if share.value == 1 and p > _LEVEL:
        said += f" With {k} layers chance does as well too often."
    if figures["missing"]:
        said += f" {figures['missing']} cells have no score."
    return said


def _summary(verdict: Verdict) -> dict[str, Any]:
    return {**verdict.figures, "share": verdict.observed, "p": verdict.p, "answer": verdict.answer}


def _place(case: Case, where: str) -> str:
    receiver = case.receiver.model.source
    return f"Between {case.sender.model.source} and {receiver}, " if where == "between" else f"Within {receiver}, "


def _verdicts(comparison: Comparison) -> dict[str, Verdict]:
    """The verdict of each measure that has one; if none has, the reason."""
    found, reasons = {}, list[InapplicableError]()
    for label in comparison.matrices:
        try:
            found[label] = identified(comparison, label)
        except InapplicableError as e:
            reasons.append(e)
    if not found:
        raise reasons[0]
    return found


def _why(comparison: Comparison) -> str:
    return next((why for matrix in comparison.matrices.values() for why in matrix.failed.values()), "")
