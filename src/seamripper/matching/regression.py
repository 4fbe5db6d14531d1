"""Regression matching: the stitch trained to the receiver's own activations, not to its task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from seamripper._devices import in_float64, move, widen
from seamripper.activations.collect import activations_of
from seamripper.data.paired import Paired
from seamripper.matching.base import Findings, Matching, Problem
from seamripper.matching.descent import descend, mean_loss
from seamripper.matching.direct import Init, initialise
from seamripper.matching.padding import tokens_compared
from seamripper.models.training import Training


@dataclass(frozen=True)
class Regression(Matching):
    """Minimise the mean squared error between stitched and native activations by gradient steps.

    The similarity-trained stitch of Hernandez et al. 2022. For a linear stitch `Direct` finds the same minimum
    exactly; this way also serves stitches that are not linear.
    """

    name: ClassVar[str] = "regression"
    paper = "Hernandez, Dangovski, Lu, Soljačić 2022"
    formula = "min mean ‖stitch(head_S(x)) − head_R(x)‖²"

    training: Training = Training()
    init: Init = "random"

    def find(self, problem: Problem) -> Findings:
        """Train the layer to the receiver's activations."""
        initialise(problem, self.init)
        fit = problem.fit
        sent = activations_of(problem.sender, fit.sender, watch=problem.watch)
        native = activations_of(problem.receiver, fit.receiver, watch=problem.watch)
        mask = tokens_compared(problem, sent.values, native.values, (fit.sender.inputs, fit.receiver.inputs))

        def loss_of(index: Tensor) -> Tensor:
            part = None if mask is None else mask[index]
            return F.mse_loss(*_pair_compared(problem, sent.values[index], native.values[index], part))

        def loss_now() -> float:
            return mean_loss(problem.layer, loss_of, len(sent), self.training)

        trained = descend(problem, self.training, loss_of, loss_now, task="regression")
        figures = {"residual_in_sample": _residual(problem, problem.fit)}
        if problem.held_out is not None:
            figures["residual_held_out"] = _residual(problem, problem.held_out)
        return replace(trained, figures={**figures, **trained.figures})


def _residual(problem: Problem, pair: Paired, batch: int = 256) -> float:
    """‖Y − s(X)‖² / ‖Y‖² over the samples, with the layer as it is."""
    error = norm = 0.0
    problem.layer.eval()
    with torch.no_grad():
        for given, inputs in pair.batches(batch):
            x, y = problem.sender.head(given), problem.receiver.head(inputs)
            stitched, native = _pair_compared(problem, x, y, tokens_compared(problem, x, y, (given, inputs)))
            stitched, native = in_float64(stitched), in_float64(native)
            error += float((stitched - native).square().sum())
            norm += float(native.square().sum())
    return error / norm if norm else float("nan")


def _pair_compared(problem: Problem, x: Tensor, y: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """What the layer makes of x, and y: all of it, or the tokens that count."""
    stitched = problem.layer.carry(x, mask)
    stitched, y = widen(stitched), widen(move(y, stitched.device))
    if mask is None or problem.receiver.cut.layout == "nd":
        return stitched, y
    mask = move(mask, y.device)
    return stitched[mask], y[mask]
