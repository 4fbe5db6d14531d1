"""What the mixtures of texts share: words of the other text, at the places that they have there."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.mixtures.base import Mixture
from seamripper.audits.mixtures.masks import share_of, shared_words
from seamripper.data.samples import Inputs


@dataclass(frozen=True)
class WordMixture(Mixture):
    """Words from the other text. Only places at which both texts have a word count, and `share` of them are taken."""

    forms = ("text",)
    strengths = (1.0, 0.6, 0.3)
    between = {"share": (0, 1)}

    share: float = 0.5

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The texts, each with words of another."""
        ours, theirs, words = shared_words(a, b, self.name)
        assert isinstance(a, dict)
        chosen = self.places(words, share_of(words.sum(1), strength * self.share), ids, seed)
        return {**a, "input_ids": torch.where(chosen, theirs, ours)}

    @abc.abstractmethod
    def places(self, words: Tensor, size: Tensor, ids: Tensor, seed: int) -> Tensor:
        """The places (n, t) that are taken: of each row, `size` of those that hold `words`."""
