"""Speech as it is, and how its clips are found, packed and kept."""

from __future__ import annotations

import functools
import hashlib
import io
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from seamripper.data import Samples, load_data, sources, speech
from seamripper.data.fetch import Remote
from seamripper.data.sources import Debian, UrlTar, out_of_tar
from seamripper.data.speech import LANGUAGES, PACK, REMOTE, Packed, audio_bytes, pack, sentences
from seamripper.errors import DataError, MissingExtraError

soundfile = pytest.importorskip("soundfile")


def pixels(samples: Samples) -> torch.Tensor:
    assert isinstance(samples.inputs, torch.Tensor)
    return samples.inputs


# ---- as it is


@functools.cache
def clips() -> dict[str, bytes]:
    return out_of_tar(REMOTE.read(PACK), str)


@pytest.mark.network
def test_it_is_eight_languages() -> None:
    train, test = load_data("speech"), load_data("speech", "test")
    assert torch.bincount(train.labels).tolist() == [328] * 8
    assert torch.bincount(test.labels).tolist() == [96] * 8
    assert sorted(train.ids.tolist() + test.ids.tolist()) == list(range(3392))
    assert int(test.ids.min()) == len(train)
    assert (train.name, train.shape, train.classes) == ("speech", (3, 32, 32), 8)
    assert torch.equal(pixels(train)[:, 0], pixels(train)[:, 2])
    grey = pixels(train)[:, 0].float() / 255
    assert float(grey.mean()) == pytest.approx(train.mean, abs=5e-4)
    assert float(grey.std()) == pytest.approx(train.std, abs=5e-4)
    assert train.source == "clips of Tux Paint's stamps, held to their sha256"


@pytest.mark.network
def test_every_sentence_is_there_in_every_language_and_said_once() -> None:
    said = [name.partition("/") for name in clips()]
    assert len(said) == 424 * 8
    assert {language for language, _, _ in said} == set(LANGUAGES)
    assert len({sentence for _, _, sentence in said}) == 424
    assert len({hashlib.sha256(audio_bytes(clip)).digest() for clip in clips().values()}) == len(said)


@pytest.mark.network
def test_no_sentence_is_in_both_splits() -> None:
    """Every picture is that of a clip, by its place; the splits share no sentence, in whatever language."""
    names = sorted(name.removesuffix(".ogg") for name in clips())
    tested = {name for name in names if speech.held_out(name.partition("/")[2])}
    assert len(tested) == len(load_data("speech", "test")) == 768
    sentences_of = [{name.partition("/")[2] for name in part} for part in (tested, set(names) - tested)]
    assert not sentences_of[0] & sentences_of[1]


@pytest.mark.network
@pytest.mark.parametrize("split", ["train", "test"])
def test_a_picture_is_that_of_its_clip(split: str) -> None:
    names = sorted(name.removesuffix(".ogg") for name in clips())
    rows = [name for name in names if speech.held_out(name.partition("/")[2]) == (split == "test")]
    found = load_data("speech", split)
    for row in (0, 100, len(rows) - 1):
        wave = speech.first_seconds(
            io.BytesIO(clips()[f"{rows[row]}.ogg"]), name="", rate=16_000, seconds=2.0, soundfile=soundfile
        )
        expected = speech.picture(wave, 16_000, 32)
        assert np.abs(pixels(found)[row, 0].numpy().astype(int) - expected).max() <= 1
        assert LANGUAGES[int(found.labels[row])] == rows[row][:2]


@pytest.mark.network
def test_languages_can_be_told_apart() -> None:
    """By the mean loudness of each band, the nearest mean of a language: far above one in eight."""
    train, test = (load_data("speech", split) for split in ("train", "test"))
    heard = [pixels(s)[:, 0].float().mean(2) for s in (train, test)]
    means = torch.stack([heard[0][train.labels == k].mean(0) for k in range(8)])
    nearest = torch.cdist(heard[1], means).argmin(1)
    assert float((nearest == test.labels).float().mean()) > 0.35


# ---- how clips are found and packed


