"""Task matching: the stitch trained through the frozen receiver to do the receiver's task."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper._devices import move, wide, widen
from seamripper.activations.activations import Activations
from seamripper.activations.collect import activations_of, require_finite
from seamripper.cut.fast import TOLERANCE, Fast, fast, gap, plain
from seamripper.cut.frozen import adapting
from seamripper.cut.halves import Context
from seamripper.cut.on_data import views_of
from seamripper.cut.split import Split
from seamripper.data.paired import Paired
from seamripper.data.samples import UNASKED, Inputs, Samples
from seamripper.errors import DataError, MatchError
from seamripper.matching.base import Findings, Matching, Problem, map_labels
from seamripper.matching.descent import (
    Losses,
    alone,
    divergence,
    ending,
    falling,
    is_at_rest,
    mean_losses,
    train_layers,
)
from seamripper.matching.direct import Init, initialise
from seamripper.matching.padding import mask_for
from seamripper.matching.parts import losses_in_parts, part_of
from seamripper.matching.rates import RateTrials, train_by
from seamripper.models.running import use_layout
from seamripper.models.targets import (
    asks_next_token,
    looks_ahead,
    predicts_next_token,
    require_causal,
    rows_asked,
    targets_for,
)
from seamripper.models.training import Training
from seamripper.stitches.base import LinearLayer
from seamripper.stitches.linear import PositionwiseLayer

_Loss = Callable[[Tensor, Tensor], Tensor]
_WHERE = {"memory": "in memory", "disk": "on disk"}
_FEW = 8
"""Samples on which a tail is seen to treat each stitch as it does alone."""
_KEPT = "kept the"
"""The first words of the status of a stitch that is where it started."""


@dataclass(frozen=True, eq=False)
class Start:
    """A problem whose training may begin: the classes that count as right, and the sender's activations."""

    problem: Problem
    labels: Tensor
    sent: Activations


