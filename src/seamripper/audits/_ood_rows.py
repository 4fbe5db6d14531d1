"""Activations as rows for a detector: means over positions, and how much the positions differ."""

from __future__ import annotations

import torch
from torch import Tensor

from seamripper.cut.place import Cut


def pooled_rows(activations: Tensor, cut: Cut) -> Tensor:
    """A float64 row a sample: each unit's mean over positions, then its standard deviation over them.

    The deviations show a change of texture that leaves the means alone. A token that stands before the others (CLS) is
    kept as well, as a mean over all would drown it. Vectors are rows already.

    >>> maps = torch.tensor([[[[1.0, 3.0]], [[2.0, 2.0]]]])
    >>> pooled_rows(maps, Cut("relu", (2, 1, 2), "nchw"))
    tensor([[2., 2., 1., 0.]], dtype=torch.float64)
    """
    if cut.layout == "nd":
        return activations.double()
    positions = activations.flatten(2) if cut.layout == "nchw" else activations.transpose(1, 2)
    deviations, means = torch.std_mean(positions.double(), dim=2, correction=0)
    parts = [means]
    if positions.shape[2] > 1:
        parts.append(deviations)
    if cut.layout == "ntd" and cut.prefix == 1:
        parts.append(activations[:, 0].double())
    return torch.cat(parts, 1)
