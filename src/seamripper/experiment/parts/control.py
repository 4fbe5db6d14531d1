"""[[control]]: the same stitches with counterparts whose answer is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.errors import ExperimentError, InapplicableError
from seamripper.experiment.identity import CONTROLS
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import Output, Part, Row, functional_rows, training_cost
from seamripper.experiment.result import plain
from seamripper.experiment.tables import Joining, Pairs, Some, Study

if TYPE_CHECKING:
    from seamripper.experiment.expansion import Expansion, Net
    from seamripper.experiment.worker import Worker


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
        return training_cost(content)

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """The functional result of each outcome."""
        for outcome in record["outcomes"]:
            yield from functional_rows(outcome["result"], counterpart=outcome["label"])


def control_jobs(
    words: Sequence[str], expansion: Expansion, pair: tuple[Net, Net], job: Sequence[Mapping[str, Any]]
) -> Iterator[Job]:
    """The jobs of these controls beside a stitch, whose content, labels and places are given."""
    (sender, receiver), (content, labels, where) = pair, job
    for word in words:
        if word.partition("?")[0] == "other_seed":
            raise ExperimentError("For networks of other seeds as senders, add a [[stitch]] with pairing = 'others'.")
        said, files = expansion.identities.word(CONTROLS, word)
        # A control that has nothing to do with the sender is the same for every sender.
        of_sender = expansion.identities.fact(CONTROLS, word, "of_sender")
        front = {} if of_sender else {"sender": receiver.ref, "sender_cut": content["receiver_cut"]}
        needs = (*(sender.needs if of_sender else ()), *receiver.needs)
        yield Job(
            "control", {**content, **front, "control": said}, {**labels, "control": word}, needs, {**where, **files}
        )
