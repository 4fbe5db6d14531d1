"""The intervention `word_shuffle`: the order of words is taken away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from seamripper.audits.interventions._tools import tokens, uniforms, with_tokens
from seamripper.audits.interventions.base import Intervention, Kind
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class WordShuffle(Intervention):
    """The tokens of a text change places, in each text in another way; which words there are stays.

    Samples come without their tokenizer, so a word is a token: a word of several pieces is torn apart. The first and
    the last token that the attention mask leaves (CLS, SEP) stay in place, and so does padding.

    >>> inputs = {"input_ids": torch.tensor([[101, 4, 5, 6, 7, 102, 0]])}
    >>> inputs["attention_mask"] = (inputs["input_ids"] > 0).long()
    >>> text = Samples("text", inputs, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> WordShuffle().change(text, seed=0)["input_ids"].tolist()
    [[101, 5, 6, 4, 7, 102, 0]]
    """

    name: ClassVar[str] = "word_shuffle"
    about: ClassVar[str] = "words change places"
    kind: ClassVar[Kind] = "text"

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The texts with their words in another order."""
        ids, words = tokens(samples, self.name)
        # What is no word has the largest key: the sort, which is stable, leaves it behind the words, in its old order.
        keys = uniforms(samples.ids, ids.shape[1], seed=seed).masked_fill_(~words, 1.0)
        drawn = keys.argsort(dim=1, stable=True)
        places = (~words).to(torch.uint8).argsort(dim=1, stable=True)
        return with_tokens(samples, torch.empty_like(ids).scatter_(1, places, ids.gather(1, drawn)))
