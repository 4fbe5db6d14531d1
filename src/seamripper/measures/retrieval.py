"""Retrieval: how near rows are to queries, and the rank that a query gives to its own row among all rows."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Nearness = Literal["cosine", "euclidean"]
"""By what an index is searched."""


def nearness(queries: Tensor, rows: Tensor, metric: Nearness) -> Tensor:
    """How near each row is to each query, (queries, rows), larger if nearer: the cosine, or (|q|² − |q − r|²) / 2.

    >>> nearness(torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 1.0]]), "cosine")
    tensor([[1., 0.]])
    """
    if metric == "cosine":
        return F.normalize(queries) @ F.normalize(rows).T
    return (queries @ rows.T).sub_(rows.square().sum(1) / 2)


def own_nearness(queries: Tensor, own: Tensor, metric: Nearness) -> tuple[Tensor, Tensor]:
    """How near each query's own row is to it, and by how much rounding may move that."""
    slack = 8 * torch.finfo(queries.dtype).eps
    if metric == "cosine":
        near = (F.normalize(queries) * F.normalize(own)).sum(1)
        return near, torch.full_like(near, slack)
    halves = own.square().sum(1) / 2
    return (queries * own).sum(1) - halves, slack * (queries.norm(dim=1) * own.norm(dim=1) + halves)


def rows_before(near: Tensor, own: Tensor, slack: Tensor) -> Tensor:
    """How many of some rows stand before a query's own, (queries,): those that are nearer, and half of those as near.

    Its own row, which is as near as itself, is one of those if it is among the rows. So over all rows the rank is this
    number plus one half, and rows that are all the same leave a query's own in the middle.

    >>> rows_before(torch.tensor([[0.9, 0.5, 0.1, 0.5]]), torch.tensor([0.5]), torch.tensor([1e-6]))
    tensor([2.])
    """
    nearer, as_near = near > (own + slack)[:, None], near >= (own - slack)[:, None]
    return (nearer.sum(1) + as_near.sum(1)) / 2
