"""The job `stitch`: one match between two cuts, scored on samples that it was not fitted on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.experiment.kinds._ranks import rank_rows, ranks_of
from seamripper.experiment.kinds.activations import shown
from seamripper.experiment.kinds.base import Kind, Output, Row, course, figure, functional, plain

if TYPE_CHECKING:
    from pathlib import Path

    from seamripper.cut import Split
    from seamripper.data import Paired, Samples
    from seamripper.experiment.worker import Worker


@dataclass(frozen=True)
class Stitch(Kind):
    """Find a stitch and score it.

    Content: `sender`, `sender_cut`, `receiver`, `receiver_cut`, `fit`, `test`, `own` (fingerprints), `stitch`,
    `matching`, `freeze`, `seed`, `threads`, and `rank` where ranks are asked for. The sender's activations are taken
    from the store where a job has computed them for several stitches, and computed in the same way where not. The
    tensor `stitch` holds weights and curves. Where BN statistics adapt, `unadapted` is the receiver as it was trained:
    "the receiver" of the result is the one that has adapted, and may be good for little.
    """

    name: ClassVar[str] = "stitch"
    rate: ClassVar[float] = 3e-4

    def run(self, content: Mapping[str, Any], worker: Worker) -> Output:
        """Match and evaluate."""
        from seamripper._files import save_tensors
        from seamripper.matching import evaluate, match, matchings
        from seamripper.matching.evaluate import right_of

        fit, whole = worker.samples(content["fit"]), worker.samples(content["test"])
        receiver = worker.half(content["receiver"], content["receiver_cut"], fit)
        sender, pair, test = _sender(content, worker, fit, whole)
        found = match(
            sender,
            receiver,
            pair,
            stitch=content["stitch"],
            matching=matchings.from_record(content["matching"]),
            freeze=content["freeze"],
            seed=content["seed"],
        )
        model, own = content["receiver"], content["own"]
        # The receiver as it is answers the same at every cut, to every sender: once is enough.
        alone = worker.answers(model, receiver, whole)
        its_own = (
            None if own is None else right_of(worker.answers(model, receiver, worker.samples(own)), worker.samples(own))
        )
        adapted = content["freeze"] == "weights"
        result = evaluate(
            found,
            test,
            own=its_own if not adapted or own is None else worker.samples(own),
            receiver=None if adapted else alone,
        )
        record = {"stitch": found.stitch.as_record(), "status": found.status, "figures": plain(dict(found.figures))}
        more = plain(ranks_of(found, test)) if content.get("rank") else {}
        if adapted:
            here = right_of(alone, whole).as_record()
            more["unadapted"] = {"here": here, "own": None if its_own is None else its_own.as_record()}

        def write(path: Path) -> None:
            tensors = {f"stitch.{name}": value for name, value in found.layer.state_dict().items()}
            tensors |= {f"curve.{name}": value for name, value in found.curves.items()}
            save_tensors(path, tensors, {"key": worker.key, **record}, kind="stitch")

        return Output({"result": plain(result.as_record()), **record, **more}, {"stitch": worker.keep(write)})

    def cost(self, content: Mapping[str, Any]) -> float:
        """Samples shown to the tail, forwards and backwards, and to the head."""
        epochs = content["matching"].get("training", {}).get("epochs", 1)
        return float(content["n"] * (1 + epochs) + content["n_test"])

    def rows(self, record: Mapping[str, Any]) -> Iterator[Row]:
        """The functional result, and ranks where they were asked for."""
        yield from functional(record["result"], status=record["status"])
        for name, where in (("receiver_unadapted", "here"), ("own_unadapted", "own")):
            yield from figure(name, record.get("unadapted", {}).get(where))
        yield from rank_rows(record)
        yield from course(record)


def reusable(content: Mapping[str, Any]) -> bool:
    """Whether the sender's activations are the same at every step: nothing adapts, and no input is augmented."""
    return bool(content["freeze"] == "all" and content["matching"].get("augment", "none") == "none")


def _sender(content: Mapping[str, Any], worker: Worker, fit: Samples, test: Samples) -> tuple[Split, Paired, Paired]:
    """The sender and what it is shown: where it can be, activations of its own, so that it has nothing to compute."""
    from seamripper.activations.recorded import replay
    from seamripper.data import Paired

    model, cut = content["sender"], content["sender_cut"]
    half = worker.half(model, cut, fit)
    if not reusable(content):
        return half, Paired.of(fit), Paired.of(test)
    parts = []
    for role, samples in (("fit", fit), ("test", test)):
        key = worker.where.get("activations", {}).get(role, "")
        found = worker.activations(key)
        found = shown(model, cut, content[role], worker) if found is None else found
        parts.append(replay(half, samples, found))
    return parts[0][0], parts[0][1], parts[1][1]
