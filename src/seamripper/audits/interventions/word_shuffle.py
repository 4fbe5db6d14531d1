"""The intervention `word_shuffle`: the order of words is taken away."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.draws import uniforms
from seamripper.audits.interventions.inputs import tokens, with_tokens
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class WordShuffle(Intervention):
    """The tokens of a text change places, differently in each text; the words stay the same.

    Samples come without their tokenizer, so a word is a token, and a word of several pieces is torn apart. The first
    and the last token that the attention mask leaves (CLS, SEP) stay in place, and so does padding.

    >>> inputs = {"input_ids": torch.tensor([[101, 4, 5, 6, 7, 102, 0]])}
    >>> inputs["attention_mask"] = (inputs["input_ids"] > 0).long()
    >>> text = Samples("text", inputs, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> WordShuffle().change(text, seed=0)["input_ids"].tolist()
    [[101, 5, 6, 4, 7, 102, 0]]
    """

    name = "word_shuffle"
    about = "words change places"
    kind = "text"

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The texts with their words in another order."""
        ids, words = tokens(samples, self.name)
        # Tokens that are not words get the largest key: the stable sort puts them behind the words, in order.
        keys = uniforms(samples.ids, ids.shape[1], seed=seed).masked_fill_(~words, 1.0)
        order = keys.argsort(dim=1, stable=True)
        places = (~words).to(torch.uint8).argsort(dim=1, stable=True)
        return with_tokens(samples, torch.empty_like(ids).scatter_(1, places, ids.gather(1, order)))
