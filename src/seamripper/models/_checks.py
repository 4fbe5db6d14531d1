"""Whether samples suit an architecture, told before a training starts and in the user's words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from seamripper._words import shown_shape
from seamripper.data.samples import Samples
from seamripper.errors import DataError
from seamripper.models._call import answer_of
from seamripper.models.architecture import Architecture


def check_samples(architecture: Architecture, samples: Samples) -> None:
    """Refuse samples whose kind, number, labels or shape an architecture cannot be trained on."""
    if not isinstance(samples.inputs, Tensor) or len(samples.shape) != 3:
        raise DataError(
            f"Expected {samples.name} to be images (channels, height, width), as {architecture} takes them, "
            f"but one sample has the shape {samples.shape}."
        )
    if len(samples) < 2:
        raise DataError(f"Expected at least 2 samples to train on, but {samples.name} has {len(samples)}.")
    top = int(samples.labels.max())
    if architecture.classes is not None and top >= architecture.classes:
        raise DataError(
            f"Expected the labels of {samples.name} to lie in 0 … {architecture.classes - 1}, the classes of "
            f"{architecture}, but the largest is {top}. Give the architecture classes={samples.classes}."
        )
    if samples.shape[0] != architecture.channels:
        raise DataError(
            f"Expected {samples.name} to have {architecture.channels} channels, as {architecture} takes, "
            f"but it has {samples.shape[0]}. Give the architecture channels={samples.shape[0]}."
        )
    if architecture.input not in (None, samples.shape):
        raise DataError(
            f"Expected images of {shown_shape(architecture.input or ())}, as {architecture} takes, but "
            f"{samples.name} has {shown_shape(samples.shape)}. Resize them, or use another architecture."
        )


def check_runs(module: nn.Module, architecture: Architecture, samples: Samples) -> None:
    """Run one sample through: networks that take any size still need a map to be left after pooling."""
    module.eval()
    try:
        with torch.no_grad():
            answer_of(module, samples.batch(slice(0, 1)))
    except RuntimeError as e:
        raise DataError(
            f"{architecture} cannot take images of {shown_shape(samples.shape)}, as {samples.name} has: {e}"
        ) from e
