"""Pitch shift."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from seamripper.audits.interventions.pitch_shift import SHORTEST, PitchShift, shift_pitch
from seamripper.errors import AuditError, InapplicableError

RATE = 8000


def tone(frequency: float, size: int = RATE, *, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.sin(2 * math.pi * frequency * torch.arange(size, dtype=torch.float64) / RATE).to(dtype)


def peak(wave: Tensor) -> float:
    """The loudest frequency, in Hz."""
    spectrum = torch.fft.rfft(wave.double() * torch.hann_window(len(wave), dtype=torch.float64)).abs()
    return int(spectrum.argmax()) * RATE / len(wave)


@pytest.mark.parametrize("semitones", [-12.0, -5.5, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("frequency", [220.0, 440.0, 1234.0])
def test_a_tone_becomes_the_right_one(frequency: float, semitones: float, make: Any) -> None:
    samples = make.of(tone(frequency)[None])
    shifted = PitchShift(semitones).change(samples, seed=0)[0]
    # A second of sound has a bin a hertz.
    assert abs(peak(shifted) - frequency * 2 ** (semitones / 12)) <= 1.0
    spectrum = torch.fft.rfft(shifted.double() * torch.hann_window(RATE, dtype=torch.float64)).abs().square()
    near = int(peak(shifted))
    assert float(spectrum[near - 20 : near + 21].sum() / spectrum.sum()) > 0.99, "and it is one tone"


@pytest.mark.parametrize("semitones", [-7.0, 4.0])
def test_it_is_as_loud_as_it_was(semitones: float, make: Any) -> None:
    waves = torch.stack([tone(300), 0.01 * tone(500), torch.zeros(RATE)])
    changed = PitchShift(semitones).change(make.of(waves), seed=0)
    torch.testing.assert_close(changed.square().mean(1), waves.square().mean(1), rtol=0.01, atol=1e-12)


@pytest.mark.parametrize("semitones", [-6.0, 6.0])
def test_a_tone_sounds_when_it_sounded(semitones: float, make: Any) -> None:
    wave = torch.zeros(RATE)
    wave[4000:6000] = tone(600)[4000:6000]
    changed = PitchShift(semitones).change(make.of(wave[None]), seed=0)[0].square()
    # A window is 1,024 values long.
    assert float(changed[3500:6500].sum() / changed.sum()) > 0.98


def test_two_tones_are_shifted_by_the_same_ratio(make: Any) -> None:
    changed = PitchShift(7).change(make.of((tone(300) + tone(900))[None]), seed=0)[0]
    spectrum = torch.fft.rfft(changed * torch.hann_window(RATE)).abs()
    low, high = int(spectrum[:800].argmax()), 800 + int(spectrum[800:].argmax())
    ratio = 2 ** (7 / 12)
    assert abs(low - 300 * ratio) <= 1
    assert abs(high - 900 * ratio) <= 1


def test_what_leaves_the_band_is_cut_off_and_does_not_fold_back(make: Any) -> None:
    changed = PitchShift(12).change(make.of(tone(3000)[None]), seed=0)[0]
    assert float(changed[500:-500].square().mean()) < 0.01 * 0.5


@pytest.mark.parametrize("size", [SHORTEST, 65, 127, 1000, 4097])
@pytest.mark.parametrize("semitones", [-35.9, -0.1, 0.1, 35.9])
def test_any_length_and_any_shift(size: int, semitones: float, make: Any) -> None:
    changed = PitchShift(semitones).change(make.waves(2, size=size), seed=0)
    assert changed.shape == (2, size)
    assert torch.isfinite(changed).all()


@pytest.mark.parametrize("size", [SHORTEST, 1000, 5000])
def test_a_ratio_of_one_gives_the_sound_back(size: int, make: Any) -> None:
    waves = make.waves(2, size=size, dtype=torch.float64).inputs
    torch.testing.assert_close(shift_pitch(waves, 1.0), waves, rtol=0, atol=1e-9)


def test_parts_are_put_together_in_order(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = make.waves(5)
    whole = PitchShift().change(samples, seed=0)
    monkeypatch.setattr("seamripper.audits.interventions.pitch_shift._PART", 1000)
    torch.testing.assert_close(PitchShift().change(samples, seed=0), whole)


def test_one_channel_more_makes_no_difference(make: Any) -> None:
    samples = make.waves()
    channel = PitchShift().change(make.of(samples.inputs[:, None]), seed=0)
    assert torch.equal(channel[:, 0], PitchShift().change(samples, seed=0))


@pytest.mark.parametrize("axis", [2, -2])
@pytest.mark.parametrize("semitones", [2.0, 1.6, -2.0])
def test_the_bins_of_a_spectrogram(semitones: float, axis: int, make: Any) -> None:
    g = torch.Generator().manual_seed(0)
    spectrograms = torch.randn(4, 2, 7, 5, generator=g)
    changed = PitchShift(semitones, axis=axis).change(make.of(spectrograms), seed=0)
    least = spectrograms.amin(dim=(1, 2, 3)).view(4, 1, 1, 1).expand(4, 2, 2, 5)
    parts = [spectrograms[:, :, 2:], least] if semitones < 0 else [least, spectrograms[:, :, :-2]]
    assert torch.equal(changed, torch.cat(parts, dim=2))


def test_a_spectrogram_wants_an_axis(make: Any) -> None:
    with pytest.raises(InapplicableError, match=r"waveforms \(n, t\) .* spectrograms, name the axis .* axis=2"):
        PitchShift().apply(make.bytes())
    with pytest.raises(InapplicableError, match=r"shape \(2, 30\)"):
        PitchShift().apply(make.of(torch.rand(3, 2, 30)))


@pytest.mark.parametrize("axis", [0, 4, -4, -9])
def test_an_axis_that_a_sample_does_not_have(axis: int, make: Any) -> None:
    with pytest.raises(InapplicableError, match=f"along axis {axis} is not possible for bytes: .* 1 … 3, or −1 … −3"):
        PitchShift(axis=axis).apply(make.bytes())


def test_nothing_would_be_left(make: Any) -> None:
    with pytest.raises(InapplicableError, match="by 12 bins leaves nothing of bytes, which has 12 along axis 2"):
        PitchShift(12, axis=2).apply(make.bytes())


def test_too_short(make: Any) -> None:
    with pytest.raises(InapplicableError, match="at least 64 values, but those of waves have 63"):
        PitchShift().apply(make.waves(size=63))


def test_a_shift_by_nothing_is_refused() -> None:
    with pytest.raises(AuditError, match="by 0 semitones is a shift by 0 semitones, which changes nothing"):
        PitchShift(0)
    with pytest.raises(AuditError, match=r"by 0\.4 semitones is a shift by 0 bins, which changes nothing"):
        PitchShift(0.4, axis=2)
    assert PitchShift(0.4).label == "pitch_shift?semitones=0.4"
