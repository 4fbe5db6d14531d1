"""Tokens: text as the inputs of a model that reads tokens, padded to one length, with the mask that says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seamripper._files import sha256_of
from seamripper._words import need
from seamripper.data.samples import MASK
from seamripper.errors import DataError

BYTES = "bytes"
"""The tokenizer of models that read bytes: the token ids are those of the text in UTF-8."""
_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model")


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """Makes `input_ids` and `attention_mask` (n, tokens) of texts; longer ones are cut off, shorter ones are padded.

    >>> tokens = Tokenizer.of("bytes", 4)(["seam", "a"])
    >>> tokens["input_ids"].tolist(), tokens["attention_mask"].tolist()
    ([[115, 101, 97, 109], [97, 0, 0, 0]], [[1, 1, 1, 1], [1, 0, 0, 0]])
    """

    source: str
    """Which vocabulary it has, as samples and input contracts name it."""
    encode: Callable[[list[str]], dict[str, Tensor]]

    def __call__(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """The texts as named inputs."""
        return self.encode(list(texts))

    @classmethod
    def of(cls, word: str, tokens: int) -> Tokenizer:
        """`bytes`, or the tokenizer of a Hugging Face model, by the folder or the name of the model."""
        if word == BYTES:
            return cls(BYTES, lambda texts: _bytes(texts, tokens))
        transformers = need("transformers", extra="hf", what="A Hugging Face tokenizer")
        try:
            # Never code from a folder.
            made: Any = transformers.AutoTokenizer.from_pretrained(word, trust_remote_code=False)
        except Exception as e:
            raise DataError(
                f"Expected tokenizer to be 'bytes', or a folder or name that transformers can read a tokenizer from, "
                f"but got {word!r} ({type(e).__name__}: {(str(e).splitlines() or [''])[0]})."
            ) from e
        if made.pad_token_id is None:
            # What stands there is masked; GPT-2's tokenizer, for one, has no token of its own for it.
            made.pad_token = made.eos_token
        made.padding_side = made.truncation_side = "right"

        def encode(texts: list[str]) -> dict[str, Tensor]:
            rows = made(texts, padding="max_length", truncation=True, max_length=tokens, return_tensors="pt")
            return dict(rows)

        return cls(vocabulary_of(word) or word, encode)


def vocabulary_of(folder: str) -> str | None:
    """The vocabulary that a folder of a model holds, by its bytes; None if it holds none."""
    files = [path for file in _VOCABULARIES if (path := Path(folder) / file).is_file()]
    return f"{files[0].name} {sha256_of(files[0])[:12]}" if files else None


def classes_of(word: str | None) -> dict[str, int]:
    """The classes that the model of a tokenizer answers with, by the names that it gives them; none of `bytes`."""
    if word is None or word == BYTES:
        return {}
    transformers = need("transformers", extra="hf", what="A Hugging Face model")
    try:
        numbers = transformers.AutoConfig.from_pretrained(word, trust_remote_code=False).label2id
    # A folder may hold a tokenizer alone, and what transformers raises of a configuration is not one kind.
    except Exception:
        return {}
    return {str(name): int(number) for name, number in (numbers or {}).items()}


def _bytes(texts: list[str], tokens: int) -> dict[str, Tensor]:
    ids, mask = (torch.zeros(len(texts), tokens, dtype=torch.int64) for _ in range(2))
    for row, text in enumerate(texts):
        numbers = torch.tensor(list(text.encode()[:tokens]), dtype=torch.int64)
        ids[row, : len(numbers)], mask[row, : len(numbers)] = numbers, 1
    return {"input_ids": ids, MASK: mask}