def ogg(hertz: float, *, seconds: float = 0.3) -> bytes:
    """A clip; the library gives each another serial number."""
    out = io.BytesIO()
    wave = 0.5 * np.sin(2 * np.pi * hertz * np.arange(round(16_000 * seconds)) / 16_000)
    soundfile.write(out, wave, 16_000, format="OGG", subtype="VORBIS")
    return out.getvalue()


def renumbered(clip: bytes) -> bytes:
    """The same recording under another serial number, as another run of an encoder gives it."""
    other, start = bytearray(clip), 0
    while start < len(clip):
        other[start + 14] ^= 0xFF
        body = start + 27 + clip[start + 26]
        start = body + sum(clip[start + 27 : body])
    return bytes(other)


def test_what_an_ogg_holds_is_the_same_under_another_number() -> None:
    clip = ogg(440)
    assert renumbered(clip) != clip
    assert audio_bytes(renumbered(clip)) == audio_bytes(clip)
    assert audio_bytes(ogg(441)) != audio_bytes(clip)
    assert len(audio_bytes(clip)) < len(clip)


@pytest.mark.parametrize("clip", [b"RIFF" + bytes(40), b"OggS", b"OggS" + bytes(22) + bytes([0]) + b"more"])
def test_what_is_no_ogg_is_refused(clip: bytes) -> None:
    with pytest.raises(DataError, match="gave a clip that is not an Ogg file"):
        audio_bytes(clip)


def test_stamps_that_share_a_recording_say_the_same() -> None:
    notes = {"frog": 0, "frog-1": 17, "toad": 34, "newt": 51}
    languages = {language: 100 * k for k, language in enumerate(LANGUAGES, 1)}
    every = {f"{language}/{stamp}": ogg(low + notes[stamp]) for language, low in languages.items() for stamp in notes}
    every["ca/frog-1"] = renumbered(every["ca/frog"])
    every["el/toad"] = every["el/frog-1"]
    found = sentences(every)
    assert {name.partition("/")[2] for name in found} == {"frog", "newt"}
    assert len(found) == 16
    assert all(clip == every[name] for name, clip in found.items())


def test_a_sentence_that_a_language_lacks_is_left() -> None:
    every = {f"{language}/{stamp}": f"{language}{stamp}" for language in LANGUAGES for stamp in ("frog", "newt")}
    pages = {name: b"OggS" + bytes(22) + bytes([1, len(text)]) + text.encode() for name, text in every.items()}
    del pages["be/newt"]
    assert set(sentences(pages)) == {f"{language}/frog" for language in LANGUAGES}


def test_a_pack_is_the_same_whenever_and_in_whatever_order() -> None:
    made = pack({"fr/b": b"two", "be/a": b"one"})
    assert made == pack({"be/a": b"one", "fr/b": b"two"})
    with tarfile.open(fileobj=io.BytesIO(made)) as tar:
        heads = tar.getmembers()
    assert [head.name for head in heads] == ["be/a.ogg", "fr/b.ogg"]
    assert {(head.mtime, head.uid, head.gid, head.uname, head.gname) for head in heads} == {(0, 0, 0, "", "")}


def stamps(folder: str) -> bytes:
    """A tar of ten stamps, two of them for the test, with all that lies about there."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for j in range(10, 20):
            members = {f"{j}_desc_{language}.ogg": ogg(200 + 90 * k + 7 * j) for k, language in enumerate(LANGUAGES)}
            members |= {
                f"{j}.png": b"image",
                f"{j}.ogg": ogg(50),
                f"{j}_desc_da.ogg": ogg(60),
                f"{j}_desc.ogg": ogg(70),
            }
            for name, payload in members.items():
                head = tarfile.TarInfo(f"{folder}/stamps/animals/{name}")
                head.size = len(payload)
                tar.addfile(head, io.BytesIO(payload))
    return out.getvalue()


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small set of the same kind, fetched from a tar on the web into a cache of its own."""
    tar = stamps("./tuxpaint-stamps-1.0")
    held = pack(sentences(out_of_tar(tar, speech.clip_name)))
    monkeypatch.setattr(sources, "_download", lambda url: tar)
    monkeypatch.setenv("SEAMRIPPER_CACHE", str(tmp_path))
    monkeypatch.delenv("SEAMRIPPER_OFFLINE", raising=False)
    source = Packed(UrlTar("https://example.org/stamps.tar.gz", {}))
    monkeypatch.setattr(speech, "REMOTE", Remote("speech", {PACK: hashlib.sha256(held).hexdigest()}, (source,)))
    return tmp_path / "speech"


