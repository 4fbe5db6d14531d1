"""The colour variants: against the words of the paper one image at a time, and against kept pixels.

The kept file is written anew by `python tests/data/test_colour.py`; no release may change it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seamripper.data import Samples, load_data
from seamripper.data.colour import VARIANTS, colour_images, draw
from seamripper.data.images import Grey
from seamripper.errors import DataError

GOLDEN = Path(__file__).parents[1] / "golden" / "colour_mnist.json"
SPLITS = ("train", "test")
SIZES = {"train": 60_000, "test": 10_000}
CHECKED = (0, 1, 2, 3, 4, 17, 123, 999, 4_567, 9_999)

# Typed from the paper's list, not imported: a slip in either would show.
RGB = {
    0: (255, 0, 0),
    1: (0, 255, 0),
    2: (0, 0, 255),
    3: (225, 225, 0),
    4: (225, 0, 225),
    5: (0, 255, 255),
    6: (255, 128, 0),
    7: (255, 0, 128),
    8: (128, 0, 255),
    9: (128, 128, 128),
}


@functools.cache
def mnist(variant: str, split: str) -> Samples:
    return load_data(f"mnist/{variant}", split)


def pixels_of(samples: Samples, i: int) -> np.ndarray[Any, Any]:
    assert isinstance(samples.inputs, torch.Tensor)
    return samples.inputs[i].numpy()


@functools.cache
def numbers(split: str, seed: int = 0) -> tuple[list[int], list[list[float]], list[int]]:
    """The random numbers in the order that the documentation gives: colours, noise, parts of the mix."""
    rng = np.random.RandomState([seed, SPLITS.index(split)])
    n = SIZES[split]
    colours = [int(c) for c in rng.randint(0, 10, size=n, dtype=np.int64)]
    noise = rng.standard_normal((n, 3)).tolist()
    parts = [int(p) % 3 for p in rng.permutation(n)]
    return colours, noise, parts


def by_the_words(variant: str, split: str, i: int, digit: np.ndarray[Any, Any], label: int) -> tuple[Any, int]:
    """One image and its label, pixel by pixel, from the paper's words."""
    colours, noise, parts = numbers(split)
    if variant == "mix":
        variant = ("greyscale", "correlated", "colour-only")[parts[i]]
    colour = colours[i] if variant in ("digit", "colour") else label
    out = np.zeros((3, 28, 28), dtype=np.uint8)
    for channel in range(3):
        wobble = max(-1.0, min(1.0, noise[i][channel])) * 0.1 * 255
        flat = int(max(0.0, min(255.0, RGB[colour][channel] + wobble)))
        for y in range(28):
            for x in range(28):
                if variant == "greyscale":
                    out[channel, y, x] = digit[y, x]
                elif variant != "colour-only" and digit[y, x] > 0:
                    out[channel, y, x] = 255
                else:
                    out[channel, y, x] = flat
    return out, colour if variant == "colour" else label


@pytest.mark.network
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_images_are_those_of_the_papers_words(variant: str, split: str) -> None:
    plain, samples = mnist("greyscale", split), mnist(variant, split)
    for i in CHECKED:
        image, label = by_the_words(variant, split, i, pixels_of(plain, i)[0], int(plain.labels[i]))
        np.testing.assert_array_equal(pixels_of(samples, i), image)
        assert int(samples.labels[i]) == label


def record(variant: str, split: str) -> dict[str, Any]:
    samples = mnist(variant, split)
    first = samples.first(1000)
    assert isinstance(first.inputs, torch.Tensor)
    return {
        "images": hashlib.sha256(first.inputs.contiguous().numpy().tobytes()).hexdigest(),
        "labels": first.labels[:20].tolist(),
        # image, row, column → red, green, blue: a corner, and two places that digits cross.
        "pixels": {
            f"{i},{y},{x}": pixels_of(samples, i)[:, y, x].tolist()
            for i in (0, 1, 999)
            for y, x in ((0, 0), (10, 14), (14, 14))
        },
    }


@pytest.mark.network
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_images_are_the_kept_ones(variant: str, split: str) -> None:
    kept = json.loads(GOLDEN.read_text())
    assert record(variant, split) == kept[variant][split]


@pytest.mark.network
@pytest.mark.parametrize("variant", VARIANTS)
def test_normalisation(variant: str) -> None:
    samples = mnist(variant, "test")
    expected = (0.1307, 0.3081) if variant == "greyscale" else (0.5, 0.5)
    assert (samples.mean, samples.std) == expected
    assert samples.shape == (3, 28, 28)
    assert samples.name == f"mnist/{variant}"


