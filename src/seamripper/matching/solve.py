"""Closed forms for Y ≈ XWᵀ + b from moments: least squares, its reduced-rank form, and orthogonal Procrustes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.errors import MatchError
from seamripper.matching.moments import Moments


@dataclass(frozen=True)
class Solution:
    """A map with the rank and condition of the design it was found from."""

    weight: Tensor
    bias: Tensor
    rank: int
    condition: float


def least_squares(moments: Moments, *, ridge: float = 0.0, rtol: float | None = None) -> Solution:
    """The W, b that minimise ‖Y − XWᵀ − b‖² + ridge · tr(Sxx)/p · ‖W‖².

    Sxx is decomposed (eigh), and eigenvalues below `rtol` of the largest are left out, so W is the solution of least
    norm. Without an `rtol` those are left out that float64 cannot tell from zero, or in which the rows vary less than
    they were rounded: dependent channels of a float32 network show such, and to fit them takes weights without bounds.
    `condition` is that of the centred X on the directions kept.
    """
    (solution,) = ridge_path(moments, (ridge,), rtol=rtol)
    return solution


def ridge_path(moments: Moments, ridges: Sequence[float], *, rtol: float | None = None) -> list[Solution]:
    """What `least_squares` gives with each of these ridges, from one decomposition of Sxx."""
    sxx, p = moments.sxx, moments.p
    values, vectors = torch.linalg.eigh(sxx)
    top = float(values[-1].clamp(min=0))
    cut = max(p * torch.finfo(torch.float64).eps * top, moments.noise) if rtol is None else rtol * top
    # Strictly above, or a design of all zeros would keep everything.
    large = values > cut
    rank = int(large.sum())
    basis, kept = vectors[:, large], values[large]
    condition = (top / float(kept[0])) ** 0.5 if rank else float("inf")
    solutions, projected = [], basis.T @ moments.sxy
    for ridge in ridges:
        damp = ridge * float(torch.trace(sxx)) / p
        weight = ((basis / (kept + damp)) @ projected).T
        solutions.append(Solution(weight, moments.mean_y - weight @ moments.mean_x, rank, condition))
    return solutions


def reduced_rank(moments: Moments, rank: int, *, ridge: float = 0.0, rtol: float | None = None) -> Solution:
    """The best W of rank at most `rank`: least squares projected on the leading directions of its own fit.

    W_r = V_r V_rᵀ W with V_r the leading eigenvectors of W Sxy (Izenman 1975), which without a ridge is W Sxx Wᵀ.
    Truncating the singular values of W itself, as is sometimes done, is not the best fit.
    """
    if rank < 1:
        raise MatchError(f"Expected a rank of at least 1, but got {rank}.")
    full = least_squares(moments, ridge=ridge, rtol=rtol)
    _, vectors = torch.linalg.eigh(full.weight @ moments.sxy)
    lead = vectors[:, -rank:]
    weight = lead @ (lead.T @ full.weight)
    return Solution(weight, moments.mean_y - weight @ moments.mean_x, min(rank, full.rank), full.condition)


def procrustes(moments: Moments, *, rtol: float | None = None) -> Solution:
    """The W with orthonormal rows (or columns, if q > p) that minimises ‖Y − XWᵀ − b‖ (Schönemann 1966).

    W = U Vᵀ from the singular vectors of Syx. For q < p this maximises tr(W Sxy), the usual extension.
    """
    u, _, vt = torch.linalg.svd(moments.sxy.T, full_matrices=False)
    weight = u @ vt
    least = least_squares(moments, rtol=rtol)
    return Solution(weight, moments.mean_y - weight @ moments.mean_x, least.rank, least.condition)
