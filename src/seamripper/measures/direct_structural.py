"""Direct matching, structural: the normalised error of the best affine map, on samples that it was not fitted on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.measures.base import SHAPE, TRANSFORMATIONS, Claims, Measure
from seamripper.measures.held_out import held_out
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class DirectStructural(Measure):
    """DM (struct.) of Balogh & Jelasity 2025: the error of the directly matched map, held out.

    W, b are least squares on all folds but one, and the sums run over the folds left out, each once. y is not centred
    in the divisor, so its distance from the origin counts; `regression_r2` is the same error against the variation.
    An error above 1 is worse than to answer zero. The paper fits on 100 images and scores on others.

    >>> import torch
    >>> x = torch.tensor([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    >>> y = x + torch.tensor([[0.5], [-0.5], [0.5], [-0.5], [0.5], [-0.5]])
    >>> round(DirectStructural().value(Pair.of(x, y)), 6), round(DirectStructural().value(Pair.of(x, y + 9)), 6)
    (0.047084, 0.004419)
    """

    name = "direct_structural"
    paper = "Balogh, Jelasity 2025"
    formula = "Σ|y − W x − b|² / Σ|y|²"
    claims = Claims(
        "distance",
        symmetric=False,
        range=(0.0, math.inf),
        self_score=0.0,
        invariant_to=frozenset(TRANSFORMATIONS),
        receiver_invariant_to=SHAPE - {"translation"},
    )

    def of(self, pair: Pair) -> float:
        fits = held_out(pair, label=self.label)
        return sum(fits.errors) / sum(fits.norms)

    def by_fold(self, pair: Pair) -> tuple[float, ...]:
        fits = held_out(pair, label=self.label)
        return tuple(error / norm for error, norm in zip(fits.errors, fits.norms, strict=True))
