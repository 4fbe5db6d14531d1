"""Measures: similarity indices of two representations, one per file.

`measures` lists them, `measures` makes one, and `score` applies it to a `Pair`.
"""

from seamripper.measures.base import Claims, Measure, measures
from seamripper.measures.choosing import chosen
from seamripper.measures.pair import Pair, Side
from seamripper.measures.score import Score, reason, score

__all__ = [
    "Claims",
    "Measure",
    "Pair",
    "Score",
    "Side",
    "chosen",
    "measures",
    "reason",
    "score",
]
