"""[[compare]]: every measure between all cuts of two models, from one pass over the data, made in parts if asked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from seamripper._files import plain
from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, Null
from seamripper.experiment.expansion import Expansion, merge_needs, merge_where, pair_labels
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import Output, Part, Row, figure_row
from seamripper.experiment.result import Result, StudyResults
from seamripper.experiment.tables import Count, Pairs, Seed, Some, Study, Words
from seamripper.figures import Grid, Section

if TYPE_CHECKING:
    from seamripper.comparing import PreparedPass
    from seamripper.experiment.worker import Worker

_RULE = ("sampling", "batch", "folds", "keep", "interval", "exact", "seed", "parts", "null")

_PERMUTATION = {"positions": 0.2, "flatten": 0.05, "pool": 0.05}
"""What a permutation of a null costs beside the pass, by the sampling: `benchmarks/compare_null.py` measures it."""


class ComparePart(Pairs, Part):
    """Every measure between all cuts of every pair, from one pass over the data for both, in `parts` parts.

    The parts are passes over some of the data each, made apart and merged, so that one big comparison spreads over
    processes and machines. They are part of the result: sums that were added up in another order differ in the last
    digits. With a `null` of so many permutations, scores have p-values and are calibrated; all activations are kept for
    that, so there is one part only.
    """

    name: ClassVar[str] = "compare"
    rate: ClassVar[float] = 2e-3

    measures: Some = ("linear_cka",)
    cuts: Words = ()
    sender_cuts: Words = ()
    receiver_cuts: Words = ()
    sampling: Literal["positions", "flatten", "pool"] = "positions"
    split: Literal["train", "test"] = "test"
    parts: Annotated[int, Field(ge=1, le=1000)] = 1
    keep: Annotated[int, Field(ge=0)] = 1000
    folds: Annotated[int, Field(ge=2)] = 5
    batch: Count | None = None
    interval: bool = True
    null: Annotated[int, Field(ge=19)] | None = None
    exact: bool = False
    seed: Seed = 0

    def size(self, study: Study) -> int:
        """One job for each pair; with parts, one for each part and one that merges them."""
        return self.pairs(study) * (self.parts + 1 if self.parts > 1 else 1)

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """One job for each pair; with parts, one for each part and one that merges them."""
        data = expansion.experiment.samples(self.data, "a [[compare]]")
        samples = expansion.samples(data, self.split)
        measures, files = expansion.measures(self.measures)
        rule = expansion.identities.remember(
            ["rule", self.model_dump(include=set(_RULE)), samples.n], lambda: self._rule(samples.n)
        )
        for pair in expansion.pairs(self):
            content = {
                "sender": pair[0].ref,
                "receiver": pair[1].ref,
                "sender_cuts": list(self.sender_cuts or self.cuts) or None,
                "receiver_cuts": list(self.receiver_cuts or self.cuts) or None,
                "measures": measures,
                "data": samples.fingerprint,
                "n": samples.n,
                "rule": rule,
                "parts": self.parts,
                # Only where it is asked for: comparisons without one keep the name that they have in a store.
                **({"null": self.null} if self.null else {}),
                "threads": expansion.experiment.threads,
            }
            for net, side in zip(pair, ("sender_cuts", "receiver_cuts"), strict=True):
                expansion.identities.cut_names(net.cuts_decided_by, net.spec, content[side], samples.shape)
            labels = {**pair_labels(*pair), "seed": self.seed, "data": data.name}
            needs, where = merge_needs(pair), {**merge_where(samples, *pair), **files}
            passes = []
            for k in range(self.parts if self.parts > 1 else 0):
                part = {**labels, "part": f"{k + 1}/{self.parts}"}
                job = Job("pass", {**content, "part": k}, part, needs, where)
                expansion.helpers[job.key] = job
                passes.append(job.key)
            yield Job("compare", content, labels, (*needs, *passes), {**where, "passes": passes})

    def _rule(self, n: int) -> dict[str, Any]:
        """The rule of a comparison of n samples, in no more parts than it has batches."""
        from seamripper.comparing import Rule, batch_for

        if self.null and self.parts > 1:
            raise ExperimentError(
                f"Expected a [[compare]] with a null to be made in one part, as it keeps all activations, but got "
                f"parts = {self.parts}. Leave out `parts`, or use `null` with fewer samples."
            )
        batch = self.batch or batch_for(n, self.folds)
        if self.parts > -(-n // batch):
            raise ExperimentError(
                f"Expected `parts` of a [[compare]] to be at most {-(-n // batch)}, the batches of {batch} that its "
                f"{n} samples make, but got {self.parts}."
            )
        own = self.model_dump(include={"sampling", "folds", "keep", "interval", "seed"})
        products: Literal["float32", "float64"] = "float64" if self.exact else "float32"
        return asdict(Rule(**own, batch=batch, optimise=not self.exact, products=products))

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Score what the passes have added up, or make the one pass here."""
        from seamripper._files import load_tensors
        from seamripper.comparing import Sums

        prepared = _prepare(content, worker)
        if content["parts"] == 1:
            prepared.require_memory()
            sums = Sums(prepared.plan)
            prepared.add_to(sums)
        else:
            # In the order of the samples: the first rows are the ones that are kept.
            parts = [load_tensors(worker.tensor(key, "sums"), kind="pass") for key in worker.where["passes"]]
            sums, *others = (Sums.of_tensors(prepared.plan, *part) for part in parts)
            for other in others:
                sums.merge(other)
        record = prepared.comparison(sums).as_record()
        # A circumstance, and no part of the result.
        del record["record"]["seconds"]
        return Output(plain(record))

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """Samples shown to both networks; merging costs next to nothing beside a pass, a permutation a part of one."""
        passes = 1 + _PERMUTATION[content["rule"]["sampling"]] * content.get("null", 0)
        return float(content["n"] * passes) if content["parts"] == 1 else content["n"] / (10 * content["parts"])

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """One row for each measure and cell."""
        for name, matrix in record["matrices"].items():
            for i, sender in enumerate(record["senders"]):
                for j, receiver in enumerate(record["receivers"]):
                    score = matrix["scores"][i][j]
                    cell = {"sender_cut": sender, "receiver_cut": receiver, "measure": name}
                    if score is None:
                        status = matrix["failed"].get(f"{sender} × {receiver}", "no score")
                        yield {**cell, "figure": "score", "status": status}
                    else:
                        yield from figure_row("score", score, **cell, sampling=score["sampling"])
                        yield from _null_rows(score.get("null"), cell)
            yield from _null_rows(matrix.get("null"), {"sender_cut": "best", "receiver_cut": "best", "measure": name})

    @classmethod
    def sections(cls, results: StudyResults) -> Iterator[Section]:
        """Every measure of every comparison side by side, on one scale (Balogh & Jelasity 2025, Fig. 2)."""
        comparisons = results.of(cls.name)
        scales = _scales(comparisons)
        figures, details = list[Grid](), dict[str, dict[str, Any]]()
        for number, comparison in enumerate(comparisons):
            for measure, matrix in comparison.record["matrices"].items():
                figures.append(_grid(number, comparison, measure, scales[matrix["direction"]]))
            details |= _details(number, comparison)
        switches = {
            name: tuple(dict.fromkeys(grid.tags[name] for grid in figures)) for name in ("pair", "measure", "sampling")
        }
        text = (
            "Each cell compares a cut of the sender (row) with one of the receiver (column). All similarities share "
            "one scale, and so do all distances; on both scales similar is bright. Cells of two cuts with the same "
            "name are framed. Intervals are over samples: they say nothing about other training seeds. Choose a cell "
            "to see every measure of that pair."
        )
        if comparisons:
            yield Section("matrices", "How similar the layers are", text, tuple(figures), switches, details, place=40)


