"""The mixture `span`: a run of words of the other text."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seamripper.audits.interventions.draws import uniforms
from seamripper.audits.mixtures.text import WordMixture


@dataclass(frozen=True)
class Span(WordMixture):
    """A run of words from the other text, at the places that they have there; the run is drawn for each pair.

    Only places at which both texts have a word count, and `share` of them are taken.

    >>> import torch
    >>> a, b = ({"input_ids": torch.tensor([row])} for row in ([1, 5, 6, 7, 8, 2], [1, 55, 66, 77, 88, 2]))
    >>> Span().mix(a, b, torch.tensor([0]), strength=1.0, seed=0)["input_ids"].tolist()
    [[1, 5, 66, 77, 8, 2]]
    """

    name = "span"
    about = "a run of words"

    def places(self, words: Tensor, size: Tensor, ids: Tensor, seed: int) -> Tensor:
        """A run that starts where the draw of the pair puts it."""
        place = words.cumsum(1) - 1
        start = (uniforms(ids, 1, seed=seed)[:, 0] * (words.sum(1) - size + 1)).long()
        return words & (place >= start[:, None]) & (place < (start + size)[:, None])
