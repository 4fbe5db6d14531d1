"""The job `compare`: every measure between all cuts of two models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.experiment.kinds.base import Kind, Output, Row, figure, plain

if TYPE_CHECKING:
    from seamripper.comparing import Prepared
    from seamripper.experiment.worker import Worker


@dataclass(frozen=True)
class Compare(Kind):
    """Score what the passes have added up, or make the one pass here.

    Content: `sender`, `receiver`, `sender_cuts`, `receiver_cuts` (names, or null for every block), `measures` (in
    words), `files` (the sha256 of files that they are in), `data` (a fingerprint), `rule`, `parts`, `n`, `threads`.
    """

    name: ClassVar[str] = "compare"
    rate: ClassVar[float] = 2e-3

    def run(self, content: Mapping[str, Any], worker: Worker) -> Output:
        """The comparison, as its own record has it."""
        from seamripper._files import load_tensors
        from seamripper.comparing import Sums

        ready = prepared(content, worker)
        if content["parts"] == 1:
            sums = Sums(ready.plan)
            ready.add_to(sums)
        else:
            # In the order of the samples: the first rows are the ones that are kept.
            parts = [load_tensors(worker.tensor(key, "sums"), kind="pass") for key in worker.where["passes"]]
            sums, *others = (Sums.of_tensors(ready.plan, *part) for part in parts)
            for other in others:
                sums.merge(other)
        record = ready.comparison(sums).as_record()
        # Of the surroundings, and no part of the result.
        del record["record"]["seconds"]
        return Output(plain(record))

    def cost(self, content: Mapping[str, Any]) -> float:
        """Samples shown to both networks; merging costs next to nothing beside a pass."""
        return float(content["n"]) if content["parts"] == 1 else content["n"] / (10 * content["parts"])

    def rows(self, record: Mapping[str, Any]) -> Iterator[Row]:
        """A row for each measure and cell."""
        for name, matrix in record["matrices"].items():
            for i, sender in enumerate(record["senders"]):
                for j, receiver in enumerate(record["receivers"]):
                    score = matrix["scores"][i][j]
                    cell = {"sender_cut": sender, "receiver_cut": receiver, "measure": name}
                    if score is None:
                        status = matrix["failed"].get(f"{sender} × {receiver}", "no score")
                        yield {**cell, "figure": "score", "status": status}
                    else:
                        yield from figure("score", score, **cell, sampling=score["sampling"])


def prepared(content: Mapping[str, Any], worker: Worker) -> Prepared:
    """The comparison that a content describes, before its pass."""
    import hashlib
    from pathlib import Path

    from seamripper.comparing import Prepared, Request, Rule
    from seamripper.errors import ExperimentError

    for path, sha in zip(worker.where.get("files", []), content["files"], strict=True):
        if hashlib.sha256(Path(path).read_bytes()).hexdigest() != sha:
            raise ExperimentError(f"{path} was changed since the experiment was planned: run it again.")
    sender, receiver = worker.model(content["sender"]), worker.model(content["receiver"])
    request = Request(
        sender,
        receiver,
        worker.samples(content["data"]),
        measures=worker.where.get("measures", content["measures"]),
        sender_cuts=content["sender_cuts"],
        receiver_cuts=content["receiver_cuts"],
        rule=Rule(**content["rule"]),
    )
    return Prepared.of(request)
