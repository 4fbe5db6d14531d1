"""The job `pass`: one part of the pass of a big comparison, to be merged with the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.experiment.kinds.base import Kind, Output
from seamripper.experiment.kinds.compare import prepared

if TYPE_CHECKING:
    from seamripper.experiment.worker import Worker


@dataclass(frozen=True)
class Passing(Kind):
    """Add up over a part of the samples. Content: that of the comparison, and `part`, from 0."""

    name: ClassVar[str] = "pass"
    helps: ClassVar[bool] = True
    rate: ClassVar[float] = 2e-3

    def run(self, content: Mapping[str, Any], worker: Worker) -> Output:
        """Add up, and keep the sums in one file."""
        from seamripper._files import save_tensors
        from seamripper.comparing import Sums

        ready = prepared(content, worker)
        ready.require_memory()
        sums = Sums(ready.plan)
        ready.add_to(sums, part=content["part"], parts=content["parts"])
        tensors, record = sums.as_tensors()
        return Output(
            {"n": sums.n}, {"sums": worker.keep(lambda path: save_tensors(path, tensors, record, kind="pass"))}
        )

    def cost(self, content: Mapping[str, Any]) -> float:
        """Samples shown to both networks."""
        return float(content["n"] / content["parts"])
