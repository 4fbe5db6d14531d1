"""The job `activations`: what a model shows at a cut, once for all the stitches that begin there."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.experiment.kinds.base import Kind, Output

if TYPE_CHECKING:
    from seamripper.activations import Activations
    from seamripper.experiment.worker import Worker


@dataclasses.dataclass(frozen=True)
class Activating(Kind):
    """Run a head over samples. Content: `model`, `cut`, `data` (a fingerprint), `n`, `threads`."""

    name: ClassVar[str] = "activations"
    helps: ClassVar[bool] = True
    rate: ClassVar[float] = 2e-4

    def run(self, content: Mapping[str, Any], worker: Worker) -> Output:
        """Run it, and keep what it shows in one file."""
        found = shown(content["model"], content["cut"], content["data"], worker)
        return Output({"n": len(found)}, {"activations": worker.keep(found.save)})

    def cost(self, content: Mapping[str, Any]) -> float:
        """Samples shown to the network."""
        return float(content["n"])


def shown(model: Mapping[str, str], cut: str, data: str, worker: Worker) -> Activations:
    """The activations, computed here. Always in the same batches, so that they are the same wherever this is done."""
    from seamripper.activations import collect

    samples = worker.samples(data)
    found = collect(worker.half(model, cut, samples), samples)
    # Without the names that things go by here: the same activations must be the same file.
    return dataclasses.replace(found, made_from={"model": next(iter(model.values())), "data": data})
