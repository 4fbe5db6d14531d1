"""Classes through a map of classes: the ones that samples are to be given, or that they are paired with."""

from __future__ import annotations

import torch
from torch import Tensor

from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import DataError


def mapped(samples: Samples | Paired, label_map: tuple[int, ...] | None) -> Tensor:
    """The samples' labels, through the label map if there is one.

    >>> three = Samples("three", torch.zeros(3, 1), torch.tensor([0, 1, 1]), torch.arange(3), classes=2)
    >>> mapped(three, (7, 4))
    tensor([7, 4, 4])
    """
    if label_map is None:
        return samples.labels
    if len(label_map) < samples.classes:
        raise DataError(
            f"Expected label_map to have an entry for each of the {samples.classes} classes of "
            f"{samples.name}, but it has {len(label_map)}."
        )
    return torch.tensor(label_map)[samples.labels]