def _null_rows(null: Mapping[str, Any] | None, cell: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of what a score, or the best one of a matrix, is worth beside those of permuted samples."""
    if null is None:
        return
    for name in ("p", "threshold", "calibrated"):
        yield {**cell, "figure": name, "value": null[name], "n": null["permutations"], "unit": "permutations"}


class PassPart(Part):
    """One part of the pass of a big comparison, to be merged with the others.

    Content: that of the comparison, and `part`, from 0.
    """

    name: ClassVar[str] = "pass"
    asked_for: ClassVar[bool] = False
    helps: ClassVar[bool] = True
    rate: ClassVar[float] = 2e-3

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Add up over a part of the samples, and keep the sums in one file."""
        from seamripper._files import save_tensors
        from seamripper.comparing import Sums

        prepared = _prepare(content, worker)
        prepared.require_memory()
        sums = Sums(prepared.plan)
        prepared.add_to(sums, part=content["part"], parts=content["parts"])
        tensors, record = sums.as_tensors()
        name = worker.keep(lambda path: save_tensors(path, tensors, record, kind="pass"))
        return Output({"n": sums.n}, {"sums": name})

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """Samples shown to both networks."""
        return float(content["n"] / content["parts"])


def _prepare(content: Mapping[str, Any], worker: Worker) -> PreparedPass:
    """The comparison that a content describes, before its pass."""
    from seamripper.comparing import PreparedPass, Request, Rule

    request = Request(
        worker.model(content["sender"]),
        worker.model(content["receiver"]),
        worker.samples(content["data"]),
        measures=[worker.word(word) for word in content["measures"]],
        sender_cuts=content["sender_cuts"],
        receiver_cuts=content["receiver_cuts"],
        rule=Rule(**content["rule"]),
        null=content.get("null", 0),
    )
    return PreparedPass.of(request)


# ---- sections


def score_of(score: Mapping[str, Any] | None, comparison: Mapping[str, Any]) -> Estimate:
    """A cell of a comparison. Its interval is over samples; rows may be more (positions), or fewer (those kept)."""
    estimate, samples = Estimate.from_record(score), comparison["record"]["n"]
    if estimate.n is None or estimate.unit != "rows":
        return estimate
    note = f"interval over {comparison['record']['rule']['folds']} folds of samples" if estimate.has_interval else ""
    if estimate.n < samples:
        return replace(estimate, note=note)
    rows = f"{estimate.n:,} rows" if estimate.n > samples else ""
    return replace(estimate, n=samples, unit="samples", note="; ".join(filter(None, (rows, note))))


def _scales(comparisons: Sequence[Result]) -> dict[str, tuple[float, float]]:
    """The ends of the scale that all similarities share, and of the one that all distances do."""
    values: dict[str, list[float]] = {}
    for comparison in comparisons:
        for matrix in comparison.record["matrices"].values():
            scores = [score for row in matrix["scores"] for score in row if score is not None]
            values.setdefault(matrix["direction"], []).extend(s["value"] for s in scores if s["value"] is not None)
    return {direction: _scale(known) for direction, known in values.items()}


def _scale(values: Sequence[float]) -> tuple[float, float]:
    """From 0 to a round number; below 0 only if values lie clearly there, and not by the error of an estimator.

    >>> _scale([-0.01, 0.7]), _scale([0.2, 3.0]), _scale([-0.4, 0.9]), _scale([])
    ((0.0, 1.0), (0.0, 5.0), (-0.5, 1.0), (0.0, 1.0))
    """
    high = 1.0 if max(values, default=1) <= 1 else _round_up(max(values))
    low = min(values, default=0.0)
    return (0.0 if low >= -0.05 * high else -_round_up(-low)), high


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= value)


