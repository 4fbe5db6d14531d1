"""Images: the numbers that a network takes or gives, back in bytes for people; and what a judge says of such images.

Smith et al. 2025 (section 6) look at stitched images and find them to be like MNIST's; `judge_images` gives figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn

    from seamripper.data import Samples
    from seamripper.estimate import Estimate

FIGURES = (
    "judged_as_paired",
    "judge_confidence",
    "judge_confidence_own",
    "nearest",
    "nearest_own",
    "nearest_input",
    "contrast",
    "contrast_own",
    "variety",
    "reconstructs",
)
KNOWN = 1000
"""The most images that the nearest one is looked for among."""
_BATCH = 512


def is_image(shape: Sequence[int]) -> bool:
    """Whether something of this shape can be looked at: one channel or three, then a map.

    >>> is_image((3, 28, 28)), is_image((64, 7, 7)), is_image((10,))
    (True, False, False)
    """
    return len(shape) == 3 and shape[0] in (1, 3)


def lightness(values: Tensor, samples: Samples) -> Tensor:
    """Numbers as these samples have them, in float64 with black as 0 and white as 1: x · std + mean, not clipped."""
    import torch

    mean, std = (torch.tensor(value, dtype=torch.float64) for value in (samples.mean, samples.std))
    if mean.dim() or std.dim():
        mean, std = mean.reshape(-1, 1, 1), std.reshape(-1, 1, 1)
    return values.double() * std + mean


def as_bytes(values: Tensor, samples: Samples) -> Tensor:
    """Numbers as these samples have them, in bytes, those beyond black and white clipped; bytes stay as they are.

    >>> import torch
    >>> from seamripper.data import Samples
    >>> grey = Samples("one", torch.zeros(1, 1, 1, 1), torch.tensor([0]), torch.tensor([0]), 1, mean=0.5, std=0.5)
    >>> as_bytes(torch.tensor([-3.0, -1.0, 0.0, 1.0, 3.0]), grey)
    tensor([  0,   0, 128, 255, 255], dtype=torch.uint8)
    """
    import torch

    if values.dtype == torch.uint8:
        return values
    return (lightness(values, samples) * 255).round().clamp(0, 255).to(torch.uint8)


def resize_to(images: Tensor, shape: Sequence[int]) -> Tensor:
    """Images (n, c, h, w) with the channels and the size of `shape`: grey where channels differ, bilinear in size.

    >>> import torch
    >>> resize_to(torch.tensor([0.0, 3.0, 6.0]).reshape(1, 3, 1, 1), (1, 2, 2)).flatten()
    tensor([3., 3., 3., 3.])
    """
    from torch.nn import functional as F

    if images.shape[1] != shape[0]:
        images = images.mean(1, keepdim=True).expand(-1, shape[0], -1, -1)
    if tuple(images.shape[2:]) == tuple(shape[1:]):
        return images
    return F.interpolate(images, tuple(shape[1:]), mode="bilinear", align_corners=False)


def detail(images: Tensor) -> Tensor:
    """How much neighbouring pixels of each image differ: their mean squared difference over twice the variance.

    It does not depend on contrast: 0 is one flat colour, and about 1 is noise in which no pixel resembles the next.

    >>> import torch
    >>> board = torch.tensor([[0.0, 1.0], [1.0, 0.0]]).repeat(4, 4)
    >>> [round(value, 6) for value in detail(torch.stack([torch.ones(1, 8, 8), board[None]])).tolist()]
    [0.0, 2.0]
    """
    import torch

    values = images.double()
    differences = [(values.diff(dim=axis) ** 2).flatten(1).mean(1) for axis in (2, 3)]
    variance = values.flatten(2).var(2, correction=0).mean(1)
    return torch.where(variance > 0, (differences[0] + differences[1]) / (4 * variance).clamp(min=1e-30), 0.0)


# ---- before a judge


@dataclass(frozen=True, eq=False)
class _Judgements:
    """One number per image: the class that it is given, with which probability, and the rest."""

    named: Tensor
    confidence: Tensor
    nearest: Tensor
    contrast: Tensor
    spread: float
    """How much the images differ from each other: the variance over images, summed over pixels."""


def judge_images(
    stitched: Iterable[Tensor],
    judge: nn.Module,
    *,
    paired: Tensor,
    own: Samples,
    known: Samples,
    test: Samples,
    itself: Iterable[Tensor] | None = None,
) -> dict[str, Any]:
    """The figures of stitched images, those that are made of the samples `test`, as records of estimates by name.

    All images are in main memory; the judge may be elsewhere.

    `own` are the receiver's own test samples, and `known` some of its train samples; images are as these have them.
    `paired` is the class that each stitched image is to be of. `nearest` is the Euclidean distance, black being 0 and
    white 1, to the nearest known image; `contrast` the standard deviation of an image's numbers. The receiver's own
    test images tell what both are of real images, and `nearest_input` what the first is of the sender's, where they are
    others. `variety` is how much stitched images differ from each other, beside how much real ones do: 0 if all are the
    same. `itself` is what the receiver makes of its own test images; `reconstructs` is the share of their variance in
    it.
    """
    import torch

    from seamripper.estimate import Estimate, over_seeds, proportion

    there = lightness(torch.cat(list(_images(known))), known).flatten(1)
    made, real = (_judge_batches(images, judge, own, there) for images in (stitched, _images(own)))

    def mean(values: Tensor) -> Estimate:
        return over_seeds(values.tolist(), "images")

    figures = {
        "judged_as_paired": replace(proportion(int((made.named == paired).sum()), len(paired)), unit="images"),
        "judge_confidence": mean(made.confidence),
        "judge_confidence_own": mean(real.confidence),
        "nearest": mean(made.nearest),
        "nearest_own": mean(real.nearest),
        "contrast": mean(made.contrast),
        "contrast_own": mean(real.contrast),
        "variety": Estimate(made.spread / real.spread, n=len(paired), unit="images"),
    }
    if itself is not None:
        missed = sum(_squared_error(a, b, own) for a, b in zip(itself, _images(own), strict=True)) / len(own)
        figures["reconstructs"] = Estimate(1 - missed / real.spread, n=len(own), unit="images")
    if test is not own:
        figures["nearest_input"] = mean(_inputs_apart(test, own.shape, there))
    return {name: figures[name].as_record() for name in FIGURES if name in figures}


def _judge_batches(batches: Iterable[Tensor], judge: nn.Module, own: Samples, known: Tensor) -> _Judgements:
    """The judgements on images that are normalised as `own` is."""
    import torch

    from seamripper._devices import device_of, move, to_memory
    from seamripper.models import answer_of

    seen: list[tuple[Tensor, ...]] = []
    total, squares = torch.zeros(known.shape[1], dtype=torch.float64), 0.0
    with torch.no_grad():
        for images in batches:
            light = lightness(images, own).flatten(1)
            said = to_memory(answer_of(judge, move(images, device_of(judge))))
            confidence, named = said.double().softmax(1).max(1)
            seen.append((named, confidence, nearest(light, known), light.std(1, correction=0)))
            total, squares = total + light.sum(0), squares + float(light.square().sum())
    named, confidence, apart, contrast = (torch.cat(column) for column in zip(*seen, strict=True))
    spread = squares / len(named) - float((total / len(named)).square().sum())
    return _Judgements(named, confidence, apart, contrast, spread)


def _squared_error(made: Tensor, real: Tensor, own: Samples) -> float:
    """The squared distance of images from those that they were made of, summed."""
    return float((lightness(made, own) - lightness(real, own)).square().sum())


def nearest(images: Tensor, known: Tensor) -> Tensor:
    """The Euclidean distance of each row to the nearest of the known ones.

    >>> import torch
    >>> nearest(torch.tensor([[0.0, 1.0], [3.0, 0.0]]), torch.tensor([[0.0, 0.0], [3.0, 4.0]]))
    tensor([1., 3.])
    """
    import torch

    return torch.cdist(images, known).amin(1)


def _inputs_apart(test: Samples, shape: tuple[int, ...], known: Tensor) -> Tensor:
    """How far the sender's own images are from the known ones, when brought to their shape."""
    import torch

    lights = (resize_to(lightness(images, test), shape).flatten(1) for images in _images(test))
    return torch.cat([nearest(light, known) for light in lights])


def _images(samples: Samples) -> Iterator[Tensor]:
    import torch

    from seamripper._devices import to_memory

    for images, _ in samples.batches(_BATCH):
        assert isinstance(images, torch.Tensor)
        yield to_memory(images)
