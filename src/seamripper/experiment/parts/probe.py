"""[[probe]]: what a linear map reads from a network's activations, and from their low-rank approximations."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from seamripper._files import plain
from seamripper.errors import ExperimentError, SeamripperError
from seamripper.estimate import Estimate, over_seeds
from seamripper.experiment.expansion import Expansion, merge_where
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import Output, Part, Row, cuts_of, figure_row, groups_of
from seamripper.experiment.result import Result, StudyResults
from seamripper.experiment.tables import Count, Data, Seed, Some, Study, Word, Words
from seamripper.figures import Lines, Section, Series

if TYPE_CHECKING:
    from seamripper.activations import Activations, PrincipalDirections
    from seamripper.comparing import Approximation
    from seamripper.cut import Split
    from seamripper.experiment.worker import Worker
    from seamripper.measures import Measure

FULL_FIRST = " (full as sender)"
"""What follows the label of a measure that is not symmetric, where the full representation is the sender."""
_DIRECT = "direct_functional"


class ProbePart(Part):
    """Probing accuracy of every network and cut, and of its low-rank approximations beside measures of them.

    These are what the sensitivity and specificity tests of Ding et al. 2021 and of Balogh & Jelasity 2025 are computed
    from. A probe is fitted on the samples to fit on, and scored on two halves of those to score on: one is to choose a
    reference by, the other to report. Approximations are projections on the leading principal directions of the samples
    to fit on. Each measure is taken on the half to report on, between an approximation (the sender) and the full
    representation (the receiver); one that is not symmetric, also with the full one as sender. `direct_functional` is
    the relative accuracy of the network when its approximated activations, mapped back by direct matching, are fed
    into the rest of it, position by position whatever the sampling.

    Content of a job: `receiver`, `receiver_cut`, `ranks`, `measures`, `sampling`, `pool`, `l2`, `seed`, `fit`, `test`,
    `n`, `n_test`, `threads`.
    """

    name: ClassVar[str] = "probe"
    rate: ClassVar[float] = 2e-3

    models: Some
    cuts: Some
    ranks: tuple[Count, ...] = ()
    measures: Words = ()
    data: Word | Data | None = None
    sampling: Literal["positions", "flatten", "pool"] = "positions"
    pool: bool = True
    l2: Annotated[float, Field(ge=0)] = 1e-3
    seed: Seed = 0

    @model_validator(mode="after")
    def _measures_need_ranks(self) -> Self:
        if self.measures and not self.ranks:
            raise ValueError("expected `ranks`: a measure compares the full representation with approximations of it")
        return self

    def size(self, study: Study) -> int:
        """One job for each network and cut."""
        return sum(len(study.network(word)[1]) for word in self.models) * len(self.cuts)

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """One job for each network and cut."""
        data = expansion.experiment.samples(self.data, "a [[probe]]")
        fit, test = expansion.splits(data)
        if test.n < 4:
            raise ExperimentError(f"Expected at least 4 samples to score a [[probe]] on, two a half, but got {test.n}.")
        if "task_functional" in ",".join(self.measures).split(","):
            raise ExperimentError("A [[probe]] trains no stitches: in place of 'task_functional', 'direct_functional'.")
        measures, files = expansion.measures(self.measures)
        for net in (net for word in self.models for net in expansion.nets(word)):
            expansion.identities.require_cuts(net.cuts_decided_by, net.spec, self.cuts, fit.shape)
            for cut in self.cuts:
                content = {
                    "receiver": net.ref,
                    "receiver_cut": cut,
                    "ranks": list(dict.fromkeys(self.ranks)),
                    "measures": measures,
                    **self.model_dump(include={"sampling", "pool", "l2", "seed"}),
                    "fit": fit.fingerprint,
                    "test": test.fingerprint,
                    "n": fit.n,
                    "n_test": test.n,
                    "threads": expansion.experiment.threads,
                }
                who = {"receiver": net.name, "receiver_seed": net.seed, "receiver_cut": cut}
                where = {**merge_where(fit, test, net), **files}
                yield Job("probe", content, {**who, "data": data.name}, net.needs, where)

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Compute the activations once, find their directions, and probe and measure every rank."""
        from seamripper.activations import collect, principal_directions
        from seamripper.controls import halves, probe, readable

        samples = worker.samples(content["fit"])
        half = worker.half(content["receiver"], content["receiver_cut"], samples)
        # Vectors take the place of whole maps as soon as these are not needed: early maps are large.
        maps = collect(half, samples)
        directions = principal_directions(maps) if content["ranks"] else None
        fit = readable(maps, pool=content["pool"])
        maps = collect(half, worker.samples(content["test"]))
        _, report = halves(maps.ids, seed=content["seed"])
        test, maps = readable(maps, pool=content["pool"]), maps.take(report)
        width = half.cut.width
        options = {"pool": content["pool"], "l2": content["l2"], "seed": content["seed"]}
        versions = []
        for rank in (None, *(rank for rank in content["ranks"] if rank <= width)):
            probed = probe(fit, test, directions=None if rank is None else directions, rank=rank, **options)
            accuracies = {"choose": probed.choose.as_record(), "report": probed.report.as_record()}
            versions.append({"rank": rank, **accuracies, "scores": {}, "failed": {}})
        if directions is not None:
            _add_scores(versions[1:], maps, directions, content, worker)
            _add_direct(versions[1:], maps, directions, half, report, content, worker)
        record = {
            "cut": half.cut.name,
            "width": width,
            "sampling": content["sampling"],
            "left_out": [rank for rank in content["ranks"] if rank > width],
            "versions": versions,
        }
        return Output(plain(record))

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """Samples shown to the network; those of each rank are shown to a part of it, or to a probe."""
        samples = content["n"] + content["n_test"]
        return float(samples + 0.1 * samples * len(content["ranks"]) * (1 + len(content["measures"])))

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """Probing accuracies of either half, and every score; the full representation has no rank."""
        for version in record["versions"]:
            which = {} if version["rank"] is None else {"rank": version["rank"]}
            yield from figure_row("probe", version["report"], **which)
            yield from figure_row("probe_choose", version["choose"], **which)
            for label, score in version["scores"].items():
                cell = {**which, "measure": label, "sampling": record["sampling"]}
                if score is None:
                    yield {**cell, "figure": "score", "status": version["failed"].get(label, "no score")}
                else:
                    yield from figure_row("score", {**score, "interval": [score["low"], score["high"]]}, **cell)

    @classmethod
    def sections(cls, results: StudyResults) -> Iterator[Section]:
        """Probing accuracy by cut, and by rank where there are ranks, for each network."""
        groups = groups_of(results.of(cls.name), lambda probe: (probe.labels["receiver"], probe.labels["data"]))
        figures = tuple(figure for (name, data), group in groups.items() for figure in _figures(name, data, group))
        if figures:
            text = (
                "Accuracy of a linear probe on samples that it was not fitted on, and by which nothing was chosen. It "
                "shows how much of the label a linear map can read at a cut, not what the network itself reads there. "
                "A low-rank approximation has only the leading principal directions of the activations. Bands are 95 % "
                "intervals over training seeds where there are several, else over samples."
            )
            yield Section("probes", "What can be read from the layers", text, figures, place=45)


