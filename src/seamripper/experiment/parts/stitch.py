"""[[stitch]]: matches of every pair at every cut, scored on samples that they were not fitted on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper._files import plain
from seamripper.estimate import Estimate
from seamripper.experiment.job import Job
from seamripper.experiment.parts.activations import collect_for
from seamripper.experiment.parts.base import (
    Output,
    Part,
    Row,
    colour_of,
    cuts_of,
    figure_row,
    functional_rows,
    groups_of,
    loss_rows,
    match_for,
    over,
    pack_hits,
    rank_rows,
    training_cost,
)
from seamripper.experiment.parts.control import control_jobs
from seamripper.experiment.result import Result, StudyResults
from seamripper.experiment.tables import Joining, Pairs, Study, Words
from seamripper.figures import Lines, Section, Series, curves, twins

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from seamripper.cut import Split
    from seamripper.data import Paired, Samples
    from seamripper.experiment.expansion import Expansion
    from seamripper.experiment.worker import Worker
    from seamripper.matching import Functional, Match

_LOSSES = 8
"""How many figures of losses are shown."""


class StitchPart(Joining, Pairs, Part):
    """Stitches of every pair, and the same with every control.

    `rank` asks for the numerical rank at the receiver's first layer behind the cut, of what arrives there by the
    stitch, and of the receiver's own activations.

    The sender's activations are taken from the store where a job has computed them for several stitches, and computed
    in the same way where not. The tensor `stitch` holds weights and curves. Where BN statistics adapt, `unadapted` is
    the receiver as it was trained: "the receiver" of the result is the one that has adapted, and it may be good for
    little.
    """

    name: ClassVar[str] = "stitch"
    rate: ClassVar[float] = 3e-4

    controls: Words = ()
    rank: bool = False

    def size(self, study: Study) -> int:
        """One job for each pair and way, and one more for each control."""
        return self.pairs(study) * self.ways * (1 + len(self.controls))

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """One job for each pair, cut, matching, stitch, freeze and seed; and one for each control."""
        data = expansion.experiment.samples(self.data, "a [[stitch]]")
        more = {"rank": True} if self.rank else {}
        for sender, receiver, content, labels, where in expansion.stitches(self, "a [[stitch]]"):
            own = None if receiver.data is None else expansion.data_set(receiver.data, "test", data.n_test, data.seed)
            scored = {**content, **more, "own": own and own.fingerprint}
            places = {**where, **(own.where if own else {})}
            yield Job("stitch", scored, labels, (*sender.needs, *receiver.needs), places)
            yield from control_jobs(self.controls, expansion, (sender, receiver), (content, labels, where))

    @classmethod
    def share(cls, jobs: Iterable[Job], expansion: Expansion) -> Iterable[Job]:
        """Stitches of which several begin at one place take its activations from a job of their own."""
        stitches = list(jobs)
        users: dict[str, set[str]] = defaultdict(set)
        helpers = {job.key: _activations(job) if _is_reusable(job.content) else {} for job in stitches}
        for job in stitches:
            for helper in helpers[job.key].values():
                users[helper.key].add(job.key)
        for job in stitches:
            shared = {role: helper for role, helper in helpers[job.key].items() if len(users[helper.key]) > 1}
            expansion.helpers.update({helper.key: helper for helper in shared.values()})
            keys = {role: helper.key for role, helper in shared.items()}
            yield replace(job, needs=(*job.needs, *keys.values()), where={**job.where, "activations": keys})

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Match and evaluate."""
        from seamripper._files import save_tensors
        from seamripper.audits import ranks_behind

        fit, test = worker.samples(content["fit"]), worker.samples(content["test"])
        receiver = worker.half(content["receiver"], content["receiver_cut"], fit)
        sender, pairs, scored = _sender(content, worker, fit, test)
        stitched = match_for(worker, content, sender, receiver, pairs)
        result, unadapted, alone = _evaluate(stitched, scored, content, worker)
        record = {
            "stitch": stitched.stitch.as_record(),
            "status": stitched.status,
            "figures": plain(dict(stitched.figures)),
        }
        more = plain(ranks_behind(stitched, scored)) if content.get("rank") else {}

        def write(path: Path) -> None:
            tensors = {f"stitch.{name}": value for name, value in stitched.layer.state_dict().items()}
            tensors |= {f"curve.{name}": value for name, value in stitched.curves.items()}
            save_tensors(path, tensors, {"key": worker.key, **record}, kind="stitch")

        results = {"result": plain(result.as_record()), **record, **more, **unadapted}
        if result.hits:
            packed = {role: pack_hits(hits) for role, hits in {**result.hits, **alone}.items()}
            results["hits"] = {"test": content["test"], **packed}
        return Output(results, {"stitch": worker.keep(write)})

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """Samples shown to the tail, forwards and backwards, and to the head."""
        return training_cost(content, content["n"], content["n_test"])

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """The functional result, and ranks where they were asked for."""
        yield from functional_rows(record["result"], status=record["status"])
        for name, where in (("receiver_unadapted", "here"), ("own_unadapted", "own")):
            yield from figure_row(name, record.get("unadapted", {}).get(where))
        yield from rank_rows(record)
        yield from loss_rows(record)

    @classmethod
    def sections(cls, results: StudyResults) -> Iterator[Section]:
        """Accuracy by cut (Smith et al. 2025, Fig. 2b), and the loss curves of the stitches that were trained."""
        stitches = results.of(cls.name)
        groups = groups_of(stitches, lambda stitch: tuple(str(stitch.labels[name]) for name in _FACETS))
        accuracies = twins(_accuracies(results, facet, group) for facet, group in groups.items())
        if accuracies:
            text = (
                "Accuracy of sender's front, stitch and receiver's back on samples that the stitch was not fitted on, "
                "one figure for each matching. The dashed line is the receiver alone on the same samples. Intervals of "
                "95 % are over seeds where there are several, else over samples; small dots are single seeds. A "
                "stitch that works is no evidence that both networks use the same information."
            )
            yield Section("accuracy", "What the stitched networks can do", text, accuracies, place=20)
        losses = tuple(_losses(results, stitches))
        if losses:
            text = (
                "The training loss of each stitch, step by step: the first seed of each, means over equal stretches of "
                "steps."
            )
            yield Section("losses", "How the stitches were found", text, losses[:_LOSSES], place=80)


