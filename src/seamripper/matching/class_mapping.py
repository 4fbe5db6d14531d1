"""Class mapping: the stitch trained so that the receiver draws an image of the class that a sample is paired with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from seamripper._devices import widen
from seamripper._words import shape_text
from seamripper.activations.collect import activations_of
from seamripper.data.paired import Paired
from seamripper.errors import DataError, MatchError
from seamripper.matching.base import Findings, Matching, Problem, map_labels
from seamripper.matching.descent import descend, mean_loss
from seamripper.models.training import Training


@dataclass(frozen=True)
class ClassMapping(Matching):
    """Minimise the mean squared error between the receiver's answer, an image, and an image of the paired class.

    For two autoencoders of different data sets (Smith et al. 2025, section 6 and appendix B.3): a sample x of the
    sender's set has the label c, and y is drawn among the receiver's samples labelled `label_map[c]`, or c if there is
    no map. The mean image of the class has the least loss, which is why such images are blurred. y is drawn anew in
    each epoch, by the seed: the paper says that images are matched at random within a class, and not whether once. The
    training's defaults are the paper's, which gives no batch.

    The sender's set is the sender's side of the samples, `Paired(clothes, digits)`: each has its own labels, and rows
    need not belong together. Plain samples are both sets.

    >>> import seamripper as sr
    >>> images = sr.load_data("digits/digit", "train", n=64)
    >>> half = sr.split(sr.load("zoo:autoencoder?channels=3"), "encoder")
    >>> found = sr.match(half, half, images, matching="class_mapping?epochs=1")
    >>> found(images.batch(slice(0, 2))).shape
    torch.Size([2, 3, 28, 28])
    """

    name: ClassVar[str] = "class_mapping"
    paper = "Smith, Mannering, Marcu 2025, section 6"
    formula = "min mean (tail(stitch(head(x))) − y)²"
    holds_out: ClassVar[bool] = False

    training: Training = Training(optimiser="sgd", lr=1e-2, weight_decay=1e-2, epochs=20, batch=128)
    label_map: tuple[int, ...] | None = None

    def find(self, problem: Problem) -> Findings:
        """Train the layer through the receiver's tail."""
        receiver, fit = problem.receiver, problem.fit
        _require_images(problem)
        classes = self.classes_of(fit)
        draw, draws = draw_by_class(fit.receiver.labels), torch.Generator()
        sent = activations_of(problem.sender, fit.sender, watch=problem.watch)
        carry = problem.carrier(sent, sent.counting_tokens())

        def loss_of(index: Tensor) -> Tensor:
            images = fit.receiver.batch(draw(classes[index], draws))
            assert isinstance(images, Tensor)
            answer = receiver.tail(carry(index), receiver.beside(images))
            return F.mse_loss(widen(answer), widen(images))

        def loss_now() -> float:
            # The same images before and after, so that only the stitch makes the difference.
            draws.manual_seed(problem.seed)
            return mean_loss(problem.layer, loss_of, len(fit), self.training)

        return descend(problem, self.training, loss_of, loss_now, task="class mapping")

    def classes_of(self, pair: Paired) -> Tensor:
        """The class that each of the sender's samples is paired with; each has a sample of the receiver's."""
        theirs = pair.sender
        for samples in (theirs, pair.receiver):
            samples.require_one_label("class mapping")
        classes = map_labels(theirs, self.label_map)
        alone = ~torch.isin(classes, pair.labels)
        if bool(alone.any()):
            raise DataError(
                f"Class {int(theirs.labels[alone][0])} of {theirs.name} is paired with class {int(classes[alone][0])} "
                f"of {pair.name}, and there is no sample of that class here. Give a label_map, or more samples."
            )
        return classes


def draw_by_class(labels: Tensor) -> Callable[[Tensor, torch.Generator], Tensor]:
    """Gives for each of some classes the number of a sample with that label, drawn with replacement.

    >>> draw = draw_by_class(torch.tensor([1, 0, 1, 0, 2]))
    >>> draw(torch.tensor([2, 0, 1, 0]), torch.Generator().manual_seed(0))
    tensor([4, 1, 2, 3])
    """
    order, sizes = labels.argsort(stable=True), labels.bincount()
    starts = sizes.cumsum(0) - sizes

    def draw(classes: Tensor, generator: torch.Generator) -> Tensor:
        # Of so wide a range the remainders are as good as even.
        numbers = torch.randint(2**62, classes.shape, generator=generator) % sizes[classes]
        return order[starts[classes] + numbers]

    return draw


def _require_images(problem: Problem) -> None:
    """Refuse a receiver whose answer is not of the shape of its inputs: there is nothing to compare it with."""
    inputs = problem.fit.receiver.batch(slice(0, 2))
    with torch.no_grad():
        answer = problem.receiver.answer(inputs)
    if not isinstance(inputs, Tensor) or answer.shape != inputs.shape:
        raise MatchError(
            "The matching 'class_mapping' is for receivers that answer with images like those they are given, as "
            f"autoencoders do: this one is given {shape_text(problem.fit.receiver.shape)} and answers with "
            f"{shape_text(answer.shape[1:])}. Take 'embedding_mapping', which needs no answer, or 'task'."
        )
