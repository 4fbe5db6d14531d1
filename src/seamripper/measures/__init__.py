"""Measures: similarity indices of two representations, a file each.

`measures()` lists them, `measure_named` makes one, `score` puts it to a `Pair`, `compare` to all cuts of two models.
"""

from seamripper.measures.base import Claims, Measure
from seamripper.measures.choosing import chosen, measure_named, measures
from seamripper.measures.compare import compare
from seamripper.measures.comparison import Comparison, Matrix, load_comparison
from seamripper.measures.functional import Stitching
from seamripper.measures.pair import Pair, Side
from seamripper.measures.rule import Rule
from seamripper.measures.score import score

__all__ = [
    "Claims",
    "Comparison",
    "Matrix",
    "Measure",
    "Pair",
    "Rule",
    "Side",
    "Stitching",
    "chosen",
    "compare",
    "load_comparison",
    "measure_named",
    "measures",
    "score",
]