def _activations(job: Job) -> dict[str, Job]:
    """The jobs that compute the sender's activations for a stitch."""
    helpers = {}
    model, cut = job.content["sender"], job.content["sender_cut"]
    for role, n in (("fit", "n"), ("test", "n_test")):
        content = {
            "model": model,
            "cut": cut,
            "data": job.content[role],
            "n": job.content[n],
            "threads": job.content["threads"],
        }
        labels = {"sender": job.labels["sender"], "sender_cut": cut, "data": job.labels["data"]}
        needs = tuple(model.values()) if "trained" in model else ()
        helpers[role] = Job("activations", content, labels, needs, job.where)
    return helpers


def _is_reusable(content: Mapping[str, Any]) -> bool:
    """Whether the sender's activations are the same at every step: nothing adapts, and no input is augmented."""
    return bool(content["freeze"] == "all" and content["matching"].get("augment", "none") == "none")


def _sender(
    content: Mapping[str, Any], worker: Worker, fit: Samples, test: Samples
) -> tuple[Split, Samples | Paired, Samples | Paired]:
    """The sender and what it is shown: where it can be, activations of its own, so that it has nothing to compute."""
    from seamripper.activations import replay

    model, cut = content["sender"], content["sender_cut"]
    half = worker.half(model, cut, fit)
    if not _is_reusable(content):
        return half, fit, test
    parts = []
    for role, samples in (("fit", fit), ("test", test)):
        activations = worker.activations(worker.where.get("activations", {}).get(role, ""))
        activations = collect_for(worker, model, cut, content[role]) if activations is None else activations
        parts.append(replay(half, samples, activations))
    return parts[0][0], parts[0][1], parts[1][1]


def _evaluate(
    stitched: Match, scored: Samples | Paired, content: Mapping[str, Any], worker: Worker
) -> tuple[Functional, dict[str, Any], dict[str, Tensor]]:
    """The functional result; and, where BN statistics adapt, the receiver as it was trained, and what it gets right."""
    from seamripper.matching import evaluate, right_of

    model, own, test = content["receiver"], content["own"], worker.samples(content["test"])
    # The receiver as it is answers the same at every cut, to every sender: once is enough.
    alone = worker.answers(model, stitched.receiver, test)
    task = None if own is None else worker.samples(own)
    its_own = None if task is None else right_of(worker.answers(model, stitched.receiver, task), task)
    if content["freeze"] != "weights":
        return evaluate(stitched, scored, own=its_own, receiver=alone), {}, {}
    result = evaluate(stitched, scored, own=task)
    here = right_of(alone, test).as_record()
    unadapted = {"unadapted": {"here": here, "own": None if its_own is None else its_own.as_record()}}
    return result, unadapted, {"unadapted": alone.argmax(1) == test.labels}


# ---- sections


_FACETS = "receiver", "data", "matching"
"""What has a figure of its own."""


def _line_name(stitches: Sequence[Result]) -> Callable[[Result], str]:
    """How a line is called among those of these stitches: by the sender, and whatever else differs."""
    choices = ("matching", "stitch", "freeze")
    differ = [name for name in choices if len({stitch.labels.get(name) for stitch in stitches}) > 1]
    return lambda stitch: ", ".join(str(stitch.labels[name]) for name in ("sender", *differ))


def _accuracies(results: StudyResults, facet: tuple[str, ...], stitches: Sequence[Result]) -> Lines:
    """Accuracy by cut: one line for each sender and way, and one for the receiver alone."""
    receiver, data, matching = facet
    places, lines = cuts_of(stitches), groups_of(stitches, _line_name(stitches))

    def points(members: Sequence[Result], figure: str) -> tuple[Estimate, ...]:
        by_cut = groups_of(members, lambda stitch: stitch.cut)
        return tuple(over(by_cut.get(place, []), figure) for place in places)

    senders = [Series(name, points(group, "top1"), colour=_colour(results, group[0])) for name, group in lines.items()]
    colour = colour_of(results, receiver)
    alone = Series(f"{receiver} alone", points(stitches, "receiver_here"), dashed=True, colour=colour)
    title = f"Accuracy by cut, into {receiver} on {data}, {matching}"
    return Lines(title, places, (*senders, alone), "accuracy")


def _colour(results: StudyResults, stitch: Result) -> str:
    return colour_of(results, str(stitch.labels["sender"]))


def _losses(results: StudyResults, stitches: Sequence[Result]) -> Iterator[Lines]:
    """One figure for each cut, receiver and matching, with the first seed of each sender."""
    facets = groups_of(stitches, lambda stitch: (stitch.cut, stitch.labels["receiver"], stitch.labels["matching"]))
    for (cut, receiver, matching), group in facets.items():
        losses, colours = {}, {}
        for name, seeds in groups_of(group, _line_name(group)).items():
            tensors = results.tensor(seeds[0], "stitch", "stitch") or {}
            if len(tensors.get("curve.loss", ())) > 1:
                losses[name], colours[name] = tensors["curve.loss"].tolist(), _colour(results, seeds[0])
        if losses:
            yield curves(f"Loss at {cut}, into {receiver}, {matching}", losses, colours=colours)
