"""The mixture `span`: a run of words of the other text."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.draws import uniforms
from seamripper.audits.mixtures.base import Mixture
from seamripper.audits.mixtures.masks import share_of, shared_words
from seamripper.data.samples import Inputs


@dataclass(frozen=True)
class Span(Mixture):
    """A run of words from the other text, at the places that they have there; the run is drawn for each pair.

    Only places at which both texts have a word count, and `share` of them are taken.

    >>> a, b = ({"input_ids": torch.tensor([row])} for row in ([1, 5, 6, 7, 8, 2], [1, 55, 66, 77, 88, 2]))
    >>> Span().mix(a, b, torch.tensor([0]), strength=1.0, seed=0)["input_ids"].tolist()
    [[1, 5, 66, 77, 8, 2]]
    """

    name = "span"
    about = "a run of words"
    forms = ("text",)
    strengths = (1.0, 0.6, 0.3)
    between = {"share": (0, 1)}

    share: float = 0.5

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The texts, each with a run of words of another."""
        ours, theirs, words = shared_words(a, b, self.name)
        assert isinstance(a, dict)
        count, place = words.sum(1), words.cumsum(1) - 1
        size = share_of(count, strength * self.share)
        start = (uniforms(ids, 1, seed=seed)[:, 0] * (count - size + 1)).long()
        chosen = words & (place >= start[:, None]) & (place < (start + size)[:, None])
        return {**a, "input_ids": torch.where(chosen, theirs, ours)}
