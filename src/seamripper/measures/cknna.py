"""CKNNA: CKA of neighbours only."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seamripper.measures.distances import both, cosines
from seamripper.measures.memo import recall
from seamripper.measures.neighbours import OfCosines, neighbours
from seamripper.measures.pair import Pair, Side


@dataclass(frozen=True, kw_only=True)
class CKNNA(OfCosines):
    """Centred kernel nearest-neighbour alignment: CKA over pairs that are neighbours on both sides (Huh et al. 2024).

    K and L hold the cosines of the rows (inner products at unit length), the means are over all samples, and αᵢⱼ is 1
    if j ≠ i is among the `k` nearest neighbours of i in both kernels, else 0. Ties go to the sample that comes first.

    This is the paper's equation. The code that came with it does something else: it masks K and L first and then takes
    an unbiased HSIC of the two, which is not quite symmetric. Its values differ from these in the second digit.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.9, 0.5], [0.0, 1.0], [-0.5, 0.9], [-1.0, 0.1]])
    >>> y = torch.tensor([[1.0, 0.1], [0.4, 0.9], [0.1, 1.0], [-0.9, 0.5], [-1.0, 0.0]])
    >>> round(CKNNA(k=2).value(Pair.of(x, y)), 6)
    0.606723
    """

    name = "cknna"
    paper = "Huh, Cheung, Wang, Isola 2024"
    formula = "A(K, L) / √(A(K, K) A(L, L)),  A(K, L) = Σᵢⱼ αᵢⱼ (Kᵢⱼ − meanₗ Kᵢₗ) (Lᵢⱼ − meanₗ Lᵢₗ)"

    def of(self, pair: Pair) -> float:
        x, y = both(pair, self._local)
        return float((x * y).sum())

    def _local(self, side: Side, who: str) -> Tensor:
        """The centred kernel where j is a neighbour of i, and 0 elsewhere, at norm 1."""
        near = neighbours(side, self.k, "cosine", who)
        values = recall(side, (self.name, self.k), lambda: _unit(_centred_rows(cosines(side, who)).gather(1, near)))
        return values.new_zeros(side.n, side.n).scatter_(1, near, values)


def _centred_rows(kernel: Tensor) -> Tensor:
    return kernel - kernel.mean(1, keepdim=True)


def _unit(values: Tensor) -> Tensor:
    length: Tensor = values.norm()
    return values / length
