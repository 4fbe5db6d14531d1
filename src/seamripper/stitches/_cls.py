"""The CLS token: the ways in which the receiver's is made where the sender's is not kept."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

Made = Literal["learn", "pool", "drop"]
Policy = Literal["learn", "pool", "drop", "keep"]


def prefixed(tokens: Tensor, how: Made) -> Tensor:
    """Tokens (n, t, p) with the row that becomes the receiver's CLS token put before them.

    `learn`: all rows get one more column, 1 at the CLS token and 0 elsewhere, so that the map's last column
    is a free vector. `pool`: the mean of the tokens. `drop`: zeros, which a map turns into its bias.

    >>> prefixed(torch.tensor([[[1.0], [3.0]]]), "learn")
    tensor([[[0., 1.], [1., 0.], [3., 0.]]])
    >>> prefixed(torch.tensor([[[1.0], [3.0]]]), "pool")
    tensor([[[2.], [1.], [3.]]])
    >>> prefixed(torch.tensor([[[1.0], [3.0]]]), "drop")
    tensor([[[0.], [1.], [3.]]])
    """
    if how == "learn":
        rows = pad(tokens, (0, 1, 1, 0))
        rows[:, 0, -1] = 1
        return rows
    if how == "pool":
        return torch.cat([tokens.mean(1, keepdim=True), tokens], 1)
    return pad(tokens, (0, 0, 1, 0))
