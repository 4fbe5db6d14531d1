"""Folders of recordings: what is heard, what its spectrogram shows, and the files that cannot be read."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from seamripper.data import Samples, load_data, recordings
from seamripper.data.sound import decibels, first_seconds, mel, mel_filters, mel_power, picture
from seamripper.errors import DataError, MissingExtraError

soundfile = pytest.importorskip("soundfile")

RATE = 16_000


def tone(hertz: float, *, seconds: float = 1.0, rate: int = RATE, loud: float = 0.5) -> np.ndarray:
    return loud * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


def chirp(low: float, high: float, *, seconds: float = 2.0, rate: int = RATE) -> np.ndarray:
    """A note that rises (or falls) evenly from `low` to `high`."""
    t = np.arange(round(seconds * rate)) / rate
    return 0.5 * np.sin(2 * np.pi * (low * t + (high - low) * t**2 / (2 * seconds)))


def write(path: Path, wave: np.ndarray, *, rate: int = RATE, subtype: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, wave, rate, subtype=subtype)
    return path


def pixels(samples: Samples) -> torch.Tensor:
    assert isinstance(samples.inputs, torch.Tensor)
    return samples.inputs


def heard(path: Path, *, rate: int = RATE, seconds: float = 1.0) -> np.ndarray:
    return first_seconds(path, name=str(path), rate=rate, seconds=seconds, soundfile=soundfile)


@pytest.fixture
def songs(tmp_path: Path) -> Path:
    """Notes that rise and notes that fall, twenty of each."""
    for k in range(20):
        write(tmp_path / "fall" / f"{k}.wav", chirp(3000 + 100 * k, 300))
        write(tmp_path / "rise" / f"{k}.flac", chirp(300, 3000 + 100 * k))
    (tmp_path / "notes.txt").write_text("no recording")
    return tmp_path


# ---- the set


def test_recordings_become_images_of_their_class(songs: Path) -> None:
    train, test = (load_data(f"recordings:{songs}", split) for split in ("train", "test"))
    assert len(train) + len(test) == 40
    assert sorted(train.ids.tolist() + test.ids.tolist()) == list(range(40))
    assert (train.shape, train.classes, train.mean, train.std) == ((3, 32, 32), 2, 0.5, 0.5)
    assert pixels(train).dtype == torch.uint8
    assert torch.equal(pixels(train)[:, 0], pixels(train)[:, 1])
    assert torch.equal(pixels(train)[:, 0], pixels(train)[:, 2])
    assert train.name == train.source == f"recordings:{songs}"
    # A note that rises: early in the lower half, late in the upper; one that falls, the other way round.
    for image, label in zip(pixels(train)[:, 0].float(), train.labels.tolist(), strict=True):
        early, late = (image[:, part].argmax(0).float().mean() for part in (slice(0, 8), slice(24, 32)))
        assert bool(early > late + 4) == (label == 1)
        assert bool(late > early + 4) == (label == 0)


def test_the_layout_is_that_of_a_folder_of_images(tmp_path: Path) -> None:
    for split in ("train", "test"):
        write(tmp_path / split / "b" / "x.wav", tone(500))
        write(tmp_path / split / "a" / "y.wav", tone(900))
    train, test = (load_data(f"recordings:{tmp_path}", split) for split in ("train", "test"))
    assert train.labels.tolist() == [0, 1]
    assert (train.ids.tolist(), test.ids.tolist()) == ([0, 1], [2, 3])
    assert torch.equal(pixels(train), pixels(test))


def test_only_the_recordings_that_are_drawn_are_read(songs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load_data(f"recordings:{songs}")
    read: list[Path] = []
    really = recordings.first_seconds
    monkeypatch.setattr(recordings, "first_seconds", lambda file, **more: read.append(file) or really(file, **more))
    few = load_data(f"recordings:{songs}", n=7, seed=2)
    assert len(read) == 7
    assert few.fingerprint == whole.draw(7, seed=2).fingerprint


def test_options_stand_in_the_word(songs: Path) -> None:
    found = load_data(f"recordings:{songs}?size=16&seconds=0.5&rate=8000", n=3)
    assert found.shape == (3, 16, 16)
    assert found.name == f"recordings:{songs}?rate=8000&seconds=0.5&size=16"
    assert found.fingerprint != load_data(f"recordings:{songs}?size=16&rate=8000", n=3).fingerprint


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"size": 0}, "size of the data set 'recordings' to be a whole number of at least 1, but got 0"),
        ({"rate": 100}, "rate to be a whole number from 4,000 to 192,000 samples per second, but got 100"),
        ({"rate": 8000.0}, "rate of the data set 'recordings' to be a whole number, but got 8000.0"),
        ({"seconds": 0}, "seconds to be a number from 0.1 to 600, but got 0"),
        ({"seconds": float("nan")}, "seconds of the data set 'recordings' to be a finite number, but got nan"),
        ({"std": 0.0}, "std above 0"),
        ({"limit": 100}, r"the limit is 0\.0 GB\. Draw fewer \(n\), .*stream=True"),
        ({"sizes": 3}, "no option 'sizes': did you mean 'size'"),
    ],
)
def test_what_makes_no_sense_is_refused(songs: Path, options: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        load_data(f"recordings:{songs}", **options)  # type: ignore[arg-type]


def test_a_folder_without_recordings_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    with pytest.raises(DataError, match=r"has neither recordings nor folders of recordings \(\.wav, "):
        load_data(f"recordings:{tmp_path}")
    with pytest.raises(DataError, match=r"There is no folder .*after the colon: 'recordings:PATH'"):
        load_data(f"recordings:{tmp_path / 'nowhere'}")
    with pytest.raises(DataError, match="needs a path: 'recordings:PATH'"):
        load_data("recordings")


def test_without_the_library_it_says_how_to_get_it(songs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(MissingExtraError, match=r"needs the library 'soundfile'.*pip install 'seamripper\[audio\]'"):
        load_data(f"recordings:{songs}")


# ---- what is heard


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_every_kind_of_wav_is_heard_alike(tmp_path: Path, subtype: str) -> None:
    wave = tone(440)
    found = heard(write(tmp_path / "x.wav", wave, subtype=subtype))
    assert found.shape == (RATE,)
    assert float(np.abs(found - wave).max()) < (0.01 if subtype == "PCM_U8" else 1e-4)


@pytest.mark.parametrize("ending", ["flac", "ogg", "mp3", "aiff", "au", "caf", "w64", "opus"])
def test_other_kinds_of_file_are_heard(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.{ending}"
    if ending == "opus":
        soundfile.write(path, tone(440, rate=48_000), 48_000, format="OGG", subtype="OPUS")
    else:
        write(path, tone(440))
    spectrum = np.abs(np.fft.rfft(heard(path)))
    assert abs(int(spectrum.argmax()) - 440) <= 1
    assert load_data(f"recordings:{tmp_path}", "train" if _in_train(tmp_path, path) else "test").shape == (3, 32, 32)


def _in_train(root: Path, path: Path) -> bool:
    from seamripper.data.listing import held_out

    return not held_out(path.relative_to(root).as_posix())


def test_channels_are_averaged(tmp_path: Path) -> None:
    both = np.stack([tone(440), tone(900)], axis=1)
    found = heard(write(tmp_path / "x.wav", both, subtype="DOUBLE"))
    np.testing.assert_allclose(found, both.mean(1), atol=1e-12)


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 48_000, 16_001])
def test_any_rate_is_heard_at_the_one_that_is_asked_for(tmp_path: Path, rate: int) -> None:
    found = heard(write(tmp_path / "x.wav", tone(440, rate=rate), rate=rate, subtype="DOUBLE"))
    assert found.shape == (RATE,)
    middle = slice(1000, 15_000)
    np.testing.assert_allclose(found[middle], tone(440)[middle], atol=2e-3)


def test_notes_that_the_rate_cannot_hold_are_not_folded_into_it(tmp_path: Path) -> None:
    """7,000 Hz at 8,000 samples a second would come back as 1,000."""
    found = heard(write(tmp_path / "x.wav", tone(7_000), subtype="DOUBLE"), rate=8_000)
    assert float(np.abs(found[500:-500]).max()) < 0.01


def test_long_ones_are_cut_and_short_ones_are_followed_by_silence(tmp_path: Path) -> None:
    long, short = tone(440, seconds=3.0), tone(440, seconds=0.25)
    assert np.array_equal(heard(write(tmp_path / "l.wav", long, subtype="DOUBLE")), long[:RATE])
    found = heard(write(tmp_path / "s.wav", short, subtype="DOUBLE"))
    assert np.array_equal(found[:4000], short)
    assert not found[4000:].any()


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        (b"", "could not be read as a recording"),
        (b"this is no recording", "could not be read as a recording"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "could not be read as a recording"),
    ],
)
def test_a_damaged_recording_is_named(songs: Path, payload: bytes, complaint: str) -> None:
    assert _in_train(songs, songs / "rise" / "5.flac")
    (songs / "rise" / "5.flac").write_bytes(payload)
    with pytest.raises(DataError, match=rf"rise.5\.flac {complaint}: .*take it out of the folder"):
        load_data(f"recordings:{songs}")


def test_a_recording_of_nothing_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.wav", np.zeros(0))
    with pytest.raises(DataError, match=r"x\.wav holds no sound"):
        heard(path)


def test_a_recording_that_is_not_finite_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.wav", np.array([0.0, np.nan, 0.5]), subtype="FLOAT")
    with pytest.raises(DataError, match=r"x\.wav holds NaN or Inf"):
        heard(path)


@pytest.mark.parametrize("rate", [1, 2_000_000_000])
def test_a_rate_that_no_recording_has_is_refused(tmp_path: Path, rate: int) -> None:
    path = write(tmp_path / "x.wav", tone(440, seconds=0.1), rate=rate)
    with pytest.raises(DataError, match=rf"x\.wav to have from 1,000 to 768,000 .* its header says {rate:,}"):
        heard(path)


# ---- what its spectrogram shows


def test_the_mel_scale_is_htks() -> None:
    assert mel(700.0) == pytest.approx(2595 * np.log10(2))
    assert mel(0.0) == 0


@pytest.mark.parametrize("rate", [4_000, 8_000, 16_000, 22_050, 44_100, 48_000, 192_000])
def test_every_band_hears_something_and_peaks_at_most_at_one(rate: int) -> None:
    length = 2 ** int(np.ceil(np.log2(2 * round(0.025 * rate))))
    filters = mel_filters(rate, length)
    assert filters.shape == (64, length // 2 + 1)
    assert bool((filters.max(1) > 0).all())
    assert float(filters.min()) == 0.0
    assert float(filters.max()) <= 1.0
    # Between the first middle and the last, neighbours add up to one.
    edges = 700 * (10 ** (np.linspace(0, float(mel(rate / 2)), 66) / 2595) - 1)
    inside = (np.fft.rfftfreq(length, 1 / rate) >= edges[1]) & (np.fft.rfftfreq(length, 1 / rate) <= edges[-2])
    np.testing.assert_allclose(filters.sum(0)[inside], 1.0)


def test_the_power_of_a_band_by_hand() -> None:
    """One window, its transform written out as a sum."""
    wave = np.random.RandomState(0).standard_normal(400)
    j, k = np.arange(400), np.arange(513)
    hann = np.array([0.5 - 0.5 * np.cos(2 * np.pi * i / 400) for i in j])
    transform = (np.exp(-2j * np.pi * np.outer(k, j) / 1024) * (wave * hann)).sum(1)
    expected = mel_filters(RATE, 1024) @ np.abs(transform) ** 2
    np.testing.assert_allclose(mel_power(wave, RATE)[:, 0], expected)


def test_windows_start_every_hundredth_of_a_second() -> None:
    wave = np.zeros(RATE)
    wave[8_001] = 1.0
    power = mel_power(wave, RATE).sum(0)
    assert len(power) == 1 + (RATE - 400) // 160
    loud = np.flatnonzero(power)
    assert (int(loud[0]), int(loud[-1])) == (48, 50)


def test_long_waves_are_transformed_in_parts_that_meet() -> None:
    wave = np.random.RandomState(0).standard_normal(12 * RATE)
    power = mel_power(wave, RATE)
    for t in (0, 511, 512, 1_023, 1_024, power.shape[1] - 1):
        np.testing.assert_allclose(power[:, t], mel_power(wave[160 * t : 160 * t + 400], RATE)[:, 0])


@pytest.mark.parametrize("hertz", [200, 440, 1_000, 3_000, 6_000])
def test_a_note_is_a_bright_line_at_its_height(hertz: float) -> None:
    image = picture(tone(hertz), RATE, 64)
    row = 63 - round(float(mel(hertz) / mel(RATE / 2)) * 65 - 1)
    assert bool((np.abs(image.argmax(0).astype(int) - row) <= 1).all())
    assert int(image.max()) > 240


def test_loudness_alone_changes_nothing() -> None:
    quiet, loud = (picture(chirp(200, 5_000) * level, RATE, 32) for level in (0.001, 1.0))
    assert int(np.abs(quiet.astype(int) - loud.astype(int)).max()) <= 1


def test_eighty_decibels_are_shown() -> None:
    found = decibels(np.array([1.0, 1e-4, 1e-8, 1e-12, 0.0]))
    np.testing.assert_allclose(found, [0, -40, -80, -80, -80])


def test_silence_is_black() -> None:
    assert not picture(np.zeros(RATE), RATE, 32).any()


def test_a_short_sound_at_any_place_is_seen() -> None:
    """A pixel is the mean of what it covers: bilinear sampling alone would miss a click between two of its points."""
    for start in range(4_000, 5_600, 160):
        wave = np.zeros(2 * RATE)
        wave[start : start + 200] = tone(1_000, seconds=200 / RATE)
        assert int(picture(wave, RATE, 32).max()) > 60
