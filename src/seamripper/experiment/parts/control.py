"""[[control]]: the same stitches with counterparts whose answer is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper._files import plain
from seamripper.errors import ExperimentError, InapplicableError
from seamripper.estimate import Estimate
from seamripper.experiment.identity import CONTROLS
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import (
    Output,
    Part,
    Row,
    colour_of,
    functional_rows,
    groups_of,
    over,
    training_cost,
)
from seamripper.experiment.result import Result, StudyResults
from seamripper.experiment.tables import Joining, Pairs, Some, Study
from seamripper.figures import KINDS, KNOWN, Section, Strip, twins

if TYPE_CHECKING:
    from seamripper.experiment.expansion import Expansion, Net
    from seamripper.experiment.worker import Worker

_STRIPS = 16
"""Plots that are shown; the table has all figures."""


def colours_of_kinds(known: Mapping[str, str]) -> dict[str, str]:
    """The colours of controls by name, from what is known of each."""
    return {name: KINDS[kind] for name, kind in known.items()}


def looks_of(results: StudyResults, sender: str, outcomes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """How a strip shows a sender and the outcomes of controls beside it: colours, and what is known of these."""
    known = known_of(outcomes)
    colours = {"": colour_of(results, sender), **colours_of_kinds(known)}
    return {"kinds": {name: KNOWN[kind] for name, kind in known.items()}, "colours": colours}


def known_of(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What is known of the controls that these outcomes are of, by their names."""
    return {outcome["control"]: outcome["known"] for outcome in outcomes if outcome.get("known")}


class ControlPart(Joining, Pairs, Part):
    """Controls of every pair, without the pair's own stitches.

    Content of a job: that of a stitch, and `control`, a word. Its result has the outcomes of the control for one seed.
    """

    name: ClassVar[str] = "control"
    rate: ClassVar[float] = 5e-4

    controls: Some

    def size(self, study: Study) -> int:
        """One job for each pair, way and control."""
        return self.pairs(study) * self.ways * len(self.controls)

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """One job for each pair, cut, matching, stitch, freeze, seed and control."""
        for sender, receiver, *job in expansion.stitches(self, "a [[control]]"):
            yield from control_jobs(self.controls, expansion, (sender, receiver), job)

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Match and score each counterpart; a control that does not apply is a result, and no failure."""
        from seamripper.controls import Case, controls
        from seamripper.data import Paired

        fit, test = worker.samples(content["fit"]), worker.samples(content["test"])
        case = Case(
            worker.half(content["sender"], content["sender_cut"], fit),
            worker.half(content["receiver"], content["receiver_cut"], fit),
            Paired.of(fit),
            Paired.of(test),
            worker.matching(content["matching"]),
            worker.stitch(content["stitch"]),
            content["freeze"],
            (content["seed"],),
        )
        try:
            control = controls.make(worker.word(content["control"]))
            outcomes = [plain(outcome.as_record()) for outcome in control.outcomes(case)]
        except InapplicableError as e:
            return Output({"outcomes": [], "skipped": str(e)})
        return Output({"outcomes": outcomes, "skipped": None})

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """As a stitch."""
        return training_cost(content, content["n"], content["n_test"])

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """The functional result of each outcome."""
        for outcome in record["outcomes"]:
            yield from functional_rows(outcome["result"], counterpart=outcome["label"])

    @classmethod
    def sections(cls, results: StudyResults) -> Iterator[Section]:
        """Controls around the stitches that they stand beside; where there are audits, theirs are shown instead."""
        if results.of("audit"):
            return

        def way(result: Result) -> tuple[str, str, str]:
            return result.pair, result.cut, str(result.labels["matching"])

        controls = groups_of(results.of(cls.name), way)
        strips = []
        for (pair, cut, matching), stitches in groups_of(results.of("stitch"), way).items():
            outcomes = [
                {**outcome, "control": control.labels["control"]}
                for control in controls.get((pair, cut, matching), [])
                for outcome in control.record["outcomes"]
            ]
            names = dict.fromkeys(outcome["control"] for outcome in outcomes)
            points = tuple((name, tuple(accuracy_of(o) for o in outcomes if o["control"] == name)) for name in names)
            looks = looks_of(results, str(stitches[0].labels["sender"]), outcomes)
            alone = {"receiver alone": over(stitches, "receiver_here")}
            title, observed = f"{pair} at {cut}, {matching}", over(stitches, "top1")
            strips += [Strip(title, points, observed, "accuracy", alone, **looks)] if points else []
        yield from controls_section(strips)


def control_jobs(
    words: Sequence[str], expansion: Expansion, pair: tuple[Net, Net], job: Sequence[Mapping[str, Any]]
) -> Iterator[Job]:
    """The jobs of these controls beside a stitch, whose content, labels and places are given."""
    (sender, receiver), (content, labels, where) = pair, job
    for word in words:
        if word.partition("?")[0] == "other_seed":
            raise ExperimentError("For networks of other seeds as senders, add a [[stitch]] with pairing = 'others'.")
        chosen, files = expansion.identities.word(CONTROLS, word)
        # A control that has nothing to do with the sender is the same for every sender.
        of_sender = expansion.identities.fact(CONTROLS, word, "of_sender")
        front = {} if of_sender else {"sender": receiver.ref, "sender_cut": content["receiver_cut"]}
        needs = (*(sender.needs if of_sender else ()), *receiver.needs)
        own = {**content, **front, "control": chosen}
        yield Job("control", own, {**labels, "control": word}, needs, {**where, **files})


def accuracy_of(outcome: Mapping[str, Any]) -> Estimate:
    """The accuracy of an outcome's record, with its label and seed."""
    return Estimate.from_record(outcome["result"]["top1"], note=f"{outcome['label']}, seed {outcome['seed']}")


def controls_section(strips: Iterable[Strip]) -> Iterator[Section]:
    """The section of controls, as strips around what was observed."""
    # Audits that differ in the conflict alone have the same controls.
    figures = list[Strip]()
    for strip in strips:
        figures += [strip] if strip not in figures else []
    more = f" The first {_STRIPS} of {len(figures)} are shown." if len(figures) > _STRIPS else ""
    text = (
        "The same comparison with counterparts whose answer is known. If a sender that has learnt nothing does as "
        f"well, the accuracy is no evidence of similarity.{more}"
    )
    if figures:
        yield Section("controls", "Beside the controls", text, twins(figures[:_STRIPS]), place=60)
