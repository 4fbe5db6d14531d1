"""Measures: similarity indices of two representations, a file each.

`measures` lists them, `measures.make("svcca?dims=20")` makes one, `score` puts it to a `Pair`, and `compare` to all
cuts of two models.
"""

from seamripper.measures.base import Claims, Measure, measures
from seamripper.measures.choosing import chosen
from seamripper.measures.compare import compare
from seamripper.measures.comparison import Comparison, Matrix, load_comparison
from seamripper.measures.functional import Stitching
from seamripper.measures.pair import Pair, Side
from seamripper.measures.rule import Rule
from seamripper.measures.score import Score, score

__all__ = [
    "Claims",
    "Comparison",
    "Matrix",
    "Measure",
    "Pair",
    "Rule",
    "Score",
    "Side",
    "Stitching",
    "chosen",
    "compare",
    "load_comparison",
    "measures",
    "score",
]
