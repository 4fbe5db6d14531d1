"""The mixture `words`: single words of the other text."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seamripper.audits.interventions.draws import uniforms
from seamripper.audits.mixtures.text import WordMixture


@dataclass(frozen=True)
class SingleWords(WordMixture):
    """Single words from the other text, at the places that they have there; which ones is drawn for each pair.

    Only places at which both texts have a word count, and `share` of them are taken.

    >>> import torch
    >>> a, b = ({"input_ids": torch.tensor([row])} for row in ([1, 5, 6, 7, 8, 2], [1, 55, 66, 77, 88, 2]))
    >>> SingleWords().mix(a, b, torch.tensor([0]), strength=1.0, seed=0)["input_ids"].tolist()
    [[1, 5, 66, 77, 8, 2]]
    """

    name = "words"
    about = "single words"

    def places(self, words: Tensor, size: Tensor, ids: Tensor, seed: int) -> Tensor:
        """Those with the smallest draws."""
        # Places without a word come last.
        order = uniforms(ids, words.shape[1], seed=seed).masked_fill(~words, 2.0).argsort(1).argsort(1)
        return words & (order < size[:, None])