@pytest.mark.network
def test_digit_and_colour_are_the_same_pixels_with_two_labels() -> None:
    digit, colour = mnist("digit", "test"), mnist("colour", "test")
    assert isinstance(digit.inputs, torch.Tensor)
    assert isinstance(colour.inputs, torch.Tensor)
    assert torch.equal(digit.inputs, colour.inputs)
    agree = float((digit.labels == colour.labels).float().mean())
    assert 0.08 < agree < 0.12, "colours are drawn without regard to the digit: one in ten agrees"


@pytest.mark.network
def test_colours_are_drawn_evenly_and_apart_from_the_digit() -> None:
    digits, colours = mnist("digit", "train").labels, mnist("colour", "train").labels
    table = torch.zeros(10, 10).index_put_((digits, colours), torch.ones(60_000), accumulate=True)
    expected = table.sum(1, keepdim=True) * table.sum(0, keepdim=True) / 60_000
    chi2 = float(((table - expected) ** 2 / expected).sum())
    assert chi2 < 126, "81 degrees of freedom, p = 0.001"
    counts = table.sum(0)
    assert float(((counts - 6000) ** 2 / 6000).sum()) < 28, "9 degrees of freedom, p = 0.001"


@pytest.mark.network
def test_the_background_is_flat_and_varies_by_at_most_a_tenth() -> None:
    samples = mnist("colour-only", "test")
    assert isinstance(samples.inputs, torch.Tensor)
    assert bool((samples.inputs == samples.inputs[:, :, :1, :1]).all())
    base = torch.tensor([RGB[int(label)] for label in samples.labels])
    off = samples.inputs[:, :, 0, 0].int() - base
    assert int(off.abs().max()) <= 26
    grey = off[samples.labels == 9]
    # N(0, 1) clamped to ±1 sits on either bound 31.7 times in a hundred; 128 − 25.5 is cut to 102.
    share = float(((grey == -26) | (grey == 25)).float().mean())
    assert 0.28 < share < 0.38


def test_the_mix_is_a_third_each() -> None:
    for split in SPLITS:
        kinds = draw(SIZES[split], split=split, seed=0).kinds
        counts = np.bincount(kinds)
        assert counts.max() - counts.min() <= 1


def test_splits_and_seeds_are_drawn_apart() -> None:
    one, other = draw(1000, split="train", seed=0), draw(1000, split="test", seed=0)
    third = draw(1000, split="train", seed=1)
    for a, b in ((one, other), (one, third), (other, third)):
        assert 0.05 < (a.colours == b.colours).mean() < 0.15
        assert abs(np.corrcoef(a.z.ravel(), b.z.ravel())[0, 1]) < 0.1


@pytest.mark.network
def test_a_sample_is_the_same_however_many_are_drawn() -> None:
    whole = mnist("digit", "test")
    few = load_data("mnist/digit", "test", n=50)
    assert isinstance(few.inputs, torch.Tensor)
    assert isinstance(whole.inputs, torch.Tensor)
    rows = few.ids - 60_000
    assert torch.equal(few.inputs, whole.inputs[rows])
    assert torch.equal(few.labels, whole.labels[rows])


@pytest.mark.network
def test_the_seed_changes_colours_and_nothing_else() -> None:
    one, other = mnist("digit", "test"), load_data("mnist/digit", "test", seed=1)
    assert torch.equal(one.labels, other.labels)
    assert torch.equal(one.ids, other.ids)
    assert one.fingerprint != other.fingerprint
    assert other.source.endswith("coloured with seed 1")


def test_an_unknown_variant_is_refused_with_the_nearest() -> None:
    grey = Grey("toy", np.zeros((1, 2, 2), np.uint8), np.zeros(1, np.int64), 0, 0.0, 1.0, "memory")
    with pytest.raises(DataError, match="toy has no variant 'corelated': did you mean 'correlated'"):
        colour_images(grey, "corelated", split="train")


def test_the_kept_file_knows_every_variant_and_split() -> None:
    kept = json.loads(GOLDEN.read_text())
    assert {variant: tuple(splits) for variant, splits in kept.items()} == dict.fromkeys(VARIANTS, SPLITS)


if __name__ == "__main__":
    lines = [
        f'"{variant}": {{\n' + ",\n".join(f'"{split}": {json.dumps(record(variant, split))}' for split in SPLITS) + "}"
        for variant in VARIANTS
    ]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "}\n")