@dataclass(frozen=True)
class Task(Matching):
    """Train only the stitch, by gradients through the frozen tail, on labelled samples (Bansal 2021; all four papers).

    The sender's activations are computed once and reused over all epochs, in memory or on disk by size; with
    augmentation (`flip_crop`) they cannot be, and the head runs at each step. `label_map[i]` is the class that samples
    labelled i are to be given (a shift of classes, say). `optimise` lets the tail be computed faster: the result says
    how, and the stitched network itself always uses the plain tail.

    From an `init` that is not random the result is never worse on the training loss (L1 included) than where it
    started: if training raised the loss, the start is kept, and the status says so.

    `rates` are learning rates to choose from. Each is tried for a quarter of the epochs on four fifths of the samples;
    the one with the least loss on the other fifth then trains the stitch on all of them, from where it started.
    """

    name: ClassVar[str] = "task"
    paper = "Bansal, Nakkiran, Barak 2021"
    formula = "min mean −log softmax(tail(stitch(head(x))))[label]"
    holds_out: ClassVar[bool] = False

    training: Training = Training()
    init: Init = "random"
    loss: Literal["cross_entropy", "bce"] = "cross_entropy"
    label_map: tuple[int, ...] | None = None
    augment: Literal["none", "flip_crop"] = "none"
    optimise: bool = True
    rates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(rate > 0 for rate in self.rates):
            raise MatchError(f"Expected rates of task to be learning rates above 0, but got {self.rates!r}.")

    def find(self, problem: Problem) -> Findings:
        """Train the layer."""
        if self.keeps_activations and problem.freeze == "all":
            (findings,) = self.train([self.start(problem)])
        else:
            findings = self._find_running_the_head(problem, self._begin(problem))
        if isinstance(findings, MatchError):
            raise findings
        return findings

    @property
    def keeps_activations(self) -> bool:
        """Whether the sender's activations are the same in every epoch, as no input is augmented."""
        return self.augment == "none"

    def _begin(self, problem: Problem) -> Tensor:
        """The targets of the samples, with the layer at its starting point."""
        right, _ = targets(self, problem.sender, problem.receiver, problem.fit)
        initialise(problem, self.init)
        return right

    def start(self, problem: Problem, *, memory: int | None = None) -> Start:
        """The problem with its layer at the starting point, and the sender's activations (see `collect`)."""
        labels = self._begin(problem)
        sent = activations_of(problem.sender, problem.fit, beside=problem.receiver, memory=memory, watch=problem.watch)
        return Start(problem, labels, sent)

    def train(self, starts: Sequence[Start]) -> list[Findings | MatchError]:
        """Train the layers of problems that have the receiver, its samples and the seed in common, in one batch.

        Each is trained as it is alone, and has the findings or the error that it has alone.
        """
        receiver, labels = starts[0].problem.receiver, starts[0].labels
        tail = fast(receiver) if self.optimise else plain(receiver)
        together = Together(starts, tail, self._loss_fn(labels), batch=self.training.batch)
        if not _independent(together, starts):
            return [findings for start in starts for findings in self.train([start])]
        figures = [
            {"tail": ", ".join((str(tail), *step)), "activations": f"computed once, {_WHERE[start.sent.kept]}"}
            for start, step in zip(starts, together.steps, strict=True)
        ]
        return self._train([start.problem for start in starts], together.losses, figures)

    def _find_running_the_head(self, problem: Problem, labels: Tensor) -> Findings | MatchError:
        sender, receiver, samples = problem.sender, problem.receiver, problem.fit
        loss_fn = self._loss_fn(labels)
        draws = torch.Generator()

        def loss_of(index: Tensor) -> Tensor:
            given = self._augment(samples.sender.batch(index), draws)
            inputs = given if samples.same else samples.receiver.batch(index)
            with torch.no_grad():
                sent = sender.head(given)
            require_finite(sent, sender.cut.name, samples.ids[index])
            mask = mask_for(problem.layer, sender.cut, receiver.cut, sent, (given, inputs))
            stitched = problem.layer.carry(sent, mask)
            answer = receiver.tail(stitched, receiver.beside(inputs))
            return loss_fn(widen(answer), move(labels[index], answer.device))

        why = "BN statistics adapt" if problem.freeze == "weights" else "inputs are augmented"
        figures = {"tail": "plain", "activations": f"computed at each step ({why})"}

        def trial() -> None:
            with torch.no_grad():
                loss_of(torch.arange(2))

        with use_layout(sender.model.module, receiver.model.module, trial=trial):
            (findings,) = self._train([problem], alone(loss_of), [figures], draws)
        return findings

    def _train(
        self,
        problems: Sequence[Problem],
        losses_of: Losses,
        figures: Sequence[dict[str, Any]],
        draws: torch.Generator | None = None,
    ) -> list[Findings | MatchError]:
        """Train the layers; from a start that was chosen, never to a worse end."""
        first, layers = problems[0], [problem.layer for problem in problems]
        # Statistics adapt of one sender and one receiver alone.
        models = (first.sender.model.module, first.receiver.model.module) if first.freeze == "weights" else ()
        before = [[copy.deepcopy(module.state_dict()) for module in (layer, *models)] for layer in layers]

        def losses_now(which: Iterable[int]) -> dict[int, float]:
            if draws is not None:
                # The same augmentation before and after, so that only the stitch makes the difference.
                draws.manual_seed(first.seed)
            return mean_losses({k: layers[k] for k in which}, losses_of, len(first.fit), self.training)

        shown: list[list[float]] = [[] for _ in layers]

        def losses_and_note(index: Tensor, which: Sequence[int]) -> Sequence[Tensor]:
            losses = losses_of(index, which)
            for k, loss in zip(which, losses, strict=True):
                shown[k].append(float(loss.detach()))
            return losses

        def restore(which: Iterable[int] = range(len(layers))) -> None:
            for k in which:
                for module, state in zip((layers[k], *models), before[k], strict=True):
                    module.load_state_dict(state)

        def train(some: Sequence[nn.Module], losses: Losses, rate: float) -> Sequence[Tensor | MatchError]:
            training = replace(self.training, lr=rate)
            return train_layers(
                some, losses, len(first.fit), training, seed=first.seed, task="task matching", watch=first.watch
            )

        start = losses_now(range(len(layers)))
        with adapting(*models):
            trials = RateTrials(layers, losses_of, len(first.fit), self.training, restore, first.seed, first.watch)
            tried = trials.losses(self.rates) if self.rates else [{self.training.lr: 0.0} for _ in layers]
            rates = [min(losses, key=losses.__getitem__) for losses in tried]
            outcomes = train_by(rates, layers, losses_and_note, train)
        trained = {k: losses for k, losses in enumerate(outcomes) if isinstance(losses, Tensor)}
        end = losses_now(trained) if trained else {}
        findings: dict[int, Findings | MatchError]
        findings = {k: error for k, error in enumerate(outcomes) if isinstance(error, MatchError)}
        for k, losses in trained.items():
            chosen = replace(self, training=replace(self.training, lr=rates[k]))
            status, last = chosen._ending(start[k], end[k], len(losses))
            if status.startswith(_KEPT):
                restore([k])
            known = {"lr": rates[k], "lr_losses": {f"{rate:g}": loss for rate, loss in tried[k].items()}}
            record = {**figures[k], **(known if self.rates else {})}
            findings[k] = chosen._findings(status, (start[k], last), losses, shown[k], record)
        return [findings[k] for k in range(len(layers))]

    def _ending(self, start: float, end: float, steps: int) -> tuple[str, float]:
        """The status of a stitch by its loss before and after, and the loss of the stitch that is kept."""
        if self.init != "random":
            if end <= start:
                return "ok", end
            return f"{_KEPT} {self.init} start: training did not lower the loss ({start:.4g} → {end:.4g})", start
        # A stitch that starts where nothing is left to learn may well end a little worse.
        return (ending(start, end, lr=self.training.lr) if steps else "ok"), end

    def _findings(
        self, status: str, ends: tuple[float, float], losses: Tensor, shown: list[float], figures: dict[str, Any]
    ) -> Findings | MatchError:
        """What is said of a stitch that was trained: its loss over all samples at both ends, and step by step."""
        start, end = ends
        if not math.isfinite(end):
            steps = len(losses)
            return divergence(f"The loss over all samples is {end}", step=steps, total=steps, lr=self.training.lr)
        # Of the data alone: what is added for the size of the weights falls on when nothing more is learnt.
        horizon = self.training.rest
        fall = 0.0 if horizon and is_at_rest(losses.tolist(), horizon) else falling(shown)
        record = {"loss_start": start, "loss_end": end, "falling": fall, **figures}
        return Findings(status, record, {"loss": losses})

    def _loss_fn(self, targets: Tensor) -> _Loss:
        """The loss of answers to some of the samples, which all together have these targets: the mean over rows."""
        mean: _Loss = F.cross_entropy if self.loss == "cross_entropy" else _binary_cross_entropy
        if targets.dim() == 1:
            return mean
        rows_per_text = float((targets != UNASKED).sum()) / len(targets)

        def loss(answers: Tensor, right: Tensor) -> Tensor:
            rows, tokens = rows_asked(answers, right)
            # Batches count by their texts: weighed so, the mean over batches is the mean over all tokens.
            weight = len(rows) / (len(right) * rows_per_text)
            return weight * mean(rows, tokens) if weight else answers.sum() * 0

        return loss

    def _augment(self, inputs: Inputs, generator: torch.Generator) -> Inputs:
        if self.augment == "none":
            return inputs
        if not isinstance(inputs, Tensor) or inputs.dim() != 4:
            raise MatchError("The augmentation 'flip_crop' is for images. Use augment='none'.")
        return flip_crop(inputs, generator=generator)


