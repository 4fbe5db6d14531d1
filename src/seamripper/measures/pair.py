"""Side and Pair: two representations of the same samples, as measures see them: by their moments, or by their rows.

Both come in folds (disjoint groups of samples). Leaving one out gives intervals (jackknife) and held-out errors
(cross-validation), and since a fold's moments are mergeable, no second look at the data is needed for either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from seamripper._devices import to_memory
from seamripper._doors import require
from seamripper.errors import MeasureError
from seamripper.matching.moments import Moments
from seamripper.measures.memo import once, recall

FOLDS = 5
"""Into how many folds samples are dealt, unless the caller says otherwise."""

_FAR = 0.9
"""Up to which part of its greatest value ‖Sxy‖_* is taken from a Gram matrix, and not from an SVD."""

_ORDERLESS = ("mean", "s", "total", "quartic", "noise", "eigen", "rank", "spreads", "whitener", "loadings", "square")
"""What is computed of a side, and does not depend on the order of its rows."""

_EPS, _TINY = torch.finfo(torch.float64).eps, torch.finfo(torch.float64).tiny


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """Moments of one fold of one side: n rows, their mean (p), and S = Σ (x − mean)(x − mean)ᵀ."""

    n: int
    mean: Tensor
    s: Tensor


@dataclass(frozen=True)
class Batched:
    """Sums over minibatches, fold by fold: HSIC₁(x, x), HSIC₁(x, y) and HSIC₁(y, y) (Nguyen et al. 2021).

    `counts` are the rows that each fold's sums are of.
    """

    counts: tuple[int, ...]
    sums: tuple[tuple[float, float, float], ...]

    def without(self, fold: int) -> Batched:
        """The sums without one fold."""
        rest = [k for k in range(len(self.counts)) if k != fold]
        return Batched(tuple(self.counts[k] for k in rest), tuple(self.sums[k] for k in rest))

    @property
    def swapped(self) -> Batched:
        """The sums with the sides changed over."""
        return Batched(self.counts, tuple((yy, xy, xx) for xx, xy, yy in self.sums))


@dataclass(frozen=True, eq=False)
class Side:
    """One representation of n samples with p columns: either the moments of its folds, or its rows (float64).

    `grain` is the rounding of the numbers as they came (float32's for a network's activations).

    >>> side = Side.of(torch.tensor([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]]))
    >>> side.n, side.width, side.mean, side.total, side.rank
    (3, 2, tensor([2., 0.], dtype=torch.float64), 8.0, 1)
    """

    grain: float
    blocks: tuple[FoldMoments, ...] = ()
    rows: Tensor | None = None
    fold_of: Tensor | None = None
    """With rows: the fold that each belongs to."""
    rounding: float = 0.0
    """What making S has added to any direction by its own rounding, as a share of tr S."""
    part_of: tuple[Side, Tensor] | None = None
    """For rows of another side: that side, and the numbers of these there. Distances need not be computed again."""

    def __repr__(self) -> str:
        return f"Side(n = {self.n}, {self.width} columns, {self.folds} folds)"

    @classmethod
    def of(cls, rows: Tensor, *, fold_of: Tensor | None = None, name: str = "x", grain: float | None = None) -> Side:
        """The side that these rows are; dealt to `FOLDS` folds in turn unless `fold_of` says otherwise.

        `grain` is their rounding where it is coarser than their type's.
        """
        require(rows, Tensor, name, error=MeasureError, advice="torch.as_tensor(rows) makes one from an array.")
        if rows.dim() != 2:
            raise MeasureError(f"Expected {name} to be rows of numbers (n, columns), but got {tuple(rows.shape)}.")
        if not bool(torch.isfinite(rows).all()):
            bad = int((~torch.isfinite(rows)).any(1).nonzero()[0])
            raise MeasureError(f"{name} holds NaN or Inf, first in row {bad}.")
        grain = grain_of([rows]) if grain is None else grain
        dealt = torch.arange(len(rows)) % FOLDS if fold_of is None else to_memory(fold_of)
        # In main memory, wherever the rows are from, so that no measure has to think of devices.
        return cls(grain, rows=to_memory(rows).double(), fold_of=dealt)

    @once
    def n(self) -> int:
        """Rows."""
        return len(self.rows) if self.rows is not None else sum(b.n for b in self.blocks)

    @property
    def width(self) -> int:
        """Columns."""
        return int(self.mean.shape[0])

    @once
    def folds(self) -> int:
        """How many folds there are."""
        if self.fold_of is not None:
            return len(self._numbers)
        return len(self.blocks)

    @once
    def _numbers(self) -> list[int]:
        """With rows: the numbers that their folds go by."""
        assert self.fold_of is not None
        return sorted(set(self.fold_of.tolist()))

    @once
    def mean(self) -> Tensor:
        """The mean row."""
        if self.rows is not None:
            return self.rows.mean(0)
        return torch.stack([b.mean * (b.n / self.n) for b in self.blocks]).sum(0)

    @once
    def centred(self) -> Tensor:
        """The rows about their mean."""
        return self.matrix - self.mean

    @property
    def matrix(self) -> Tensor:
        """The rows; an error if only moments were kept."""
        if self.rows is None:
            raise MeasureError("This measure needs the rows themselves, and only their moments were kept.")
        return self.rows

    @once
    def s(self) -> Tensor:
        """Σ (x − mean)(x − mean)ᵀ, (p, p)."""
        if self.rows is not None:
            return self.centred.T @ self.centred
        shifts = self.shifts
        return _merge([b.s for b in self.blocks], shifts, shifts, self.blocks)

    @once
    def shifts(self) -> Tensor:
        """How far the mean of each fold is from the mean of all, (folds, p)."""
        return torch.stack([b.mean for b in self.blocks]) - self.mean

    @once
    def total(self) -> float:
        """tr S = Σ |x − mean|²."""
        return float((self.centred**2).sum()) if self.rows is not None else float(torch.trace(self.s))

    @once
    def quartic(self) -> float:
        """Σ |x − mean|⁴."""
        return float((self.centred**2).sum(1).square().sum())

    @once
    def noise(self) -> float:
        """How much the rows vary in any direction by their rounding alone, in the units of S."""
        return self.grain**2 * (self.total + self.n * float(self.mean @ self.mean)) + self.rounding * self.total

    @once
    def eigen(self) -> tuple[Tensor, Tensor]:
        """Eigenvalues of S, largest first, none below 0, and their vectors as columns."""
        values, vectors = torch.linalg.eigh(self.s)
        return values.flip(0).clamp(min=0), vectors.flip(1)

    @once
    def rank(self) -> int:
        """How many directions the rows vary in by more than rounding."""
        values, _ = self.eigen
        return int((values > max(self.width * _EPS * float(values[0]), self.noise)).sum())

    @once
    def spreads(self) -> Tensor:
        """The roots of the eigenvalues of S in the directions that count, (rank)."""
        return self.eigen[0][: self.rank].sqrt()

    @once
    def whitener(self) -> Tensor:
        """(p, rank): brings centred rows to uncorrelated columns of unit length, Wᵀ S W = 1."""
        return self.eigen[1][:, : self.rank] / self.spreads

    @once
    def loadings(self) -> Tensor:
        """(p, rank): the centred columns in coordinates of the whitened rows, S W."""
        return self.eigen[1][:, : self.rank] * self.spreads

    @once
    def square(self) -> float:
        """‖S‖², Frobenius."""
        return squared_norm(self.s)

    def without(self, fold: int) -> Side:
        """The side without one fold; made once, as every pair of this side asks for it."""
        return recall(self, ("without", fold), lambda: self._only(lambda k: k != fold))

    def fold(self, fold: int) -> Side:
        """One fold alone; made once, as every pair of this side asks for it."""
        return recall(self, ("fold", fold), lambda: self._only(lambda k: k == fold))

    def _only(self, wanted: Callable[[int], bool]) -> Side:
        if self.rows is None:
            return Side(self.grain, tuple(b for k, b in enumerate(self.blocks) if wanted(k)), rounding=self.rounding)
        assert self.fold_of is not None
        chosen = [number for k, number in enumerate(self._numbers) if wanted(k)]
        keep = torch.isin(self.fold_of, torch.tensor(chosen).to(self.fold_of))
        return Side(self.grain, rows=self.rows[keep], fold_of=self.fold_of[keep], part_of=(self, keep.nonzero()[:, 0]))

    def in_order(self, order: Tensor) -> Side:
        """The same rows in another order, which moves none into another fold.

        What was computed of this side, and is the same in any order, is not computed again.
        """
        side = Side(self.grain, rows=self.matrix[order], fold_of=self.fold_of, part_of=(self, order))
        side.__dict__.update({name: self.__dict__[name] for name in _ORDERLESS if name in self.__dict__})
        compact = self.__dict__.get("compact", self)
        if compact is not self:
            side.__dict__["compact"] = compact.in_order(order)
        return side

    @once
    def compact(self) -> Side:
        """The same rows in no more columns than rows: turned into their own span, every inner product kept.

        What is invariant to rotations is the same, and a flattened map of 65,536 columns becomes one that fits.
        """
        rows = self.matrix
        if rows.shape[1] <= rows.shape[0]:
            return self
        # Not by the Gram matrix, which is three times as fast: where the mean is large, it loses the differences.
        _, upper = torch.linalg.qr(rows.T, mode="r")
        return Side(self.grain, rows=upper.T.contiguous(), fold_of=self.fold_of)


@dataclass(frozen=True, eq=False)
class Pair:
    """Sender x and receiver y on the same samples: their sides and, for each fold, Sxy = Σ (x − mean)(y − mean)ᵀ.

    >>> pair = Pair.of(torch.tensor([[0.0], [2.0]]), torch.tensor([[1.0], [5.0]]))
    >>> pair.n, pair.sxy.item(), pair.y.mean.item()
    (2, 4.0, 3.0)
    """

    x: Side
    y: Side
    crosses: tuple[Tensor, ...] = ()
    batched: Batched | None = None
    """The sums over minibatches, where a pass made them; a pair may hold these alone."""
    hints: dict[str, Tensor] = field(default_factory=dict, repr=False)
    """Where a search may start in this pair and in its parts, which share it; no result depends on it."""
    places: int | None = 1
    """With rows: how many each sample has, one after the other; None if samples have different numbers of them."""

    def __repr__(self) -> str:
        return f"Pair(n = {self.n}, {self.x.width} and {self.y.width} columns, {self.folds} folds)"

    @classmethod
    def of(cls, x: Tensor, y: Tensor, *, fold_of: Tensor | None = None, places: int | None = 1) -> Pair:
        """The pair of two sets of rows of the same samples in the same order, `places` rows of each sample."""
        for name, rows in (("x", x), ("y", y)):
            require(rows, Tensor, name, error=MeasureError, advice="torch.as_tensor(rows) makes one from an array.")
            if rows.dim() != 2:
                raise MeasureError(f"Expected {name} to be rows of numbers (n, columns), but got {tuple(rows.shape)}.")
        if len(x) != len(y):
            raise MeasureError(f"Expected as many rows of x as of y, but got {len(x)} and {len(y)}.")
        sides = Side.of(x, fold_of=fold_of, name="x"), Side.of(y, fold_of=fold_of, name="y")
        return cls(*sides, places=places)

    @property
    def n(self) -> int:
        """Rows."""
        return sum(self.batched.counts) if self.batched is not None and not self.whole else self.x.n

    @property
    def folds(self) -> int:
        """How many folds there are."""
        return len(self.batched.counts) if self.batched is not None and not self.whole else self.x.folds

    @property
    def whole(self) -> bool:
        """Whether there are moments or rows, and not sums over minibatches alone."""
        return bool(self.x.blocks) or self.x.rows is not None

    @once
    def sxy(self) -> Tensor:
        """Σ (x − mean)(y − mean)ᵀ, (p, q)."""
        if not self.crosses:
            return self.x.centred.T @ self.y.centred
        return _merge(self.crosses, self.x.shifts, self.y.shifts, self.x.blocks)

    @once
    def quartic(self) -> float:
        """Σ |x − mean|² |y − mean|²."""
        return float(((self.x.centred**2).sum(1) * (self.y.centred**2).sum(1)).sum())

    @once
    def nuclear(self) -> float:
        """‖Sxy‖_*, the sum of its singular values: what an orthogonal map can make of x and y at best."""
        if self.crosses:
            nuclear = float(_singular_values(self._principal).sum())
            # The gap to the most that it can be is what distances are made of: a small one needs all of its digits.
            if nuclear < _FAR * math.sqrt(self.x.total * self.y.total):
                return nuclear
        return float(torch.linalg.svdvals(self.sxy).sum())

    @once
    def _half_principal(self) -> Tensor:
        """Sxy between all principal directions of x and the columns of y, (p, q)."""
        return self.x.eigen[1].T @ self.sxy

    @once
    def _principal(self) -> Tensor:
        """Sxy between all principal directions of x and all of y, (p, q)."""
        return self._half_principal @ self.y.eigen[1]

    @property
    def half_rotated(self) -> Tensor:
        """Sxy between the principal directions of x that count and the columns of y, (rank x, q)."""
        return self._half_principal[: self.x.rank]

    @property
    def rotated(self) -> Tensor:
        """Sxy between the principal directions of x and of y that count, (rank x, rank y)."""
        return self._principal[: self.x.rank, : self.y.rank]

    @once
    def whitened(self) -> Tensor:
        """Wxᵀ Sxy Wy, (rank x, rank y): the correlations of the whitened columns of x with those of y."""
        return self.rotated / self.x.spreads[:, None] / self.y.spreads

    def correlations_within(self, k: int, m: int) -> Tensor:
        """The canonical correlations of the first k principal directions of x with the first m of y."""
        block = self.whitened[:k, :m]
        values = _singular_values(block) if self.crosses else torch.linalg.svdvals(block)
        return values.clamp(max=1.0)

    @once
    def canonical(self) -> tuple[Tensor, Tensor, Tensor]:
        """Canonical correlations ρ (largest first, at most 1), and the directions U, V of either side's whitened rows.

        Column i of (x − mean) Wx U and of (y − mean) Wy V have unit length and correlation ρᵢ.
        """
        u, rho, v = singular_vectors(self.whitened)
        return u, rho.clamp(max=1.0), v

    @once
    def swapped(self) -> Pair:
        """The pair with its sides changed over."""
        batched = None if self.batched is None else self.batched.swapped
        return Pair(self.y, self.x, tuple(sxy.T for sxy in self.crosses), batched)

    @once
    def compact(self) -> Pair:
        """The pair with both sides in no more columns than rows (see `Side.compact`)."""
        return self if self.crosses else Pair(self.x.compact, self.y.compact, places=self.places)

    def in_order(self, order: Tensor) -> Pair:
        """The pair with y's samples in this order: all rows of a sample move together."""
        assert self.places is not None
        rows = (order[:, None] * self.places + torch.arange(self.places)).flatten()
        return Pair(self.x, self.y.in_order(rows), places=self.places)

    def without(self, fold: int) -> Pair:
        """The pair without one fold; made once, as every measure asks for it."""
        return recall(self, ("without", fold), lambda: self._without(fold))

    def _without(self, fold: int) -> Pair:
        rest = tuple(sxy for k, sxy in enumerate(self.crosses) if k != fold)
        batched = None if self.batched is None else self.batched.without(fold)
        sides = (self.x.without(fold), self.y.without(fold)) if self.whole else (self.x, self.y)
        return Pair(*sides, rest, batched, self.hints)

    @property
    def moments(self) -> Moments:
        """The pair as direct matching sees it."""
        moments = Moments(self.x.width, self.y.width)
        moments.n = self.n
        moments.mean_x, moments.mean_y = self.x.mean, self.y.mean
        moments.sxx, moments.sxy, moments.syy = self.x.s, self.sxy, self.y.total
        # The grain by which their noise is the pair's own: float32 products leave more of it than the rows had.
        size = self.x.total + self.n * float(self.x.mean @ self.x.mean)
        moments.grain = math.sqrt(self.x.noise / size) if size > 0 else self.x.grain
        return moments

    def fold(self, fold: int) -> Pair:
        """One fold alone."""
        return Pair(self.x.fold(fold), self.y.fold(fold), self.crosses[fold : fold + 1])


