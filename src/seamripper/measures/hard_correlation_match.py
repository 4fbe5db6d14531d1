"""Hard correlation match: units paired one to one."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.measures.alignment import UNITS, best_assignment, correlations
from seamripper.measures.base import Claims, Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class HardCorrelationMatch(Measure):
    """The mean correlation of units that are paired one to one, by the pairing that makes it greatest.

    The bipartite matching of Li et al. 2015. Correlations keep their sign: a unit and its negative do not match. Where
    widths differ, each unit of the narrower side has a partner, and the units left over do not count. A dead unit
    (constant on these samples) has no correlation and counts as 0, so a side with dead units does not reach 1 even with
    itself.

    >>> import torch
    >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> y = torch.stack([x[:, 1], x[:, 0] + x[:, 1]], 1)
    >>> round(HardCorrelationMatch().value(Pair.of(x, y)), 6)  # 1 and 1 / sqrt(2)
    0.853553
    """

    name = "hard_correlation_match"
    paper = "Li, Yosinski, Clune, Lipson, Hopcroft 2015"
    formula = "max over one-to-one pairings π of meanᵢ corr(xᵢ, y_π(i))"
    claims = Claims("similarity", symmetric=True, range=(-1.0, 1.0), self_score=1.0, invariant_to=UNITS)

    def of(self, pair: Pair) -> float:
        return float(best_assignment(correlations(pair), pair.hints, self.name).mean())
