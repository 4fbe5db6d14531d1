"""Multinomial logistic regression, to convergence."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid

_STEPS = 1000
_TOLERANCE = 1e-8
"""For the largest entry of the gradient: far below what could change an answer."""
_NEWTON = 1024
"""Columns up to which Newton's method is the faster way for two classes; its step solves a system of that size."""


def logistic_answers(
    fit: Tensor, labels: Tensor, test: Tensor, *, classes: int, l2: float, span: Tensor | None = None
) -> Tensor:
    """The scores (n, classes) of the rows `test`, by a logistic regression on the rows `fit`, standardised by these.

    It minimises mean(−log p(label)) + l2/2 · ‖W‖², with no penalty on the bias, over the classes that occur among the
    labels; the others are never the answer. If the rows differ from each other only within the columns of `span` (d,
    k), the weights are searched there: the same minimum, with k unknowns for each class in place of d.

    >>> fit, labels = torch.tensor([[-1.0], [1.0], [-2.0], [2.0]]).double(), torch.tensor([0, 2, 0, 2])
    >>> logistic_answers(fit, labels, torch.tensor([[-0.5], [3.0]]).double(), classes=3, l2=0.1).argmax(1)
    tensor([0, 2])
    """
    classes_present, own = labels.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    centre, scale = fit.mean(0), fit.std(0, correction=0)
    # A column that is constant but for rounding must not be blown up to the size of the others.
    scale = torch.where(scale > 1e-6 * fit.square().mean(0).sqrt(), scale, torch.ones_like(scale))
    rows, others = (fit - centre) / scale, (test - centre) / scale
    if span is not None:
        # As where rows are fewer than columns: weights outside the span of the rows only add to the penalty.
        across, _ = torch.linalg.qr(span / scale[:, None])
        rows, others = rows @ across, others @ across
    weight, bias = fit_logistic(rows, own, l2=l2)
    scores = others @ weight.mT + bias
    answers = scores.new_full((len(test), classes), float(scores.min()) - 1)
    answers[:, classes_present] = scores
    return answers


def fit_logistic(rows: Tensor, labels: Tensor, *, l2: float) -> tuple[Tensor, Tensor]:
    """Weights (classes, d) and biases at the minimum, which is unique up to a common bias, as the loss is convex.

    With fewer rows than columns the weights lie in the span of the rows, as any other component only adds to the
    penalty: rows = Z Qᵀ with Q orthonormal, and the regression is solved for Z, n × n.
    """
    if rows.shape[0] < rows.shape[1]:
        across, factor = torch.linalg.qr(rows.mT)
        weight, bias = fit_logistic(factor.mT, labels, l2=l2)
        return weight @ across.mT, bias
    classes = int(labels.max()) + 1
    if classes == 2 and l2 > 0 and rows.shape[1] <= _NEWTON:
        return _fit_two_classes(rows, labels, l2=l2)
    weight = rows.new_zeros(classes, rows.shape[1]).requires_grad_()
    bias = rows.new_zeros(classes).requires_grad_()
    optimiser = torch.optim.LBFGS(
        [weight, bias],
        max_iter=_STEPS,
        max_eval=2 * _STEPS,
        history_size=20,
        tolerance_grad=_TOLERANCE,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = cross_entropy(rows @ weight.mT + bias, labels) + l2 / 2 * weight.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    with torch.enable_grad():
        optimiser.step(loss)  # type: ignore[no-untyped-call]
    return weight.detach(), bias.detach()


def _fit_two_classes(rows: Tensor, labels: Tensor, *, l2: float) -> tuple[Tensor, Tensor]:
    """The same minimum by Newton's method on the difference u of the two classes' weights, which are then ∓u/2.

    As 2 · l2/2 · ‖u/2‖² = l2/4 · ‖u‖², this is a logistic regression of one vector, with a Hessian of its size. A step
    that would raise the loss is halved.
    """
    n, d = rows.shape
    design = torch.cat([rows, rows.new_ones(n, 1)], 1)
    penalty = torch.cat([rows.new_full((d,), l2 / 2), rows.new_zeros(1)])
    signs = 2 * labels.to(rows.dtype) - 1
    u = rows.new_zeros(d + 1)

    def loss(u: Tensor) -> Tensor:
        return -logsigmoid(signs * (design @ u)).mean() + (penalty * u * u).sum() / 2

    value = float(loss(u))
    for _ in range(_STEPS):
        share = torch.sigmoid(-signs * (design @ u))
        gradient = penalty * u - design.mT @ (signs * share) / n
        if float(gradient.abs().max()) <= _TOLERANCE:
            break
        curvature = design.mT @ (design * (share * (1 - share) / n)[:, None]) + torch.diag(penalty)
        step = torch.linalg.solve(curvature, gradient)
        while float(loss(u - step)) > value and float(step.abs().max()) > _TOLERANCE:
            step = step / 2
        u = u - step
        value = float(loss(u))
    weight, bias = u[:-1] / 2, u[-1] / 2
    return torch.stack([-weight, weight]), torch.stack([-bias, bias])
