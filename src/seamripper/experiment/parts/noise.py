"""[[noise]]: clustered noise in the place of a sender, and no image anywhere (Smith et al. 2025, 4.2 and 5.2)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from seamripper._files import plain
from seamripper.errors import ExperimentError
from seamripper.experiment.expansion import at_rate, require_rates
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import (
    Output,
    Part,
    Row,
    figure_row,
    loss_rows,
    match_for,
    rank_rows,
    training_cost,
)
from seamripper.experiment.tables import Count, Joining, Some, Study

if TYPE_CHECKING:
    from torch import Tensor

    from seamripper.cut import Split
    from seamripper.data import Paired, Samples
    from seamripper.estimate import Estimate
    from seamripper.experiment.expansion import Expansion, Net
    from seamripper.experiment.worker import Worker
    from seamripper.matching import Match


class NoisePart(Joining, Part):
    """Stitches from clustered noise, for every receiver, radius and number of classes; no data is needed.

    The noise has the shape of the receiver's cut, one cluster per class, and knows the label alone; it is scored on
    other noise of the same clusters. As no image is needed, receivers of 1000 classes can be tried without any, so
    that there is no accuracy of the receiver beside it. `classes` are clusters; by default as many as the receiver has
    classes. `per_class` samples of each are fitted on, and `per_class_test` scored. `input` is the shape of one input
    of the receiver: by default the one it was made for.
    """

    name: ClassVar[str] = "noise"
    rate: ClassVar[float] = 3e-4

    receivers: Some
    radius: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=1)] = (0.1,)
    classes: tuple[Annotated[int, Field(ge=2)], ...] = ()
    per_class: Count = 6000
    per_class_test: Count = 1000
    input: tuple[Count, ...] = ()
    rank: bool = False

    def size(self, study: Study) -> int:
        """One job for each receiver, radius, number of classes and way."""
        receivers = sum(len(study.network(word)[1]) for word in self.receivers)
        return receivers * self.ways * len(self.radius) * max(1, len(self.classes))

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """One job for each receiver, cut, radius, number of classes and way."""
        for word in self.matchings:
            require_no_images(word, expansion.matching(word)[0])
        ways = expansion.ways(self, "a [[noise]]")
        require_rates(self, self.cuts)
        for receiver in (net for word in self.receivers for net in expansion.nets(word)):
            shape, known = self._made_for(expansion, receiver)
            expansion.identities.require_cuts(receiver.cuts_decided_by, receiver.spec, self.cuts, shape)
            grid = itertools.product(self.cuts, self.radius, self.classes or (known,), ways)
            for cut, radius, classes, (way, words, files) in grid:
                if classes > known:
                    raise ExperimentError(
                        f"Expected `classes` of a [[noise]] to be at most {known}, as many as {receiver.name!r} can "
                        f"name, but got {classes}."
                    )
                point = {"receiver_cut": cut, "radius": radius, "classes": classes}
                content = {
                    "receiver": receiver.ref,
                    **point,
                    "input": shape,
                    "per_class": self.per_class,
                    "per_class_test": self.per_class_test,
                    **at_rate(self.rates.get(cut), way),
                    "rank": self.rank,
                    "threads": expansion.experiment.threads,
                }
                who = {"sender": "clustered noise", "receiver": receiver.name, "receiver_seed": receiver.seed}
                labels = {**who, **point, **words}
                yield Job("noise", content, labels, receiver.needs, {**receiver.where, **files})

    def _made_for(self, expansion: Expansion, net: Net) -> tuple[list[int], int]:
        """The shape of one input of a network, and how many classes it has."""
        if net.data is not None and not self.input:
            shape = expansion.data_set(net.data, "test", None).shape
        else:
            shape = list(self.input) or expansion.identities.made_for(net.spec)["input"]
        if not shape:
            raise ExperimentError(f"Expected a [[noise]] to have `input`, as {net.name!r} takes inputs of any shape.")
        return shape, expansion.identities.classes(net.cuts_decided_by, net.spec, shape)

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Draw, match and score."""
        from seamripper.audits import ranks_behind
        from seamripper.controls import AsTheyAre, stand_in

        receiver = worker.half(content["receiver"], content["receiver_cut"], _blank(content["input"], 2))
        fit, test = (_noise(content, receiver, split) for split in ("train", "test"))
        sender = stand_in(AsTheyAre(), fit.sender.batch(slice(0, 2)), fit.sender.source)
        stitched = match_for(worker, content, sender, receiver, fit)
        record = {"status": stitched.status, "figures": plain(dict(stitched.figures)), **_scores(stitched, test)}
        if content["rank"]:
            record |= plain(ranks_behind(stitched, test, native=False))
        return Output(record)

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """Samples shown to the tail, forwards and backwards."""
        classes = content["classes"]
        return training_cost(content, classes * content["per_class"], classes * content["per_class_test"])

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """Accuracies, and ranks where they were asked for."""
        for name in ("top1", "top5"):
            yield from figure_row(name, record[name], status=record["status"])
        yield from rank_rows(record)
        yield from loss_rows(record)


