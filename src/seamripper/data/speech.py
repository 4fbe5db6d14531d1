"""Speech: 424 sentences, each said in eight languages, as spectrograms; the label is the language.

The clips are those with which Tux Paint says what its stamps show ("A frog."). Two stamps that share a recording, in
any language, say the same sentence; a sentence is kept if every language has it, so that languages differ neither in
number nor in what is said. One sentence in five is for the test, by a hash of the stamp's name without the language:
no sentence is in both splits, in any language. Else a network could know a test clip by the words that it shares with
one of the train split: names and numbers, or all of them in languages as close as Russian and Belarusian.

A language is spoken by one or a few people into one microphone, so it is confounded with the speaker, the room and the
encoder: what tells the classes apart need not be language.

The cache keeps the original clips, packed in one file that is held to its sha256, and beside it their spectrograms,
which are made again whenever they are not there.
"""

from __future__ import annotations

import contextlib
import io
import re
import tarfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from seamripper._files import load_tensors, save_tensors
from seamripper._words import need
from seamripper.data.base import DataSet, check_size, check_split
from seamripper.data.fetch import Remote
from seamripper.data.listing import held_out
from seamripper.data.recordings import check_hearing
from seamripper.data.samples import Samples
from seamripper.data.sound import VERSION, first_seconds, picture
from seamripper.data.sources import Debian, Source, UrlTar, out_of_tar
from seamripper.errors import DataError, FileError

LANGUAGES = ("be", "bg", "ca", "el", "es", "fr", "ro", "ru")
"""Belarusian, Bulgarian, Catalan, Greek, Spanish, French, Romanian, Russian; others have a hundred clips or so."""

PACK = "clips.tar"
_CLIP = re.compile(rf"(?:^|/)stamps/(.+)_desc_({'|'.join(LANGUAGES)})\.ogg$")
_KIND = "set of spectrograms"


@dataclass(frozen=True)
class Packed(Source):
    """The clips out of a tar of Tux Paint's stamps, packed in one file, the same bytes wherever it is done."""

    stamps: Debian | UrlTar

    def __str__(self) -> str:
        return str(self.stamps)

    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        """The pack."""
        clips = out_of_tar(self.stamps.tar(), clip_name)
        return {PACK: pack(sentences(clips))} if PACK in wanted else {}


REMOTE = Remote(
    "speech",
    {PACK: "a721a75c844f945d4287de5152a8648545c232480692a4c06a4641c90b3c8a28"},
    (
        Packed(Debian("tuxpaint-stamps-default", {})),
        Packed(
            UrlTar(
                "https://downloads.sourceforge.net/project/tuxpaint/tuxpaint-stamps/2022-06-04/"
                "tuxpaint-stamps-2022.06.04.tar.gz",
                {},
            )
        ),
    ),
)