def grain_of(tensors: Sequence[Tensor]) -> float:
    """The coarsest rounding of these tensors' types."""
    return max(torch.finfo(t.dtype).eps if t.is_floating_point() else _EPS for t in tensors)


def squared_norm(matrix: Tensor) -> float:
    """The sum of squares of all entries."""
    flat = matrix.flatten()
    return float(flat @ flat)


def _singular_values(matrix: Tensor) -> Tensor:
    """Singular values from the smaller Gram matrix, smallest first, which takes half the time of an SVD.

    Those below 1e-8 of the largest would have no digits left, but the sum of all loses less than 1e-9 where rows and
    columns are sorted from large to small, as between principal directions: small entries then meet small ones only.
    """
    gram = matrix @ matrix.T if matrix.shape[0] < matrix.shape[1] else matrix.T @ matrix
    values: Tensor = torch.linalg.eigvalsh(gram)
    return values.clamp(min=0).sqrt()


def singular_vectors(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U, σ (largest first) and V of a matrix U σ Vᵀ whose singular values are of one size, like correlations.

    From the eigenvectors of the smaller Gram matrix, which takes half the time of an SVD. σ is the length of M V and
    not the root of an eigenvalue, so small ones keep their digits.

    >>> u, values, v = singular_vectors(torch.tensor([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]], dtype=torch.float64))
    >>> values.tolist()
    [2.0, 1.0]
    """
    if matrix.shape[0] < matrix.shape[1]:
        v, values, u = singular_vectors(matrix.T)
        return u, values, v
    v = torch.linalg.eigh(matrix.T @ matrix)[1].flip(1)
    scaled = matrix @ v
    values = scaled.norm(dim=0)
    return scaled / values.clamp(min=_TINY), values, v


def _merge(terms: Sequence[Tensor], x: Tensor, y: Tensor, blocks: Sequence[FoldMoments]) -> Tensor:
    """Second moments of several folds about their common mean, from those about the folds' own, and the shifts."""
    total = terms[0] + terms[1] if len(terms) > 1 else terms[0].clone()
    for term in terms[2:]:
        total += term
    counts = torch.tensor([b.n for b in blocks], dtype=total.dtype, device=total.device)
    return total.addmm_((x * counts[:, None]).T, y)
