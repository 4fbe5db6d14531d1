"""The job `activations`: what a model computes at a cut, once for all the stitches that begin there."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.experiment.parts.base import Output, Part

if TYPE_CHECKING:
    from seamripper.activations import Activations
    from seamripper.experiment.worker import Worker


class ActivationsPart(Part):
    """Run a head over samples. Content: `model`, `cut`, `data` (a fingerprint), `n`, `threads`."""

    name: ClassVar[str] = "activations"
    asked_for: ClassVar[bool] = False
    helps: ClassVar[bool] = True
    rate: ClassVar[float] = 2e-4

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Run it, and keep the activations in one file."""
        activations = collect_for(worker, content["model"], content["cut"], content["data"])
        return Output({"n": len(activations)}, {"activations": worker.keep(activations.save)})

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """Samples shown to the network."""
        return float(content["n"])


def collect_for(worker: Worker, model: Mapping[str, str], cut: str, data: str) -> Activations:
    """The activations, computed here. Always in the same batches, so that they are the same wherever this is done."""
    from seamripper.activations import collect

    samples = worker.samples(data)
    activations = collect(worker.half(model, cut, samples), samples)
    # Without the names that things go by here: the same activations must be the same file.
    return dataclasses.replace(activations, made_from={"model": next(iter(model.values())), "data": data})
