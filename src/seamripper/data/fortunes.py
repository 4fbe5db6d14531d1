"""Fortunes: plain English text as bytes, for small language models; the label is the topic.

The entries are those of eight large files of Debian's package `fortunes`, each entry once. An entry is cut into windows
of `length` bytes. One entry in five is for the test, by a hash of its text, and of those only the middle window is
taken: so no two texts of the test are parts of one entry, and none shares its entry with a text of the train split.
Some entries quote the same words as others; a test text that the train split has as well is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch

from seamripper.data.base import DataSet, check_split
from seamripper.data.fetch import Remote
from seamripper.data.listing import held_out
from seamripper.data.samples import MASK, Samples
from seamripper.data.sources import Debian
from seamripper.data.tokens import BYTES

_PRINTS = {
    "computers": "a86be224d9f733b88eeaf8a46ea0427e05cc69c69edcf5f6db47ddf561ca37fd",
    "cookie": "5dc97eee96dcc5287c373be629482730d45f77b59da1287933c9c5f482a055eb",
    "definitions": "57be4744c353d931fa2ca95f50215d4b67539f5a527ae628a6441fb4a1258caa",
    "people": "2afb4b9f577be114d2dca279bc5590ee8415e1405295d7d7626c888d82f338e8",
    "politics": "b56ca45a046edd5c459090a5c6b335332661b436e814b41ac87bb58065ad6131",
    "science": "7ab350b142ee6c70c1d8517c5a1b3790c09b190a62859427cad98e6e35a19fcc",
    "songs-poems": "eb714d297b468da91b6ca32baefb000279a3e3740b09f8a87db24fe58e010b1a",
    "work": "ad8a0e104160e2c4782fa86e143cd60ffab2872985d4293ffd0af6df19dbfa28",
}
TOPICS = tuple(_PRINTS)
REMOTE = Remote("fortunes", _PRINTS, (Debian("fortunes", {t: f"usr/share/games/fortunes/{t}" for t in _PRINTS}),))
PADDING = 0
"""A byte that no text has."""
_SHORTEST = 8
"""A window of fewer bytes, the end of an entry, is left out."""


@dataclass(frozen=True)
class Fortunes(DataSet):
    """Texts of up to `length` bytes, one token per byte; shorter ones are padded at their end."""

    name: ClassVar[str] = "fortunes"
    about: ClassVar[str] = "English text as bytes, by topic, for small language models (Debian's fortunes)"
    least: ClassVar = {**DataSet.least, "length": _SHORTEST}

    length: int = 64

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The split, labelled by topic."""
        train = list(self._texts("train"))
        known = {text for _, text in train}
        rows = train if check_split(split) == "train" else [row for row in self._texts("test") if row[1] not in known]
        tokens = torch.full((len(rows), self.length), PADDING)
        for row, (_, text) in enumerate(rows):
            tokens[row, : len(text)] = torch.tensor(list(text))
        first_id = 0 if split == "train" else len(train)
        return Samples(
            name="fortunes",
            inputs={"input_ids": tokens, MASK: (tokens != PADDING).long()},
            labels=torch.tensor([topic for topic, _ in rows]),
            ids=torch.arange(first_id, first_id + len(rows)),
            classes=len(TOPICS),
            source="the Debian package fortunes, its files held to their sha256",
            tokenizer=BYTES,
        )

    def _texts(self, split: str) -> Iterator[tuple[int, bytes]]:
        """Topic and bytes of each text of a split."""
        seen = set()
        for topic, name in enumerate(TOPICS):
            for entry in entries(REMOTE.read(name)):
                if entry in seen or held_out(entry.decode(errors="replace")) != (split == "test"):
                    continue
                seen.add(entry)
                parts = windows(entry, self.length)
                yield from ((topic, part) for part in (parts if split == "train" else parts[len(parts) // 2 :][:1]))


def entries(file: bytes) -> list[bytes]:
    """The entries of a file of fortunes, which are parted by lines with a percent sign alone.

    >>> entries(b"One.\\n%\\nTwo,\\n  and more.\\n%\\n")
    [b'One.', b'Two,\\n  and more.']
    """
    lines = (b"\n" + file).split(b"\n%\n")
    return [entry for part in lines if (entry := part.strip())]


def windows(entry: bytes, length: int) -> list[bytes]:
    """The entry in parts of `length` bytes; a last part that is very short is left out.

    >>> windows(b"abcdefghijklmnopqrst", 8)
    [b'abcdefgh', b'ijklmnop']
    """
    parts = [entry[start : start + length] for start in range(0, len(entry), length)]
    return [part for part in parts if len(part) >= _SHORTEST]
