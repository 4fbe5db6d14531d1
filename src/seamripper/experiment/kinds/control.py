"""The job `control`: the same stitch with a counterpart whose answer is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.errors import InapplicableError
from seamripper.experiment.kinds.base import Kind, Output, Row, functional, plain

if TYPE_CHECKING:
    from seamripper.experiment.worker import Worker


@dataclass(frozen=True)
class Controlled(Kind):
    """The outcomes of a control for one seed. Content: that of a stitch, and `control`, in words."""

    name: ClassVar[str] = "control"
    rate: ClassVar[float] = 5e-4

    def run(self, content: Mapping[str, Any], worker: Worker) -> Output:
        """Match and score each counterpart; one that cannot be had is told as such, and is no failure."""
        from seamripper.controls import Case, controls
        from seamripper.data import Paired
        from seamripper.matching import matchings

        fit, test = worker.samples(content["fit"]), worker.samples(content["test"])
        case = Case(
            worker.half(content["sender"], content["sender_cut"], fit),
            worker.half(content["receiver"], content["receiver_cut"], fit),
            Paired.of(fit),
            Paired.of(test),
            matchings.from_record(content["matching"]),
            content["stitch"],
            content["freeze"],
            (content["seed"],),
        )
        try:
            outcomes = [plain(one.as_record()) for one in controls.make(content["control"]).outcomes(case)]
        except InapplicableError as e:
            return Output({"outcomes": [], "skipped": str(e)})
        return Output({"outcomes": outcomes, "skipped": None})

    def cost(self, content: Mapping[str, Any]) -> float:
        """As a stitch."""
        epochs = content["matching"].get("training", {}).get("epochs", 1)
        return float(content["n"] * (1 + epochs) + content["n_test"])

    def rows(self, record: Mapping[str, Any]) -> Iterator[Row]:
        """The functional result of each outcome."""
        for outcome in record["outcomes"]:
            yield from functional(outcome["result"], counterpart=outcome["label"])
