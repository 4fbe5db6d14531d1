"""Measures: similarity indices of two representations, one per file.

`measures` lists them, `measures.make("svcca?dims=20")` makes one, and `score` applies it to a `Pair`.
"""

from seamripper.measures.base import Claims, Measure, choose_measures, measures
from seamripper.measures.pair import Pair, Side
from seamripper.measures.score import reason, score

__all__ = [
    "Claims",
    "Measure",
    "Pair",
    "Side",
    "choose_measures",
    "measures",
    "reason",
    "score",
]
