"""CIFAR-10 with the amplitudes of others: against the formula, one image at a time, and what it leaves to tell."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

from seamripper.data import Samples, cifar10, load_data
from seamripper.data.cifar10 import others, restyle


def pixels(samples: Samples) -> torch.Tensor:
    assert isinstance(samples.inputs, torch.Tensor)
    return samples.inputs


@functools.cache
def photographs() -> Samples:
    return load_data("cifar10", "test")


@functools.cache
def restyled_photographs() -> Samples:
    return load_data("cifar10/stylised", "test")


@pytest.mark.network
def test_they_are_the_same_samples() -> None:
    plain, found = photographs(), restyled_photographs()
    assert torch.equal(found.ids, plain.ids)
    assert torch.equal(found.labels, plain.labels)
    assert found.shape == (3, 32, 32)
    assert pixels(found).dtype == torch.uint8
    assert found.name == "cifar10/stylised"
    assert found.source == "CIFAR-10, held to its sha256; stylised with seed 0"
    assert (found.mean, found.std, found.classes) == (0.0, 1.0, 10)


@pytest.mark.network
@pytest.mark.parametrize("row", [0, 1, 2, 777, 9_999])
def test_the_formula_by_the_whole_transform(row: int) -> None:
    x, other = (pixels(photographs())[k].numpy() for k in (row, others(10_000, split="test", seed=0)[row]))
    for channel in range(3):
        phase = np.angle(np.fft.fft2(x[channel]))
        mixed = np.fft.ifft2(np.abs(np.fft.fft2(other[channel])) * np.exp(1j * phase))
        assert float(np.abs(mixed.imag).max()) < 1e-9
        expected = np.clip(np.rint(mixed.real), 0, 255)
        found = pixels(restyled_photographs())[row, channel].numpy()
        assert int(np.abs(found - expected).max()) <= 1
        assert float((found == expected).mean()) > 0.99


@pytest.mark.parametrize(("split", "n"), [("train", 50_000), ("test", 10_000)])
def test_no_image_is_its_own_other(split: str, n: int) -> None:
    for seed in range(3):
        chosen = others(n, split=split, seed=seed)
        assert not bool((chosen == np.arange(n)).any())
        assert 0 <= int(chosen.min()) <= int(chosen.max()) < n
    assert sorted(set(others(2, split=split, seed=0))) == [0, 1]


def test_splits_and_seeds_draw_apart() -> None:
    draws = [others(500, split=split, seed=seed).tolist() for split in ("train", "test") for seed in (0, 1)]
    assert all(a != b for k, a in enumerate(draws) for b in draws[:k])


@pytest.mark.network
def test_an_image_in_its_own_style_is_itself() -> None:
    few = pixels(photographs())[:50].numpy()
    assert np.array_equal(restyle(few, few), few)


@pytest.mark.network
def test_a_flat_image_takes_no_angle_from_rounding_errors() -> None:
    """Grey has no phase: all waves of the other start at the corner, the same on every machine."""
    flat = np.full((1, 1, 32, 32), 77, np.uint8)
    other = pixels(photographs())[:1, :1].numpy()
    spectrum = np.abs(np.fft.fft2(other[0, 0]))
    expected = np.clip(np.rint(np.fft.ifft2(spectrum).real), 0, 255)
    assert int(np.abs(restyle(flat, other)[0, 0] - expected).max()) <= 1


def told_by(features: np.ndarray, labels: np.ndarray) -> float:
    """How often the nearest mean of a class, of the other half, is that of the image's own class."""
    half = len(labels) // 2
    means = np.stack([features[:half][labels[:half] == k].mean(0) for k in range(10)])
    scale = features[:half].std(0)
    far = ((features[half:, None] - means) / scale) ** 2
    return float((far.sum(2).argmin(1) == labels[half:]).mean())


def amplitudes(images: np.ndarray) -> np.ndarray:
    """Colour and texture: the mean of each channel, and how much there is at each of eight frequencies."""
    spectrum = np.log1p(np.abs(np.fft.rfft2(images.astype(float))))
    way = np.hypot(np.fft.fftfreq(32)[:, None], np.fft.rfftfreq(32)[None]) * 32
    rings = [spectrum[:, :, (way >= low) & (way < low + 2)].mean(2) for low in range(0, 16, 2)]
    return np.concatenate([spectrum[:, :, 0, 0], *rings], axis=1)


@pytest.mark.network
def test_texture_and_colour_no_longer_tell_the_class() -> None:
    labels = photographs().labels.numpy()
    assert told_by(amplitudes(pixels(photographs()).numpy()), labels) > 0.2
    assert told_by(amplitudes(pixels(restyled_photographs()).numpy()), labels) < 0.13


@pytest.mark.network
def test_shape_stays() -> None:
    """Where the edges are: signs of the phase agree with the original's and not with the other's."""
    plain, found = (pixels(s)[:500].numpy().astype(float) for s in (photographs(), restyled_photographs()))
    other = pixels(photographs()).numpy()[others(10_000, split="test", seed=0)[:500]].astype(float)

    def agreement(a: np.ndarray, b: np.ndarray) -> float:
        turn = np.angle(np.fft.rfft2(a)) - np.angle(np.fft.rfft2(b))
        return float(np.cos(turn)[..., 1:9, 1:9].mean())

    assert agreement(found, plain) > 0.9
    assert abs(agreement(found, other)) < 0.05


@pytest.mark.network
def test_only_what_is_drawn_is_computed_and_it_is_what_the_whole_has(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = restyled_photographs()
    computed: list[int] = []
    really = cifar10.restyle
    monkeypatch.setattr(cifar10, "restyle", lambda x, other: computed.append(len(x)) or really(x, other))
    few = load_data("cifar10/stylised", "test", n=400, seed=0)
    assert sum(computed) == 400
    assert few.fingerprint == whole.draw(400, seed=0).fingerprint


@pytest.mark.network
def test_the_seed_draws_the_styles() -> None:
    one, other = restyled_photographs(), load_data("cifar10/stylised", "test", seed=1)
    assert other.fingerprint != one.fingerprint
    assert torch.equal(one.labels, other.labels)
