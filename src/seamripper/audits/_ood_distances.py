"""Distances of activations to the receiver's own of other samples: Mahalanobis, and to the k-th nearest."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.errors import InapplicableError

_LEAST_SCALE = 0.01
_LEAST_SHRINKAGE = 1e-6
_ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Reference:
    """Native rows (n, d) of samples that nothing else is asked of, with their classes.

    Columns are brought to mean 0 and deviation 1. A column that natively hardly moves, such as a unit that is never
    active, is divided by a hundredth of the others' (root mean square) deviation: what moves there is strange, but not
    infinitely so.
    """

    rows: Tensor
    centre: Tensor
    scale: Tensor
    centres: Tensor
    """A row a class that occurs."""
    factor: Tensor
    """Lower triangular L with L Lᵀ = the shrunk covariance within classes."""
    shrinkage: float

    @classmethod
    def of(cls, rows: Tensor, labels: Tensor) -> Reference:
        """The reference that these rows make."""
        deviation, centre = torch.std_mean(rows, dim=0, correction=0)
        typical = deviation.square().mean().sqrt()
        if not bool(typical > 0):
            raise InapplicableError("The receiver's own activations at the cut are the same for every sample.")
        scale = deviation.clamp_min(_LEAST_SCALE * float(typical))
        rows = (rows - centre) / scale
        classes, own = torch.unique(labels, return_inverse=True)
        centres = torch.stack([rows[own == i].mean(0) for i in range(len(classes))])
        covariance, shrinkage = shrunk_covariance(rows - centres[own])
        return cls(rows, centre, scale, centres, torch.linalg.cholesky(covariance), shrinkage)

    def mahalanobis(self, rows: Tensor) -> Tensor:
        """minₖ √((x − μₖ)ᵀ Σ⁻¹ (x − μₖ)) over the classes' means μₖ, with one Σ for all (Lee et al. 2018).

        >>> square = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]], dtype=torch.float64)
        >>> Reference.of(square, torch.zeros(4)).mahalanobis(torch.tensor([[1.0, 4.0]], dtype=torch.float64))
        tensor([3.], dtype=torch.float64)
        """
        return torch.cdist(self._whitened(self.standard(rows)), self._whitened(self.centres)).min(1).values

    def nearest(self, rows: Tensor, k: int) -> Tensor:
        """The Euclidean distance to the k-th nearest of the reference rows (Sun et al. 2022).

        They bring rows to unit length first. Here that is left out, as it would hide a change of size.

        >>> line = torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
        >>> Reference.of(line, torch.zeros(2)).nearest(torch.tensor([[4.0]], dtype=torch.float64), 2)
        tensor([5.], dtype=torch.float64)
        """
        if k > len(self.rows):
            raise InapplicableError(
                f"The distance to the k-th nearest needs k or more other samples, but k = {k} and there are "
                f"{len(self.rows)}. Give more to fit on, or a smaller k."
            )
        blocks = self.standard(rows).split(_ROWS_AT_ONCE)  # type: ignore[no-untyped-call]
        return torch.cat([torch.cdist(block, self.rows).kthvalue(k, dim=1).values for block in blocks])

    def standard(self, rows: Tensor) -> Tensor:
        """Rows with their columns moved and scaled as the reference rows' were."""
        return (rows - self.centre) / self.scale

    def _whitened(self, rows: Tensor) -> Tensor:
        whitened: Tensor = torch.linalg.solve_triangular(self.factor, rows.T, upper=False)
        return whitened.T


def shrunk_covariance(rows: Tensor) -> tuple[Tensor, float]:
    """(1 − ρ) S + ρ (tr S / d) I with the ρ that Ledoit & Wolf 2004 show to be best; and that ρ.

    S is the covariance of rows that have mean 0. With fewer rows than columns S has no inverse, and this has.

    >>> covariance, rho = shrunk_covariance(torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
    >>> covariance, rho
    (tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]]), 1.0)
    """
    n, d = rows.shape
    covariance = rows.T @ rows / n
    target = torch.eye(d, dtype=rows.dtype) * covariance.trace() / d
    distance = float((covariance - target).square().sum())
    error = (float(rows.square().sum(1).square().sum()) / n - float(covariance.square().sum())) / n
    # Not below: rows that lie in a plane exactly would leave a covariance without an inverse.
    shrinkage = max(min(error / distance, 1.0), _LEAST_SHRINKAGE) if distance > 0 else 1.0
    return (1 - shrinkage) * covariance + shrinkage * target, shrinkage