def _grid(number: int, comparison: Result, measure: str, scale: tuple[float, float]) -> Grid:
    matrix, record = comparison.record["matrices"][measure], comparison.record["record"]
    cells = tuple(tuple(score_of(score, comparison.record) for score in row) for row in matrix["scores"])
    tags = {"measure": measure, "sampling": record["rule"]["sampling"], "pair": comparison.pair}
    caption = f"{matrix['direction']}, {record['n']:,} samples of {record['data']['name']}, {tags['sampling']}"
    if matrix.get("null"):
        null = Null(**matrix["null"])
        caption += f"; best of the matrix beside {null.permutations} permutations of the samples: {null}"
    rows, columns = tuple(comparison.record["senders"]), tuple(comparison.record["receivers"])
    title = f"{measure}: {comparison.pair}"
    return Grid(title, rows, columns, cells, scale, matrix["direction"], caption, tags, str(number))


def _details(number: int, comparison: Result) -> dict[str, dict[str, Any]]:
    """For each pair of cuts all its measures: what opens when a cell is chosen."""
    record, details = comparison.record, {}
    for i, sender in enumerate(record["senders"]):
        for j, receiver in enumerate(record["receivers"]):
            rows = []
            for measure, matrix in record["matrices"].items():
                score = matrix["scores"][i][j]
                why = matrix["failed"].get(f"{sender} × {receiver}", "")
                value = score_of(score, record).describe() if score else f"no score: {why}"
                rows.append([measure, matrix["direction"], value])
            details[f"{number}-{i}-{j}"] = {"title": f"{comparison.pair}: {sender} × {receiver}", "rows": rows}
    return details
