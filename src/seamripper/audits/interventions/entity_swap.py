"""The intervention `entity_swap`: names and numbers of another text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from seamripper._options import require_options
from seamripper.audits.interventions._tools import partners, tokens, with_tokens
from seamripper.audits.interventions.base import Intervention, Kind
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import AuditError, InapplicableError


@dataclass(frozen=True)
class EntitySwap(Intervention):
    """The `n` rarest tokens of a text become the rarest ones of another text; all else stays in place.

    Samples come without their tokenizer, so names and numbers are taken to be the tokens that the fewest samples
    have (of equally rare ones the larger token, as vocabularies begin with what is frequent). The other text is drawn
    among those of another label, or, where all have the same, among all others; of its tokens those count that
    this text has not. A token is exchanged wherever it stands; the first and the last one (CLS, SEP) stay.

    >>> inputs = {"input_ids": torch.tensor([[1, 5, 90, 6, 2], [1, 5, 70, 6, 2], [1, 5, 70, 6, 2]])}
    >>> texts = Samples("texts", inputs, torch.tensor([0, 1, 1]), torch.arange(3), classes=2)
    >>> EntitySwap(n=1).change(texts, seed=0)["input_ids"].tolist()
    [[1, 5, 70, 6, 2], [1, 5, 90, 6, 2], [1, 5, 90, 6, 2]]
    """

    name: ClassVar[str] = "entity_swap"
    about: ClassVar[str] = "the rarest words become those of another text"
    kind: ClassVar[Kind] = "text"

    n: int = 2

    def __post_init__(self) -> None:
        require_options(self, f"the intervention {self.name!r}", error=AuditError, n=1)

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The texts with entities of others."""
        ids, words = tokens(samples, self.name)
        if len(samples) < 2:
            raise InapplicableError(f"{self.name} takes two texts, but {samples.name} has one.")
        rarest = list(by_rarity(ids, words))
        changed = ids.clone()
        for row, other in enumerate(partners(samples, seed=seed).tolist()):
            own = set(rarest[row])
            foreign = [token for token in rarest[other] if token not in own]
            for old, new in zip(rarest[row][: self.n], foreign, strict=False):
                changed[row, words[row] & (ids[row] == old)] = new
        return with_tokens(samples, changed)


def by_rarity(ids: Tensor, words: Tensor) -> Iterator[list[int]]:
    """The words of each text, each once: those that the fewest texts have first, of equal ones the larger first.

    >>> list(by_rarity(torch.tensor([[3, 4], [3, 9], [3, 3]]), torch.ones(3, 2, dtype=torch.bool)))
    [[4, 3], [9, 3], [3]]
    """
    rows = [torch.unique(text[kept]).tolist() for text, kept in zip(ids, words, strict=True)]
    texts: dict[int, int] = {}
    for row in rows:
        for token in row:
            texts[token] = texts.get(token, 0) + 1
    for row in rows:
        yield sorted(row, key=lambda token: (texts[token], -token))
