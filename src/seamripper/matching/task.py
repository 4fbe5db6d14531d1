"""Task matching: the stitch trained through the frozen receiver to do the receiver's task."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from seamripper.activations.activations import Activations
from seamripper.activations.collect import activations_of, require_finite
from seamripper.cut.fast import Fast, fast, plain
from seamripper.cut.frozen import adapting
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import DataError, MatchError
from seamripper.matching.base import Findings, Matching, Problem, map_labels
from seamripper.matching.descent import divergence, ending, falling, mean_loss, train_layer
from seamripper.matching.direct import Init, initialise
from seamripper.matching.padding import mask_for
from seamripper.models.running import use_layout
from seamripper.models.training import Training
from seamripper.stitches.base import LinearLayer
from seamripper.stitches.linear import PositionwiseLayer

_Loss = Callable[[Tensor, Tensor], Tensor]
_WHERE = {"memory": "in memory", "disk": "on disk"}


@dataclass(frozen=True)
class Task(Matching):
    """Train only the stitch, by gradients through the frozen tail, on labelled samples (Bansal 2021; all four papers).

    The sender's activations are computed once and reused over all epochs, in memory or on disk by size; with
    augmentation (`flip_crop`) they cannot be, and the head runs at each step. `label_map[i]` is the class that samples
    labelled i are to be given (a shift of classes, say). `optimise` lets the tail be computed faster: the result says
    how, and the stitched network itself always uses the plain tail.

    From an `init` that is not random the result is never worse on the training loss (L1 included) than where it
    started: if training raised the loss, the start is kept, and the status says so.
    """

    name: ClassVar[str] = "task"
    holds_out: ClassVar[bool] = False

    training: Training = Training()
    init: Init = "random"
    loss: Literal["cross_entropy", "bce"] = "cross_entropy"
    label_map: tuple[int, ...] | None = None
    augment: Literal["none", "flip_crop"] = "none"
    optimise: bool = True

    def find(self, problem: Problem) -> Findings:
        """Train the layer."""
        samples = problem.fit.receiver
        labels = right_classes(self, samples)
        require_classes(labels, problem.receiver.answer(samples.batch(slice(0, 2))), samples.name)
        initialise(problem, self.init)
        if self.augment == "none" and problem.freeze == "all":
            return self._find_on_kept_activations(problem, labels)
        return self._find_running_the_head(problem, labels)

    def _find_on_kept_activations(self, problem: Problem, labels: Tensor) -> Findings:
        tail = fast(problem.receiver) if self.optimise else plain(problem.receiver)
        sent = activations_of(problem.sender, problem.fit, beside=problem.receiver, watch=problem.watch)
        answers, steps = _answers_of(problem, sent, tail, batch=self.training.batch)
        loss_fn = self._loss_fn()

        def loss_of(index: Tensor) -> Tensor:
            return loss_fn(answers(index), labels[index])

        figures = {"tail": ", ".join((str(tail), *steps)), "activations": f"computed once, {_WHERE[sent.kept]}"}
        return self._train(problem, loss_of, figures)

    def _find_running_the_head(self, problem: Problem, labels: Tensor) -> Findings:
        sender, receiver, samples = problem.sender, problem.receiver, problem.fit
        loss_fn = self._loss_fn()
        draws = torch.Generator()

        def loss_of(index: Tensor) -> Tensor:
            given = self._augment(samples.sender.batch(index), draws)
            inputs = given if samples.same else samples.receiver.batch(index)
            with torch.no_grad():
                sent = sender.head(given)
            require_finite(sent, sender.cut.name, samples.ids[index])
            mask = mask_for(problem.layer, sender.cut, receiver.cut, sent, (given, inputs))
            stitched = problem.layer.carry(sent, mask)
            return loss_fn(receiver.tail(stitched, receiver.beside(inputs)), labels[index])

        why = "BN statistics adapt" if problem.freeze == "weights" else "inputs are augmented"
        figures = {"tail": "plain", "activations": f"computed at each step ({why})"}

        def trial() -> None:
            with torch.no_grad():
                loss_of(torch.arange(2))

        with use_layout(sender.model.module, receiver.model.module, trial=trial):
            return self._train(problem, loss_of, figures, draws)

    def _train(
        self,
        problem: Problem,
        loss_of: Callable[[Tensor], Tensor],
        figures: dict[str, Any],
        draws: torch.Generator | None = None,
    ) -> Findings:
        """Train the layer; from a start that was chosen, never to a worse end."""
        adapt = problem.freeze == "weights"
        models = (problem.sender.model.module, problem.receiver.model.module) if adapt else ()
        changing = (problem.layer, *models)
        first = [copy.deepcopy(module.state_dict()) for module in changing]

        def loss_now() -> float:
            if draws is not None:
                # The same augmentation before and after, so that only the stitch makes the difference.
                draws.manual_seed(problem.seed)
            return mean_loss(problem.layer, loss_of, len(problem.fit), self.training)

        shown: list[float] = []

        def loss_and_note(index: Tensor) -> Tensor:
            loss = loss_of(index)
            shown.append(float(loss.detach()))
            return loss

        start = loss_now()
        with adapting(*models):
            losses = train_layer(
                problem.layer,
                loss_and_note,
                len(problem.fit),
                self.training,
                seed=problem.seed,
                task="task matching",
                watch=problem.watch,
            )
        end = loss_now()
        # A stitch that starts where nothing is left to learn may well end a little worse.
        status = ending(start, end, lr=self.training.lr) if len(losses) and self.init == "random" else "ok"
        if self.init != "random" and not end <= start:
            for module, state in zip(changing, first, strict=True):
                module.load_state_dict(state)
            status = f"kept the {self.init} start: training did not lower the loss ({start:.4g} → {end:.4g})"
            end = start
        if not math.isfinite(end):
            steps = len(losses)
            raise divergence(f"The loss over all samples is {end}", step=steps, total=steps, lr=self.training.lr)
        # Of the data alone: what is added for the size of the weights falls on when nothing more is learnt.
        record = {"loss_start": start, "loss_end": end, "falling": falling(shown), **figures}
        return Findings(status, record, {"loss": losses})

    def _loss_fn(self) -> _Loss:
        if self.loss == "cross_entropy":
            return F.cross_entropy
        return lambda answer, labels: F.binary_cross_entropy_with_logits(
            answer, F.one_hot(labels, answer.shape[1]).to(answer)
        )

    def _augment(self, inputs: Inputs, generator: torch.Generator) -> Inputs:
        if self.augment == "none":
            return inputs
        if not isinstance(inputs, Tensor) or inputs.dim() != 4:
            raise MatchError("The augmentation 'flip_crop' is for images. Use augment='none'.")
        return flip_crop(inputs, generator=generator)


def right_classes(matching: Matching, samples: Samples | Paired) -> Tensor:
    """The classes that count as right: the samples' labels, through the label map that a stitch was trained by."""
    return map_labels(samples, matching.label_map if isinstance(matching, Task) else None)


