"""Measures: similarity indices of two representations, one per file.

`measures()` lists them, `measure_named` makes one, and `score` applies it to a `Pair`.
"""

from seamripper.measures.base import Claims, Measure
from seamripper.measures.choosing import chosen, measure_named, measures
from seamripper.measures.pair import Pair, Side
from seamripper.measures.score import Score, reason, score

__all__ = [
    "Claims",
    "Measure",
    "Pair",
    "Score",
    "Side",
    "chosen",
    "measure_named",
    "measures",
    "reason",
    "score",
]
