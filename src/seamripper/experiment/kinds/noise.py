"""The job `noise`: clustered noise in the place of a sender, and no image anywhere (Smith et al. 2025, 4.2 and 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.errors import ExperimentError
from seamripper.experiment.kinds._ranks import rank_rows, ranks_of
from seamripper.experiment.kinds.base import Kind, Output, Row, course, figure, plain

if TYPE_CHECKING:
    from seamripper.cut import Split
    from seamripper.data import Paired, Samples
    from seamripper.experiment.worker import Worker
    from seamripper.matching import Match


@dataclass(frozen=True)
class Noise(Kind):
    """A stitch from noise, a cluster a class, into a receiver; scored on other noise of the same clusters.

    The noise has the shape of the receiver's cut and knows the label alone. As no image is needed, receivers of 1000
    classes can be tried of which no image is at hand; so there is no accuracy of the receiver beside it.

    Content: `receiver`, `receiver_cut`, `input` (the shape of one input of the receiver), `radius`, `classes`,
    `per_class`, `per_class_test`, `stitch`, `matching`, `freeze`, `seed`, `rank`, `threads`.
    """

    name: ClassVar[str] = "noise"
    rate: ClassVar[float] = 3e-4

    def run(self, content: Mapping[str, Any], worker: Worker) -> Output:
        """Draw, match and score."""
        from seamripper.controls.stand_in import AsTheyAre, stand_in
        from seamripper.matching import match, matchings

        receiver = worker.half(content["receiver"], content["receiver_cut"], _blank(content["input"], 2))
        fit, test = (_drawn(content, receiver, split) for split in ("train", "test"))
        noise = fit.sender
        found = match(
            stand_in(AsTheyAre(), noise.batch(slice(0, 2)), noise.source),
            receiver,
            fit,
            stitch=content["stitch"],
            matching=matchings.from_record(content["matching"]),
            freeze=content["freeze"],
            seed=content["seed"],
        )
        record = {"status": found.status, "figures": plain(dict(found.figures)), **_scores(found, test)}
        if content["rank"]:
            record |= plain(ranks_of(found, test, native=False))
        return Output(record)

    def cost(self, content: Mapping[str, Any]) -> float:
        """Samples shown to the tail, forwards and backwards."""
        epochs = content["matching"].get("training", {}).get("epochs", 1)
        return float(content["classes"] * (content["per_class"] * (1 + epochs) + content["per_class_test"]))

    def rows(self, record: Mapping[str, Any]) -> Iterator[Row]:
        """Accuracies, and ranks where they were asked for."""
        for name in ("top1", "top5"):
            yield from figure(name, record[name], status=record["status"])
        yield from rank_rows(record)
        yield from course(record)


def require_noise_way(word: str, matching: Mapping[str, Any]) -> None:
    """Refuse a matching that goes by the receiver's own activations: without an image it has none.

    >>> require_noise_way("fast", {"name": "task", "init": "random"})
    """
    if matching["name"] != "task" or matching["init"] == "direct":
        raise ExperimentError(
            f"The matching {word!r} goes by what the receiver makes of images, and in a [[noise]] there are none: take "
            "'task', from init = 'random' or 'identity'."
        )


def _blank(shape: list[int], n: int, classes: int = 2) -> Samples:
    """Images of zeros: what stands where a receiver would be shown something."""
    import torch

    from seamripper.data import Samples

    inputs = torch.zeros(1, *shape, dtype=torch.uint8).expand(n, *shape)
    return Samples("blank", inputs, torch.arange(n) % classes, torch.arange(n), classes)


def _drawn(content: Mapping[str, Any], receiver: Split, split: str) -> Paired:
    from seamripper.data import Paired, clustered_noise

    each = content["per_class" if split == "train" else "per_class_test"]
    noise = clustered_noise(
        receiver.cut.shape,
        classes=content["classes"],
        radius=content["radius"],
        per_class=each,
        seed=content["seed"],
        split=split,
    )
    blank = _blank(content["input"], len(noise), content["classes"])
    return Paired(noise, replace(blank, name=noise.name, labels=noise.labels, ids=noise.ids))


def _scores(found: Match, test: Paired) -> dict[str, Any]:
    """Top-1 and top-5 accuracy with Wilson's intervals; no top-5 among five classes or fewer."""
    import torch

    from seamripper.activations.collect import require_finite
    from seamripper.cut.frozen import seal
    from seamripper.estimate import proportion
    from seamripper.matching import Task

    wanted = found.matching.wanted(test) if isinstance(found.matching, Task) else test.labels
    with torch.no_grad(), seal(found.models):
        answers = torch.cat([found.answer(inputs, given) for given, inputs in test.batches(512)])
    require_finite(answers, "the end of the stitched network", test.ids)
    best = answers.topk(min(5, answers.shape[1])).indices == wanted[:, None]
    top1 = proportion(int(best[:, 0].sum()), len(test)).as_record()
    top5 = proportion(int(best.any(1).sum()), len(test)).as_record() if answers.shape[1] > 5 else None
    return {"top1": top1, "top5": top5}