def require_classes(labels: Tensor, answer: Tensor, name: str) -> None:
    """Refuse labels that the receiver has no class for."""
    if answer.dim() != 2:
        raise DataError(
            f"Expected the receiver to answer with a score for each class, but its answer has shape "
            f"{tuple(answer.shape[1:])} per sample, so there is no accuracy. 'direct' and 'regression' match without "
            "labels."
        )
    if int(labels.max()) >= answer.shape[1] or int(labels.min()) < 0:
        raise DataError(
            f"The labels of {name} go from {int(labels.min())} to {int(labels.max())}, but the receiver has "
            f"{answer.shape[1]} classes (0 … {answer.shape[1] - 1}). Give a label_map, or other data."
        )


def _answers_of(
    problem: Problem, sent: Activations, tail: Fast, *, batch: int
) -> tuple[Callable[[Tensor], Tensor], tuple[str, ...]]:
    """Gives the stitched network's answers from kept activations, cheaply, and says what was done for that."""
    layer, inputs = problem.layer, (problem.fit.sender.inputs, problem.fit.receiver.inputs)
    mask = mask_for(layer, problem.sender.cut, problem.receiver.cut, sent.values, inputs)
    if not (tail.pools_first and isinstance(layer, LinearLayer) and layer.pointwise):
        carry = problem.carrier(sent, mask)
        return lambda i: tail.tail(carry(i), sent.beside(i) if sent.context else None), ()
    # One map at every position commutes with the average that the tail begins with: average first, once.
    pooled = sent.values.mean((2, 3), keepdim=True)
    readout = tail.readout
    if readout is None or readout.out_features > batch or not isinstance(layer, PositionwiseLayer):
        return lambda i: tail.tail(layer(pooled[i])), ("averages kept",)
    vectors, linear = pooled.flatten(1), layer.linear

    def answers(index: Tensor) -> Tensor:
        # V (W x + b) + c as (V W) x + (V b + c): cheaper while there are fewer classes than samples in a batch.
        weight = readout.weight @ linear.weight
        added: Tensor | None = readout.bias
        if linear.bias is not None:
            added = F.linear(linear.bias, readout.weight, readout.bias)
        return F.linear(vectors[index], weight, added)

    return answers, ("averages kept", "stitch and tail multiplied")


def flip_crop(images: Tensor, *, padding: int = 4, generator: torch.Generator) -> Tensor:
    """Each image flipped left to right with probability 1/2, padded with zeros and cropped at a random place.

    As Balogh & Jelasity 2025 train on CIFAR-10.

    >>> images = torch.arange(9.0).reshape(1, 1, 3, 3)
    >>> flip_crop(images, padding=0, generator=torch.Generator().manual_seed(0))[0, 0, 0]
    tensor([2., 1., 0.])
    """
    n, c, h, w = images.shape
    flips = torch.rand(n, generator=generator) < 0.5
    images = torch.where(flips[:, None, None, None], images.flip(3), images)
    padded = F.pad(images, [padding] * 4)
    corner = torch.randint(0, 2 * padding + 1, (n, 2), generator=generator)
    rows = corner[:, :1] + torch.arange(h)
    columns = corner[:, 1:] + torch.arange(w)
    return padded[
        torch.arange(n)[:, None, None, None],
        torch.arange(c)[None, :, None, None],
        rows[:, None, :, None],
        columns[:, None, None, :],
    ]
