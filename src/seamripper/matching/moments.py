"""Streamed float64 moments of paired rows: all that least squares needs, in memory that does not grow with n."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper._devices import MAIN_MEMORY, in_float64, move
from seamripper.stitches import to_rows
from seamripper.stitches.grids import adjoint, resized_and_back, shares


@dataclass(eq=False)
class Moments:
    """Sums over rows x (p) and y (q): counts, means, and centred second moments Sxx, Sxy and tr Syy.

    Each addition is centred on its own mean and merged by the exact shift, because sums about zero lose the small
    differences of large numbers. Two accumulators merge the same way.

    >>> m = Moments(1, 1)
    >>> m.add(torch.tensor([[0.0], [2.0]]), torch.tensor([[1.0], [5.0]]))
    >>> m.n, m.mean_x.item(), m.sxy.item(), m.syy
    (2, 1.0, 4.0, 8.0)
    """

    p: int
    q: int
    device: torch.device = MAIN_MEMORY
    """Where the sums are: a device that has float64."""

    def __post_init__(self) -> None:
        self.n = 0
        self.grain = 0.0
        self.mean_x, self.mean_y = self._zeros(self.p), self._zeros(self.q)
        self.sxx, self.sxy = self._zeros(self.p, self.p), self._zeros(self.p, self.q)
        self.syy = 0.0

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=self.device)

    def _here(self, tensor: Tensor) -> Tensor:
        return move(in_float64(tensor), self.device)

    def add(self, x: Tensor, y: Tensor, *, grain: float | None = None) -> None:
        """Add paired rows; `grain` is the rounding of x where it is coarser than its type's."""
        new = Moments(self.p, self.q, self.device)
        new.grain = torch.finfo(x.dtype).eps if grain is None else grain
        x, y = self._here(x), self._here(y)
        new.n, new.mean_x, new.mean_y = len(x), x.mean(0), y.mean(0)
        x, y = x - new.mean_x, y - new.mean_y
        new.sxx, new.sxy, new.syy = x.T @ x, x.T @ y, float((y * y).sum())
        self.merge(new)

    def add_enlarged(self, maps: Tensor, targets: Tensor, *, grain: float | None = None) -> None:
        """Add the rows of `targets` (n, q, H, W) with those of `maps` (n, p, h, w) resized to their larger grid.

        The large map is never made: ⟨R X, R X⟩ = ⟨X, RᵀR X⟩ and ⟨R X, Y⟩ = ⟨X, RᵀY⟩. Resizing leaves constants as they
        are, so the means are subtracted first, as in `add`.
        """
        new = Moments(self.p, self.q, self.device)
        new.grain = torch.finfo(maps.dtype).eps if grain is None else grain
        x, y = self._here(maps), self._here(targets)
        home, grid = (x.shape[2], x.shape[3]), (y.shape[2], y.shape[3])
        new.n = y[:, 0].numel()
        new.mean_x = torch.einsum("nchw,hw->c", x, move(shares(home, grid), self.device)) / new.n
        new.mean_y = y.mean((0, 2, 3))
        x, y = x - new.mean_x[:, None, None], y - new.mean_y[:, None, None]
        new.syy = float((y * y).sum())
        rows = to_rows(x, "nchw")
        product = rows.T @ to_rows(resized_and_back(x, grid)[0], "nchw")
        # Symmetric but for rounding.
        new.sxx = (product + product.T) / 2
        new.sxy = rows.T @ to_rows(adjoint(y, home)[0], "nchw")
        self.merge(new)

    def merge(self, other: Moments) -> None:
        """Take in rows that were accumulated elsewhere (Chan, Golub, LeVeque 1983)."""
        n = self.n + other.n
        if n == 0:
            return
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        weight = self.n * other.n / n
        self.sxx += other.sxx + weight * torch.outer(dx, dx)
        self.sxy += other.sxy + weight * torch.outer(dx, dy)
        self.syy += other.syy + weight * float(dy @ dy)
        self.mean_x = self.mean_x + dx * (other.n / n)
        self.mean_y = self.mean_y + dy * (other.n / n)
        self.n = n
        self.grain = max(self.grain, other.grain)

    @property
    def noise(self) -> float:
        """How much the rows x vary in any direction by their rounding alone, in the units of Sxx.

        The mean counts: after a ReLU it is often larger than the variation, and it is rounded along.
        """
        return self.grain**2 * float(torch.trace(self.sxx) + self.n * (self.mean_x @ self.mean_x))

    def about_zero(self) -> Moments:
        """The same rows as if their means were zero: second moments about the origin, for maps without a bias."""
        raw = Moments(self.p, self.q, self.device)
        raw.n, raw.grain = self.n, self.grain
        raw.sxx = self.sxx + self.n * torch.outer(self.mean_x, self.mean_x)
        raw.sxy = self.sxy + self.n * torch.outer(self.mean_x, self.mean_y)
        raw.syy = self.syy + self.n * float(self.mean_y @ self.mean_y)
        return raw

    def error(self, weight: Tensor, bias: Tensor) -> float:
        """‖Y − XWᵀ − b‖² of any map on these rows."""
        w, b = self._here(weight), self._here(bias)
        offset = self.mean_y - w @ self.mean_x - b
        error = self.syy - 2 * float((w.T * self.sxy).sum()) + float(((w @ self.sxx) * w).sum())
        # Rounding can leave a tiny negative number where the fit is exact.
        return max(0.0, error + self.n * float(offset @ offset))

    def residual(self, weight: Tensor, bias: Tensor) -> float:
        """‖Y − XWᵀ − b‖² / ‖Y‖² of any map on these rows: the normalised error of Balogh & Jelasity 2025."""
        norm = self.syy + self.n * float(self.mean_y @ self.mean_y)
        return self.error(weight, bias) / norm if norm > 0 else float("nan")
