"""Downstream matching: the stitch trained so that the receiver's later layers come out as its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from seamripper._devices import in_float64, move, widen
from seamripper.activations.collect import activations_of
from seamripper.activations.sampling import counting
from seamripper.cut.behind import Behind
from seamripper.data.paired import Paired
from seamripper.errors import MatchError
from seamripper.matching.base import Findings, Matching, Problem
from seamripper.matching.descent import descend, mean_loss, mean_losses
from seamripper.matching.direct import Init, initialise
from seamripper.matching.padding import mask_for, tokens_compared
from seamripper.matching.task import Task
from seamripper.models.training import Training


@dataclass(frozen=True)
class Downstream(Matching):
    """Train the stitch until the receiver's layers, at the cut and behind it, come out as on its own activations.

    h is what a layer makes of the stitched activations, h* of the receiver's own on the same samples. No labels are
    used, and every layer weighs the same. `layers` are `all` (functional latent alignment: the cut, every block behind
    it, and the last layer's input; Athanasiadis, Karmush & Felsberg 2025), `last` (final-feature matching: the last
    layer's input alone; Mai et al. 2026), or the names of layers. With `then="task"` the stitch is trained on the task
    from there, with the same training (Mai et al. 2026).
    """

    name: ClassVar[str] = "downstream"
    paper = "Athanasiadis, Karmush, Felsberg 2025; Mai et al. 2026"
    formula = "min mean over layers of Σ|h − h*|² / Σ|h*|²"

    training: Training = Training()
    init: Init = "random"
    layers: tuple[str, ...] = ("all",)
    then: Literal["nothing", "task"] = "nothing"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.layers:
            raise MatchError("Expected layers of downstream to be 'all', 'last' or names of layers, but got none.")

    def find(self, problem: Problem) -> Findings:
        """Train the layer to the receiver's later activations."""
        behind = Behind(problem.receiver, self.layers)
        initialise(problem, self.init)
        fit = _Errors(problem, behind, problem.fit)

        def loss_of(index: Tensor) -> Tensor:
            return torch.stack(fit.errors(index)).mean()

        def loss_now() -> float:
            return mean_loss(problem.layer, loss_of, len(problem.fit), self.training)

        trained = descend(problem, self.training, loss_of, loss_now, task="downstream matching")
        figures: dict[str, Any] = {"layers": ", ".join(cut.name for cut in behind.cuts)}
        figures |= self._residuals(fit, "in_sample")
        if problem.held_out is not None:
            figures |= self._residuals(_Errors(problem, behind, problem.held_out), "held_out")
        downstream = replace(trained, figures={**figures, **trained.figures})
        return downstream if self.then == "nothing" else self._then_task(problem, downstream)

    def _residuals(self, samples: _Errors, where: str) -> dict[str, float]:
        """The error over all samples: its mean over the layers, and that of each of them."""
        each = samples.means(self.training)
        names = [cut.name for cut in samples.behind.cuts]
        parts = {f"downstream_{where}_at_{name}": error for name, error in zip(names, each, strict=True)}
        return {f"downstream_{where}": sum(each) / len(each), **parts}

    def _then_task(self, problem: Problem, aligned: Findings) -> Findings:
        """What comes of training on the task from where the alignment has ended."""
        # A random start is the layer as it is: that is where the alignment has left it.
        task = Task(self.training).find(problem)
        figures = {**aligned.figures, **{f"task_{name}": value for name, value in task.figures.items()}}
        curves = {**aligned.curves, **{f"task_{name}": curve for name, curve in task.curves.items()}}
        statuses = [s for s in (aligned.status, f"task: {task.status}") if s not in ("ok", "task: ok")]
        return Findings("; ".join(statuses) or "ok", figures, curves)


class _Errors:
    """The normalised errors of the receiver's later layers on some samples, with the stitch as it is."""

    def __init__(self, problem: Problem, behind: Behind, samples: Paired) -> None:
        self.behind, self._problem, self._n = behind, problem, len(samples)
        self._sent = activations_of(problem.sender, samples, beside=problem.receiver, watch=problem.watch)
        self._native = activations_of(problem.receiver, samples.receiver, watch=problem.watch)
        inputs = (samples.sender.inputs, samples.receiver.inputs)
        sender, receiver = problem.sender.cut, problem.receiver.cut
        self._carry = problem.carrier(self._sent, mask_for(problem.layer, sender, receiver, self._sent.values, inputs))
        compared = tokens_compared(problem, self._sent.values, self._native.values, inputs)
        # Behind the pooling there are no tokens to be left out.
        self._mask = None if receiver.layout == "nd" else compared
        self._sizes = self._mean_sizes()

    def errors(self, index: Tensor) -> list[Tensor]:
        """For each layer Σ|h − h*|² over these samples, relative to what Σ|h*|² is of as many on average."""
        made = self._without_padding(self._run(self._carry(index), index), index)
        with torch.no_grad():
            own = self._without_padding(self._run(self._native.values[index], index), index)
        pairs = zip(made, own, self._sizes, strict=True)
        return [(widen(h) - widen(native)).square().sum() / (len(index) * size) for h, native, size in pairs]

    def means(self, training: Training) -> list[float]:
        """The error of each layer over all samples."""
        layers = dict.fromkeys(range(len(self.behind.cuts)), self._problem.layer)
        means = mean_losses(layers, lambda index, _: self.errors(index), self._n, replace(training, l1=0.0))
        return [means[k] for k in layers]

    def _run(self, activations: Tensor, index: Tensor) -> tuple[Tensor, ...]:
        here = self._problem.receiver.model.device
        return self.behind(move(activations, here), move(self._sent.beside(index), here) or None)

    @torch.no_grad()
    def _mean_sizes(self) -> list[float]:
        """Σ|h*|² of each layer per sample; 1 for a layer that is zero on all of them, where nothing can be relative."""
        totals = [0.0] * len(self.behind.cuts)
        for index in torch.arange(self._n).split(256):  # type: ignore[no-untyped-call]
            values = self._without_padding(self._run(self._native.values[index], index), index)
            totals = [total + float(in_float64(h).square().sum()) for total, h in zip(totals, values, strict=True)]
        return [total / self._n or 1.0 for total in totals]

    def _without_padding(self, values: Sequence[Tensor], index: Tensor) -> list[Tensor]:
        """The values without tokens that are padding."""
        if self._mask is None:
            return list(values)
        mask, cuts = move(self._mask[index], values[0].device), self.behind.cuts
        masks = [counting(h, cut.layout, mask, repr(cut.name)) for h, cut in zip(values, cuts, strict=True)]
        return [h if mask is None else h[mask] for h, mask in zip(values, masks, strict=True)]
