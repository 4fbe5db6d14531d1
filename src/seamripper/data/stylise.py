"""Stylised photographs: the shape of one, the texture and colour of another, by way of their Fourier transforms.

The phase of an image is kept and its amplitude, channel by channel, is that of another image of any class:

    x' = Re(IFFT(|FFT(other)| · exp(i · angle(FFT(x))))), clipped to 0 … 255 and rounded

Phase carries where edges are, and with them shape (Oppenheim & Lim 1981); amplitude carries how much there is of
every frequency and, at frequency 0, of every colour. Yang & Soatto (2020) take the low amplitudes of another image for
its style; here all of them are taken.

This stands in for Stylized ImageNet (Geirhos et al. 2019) and is not it. They repaint photographs in the style of
paintings with a trained network (AdaIN); that takes its weights and tens of thousands of paintings, which no package
carries. What differs: theirs replaces *local* texture, strokes and all, and leaves clean areas; this one replaces
statistics of the whole image, its style is another photograph, and it lays a haze of waves over the image. What they
share is what they are for: colour and texture statistics no longer tell the class, and shape does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seamripper.data.base import SPLITS, check_seed, check_split
from seamripper.data.samples import Samples

_AT_ONCE = 256  # images that are numbers in double precision at a time
_NOTHING = 1e-6
"""An amplitude that is a rounding error: sums of a thousand bytes come out as zero to 1e-10 or so."""


def others(n: int, *, split: str, seed: int) -> NDArray[np.int64]:
    """For each of `n` images, the one whose amplitude it takes: any but itself, all as likely.

    >>> others(6, split="train", seed=0).tolist()
    [2, 4, 3, 5, 0, 3]
    """
    # RandomState and not Generator: numpy promises that its streams never change.
    rng = np.random.RandomState([check_seed(seed), SPLITS.index(check_split(split))])
    further: NDArray[np.int64] = rng.randint(1, n, size=n, dtype=np.int64)
    return (np.arange(n) + further) % n


def restyled(images: NDArray[Any], styles: NDArray[Any]) -> NDArray[np.uint8]:
    """Images (n, c, h, w) with the amplitudes of `styles`, as bytes.

    Dark left of light stays so; by how much, and how light it is on the whole, is the other's:

    >>> restyled(np.array([[[[0, 255]]]]), np.array([[[[200, 100]]]])).tolist()
    [[[[100, 200]]]]
    """
    own = np.fft.rfft2(images.astype(np.float64))
    size = np.abs(own)
    # Where there is no amplitude there is no angle: without a bound, rounding errors would draw one.
    phase = np.divide(own, size, out=np.ones_like(own), where=size > _NOTHING)
    mixed = np.fft.irfft2(np.abs(np.fft.rfft2(styles.astype(np.float64))) * phase, s=images.shape[-2:])
    return np.clip(np.rint(mixed), 0, 255).astype(np.uint8)


def stylised(kept: Samples, every: Samples, *, split: str, seed: int) -> Samples:
    """The `kept` of a split, each in the style of one of `every`: the same for a sample, whatever else is kept."""
    assert isinstance(kept.inputs, torch.Tensor)
    assert isinstance(every.inputs, torch.Tensor)
    rows = (kept.ids - every.ids[0]).numpy()
    styles = others(len(every), split=split, seed=seed)[rows]
    pixels = np.empty(tuple(kept.inputs.shape), np.uint8)
    for start in range(0, len(pixels), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        pixels[part] = restyled(kept.inputs[part].numpy(), every.inputs[torch.from_numpy(styles[part])].numpy())
    return replace(
        kept,
        name=f"{kept.name}/stylised",
        inputs=torch.from_numpy(pixels),
        source=f"{kept.source}; stylised with seed {seed}",
    )