# ---- scores


def _add_scores(
    versions: Sequence[dict[str, Any]],
    activations: Activations,
    directions: PrincipalDirections,
    content: Mapping[str, Any],
    worker: Worker,
) -> None:
    """Add every measure to every version, or why it has no score."""
    from seamripper.comparing import Representation, requested_measures

    measures, _ = requested_measures([worker.word(word) for word in content["measures"]])
    if not measures:
        return
    representation = Representation(activations, directions, content["sampling"])
    for version in versions:
        approximation = representation.approximation(version["rank"])
        for measure in measures:
            _add_score(version, measure, approximation, role="sender")
            if not measure.claims.symmetric:
                _add_score(version, measure, approximation, role="receiver")


def _add_score(
    version: dict[str, Any], measure: Measure, approximation: Approximation, *, role: Literal["sender", "receiver"]
) -> None:
    from seamripper.measures import reason, score

    label = measure.label + (FULL_FIRST if role == "receiver" else "")
    try:
        version["scores"][label] = _score_record(score(measure, approximation.pair(measure, role=role)))
    # A user's own measure may raise anything, and the others are as good without it.
    except Exception as e:
        version["scores"][label] = None
        version["failed"][label] = reason(measure, e)


def _add_direct(
    versions: Sequence[dict[str, Any]],
    activations: Activations,
    directions: PrincipalDirections,
    half: Split,
    report: Any,
    content: Mapping[str, Any],
    worker: Worker,
) -> None:
    """Add the relative accuracy through the network to every version, if it was asked for, or why there is none."""
    from seamripper.comparing import direct_functional, requested_measures

    _, functional = requested_measures([worker.word(word) for word in content["measures"]])
    if _DIRECT not in functional:
        return
    try:
        native = worker.answers(content["receiver"], half, worker.samples(content["test"]))[report]
        ranks = [version["rank"] for version in versions]
        scores = direct_functional(half, activations, directions, ranks, native=native)
    except SeamripperError as e:
        for version in versions:
            version["scores"][_DIRECT] = None
            version["failed"][_DIRECT] = str(e)
        return
    for version in versions:
        version["scores"][_DIRECT] = _score_record(scores[version["rank"]])


def _score_record(score: Estimate) -> dict[str, Any]:
    direction = score.rule["direction"]
    return {"value": score.value, "direction": direction, "low": score.low, "high": score.high, "n": score.n}


# ---- sections


def _figures(name: str, data: str, probes: Sequence[Result]) -> Iterator[Lines]:
    cuts = cuts_of(probes)
    by_cut = groups_of(probes, lambda probe: probe.cut)
    full = Series(name, tuple(_accuracy(by_cut[cut], None) for cut in cuts))
    yield Lines(f"Probing accuracy by cut: {name} on {data}", cuts, (full,), "accuracy")
    ranks = sorted({v["rank"] for probe in probes for v in probe.record["versions"] if v["rank"] is not None})
    if ranks:
        series = tuple(Series(cut, tuple(_accuracy(by_cut[cut], r) for r in (*ranks, None))) for cut in cuts)
        places = (*map(str, ranks), "full")
        yield Lines(f"Probing accuracy by rank: {name} on {data}", places, series, "accuracy", x="rank")


def _accuracy(probes: Sequence[Result], rank: int | None) -> Estimate:
    """The accuracy on the half to report, over training seeds; of one network, with its own interval."""
    seeds: dict[Any, list[Estimate]] = defaultdict(list)
    for probe in probes:
        for version in probe.record["versions"]:
            if version["rank"] == rank:
                estimate = Estimate.from_record(version["report"], note="one seed, interval over samples")
                seeds[probe.labels.get("receiver_seed")].append(estimate)
    if not seeds:
        return Estimate(math.nan)
    if len(seeds) == 1:
        (estimates,) = seeds.values()
        return estimates[0]
    means = {seed: math.fsum(e.value for e in estimates) / len(estimates) for seed, estimates in seeds.items()}
    return replace(over_seeds(means, "training seeds").as_share, note="mean and interval over them")