def require_no_images(word: str, matching: Mapping[str, Any]) -> None:
    """Refuse a matching that uses the receiver's own activations: without an image it has none.

    >>> require_no_images("fast", {"name": "task", "init": "random"})
    """
    if matching["name"] != "task" or matching["init"] == "direct":
        raise ExperimentError(
            f"The matching {word!r} depends on what the receiver makes of images, and a [[noise]] has none: take "
            "'task', with init = 'random' or 'identity'."
        )


def _blank(shape: list[int], n: int, classes: int = 2) -> Samples:
    """Images of zeros, which stand where a receiver would be shown something."""
    import torch

    from seamripper.data import Samples

    inputs = torch.zeros(1, *shape, dtype=torch.uint8).expand(n, *shape)
    return Samples("blank", inputs, torch.arange(n) % classes, torch.arange(n), classes)


def _noise(content: Mapping[str, Any], receiver: Split, split: str) -> Paired:
    from seamripper.data import Paired, clustered_noise

    per_class = content["per_class" if split == "train" else "per_class_test"]
    noise = clustered_noise(
        receiver.cut.shape,
        classes=content["classes"],
        radius=content["radius"],
        per_class=per_class,
        seed=content["seed"],
        split=split,
    )
    blank = _blank(content["input"], len(noise), content["classes"])
    return Paired(noise, replace(blank, name=noise.name, labels=noise.labels, ids=noise.ids))


def _scores(stitched: Match, test: Paired) -> dict[str, Any]:
    """Top-1 and top-5 accuracy; no top-5 among five classes or fewer.

    The samples of one cluster are nearly the same, so the clusters are the units of the intervals.
    """
    from seamripper.cut import seal
    from seamripper.matching import right_classes, stitched_answers

    wanted = right_classes(stitched.matching, test)
    with seal(stitched.models):
        answers = stitched_answers(stitched, test, batch=512)
    best = answers.topk(min(5, answers.shape[1])).indices == wanted[:, None]
    top1 = over_clusters(best[:, 0], wanted).as_record()
    top5 = over_clusters(best.any(1), wanted).as_record() if answers.shape[1] > 5 else None
    return {"top1": top1, "top5": top5}


def over_clusters(hits: Tensor, clusters: Tensor) -> Estimate:
    """The share of hits, with the interval of a jackknife over clusters; Wilson's where each has one sample.

    >>> import torch
    >>> print(over_clusters(torch.tensor([True] * 6 + [False] * 2), torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])))
    0.750 [0.000, 1.000]
    """
    import torch

    from seamripper.estimate import jackknife, proportion

    counts = torch.bincount(clusters)
    counts, right = counts[counts > 0], torch.bincount(clusters, weights=hits.double())[counts > 0]
    if len(counts) == len(hits):
        return proportion(int(hits.sum()), len(hits))
    return jackknife(lambda a, b: a / b, right.tolist(), counts.tolist(), within=(0, 1), unit="clusters")
