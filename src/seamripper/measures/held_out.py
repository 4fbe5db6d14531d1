"""Least squares from x to y, fitted on all folds but one and put to that one, fold by fold, from moments."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.memo import recall
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class HeldOut:
    """Of each fold, left out once: Σ|y − ŷ|², Σ|y − mean of the fitted y|² and Σ|y|²."""

    errors: tuple[float, ...]
    variations: tuple[float, ...]
    norms: tuple[float, ...]


def held_out(pair: Pair, *, label: str) -> HeldOut:
    """What y = W x + b leaves over on the folds that it was not fitted on.

    W is the least-squares solution of least norm: directions in which the fitted x varies by no more than rounding
    are left out, by the same rule as in `seamripper.matching.solve`.
    """
    if pair.folds < 2:
        raise MeasureError(f"{label} fits on some samples and scores on others: expected 2 folds or more, but got 1.")
    # Two measures ask for the same fits.
    return recall(pair, "held out", lambda: _held_out(pair))


def _held_out(pair: Pair) -> HeldOut:
    parts = [_of_fold(pair.without(k), pair.fold(k)) for k in range(pair.folds)]
    errors, variations, norms = zip(*parts, strict=True)
    return HeldOut(errors, variations, norms)


def fitted_map(pair: Pair) -> Tensor:
    """The W of least norm, (columns of x, columns of y), by which (x − mean) W is nearest to y − mean."""
    values, vectors = (part[..., : pair.x.rank] for part in pair.x.eigen)
    return vectors @ (pair.half_rotated / values[:, None])


def _of_fold(fitted: Pair, other: Pair) -> tuple[float, float, float]:
    """Error, variation and norm of y on `other` for the map found on `fitted`."""
    map_ = fitted_map(fitted)
    shift = other.y.mean - fitted.y.mean
    offset = shift - (other.x.mean - fitted.x.mean) @ map_
    explained, size = (float(map_.flatten() @ product.flatten()) for product in (other.sxy, other.x.s @ map_))
    # Rounding can leave a tiny negative number where the fit is exact.
    error = max(0.0, other.y.total - 2 * explained + size + other.n * float(offset @ offset))
    variation, norm = (other.y.total + other.n * float(d @ d) for d in (shift, other.y.mean))
    return error, variation, norm
