"""The intervention `entity_swap`: names and numbers of another text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.draws import partners
from seamripper.audits.interventions.inputs import tokens, with_tokens
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import InapplicableError


@dataclass(frozen=True)
class EntitySwap(Intervention):
    """The `n` rarest tokens of a text become the rarest ones of another text; all else stays in place.

    Samples come without their tokenizer, so names and numbers are taken to be the tokens that occur in the fewest
    samples (of equally rare ones the larger token, as vocabularies begin with frequent words). The other text is drawn
    from those of another label, or from all others where all have the same label; only those of its tokens are used
    that this text does not have. A token is exchanged wherever it occurs; the first and the last (CLS, SEP) stay.

    >>> inputs = {"input_ids": torch.tensor([[1, 5, 90, 6, 2], [1, 5, 70, 6, 2], [1, 5, 70, 6, 2]])}
    >>> texts = Samples("texts", inputs, torch.tensor([0, 1, 1]), torch.arange(3), classes=2)
    >>> EntitySwap(n=1).change(texts, seed=0)["input_ids"].tolist()
    [[1, 5, 70, 6, 2], [1, 5, 90, 6, 2], [1, 5, 90, 6, 2]]
    """

    name = "entity_swap"
    about = "the rarest words become those of another text"
    kind = "text"
    least = {"n": 1}

    n: int = 2

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The texts with entities of others."""
        ids, words = tokens(samples, self.name)
        if len(samples) < 2:
            raise InapplicableError(f"{self.name} needs two texts or more, but {samples.name} has one.")
        rarest = list(by_rarity(ids, words))
        changed = ids.clone()
        for row, other in enumerate(partners(samples, seed=seed).tolist()):
            own = set(rarest[row])
            foreign = [token for token in rarest[other] if token not in own]
            for old, new in zip(rarest[row][: self.n], foreign, strict=False):
                changed[row, words[row] & (ids[row] == old)] = new
        return with_tokens(samples, changed)


def by_rarity(ids: Tensor, words: Tensor) -> Iterator[list[int]]:
    """The words of each text, each once: the rarest over all texts first, and of equally rare ones the larger first.

    >>> list(by_rarity(torch.tensor([[3, 4], [3, 9], [3, 3]]), torch.ones(3, 2, dtype=torch.bool)))
    [[4, 3], [9, 3], [3]]
    """
    rows = [torch.unique(text[is_word]).tolist() for text, is_word in zip(ids, words, strict=True)]
    texts = Counter(token for row in rows for token in row)
    for row in rows:
        yield sorted(row, key=lambda token: (texts[token], -token))
