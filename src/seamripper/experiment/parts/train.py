"""The job `train`: a network of the zoo, from samples and a seed. It has no table: `[models.NAME]` asks for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.experiment.parts.base import Output, Part, Row, figure_row

if TYPE_CHECKING:
    from seamripper.experiment.worker import Worker

_CIRCUMSTANCES = ("seconds", "versions")
"""What a training's record says of the day, not of the weights."""


class TrainPart(Part):
    """Train an architecture on samples; a training that was killed continues after its last complete epoch.

    Content: `architecture`, `training`, `seed`, `data` and `test` (fingerprints), `n`, `threads`. The tensor `model` is
    a checkpoint that `seamripper.load` reads.
    """

    name: ClassVar[str] = "train"
    asked_for: ClassVar[bool] = False
    rate: ClassVar[float] = 1e-3

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Train, and score on the test split of the same data."""
        from seamripper.estimate import proportion
        from seamripper.models import Architecture, Training, predict, save_checkpoint, train

        architecture = Architecture.parse(content["architecture"])
        samples, test = worker.samples(content["data"]), worker.samples(content["test"])
        out = worker.work(worker.key) / "model.safetensors"
        training = Training(**content["training"])
        model = train(architecture, samples, training=training, seed=content["seed"], device=worker.device, out=out)
        # The same weights must be the same file, whenever and wherever they were made.
        record = {name: value for name, value in model.record.items() if name not in _CIRCUMSTANCES}
        model = dataclasses.replace(model, record=record)
        name = worker.keep(lambda path: save_checkpoint(model, path))
        accuracy = None
        if not architecture.reconstructs:
            hits = int((predict(model.module, test).argmax(1) == test.labels).sum())
            accuracy = proportion(hits, len(test)).as_record()
        return Output(
            {"accuracy": accuracy, "losses": record["losses"], "weights": model.fingerprint, "n": len(samples)},
            {"model": name},
        )

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """Samples shown to the network."""
        training = content["training"]
        return float(content["n"] * training.get("stop", training["epochs"]))

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """The accuracy on the test split, and the last loss."""
        yield from figure_row("accuracy", record["accuracy"])
        yield from figure_row("loss", {"value": record["losses"][-1], "interval": None, "n": record["n"]})
