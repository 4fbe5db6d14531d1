"""probe: what a linear map can read from activations, on two halves of the test samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seamripper._doors import require
from seamripper.activations import Activations, PrincipalDirections, rows_of
from seamripper.comparing.order import order_of
from seamripper.controls.logistic import logistic_answers
from seamripper.cut.place import Cut
from seamripper.errors import DataError, InapplicableError
from seamripper.estimate import Estimate, proportion
from seamripper.matching.inputs import family_of

_SALT = 0x9A1F
"""Keeps the halves apart from the folds of a comparison, which are parts of an order by the same ids."""


@dataclass(frozen=True)
class Probed:
    """The accuracy of a linear probe on two disjoint halves of the test samples.

    Whoever chooses the best of several representations by their accuracy uses `choose`, and compares accuracies by
    `report`: on the samples by which it was chosen, the best one looks better than it is.
    """

    choose: Estimate
    report: Estimate


def probe(
    fit: Activations,
    test: Activations,
    *,
    directions: PrincipalDirections | None = None,
    rank: int | None = None,
    pool: bool = True,
    l2: float = 1e-3,
    seed: int = 0,
) -> Probed:
    """The accuracy of a logistic regression, fitted to convergence on `fit`, on either half of `test`.

    It reads what `readable` gives; with `directions` and a `rank`, the low-rank approximation of that. The columns are
    standardised by the samples of the fit, and the loss is mean(−log p(label)) + l2/2 · ‖W‖². `seed` draws the halves.
    """
    _require(fit, test)
    if (directions is None) != (rank is None):
        raise DataError("Expected both `directions` and a `rank` for a low-rank approximation, or neither.")
    fit, test = readable(fit, pool=pool), readable(test, pool=pool)
    span = None
    if directions is not None and rank is not None:
        fit, test = directions.approximate(fit, rank), directions.approximate(test, rank)
        span = directions.leading(rank) if fit.cut.layout == "nd" else None
    classes = int(torch.cat([fit.labels, test.labels]).max()) + 1
    rows, others = (part.values.flatten(1).double() for part in (fit, test))
    answers = logistic_answers(rows, fit.labels, others, classes=classes, l2=l2, span=span)
    right = answers.argmax(1) == test.labels
    return Probed(*(proportion(int(right[half].sum()), len(half)) for half in halves(test.ids, seed=seed)))


def readable(activations: Activations, *, pool: bool = True) -> Activations:
    """What a probe reads of activations, in float64: vectors, or with `pool` = False all positions.

    A vector is the CLS token where one stands before a square of tokens, as in a ViT, and otherwise the average over
    the positions; padding enters no average (Balogh & Jelasity 2025).
    """
    cut = activations.cut
    if cut.layout == "nd" or not pool:
        # Padding has no place in a flattened row: `rows_of` refuses it.
        rows_of(activations.values[:1], cut.layout, "flatten", activations.mask)
        return replace(activations, values=activations.values.double(), kept="memory")
    if cut.prefix == 1 and activations.mask is None:
        vectors = activations.values[:, 0]
    else:
        vectors = rows_of(activations.values, cut.layout, "pool", activations.mask)
    vector = Cut(cut.name, (cut.width,), "nd", cut.before, cut.after, cut.aliases)
    return replace(activations, cut=vector, values=vectors.double(), kept="memory", mask=None)


def halves(ids: Tensor, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """The rows of the samples to choose by, and of those to report on: drawn by their ids and the seed.

    >>> [half.tolist() for half in halves(torch.arange(7))]
    [[0, 3, 6], [1, 2, 4, 5]]
    """
    order = order_of(ids, seed=seed ^ _SALT)
    middle = len(ids) // 2
    return order[:middle].sort().values, order[middle:].sort().values


def _require(fit: Activations, test: Activations) -> None:
    for name, part in (("fit", fit), ("test", test)):
        require(part, Activations, name, error=DataError, advice="`collect` makes them.")
        if part.labels.dim() > 1:
            raise DataError(f"Expected the activations of {name} to have a label per sample, but each token has one.")
        if int(part.labels.min()) < 0:
            raise DataError(f"Expected the activations of {name} to have labels, but those are not known.")
    names = [str(part.made_from.get("data", "")) for part in (fit, test)]
    shared = int(torch.isin(test.ids, fit.ids[fit.ids >= 0]).sum()) if len(set(map(family_of, names))) == 1 else 0
    if shared:
        raise DataError(
            f"{shared} of the {len(test)} samples of {names[1] or 'test'} are among those that the probe is fitted on. "
            "Fit and score on different samples."
        )
    if len(test) < 2:
        raise DataError(f"Expected at least 2 samples to score on, one for each half, but got {len(test)}.")
    if bool((fit.labels == fit.labels[0]).all()):
        raise InapplicableError(f"{names[0] or 'fit'} has samples of one class only: there is nothing to tell apart.")
