"""Images before a judge: what a classifier takes them for, how far they are from real ones, how much contrast there is.

Smith et al. 2025 (section 6) look at images and find them to be like MNIST's; these are figures for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from seamripper.experiment.images import lightness, resize_to

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
)
KNOWN = 1000
"""The most images that the nearest one is looked for among."""
_BATCH = 512


@dataclass(frozen=True, eq=False)
class _Judgements:
    """One number per image: the class that it is given, with which probability, and the rest."""

    named: Tensor
    confidence: Tensor
    nearest: Tensor
    contrast: Tensor


def judge_images(
    stitched: Iterable[Tensor],
    judge: nn.Module,
    *,
    paired: Tensor,
    own: Samples,
    fit: Samples,
    test: Samples,
    seed: int,
) -> dict[str, Any]:
    """The figures of stitched images, those that are made of the samples `test`, as records of estimates by name.

    `own` and `fit` are the receiver's own test and train samples; images are as these have them. `paired` is the class
    that each stitched image is to be of. `nearest` is the Euclidean distance, black being 0 and white 1, to the nearest
    of up to 1000 train images; `contrast` the standard deviation of an image's numbers. The receiver's own test images
    tell what both are of real images, and `nearest_input` what the first is of the sender's, where they are others.
    """
    from seamripper.estimate import over_seeds, proportion

    known = lightness(_all(fit.draw(KNOWN, seed=seed)), fit).flatten(1)
    made, real = (_judge_batches(images, judge, own, known) for images in (stitched, _images(own)))

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
    }
    if test is not own:
        figures["nearest_input"] = mean(_inputs_apart(test, own.shape, known))
    return {name: figures[name].as_record() for name in FIGURES if name in figures}


def _judge_batches(batches: Iterable[Tensor], judge: nn.Module, own: Samples, known: Tensor) -> _Judgements:
    """The judgements on images that are normalised as `own` is."""
    import torch

    from seamripper.models.running import answer_of

    seen: list[tuple[Tensor, ...]] = []
    with torch.no_grad():
        for images in batches:
            light = lightness(images, own).flatten(1)
            confidence, named = answer_of(judge, images).double().softmax(1).max(1)
            seen.append((named, confidence, nearest(light, known), light.std(1, correction=0)))
    return _Judgements(*(torch.cat(column) for column in zip(*seen, strict=True)))


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

    for images, _ in samples.batches(_BATCH):
        assert isinstance(images, torch.Tensor)
        yield images


def _all(samples: Samples) -> Tensor:
    import torch

    return torch.cat(list(_images(samples)))
