"""Comparing: every measure between all cuts of two models, from one pass over the data.

`compare` does it all and gives a `Comparison`. To do it in steps: `PreparedPass.of(Request(...))` cuts the models and
plans the pass, `PreparedPass.add_to` makes the pass, or a part of it, into `Sums`, and `PreparedPass.comparison` makes
their values.

`diff` compares two checkpoints of one architecture, layer by layer, and gives a `Difference`. `StreamingScore` adds a
measure up batch by batch, inside a loop of your own; `streaming_metric` makes a `torchmetrics.Metric` of it.
"""

from seamripper.comparing.approximations import Approximation, Representation, direct_functional
from seamripper.comparing.compare import PreparedPass, compare
from seamripper.comparing.comparison import Comparison, Matrix
from seamripper.comparing.diff import diff
from seamripper.comparing.difference import CutDifference, Difference, LayerDifference
from seamripper.comparing.measured import Measured, measure_files
from seamripper.comparing.pairing import Pairing, pair_activations
from seamripper.comparing.request import Request, Rule, Stitching, batch_for, requested_measures
from seamripper.comparing.sources import Sources
from seamripper.comparing.streaming import StreamingScore
from seamripper.comparing.streaming_metric import streaming_metric
from seamripper.comparing.sums import Sums

__all__ = [
    "Approximation",
    "Comparison",
    "CutDifference",
    "Difference",
    "LayerDifference",
    "Matrix",
    "Measured",
    "Pairing",
    "PreparedPass",
    "Representation",
    "Request",
    "Rule",
    "Sources",
    "Stitching",
    "StreamingScore",
    "Sums",
    "batch_for",
    "compare",
    "diff",
    "direct_functional",
    "measure_files",
    "pair_activations",
    "requested_measures",
    "streaming_metric",
]
