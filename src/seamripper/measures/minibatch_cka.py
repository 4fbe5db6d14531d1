"""Minibatch CKA: debiased CKA whose three parts are summed over minibatches."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.errors import MeasureError
from seamripper.measures.base import SHAPE, Claims, Measure
from seamripper.measures.hsic import FEWEST, cka_of_hsic, hsic_of_rows
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class MinibatchCKA(Measure):
    """Linear CKA over minibatches i (Nguyen et al. 2021).

    As HSIC₁ is unbiased at any size of batch, so is each sum; see `debiased_cka` for what it is and for the range.

    Rows are taken `batch` at a time in the order they have, and a last batch of fewer than 4 is left out. Where a
    pass made the sums, the batches are those of the pass, whatever `batch` says, and a row is one position a sample.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]).repeat(2, 1)
    >>> y = torch.tensor([[1.0], [0.0], [-1.0], [0.0], [1.0], [1.0], [-1.0], [0.0]])
    >>> round(MinibatchCKA(batch=4).value(Pair.of(x, y)), 6)
    0.632456
    """

    name = "minibatch_cka"
    paper = "Nguyen, Raghu, Kornblith 2021"
    formula = "Σ HSIC₁(xᵢ, yᵢ) / √(Σ HSIC₁(xᵢ, xᵢ) · Σ HSIC₁(yᵢ, yᵢ))"
    claims = Claims(
        "similarity", symmetric=True, range=(-1.0, 1.0), self_score=1.0, invariant_to=SHAPE, needs="batches"
    )
    batch: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch < FEWEST:
            raise MeasureError(f"Expected batch of {self.name} to be at least {FEWEST}, but got {self.batch}.")

    def of(self, pair: Pair) -> float:
        parts = self._of_rows(pair) if pair.batched is None else pair.batched.sums
        own_x, cross, own_y = (sum(column) for column in zip(*parts, strict=True))
        return cka_of_hsic(own_x, cross, own_y, label=self.label)

    def _of_rows(self, pair: Pair) -> list[tuple[float, float, float]]:
        if pair.x.rows is None:
            raise MeasureError(f"{self.label} needs sums that this pass did not make: ask for it before the pass.")
        parts = (slice(start, start + self.batch) for start in range(0, pair.n - FEWEST + 1, self.batch))
        return [hsic_of_rows(pair.x.matrix[rows], pair.y.matrix[rows]) for rows in parts]
