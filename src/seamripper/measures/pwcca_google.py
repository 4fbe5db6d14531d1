"""PWCCA in the form of Google's SVCCA repository: a similarity, weighted by the columns of the narrower side."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.measures.alignment import UNITS
from seamripper.measures.base import Claims, Measure
from seamripper.measures.pair import Pair, Side


@dataclass(frozen=True)
class GooglePWCCA(Measure):
    """Projection-weighted CCA as a similarity (Morcos et al. 2018).

    x is the side of smaller rank, the sender if they tie, and xⱼ its centred columns. With U the left singular vectors
    of (Sxx)^-½ Sxy (Syy)^-½, P is the orthonormal factor Q of C U = QR. So it is in the public code; the canonical
    variates, which the paper has, are C (Sxx)^-½ U, and `pwcca_ding` uses those. All ρᵢ count, none is cut off.

    The public code gives this for centred input. Of other input it adds the mean of neuron i to direction i, so that
    the result hangs on the order of the neurons and on signs that an SVD leaves open; here the rows are always centred.
    Some versions of it fail (IndexError) if the first side is the wider one; this one then changes sides.

    >>> import torch
    >>> x = torch.tensor([[4.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [-4.0, -1.0], [0.0, 0.0]])
    >>> y = x + torch.tensor([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, -4.0]])
    >>> round(GooglePWCCA().value(Pair.of(x, y)), 6)
    0.863122
    """

    name = "pwcca_google"
    paper = "Morcos, Raghu, Bengio 2018"
    formula = "Σ αᵢ ρᵢ / Σ αᵢ,  αᵢ = Σⱼ |⟨pᵢ, xⱼ⟩|"
    # The side that gives no weights may be mapped freely, but which one that is depends on the ranks.
    claims = Claims(
        "similarity",
        symmetric=False,
        range=(0.0, 1.0),
        self_score=1.0,
        invariant_to=UNITS,
        spans=True,
    )

    def of(self, pair: Pair) -> float:
        u, rho, v = pair.canonical
        side, basis = (pair.x, u) if pair.x.rank <= pair.y.rank else (pair.y, v)
        alpha = _weights(side, basis)
        return float((alpha * rho).sum() / alpha.sum())


def _weights(side: Side, basis: Tensor) -> Tensor:
    """αᵢ for the P of C E U = P R, which in the coordinates of the whitened rows C W is the Q of √Λ U = Q R.

    The columns are multiplied by the reflections that Q is made of: Q itself takes longer to make.
    """
    products = torch.ormqr(*torch.geqrf(side.spreads[:, None] * basis), side.loadings, left=False)
    weights: Tensor = torch.linalg.vector_norm(products, ord=1, dim=0)
    return weights
