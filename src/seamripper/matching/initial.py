"""Where a trained stitch starts: random, the identity, or the direct match."""

from __future__ import annotations

from typing import Literal

import torch

from seamripper.errors import MatchError
from seamripper.matching.base import Problem
from seamripper.matching.direct import Direct
from seamripper.stitches.base import LinearLayer

Init = Literal["random", "identity", "direct"]


def initialise(problem: Problem, init: Init) -> None:
    """Set the layer to its starting point. `random` is how the layer was built, which is by the seed."""
    layer = problem.layer
    if init == "random":
        return
    if not isinstance(layer, LinearLayer):
        raise MatchError(
            f"init={init!r} needs a stitch that is one linear map, and {type(layer).__name__} is not one. "
            "Use init='random', or a linear stitch such as 'affine'."
        )
    if init == "direct":
        Direct().find(problem)
        return
    weight, bias = layer.map()
    if weight.shape[0] != weight.shape[1]:
        raise MatchError(
            f"init='identity' needs as many inputs as outputs, but this stitch maps {weight.shape[1]} to "
            f"{weight.shape[0]}. Use init='direct'."
        )
    layer.install(torch.eye(len(weight), dtype=weight.dtype), torch.zeros_like(bias))
