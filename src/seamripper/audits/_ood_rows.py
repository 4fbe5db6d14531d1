"""Activations as rows for a detector: means over positions, and how much the positions differ."""

from __future__ import annotations

import torch
from torch import Tensor

from seamripper.activations.sampling import counting, mean_token
from seamripper.cut.place import Cut


def pooled_rows(activations: Tensor, cut: Cut, mask: Tensor | None = None, *, cls: bool = True) -> Tensor:
    """A float64 row a sample: each unit's mean over positions, then its standard deviation over them.

    The deviations show a change of texture that leaves the means alone. A token that stands before the others (CLS) is
    kept as well, as a mean over all would drown it, unless `cls` is false. Vectors are rows already. Of tokens those
    count that the mask (n, tokens) leaves.

    >>> maps = torch.tensor([[[[1.0, 3.0]], [[2.0, 2.0]]]])
    >>> pooled_rows(maps, Cut("relu", (2, 1, 2), "nchw"))
    tensor([[2., 2., 1., 0.]], dtype=torch.float64)
    """
    if cut.layout == "nd":
        return activations.double()
    mask = counting(activations, cut.layout, mask, repr(cut.name))
    tokens = activations.flatten(2).mT.double() if cut.layout == "nchw" else activations.double()
    if mask is None:
        deviations, means = torch.std_mean(tokens, dim=1, correction=0)
    else:
        means = mean_token(tokens, mask)
        deviations = mean_token((tokens - means[:, None]).square(), mask).sqrt()
    parts = [means]
    if tokens.shape[1] > 1:
        parts.append(deviations)
    if cls and cut.layout == "ntd" and cut.prefix == 1:
        parts.append(tokens[:, 0])
    return torch.cat(parts, 1)