def test_both_sources_are_packed_the_same_way() -> None:
    debian, home = REMOTE.sources
    assert isinstance(debian, Packed)
    assert isinstance(debian.stamps, Debian)
    assert isinstance(home, Packed)
    assert isinstance(home.stamps, UrlTar)
    assert str(debian) == "debian tuxpaint-stamps-default"
    for folder in ("usr/share/tuxpaint", "tuxpaint-stamps-2022.06.04"):
        assert speech.clip_name(f"{folder}/stamps/animals/frog_desc_el.ogg") == "el/animals/frog"
    assert speech.clip_name("usr/share/tuxpaint/stamps/animals/frog_desc_da.ogg") is None
    assert speech.clip_name("usr/share/doc/frog_desc_el.ogg") is None


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("spectrograms-*.safetensors"))


def test_the_clips_are_kept_as_one_file_and_their_spectrograms_beside_it(toy: Path) -> None:
    both = [load_data("speech", split) for split in ("train", "test")]
    assert sum(map(len, both)) == 80
    assert (toy / PACK).is_file()
    (file,) = kept(toy)
    before = file.stat().st_mtime_ns
    assert load_data("speech").fingerprint == both[0].fingerprint
    assert file.stat().st_mtime_ns == before
    file.unlink()
    assert load_data("speech").fingerprint == both[0].fingerprint
    assert kept(toy) == [file]


@pytest.mark.slow
def test_damaged_spectrograms_are_made_again(toy: Path) -> None:
    good = load_data("speech")
    (file,) = kept(toy)
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b"", b"not it"):
        file.write_bytes(damaged)
        assert load_data("speech").fingerprint == good.fingerprint
        assert file.read_bytes() == whole


def test_other_options_are_kept_apart(toy: Path) -> None:
    shapes = [load_data(f"speech{options}").shape for options in ("", "?size=16", "?rate=8000", "?seconds=0.5")]
    assert shapes == [(3, 32, 32), (3, 16, 16), (3, 32, 32), (3, 32, 32)]
    assert len(kept(toy)) == 4
    assert len({load_data(f"speech{options}").fingerprint for options in ("", "?rate=8000", "?seconds=0.5")}) == 3


def test_where_nothing_can_be_kept_it_is_made_all_the_same(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = load_data("speech")
    (file,) = kept(toy)
    file.unlink()
    file.mkdir()  # Nothing can be written in its place.
    assert load_data("speech").fingerprint == good.fingerprint
    assert file.is_dir()


def test_it_is_drawn_and_its_classes_chosen_like_others(toy: Path) -> None:
    assert len(load_data("speech", n=9)) == 9
    few = load_data("speech?classes=3&size=16")
    assert few.labels.unique().tolist() == [0, 1, 2]
    assert few.name == "speech?classes=3&size=16"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("?size=0", "size of the data set 'speech' to be a whole number of at least 1, but got 0"),
        ("?rate=10", "rate to be a whole number from 4,000 to 192,000"),
        ("?seconds=1000", "seconds to be a number from 0.1 to 600, but got 1000"),
        ("?size=1000000", "speech would take .* GB of memory, and the limit is 4.0 GB. Take a smaller size"),
    ],
)
def test_what_makes_no_sense_is_refused(toy: Path, options: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        load_data(f"speech{options}")


def test_without_the_library_nothing_is_even_fetched(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(MissingExtraError, match=r"needs the library 'soundfile'.*pip install 'seamripper\[audio\]'"):
        load_data("speech")
    assert not toy.exists()
