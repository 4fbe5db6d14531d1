"""Linear maps from the new encoder's space to the old one's, each fitted from moments, and their files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from seamripper._files import atomic, load_tensors, save_tensors, understood
from seamripper.errors import DataError
from seamripper.matching.moments import Moments
from seamripper.matching.solve import Solution, procrustes, reduced_rank, ridge_path

KINDS = ("orthogonal", "low_rank", "ridge", "affine")
"""The maps that are tried, from the most to the least constrained."""
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
"""Ridges, in units of the mean variance of the new columns. Below the smallest there is the map without a ridge."""
_SHARES = (16, 8, 4, 2)
"""Ranks: the smaller width divided by these."""
_KIND = "map of embeddings"


@dataclass(frozen=True, eq=False)
class EmbeddingMap:
    """Rows of the new encoder in the old one's space: new Wᵀ + b.

    >>> turn = EmbeddingMap("orthogonal", None, torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.zeros(2))
    >>> turn(torch.tensor([[1.0, 2.0]]))
    tensor([[2., 1.]])
    """

    kind: str
    option: float | None
    """The ridge, or the rank."""
    weight: Tensor
    bias: Tensor

    @property
    def label(self) -> str:
        """Its kind, with its ridge or rank."""
        return label_of(self.kind, self.option)

    def __call__(self, rows: Tensor) -> Tensor:
        """The rows in the old space, in their own precision."""
        if rows.dim() != 2 or rows.shape[1] != self.weight.shape[1]:
            raise DataError(
                f"Expected rows of {self.weight.shape[1]} numbers, as the new encoder gives them, but got "
                f"{tuple(rows.shape)}. Embed the queries with the encoder that the map was fitted for."
            )
        return rows @ self.weight.to(rows.dtype).T + self.bias.to(rows.dtype)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a safetensors file, which `EmbeddingMap.load` reads: `weight` (old, new) and `bias` (old)."""
        tensors = {"weight": self.weight.float(), "bias": self.bias.float()}
        save_tensors(path, tensors, {"kind": self.kind, "option": self.option}, kind=_KIND)

    def save_array(self, path: str | os.PathLike[str]) -> None:
        """Write it to a .npy file as one matrix M (new + 1, old): a query is `q @ M[:-1] + M[-1]`."""
        matrix = torch.cat([self.weight.T, self.bias[None]]).float().numpy()
        with atomic(path) as file:
            np.save(file, np.ascontiguousarray(matrix))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> EmbeddingMap:
        """Read the safetensors file that `save` wrote."""
        tensors, record = load_tensors(path, kind=_KIND)
        with understood(path):
            option = record["option"]
            number = None if option is None else float(option)
            return cls(str(record["kind"]), number, tensors["weight"], tensors["bias"])


def label_of(kind: str, option: float | None) -> str:
    """A kind of map with its option.

    >>> label_of("ridge", 0.01), label_of("low_rank", 96), label_of("affine", None), label_of("ridge", 100)
    ('ridge 0.01', 'low_rank 96', 'affine', 'ridge 100 (the largest tried)')
    """
    edge = " (the largest tried)" if kind == "ridge" and option == RIDGES[-1] else ""
    return kind if option is None else f"{kind} {option:g}{edge}"


def options_of(kind: str, moments: Moments) -> Sequence[float | None]:
    """The ridges or ranks that are tried for a kind of map."""
    if kind == "ridge":
        return RIDGES
    if kind == "low_rank":
        width = min(moments.p, moments.q)
        return sorted({max(1, width // share) for share in _SHARES})
    return (None,)


def fit(kind: str, option: float | None, moments: Moments) -> EmbeddingMap:
    """The map of this kind that is nearest to the old rows."""
    (solution,) = _solutions(kind, [option], moments)
    # In the precision of its files, so that the map that is tested is the map that is saved.
    return EmbeddingMap(kind, option, solution.weight.float(), solution.bias.float())


def _solutions(kind: str, options: Sequence[float | None], moments: Moments) -> list[Solution]:
    if kind == "orthogonal":
        return [procrustes(moments)]
    if kind == "low_rank":
        return [reduced_rank(moments, int(option or 1)) for option in options]
    return ridge_path(moments, [option or 0.0 for option in options])


@dataclass(frozen=True)
class Fit:
    """A kind of map at its best option, with its R² on folds that it was not fitted on."""

    kind: str
    option: float | None
    r2: float


def best_fits(folds: Sequence[Moments]) -> Iterator[Fit]:
    """Of each kind of map the option that predicts best, each fold from the others."""
    for kind in KINDS:
        options = options_of(kind, folds[0])
        tried = map(Fit, [kind] * len(options), options, _held_out_r2(kind, options, folds))
        yield max(tried, key=lambda fit: fit.r2)


def best_ridge(folds: Sequence[Moments]) -> float:
    """The ridge, 0 included, that predicts best, each fold from the others."""
    ridges = (0.0, *RIDGES)
    return max(zip(_held_out_r2("ridge", ridges, folds), ridges, strict=True), key=lambda tried: tried[0])[1]


def _held_out_r2(kind: str, options: Sequence[float | None], folds: Sequence[Moments]) -> list[float]:
    """R² of the map with each option, each fold predicted from the others."""
    errors, variation = [0.0] * len(options), 0.0
    for fold in folds:
        others = sum_of_moments([other for other in folds if other is not fold])
        for k, solution in enumerate(_solutions(kind, options, others)):
            errors[k] += fold.error(solution.weight, solution.bias)
        shift = fold.mean_y - others.mean_y
        variation += fold.syy + fold.n * float(shift @ shift)
    return [1 - error / variation if variation > 0 else float("nan") for error in errors]


def sum_of_moments(parts: Sequence[Moments]) -> Moments:
    """The moments of several sets of rows together."""

    def add(total: Moments, part: Moments) -> Moments:
        total.merge(part)
        return total

    return reduce(add, parts, Moments(parts[0].p, parts[0].q))