@dataclass(frozen=True)
class Speech(DataSet):
    """Eight languages as log-mel spectrograms, three equal channels of size x size.

    The first `seconds` are heard, at `rate` samples per second; nine clips in ten are shorter than two.
    """

    name: ClassVar[str] = "speech"
    about: ClassVar[str] = "eight languages as spectrograms, 2,624 + 768 clips; a language is mostly one speaker"

    size: int = 32
    rate: int = 16_000
    seconds: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_hearing(self.rate, self.seconds)

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The split, labelled by language."""
        # Asked for before the download, which is large.
        soundfile = need("soundfile", extra="audio", what="The data set 'speech'")
        place = REMOTE.path(PACK)
        names, pixels = self._pictures(place, soundfile)
        tested = np.array([held_out(name.partition("/")[2]) for name in names])
        rows = np.flatnonzero(tested == (check_split(split) == "test"))
        first_id = 0 if split == "train" else int((~tested).sum())
        return Samples(
            name="speech",
            inputs=pixels[torch.from_numpy(rows)].expand(-1, 3, -1, -1),
            labels=torch.tensor([LANGUAGES.index(names[row].partition("/")[0]) for row in rows]),
            ids=torch.arange(first_id, first_id + len(rows)),
            classes=len(LANGUAGES),
            # Mean and standard deviation of its own train pixels, as 0.1307 and 0.3081 are MNIST's.
            mean=0.2757,
            std=0.2617,
            source="clips of Tux Paint's stamps, held to their sha256",
        )

    def _pictures(self, place: Path, soundfile: ModuleType) -> tuple[list[str], Tensor]:
        """Names of the clips, and their spectrograms (n, 1, size, size), kept beside the pack."""
        clips = out_of_tar(place.read_bytes(), lambda name: name.removesuffix(".ogg"))
        names = sorted(clips)
        advice = "Take a smaller size."
        check_size(len(names) * 3 * self.size**2, limit=4 * 10**9, name="speech", advice=advice)
        version = f"spectrograms-v{VERSION}-{soundfile.__libsndfile_version__}-{REMOTE.files[PACK][:8]}"
        cache = place.with_name(f"{version}-{self.rate}-{self.seconds}-{self.size}.safetensors")
        # It may be damaged, or not there yet; either way it is made again.
        with contextlib.suppress(FileError):
            return names, load_tensors(cache, kind=_KIND)[0]["pixels"]
        pixels = torch.empty(len(names), 1, self.size, self.size, dtype=torch.uint8)
        for row, name in enumerate(names):
            file = io.BytesIO(clips[name])
            wave = first_seconds(file, name=name, rate=self.rate, seconds=self.seconds, soundfile=soundfile)
            pixels[row, 0] = torch.from_numpy(picture(wave, self.rate, self.size))
        # Where nothing can be written, nothing is kept, and the next one makes it again.
        with contextlib.suppress(FileError):
            save_tensors(cache, {"pixels": pixels}, {}, kind=_KIND)
        return names, pixels


def sentences(clips: Mapping[str, bytes]) -> dict[str, bytes]:
    """The clips "language/stamp" → "language/sentence", one for each sentence that every language has.

    A sentence goes by the name of the first of its stamps. The same recording lies about more than once, under other
    serial numbers; `audio_bytes` looks past those.
    """
    first: dict[bytes, str] = {}
    said = {name.partition("/")[2]: name.partition("/")[2] for name in clips}

    def sentence(stamp: str) -> str:
        while said[stamp] != stamp:
            stamp = said[stamp]
        return stamp

    for name in sorted(clips):
        stamp = name.partition("/")[2]
        first_said, other = sentence(first.setdefault(audio_bytes(clips[name]), stamp)), sentence(stamp)
        said[max(first_said, other)] = min(first_said, other)
    clips_of: dict[str, dict[str, bytes]] = {}
    for name in sorted(clips):
        language, _, stamp = name.partition("/")
        clips_of.setdefault(sentence(stamp), {}).setdefault(language, clips[name])
    whole = {said: heard for said, heard in clips_of.items() if set(heard) == set(LANGUAGES)}
    return {f"{language}/{said}": clip for said, heard in whole.items() for language, clip in heard.items()}


def audio_bytes(ogg: bytes) -> bytes:
    """What an Ogg file holds, without the heads of its pages: "OggS" … count, sizes, and then as much as they say.

    >>> audio_bytes(b"OggS" + bytes(22) + bytes([2, 3, 1]) + b"abcd")
    b'abcd'
    """
    bodies, start = [], 0
    while start < len(ogg):
        if ogg[start : start + 4] != b"OggS" or len(ogg) < start + 27:
            raise DataError("gave a clip that is not an Ogg file")
        body = start + 27 + ogg[start + 26]
        end = body + sum(ogg[start + 27 : body])
        bodies.append(ogg[body:end])
        start = end
    return b"".join(bodies)


def pack(clips: Mapping[str, bytes]) -> bytes:
    """A tar of the clips in the order of their names, with nothing in it of when, where and by whom it was made."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(clips):
            head = tarfile.TarInfo(f"{name}.ogg")
            head.size = len(clips[name])
            tar.addfile(head, io.BytesIO(clips[name]))
    return out.getvalue()


def clip_name(member: str) -> str | None:
    """What a member of the stamps is called here, "language/stamp"; None if it is no clip.

    >>> clip_name("tuxpaint/stamps/animals/frog_desc_fr.ogg"), clip_name("tuxpaint/stamps/animals/frog.png")
    ('fr/animals/frog', None)
    """
    match = _CLIP.search(member)
    return f"{match[2]}/{match[1]}" if match else None
