"""Many columns as a side: by their covariance or, with more columns than samples, by the samples' inner products."""

from __future__ import annotations

import torch
from torch import Tensor

from seamripper.measures.pair import FoldMoments, Side, grain_of

_COLUMNS = 4096
"""How many columns are turned to float64 at once."""


def side_of(rows: Tensor) -> Side:
    """A side with the spectrum of these rows (n, columns), for figures that depend on nothing else.

    X Xᵀ (n × n) has the eigenvalues of Xᵀ X (columns × columns), but for zeros; X is centred column by column before,
    in float64, so that a large mean costs no digits.

    >>> side_of(torch.tensor([[1.0, 2.0, 2.0], [-1.0, -2.0, -2.0]])).eigen[0].tolist()
    [18.0, 0.0]
    """
    n, columns = rows.shape
    means = torch.cat([part.double().mean(0) for part in rows.split(_COLUMNS, 1)])  # type: ignore[no-untyped-call]
    if columns <= n:
        centred = rows.double() - means
        return Side(grain_of([rows]), (FoldMoments(n, means, centred.T @ centred),))
    products = torch.zeros(n, n, dtype=torch.float64)
    for part, mean in zip(rows.split(_COLUMNS, 1), means.split(_COLUMNS), strict=True):  # type: ignore[no-untyped-call]
        centred = part.double() - mean
        products += centred @ centred.T
    # All that a side asks of the mean is its length, to know how finely the rows were rounded.
    length = torch.zeros(n, dtype=torch.float64)
    length[0] = means.norm()
    return Side(grain_of([rows]), (FoldMoments(n, length, products),))