def _binary_cross_entropy(answers: Tensor, labels: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(answers, F.one_hot(labels, answers.shape[1]).to(answers))


def right_classes(matching: Matching, samples: Samples | Paired) -> Tensor:
    """The classes that count as right: the samples' labels, through the label map that a stitch was trained by."""
    return map_labels(samples, matching.label_map if isinstance(matching, Task) else None)


def targets_by(matching: Matching, answer: Tensor, samples: Samples | Paired) -> Tensor:
    """The targets of samples for a network that gives such an `answer`; if they are labels, through the label map."""
    shown = samples if isinstance(samples, Samples) else samples.receiver
    # The next token needs no label.
    labelled = answer.dim() == 2 or shown.per_token
    return targets_for(answer, shown, right_classes(matching, samples) if labelled else None)


def targets(
    matching: Matching, sender: Split, receiver: Split, samples: Paired, *, optional: bool = False
) -> tuple[Tensor, Tensor]:
    """What counts as right for the stitched network and what for the receiver, for each sample or each of its tokens.

    They differ only where a label map was trained by. A language model whose sender sees the next token is refused. If
    labels are `optional`, samples without any have -1, which is never right, and no token needs to have one.
    """
    views = views_of(samples, sender, receiver)
    shown = views.receiver
    with torch.no_grad():
        answer = receiver.answer(shown.batch(slice(0, 2)))
    if optional and answer.dim() == 2 and not shown.labelled:
        return shown.labels, shown.labels
    right = targets_by(matching, answer, shown)
    if not optional and not bool((right != UNASKED).any()):
        raise DataError(f"No token of {shown.name} has a label, so there is nothing that this matching can learn.")
    if predicts_next_token(answer, shown):
        require_causal(receiver.answer, shown, f"The receiver ({receiver.model.source})")
        if samples.same:
            _require_causal_sender(sender, views.sender)
    return right, right if asks_next_token(answer, shown) else targets_for(answer, shown)


def _require_causal_sender(sender: Split, samples: Samples) -> None:
    if looks_ahead(sender.head, samples):
        raise MatchError(
            f"The sender ({sender.model.source}) looks at later tokens before {sender.cut.name!r}, so the stitched "
            "network would see the next token, which it is to predict. Take a sender that is causal as the receiver is."
        )


class Together:
    """Several stitches in front of one tail, which all go through it in one batch, or in parts that fit."""

    def __init__(self, starts: Sequence[Start], tail: Fast, loss_fn: _Loss, *, batch: int) -> None:
        self._tail, self._loss_fn, self._labels = tail.tail, loss_fn, starts[0].labels
        self._context = starts[0].sent.beside
        self._shortcuts = [_shortcut(start, tail, batch=batch) for start in starts]
        self._carriers = [
            None if shortcut else _carrier(start) for start, shortcut in zip(starts, self._shortcuts, strict=True)
        ]
        self.steps = [() if shortcut is None else shortcut[1] for shortcut in self._shortcuts]
        """What was done for each, to be faster."""
        self._part: int | None = None

    def answers(self, index: Tensor, which: Sequence[int]) -> list[Tensor]:
        """The answers of each of these stitched networks to these samples."""
        known, carried = self._begin(index, which)
        if carried:
            rows = _concatenation(carried)
            answers = self._through(rows, self._beside(index, len(carried), rows))
            known |= zip(carried, torch.split(answers, len(index)), strict=True)
        return [known[k] for k in which]

    def losses(self, index: Tensor, which: Sequence[int]) -> list[Tensor]:
        """The loss of each of these stitches on these samples."""
        known, carried = self._begin(index, which)
        losses = {k: self._loss(answer, index) for k, answer in known.items()}
        if carried:
            losses |= zip(carried, self._losses_behind(_concatenation(carried), index), strict=True)
        return [losses[k] for k in which]

    def _begin(self, index: Tensor, which: Sequence[int]) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
        """The answers of stitches that need no tail, and what the others make of the sender's activations."""
        known = {k: shortcut[0](index) for k in which if (shortcut := self._shortcuts[k]) is not None}
        return known, {k: carry(index) for k in which if (carry := self._carriers[k]) is not None}

    def _losses_behind(self, rows: Tensor, index: Tensor) -> Iterable[Tensor]:
        n = len(index)
        beside = self._beside(index, len(rows) // n, rows)
        if self._part is None:
            self._part = part_of(self._tail, rows.detach(), beside)
        if len(rows) <= self._part:
            return [self._loss(answer, index) for answer in torch.split(self._through(rows, beside), n)]

        def run(part: Tensor, start: int) -> Tensor:
            stop = start + len(part)
            answers = self._through(part, {name: value[start:stop] for name, value in beside.items()})
            losses = [answers.new_zeros(()) for _ in range(len(rows) // n)]
            for k in range(start // n, (stop - 1) // n + 1):
                first, last = max(start, k * n), min(stop, (k + 1) * n)
                mine = self._loss(answers[first - start : last - start], index[first - k * n : last - k * n])
                losses[k] = mine * ((last - first) / n)
            return torch.stack([loss.to(losses[0].dtype) for loss in losses])

        return losses_in_parts(rows, run, self._part).unbind()

    def _loss(self, answer: Tensor, index: Tensor) -> Tensor:
        return self._loss_fn(widen(answer), move(self._labels[index], answer.device))

    def _beside(self, index: Tensor, stitches: int, rows: Tensor) -> Context:
        return move({name: torch.cat([value] * stitches) for name, value in self._context(index).items()}, rows.device)

    def _through(self, rows: Tensor, beside: Context) -> Tensor:
        answer: Tensor = self._tail(rows, beside or None)
        return answer


def _concatenation(carried: dict[int, Tensor]) -> Tensor:
    return torch.cat(list(carried.values())) if len(carried) > 1 else next(iter(carried.values()))


def _independent(together: Together, starts: Sequence[Start]) -> bool:
    """Whether a tail gives each stitch, on a few samples, the answers that it gives it alone.

    One that looks at the whole batch (its mean, say) does not, and is no place for several stitches at once.
    """
    if len(starts) == 1:
        return True
    for start in starts:
        start.problem.layer.eval()
    index, which = torch.arange(min(_FEW, len(starts[0].labels))), range(len(starts))
    with torch.no_grad():
        pairs = zip(which, together.answers(index, which), strict=True)
        return all(gap(together.answers(index, [k])[0], answer) <= TOLERANCE for k, answer in pairs)


def _carrier(start: Start) -> Callable[[Tensor], Tensor]:
    """Gives what the layer makes of the sender's activations for some samples, by their numbers."""
    problem, sent = start.problem, start.sent
    inputs = (problem.fit.sender.inputs, problem.fit.receiver.inputs)
    return problem.carrier(sent, mask_for(problem.layer, problem.sender.cut, problem.receiver.cut, sent.values, inputs))


def _shortcut(start: Start, tail: Fast, *, batch: int) -> tuple[Callable[[Tensor], Tensor], tuple[str, ...]] | None:
    """Gives the stitched network's answers without running the tail on whole maps; None if that cannot be done."""
    layer = start.problem.layer
    if not (tail.pools_first and isinstance(layer, LinearLayer) and layer.pointwise):
        return None
    # One map at every position commutes with the average that the tail begins with: average first, once.
    sent = start.sent.values
    pooled = sent.mean((2, 3), keepdim=True, dtype=wide(sent.dtype))
    readout = tail.readout
    if readout is None or readout.out_features > batch or not isinstance(layer, PositionwiseLayer):
        return lambda i: tail.tail(layer.carry(pooled[i], None)), ("averages kept",)
    vectors, linear = pooled.flatten(1), layer.linear
    back, offset = widen(readout.weight), None if readout.bias is None else widen(readout.bias)

    def answers(index: Tensor) -> Tensor:
        # V (W x + b) + c as (V W) x + (V b + c): cheaper while there are fewer classes than samples in a batch.
        weight = back @ linear.weight
        added = offset if linear.bias is None else F.linear(linear.bias, back, offset)
        return F.linear(layer.receive(vectors[index]), weight, added)

    return answers, ("averages kept", "stitch and tail multiplied")


def flip_crop(images: Tensor, *, padding: int = 4, generator: torch.Generator) -> Tensor:
    """Each image flipped left to right with probability 1/2, padded with zeros and cropped at a random place.

    As Balogh & Jelasity 2025 train on CIFAR-10.

    >>> images = torch.arange(9.0).reshape(1, 1, 3, 3)
    >>> flip_crop(images, padding=0, generator=torch.Generator().manual_seed(0))[0, 0, 0]
    tensor([2., 1., 0.])
    """
    n, c, h, w = images.shape
    here = images.device
    # Drawn in main memory, so that every device flips and crops alike.
    flips = move(torch.rand(n, generator=generator) < 0.5, here)
    images = torch.where(flips[:, None, None, None], images.flip(3), images)
    padded = F.pad(images, [padding] * 4)
    corner = move(torch.randint(0, 2 * padding + 1, (n, 2), generator=generator), here)
    rows = corner[:, :1] + torch.arange(h, device=here)
    columns = corner[:, 1:] + torch.arange(w, device=here)
    return padded[
        torch.arange(n, device=here)[:, None, None, None],
        torch.arange(c, device=here)[None, :, None, None],
        rows[:, None, :, None],
        columns[:, None, None, :],
    ]
