"""Faster tails: the same function, computed with batch normalisation folded into the convolutions.

Exact in real arithmetic, and held to the plain tail within `TOLERANCE`; the plain tail stays as it is, and bit-exact.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

from seamripper.cut.fused import TOLERANCE, fold_norms
from seamripper.cut.graphs import GraphTail
from seamripper.cut.halves import CloningTail, Context, Tail
from seamripper.cut.split import Split
from seamripper.cut.values import probes
from seamripper.models.running import answer_of


@dataclass(frozen=True, eq=False)
class Fast:
    """A tail with what was done to it and how far it is from the plain one.

    `pools_first` if it only sees averages over the map; if all that it does with them is one linear map, `readout` is
    that map.
    """

    tail: Tail
    steps: tuple[str, ...]
    difference: float
    pools_first: bool = False
    readout: nn.Linear | None = None

    def __str__(self) -> str:
        if not self.steps:
            return "plain"
        return f"{', '.join(self.steps)} (differs from the plain tail by {self.difference:.0e} at most)"


class _TracedTail(Tail):
    def __init__(self, graph: nn.Module) -> None:
        super().__init__()
        self.graph = graph

    def forward(self, activations: Tensor, context: Context | None = None) -> Tensor:
        """The answer; the tail needs no context, or it would not have been traced."""
        return answer_of(self.graph, activations.contiguous())


def plain(split: Split) -> Fast:
    """The tail as it is."""
    return Fast(split.tail, (), 0.0)


def fast(split: Split, *, fold: bool = True) -> Fast:
    """The split's tail with batch normalisation folded, where that can be done and is true to the plain one.

    `benchmarks/task_step.py` shows what it buys on a machine.
    """
    graph = _traced(split.tail)
    if graph is None or split.context:
        return plain(split)
    steps = ("BN folded",) if fold and fold_norms(graph) else ()
    tail: Tail = _TracedTail(graph.eval())
    difference = _difference(split, tail)
    if difference is None:
        tail = CloningTail(tail)
        difference = _difference(split, tail)
    if difference is None or difference > TOLERANCE:
        return plain(split)
    return Fast(tail.eval(), steps, difference, _pools_first(graph), _readout(graph))


def _traced(tail: Tail) -> fx.GraphModule | None:
    """A private copy of the tail with all its modules in one graph; None if it cannot be traced."""
    inner = tail.tail if isinstance(tail, CloningTail) else tail
    if not isinstance(inner, GraphTail):
        return None
    try:
        graph = fx.symbolic_trace(copy.deepcopy(inner.graph))
    except Exception:
        return None
    given = next(n for n in graph.graph.nodes if n.op == "placeholder")
    for user in given.users:
        module = graph.get_submodule(str(user.target)) if user.op == "call_module" else None
        # Out of place, the first operation leaves the kept activations alone and needs no copy of them.
        if isinstance(getattr(module, "inplace", None), bool):
            module.inplace = False  # type: ignore[union-attr]
    return graph


def _pools_first(graph: fx.GraphModule) -> bool:
    """Whether the tail's only use of the activations is their average over the map."""
    first = next(n for n in graph.graph.nodes if n.op == "placeholder")
    if len(first.users) != 1:
        return False
    user = next(iter(first.users))
    if user.target is F.adaptive_avg_pool2d:
        return all(size in (1, (1, 1), [1, 1]) for size in (*user.args[1:], *user.kwargs.values()))
    module = graph.get_submodule(str(user.target)) if user.op == "call_module" else None
    return isinstance(module, nn.AdaptiveAvgPool2d) and module.output_size in (1, (1, 1))


def _readout(graph: fx.GraphModule) -> nn.Linear | None:
    """The linear map of a tail that averages, flattens, maps once and does no more; None for any other tail."""
    nodes = list(graph.graph.nodes)
    if not _pools_first(graph) or len(nodes) != 5 or any(n.all_input_nodes != [m] for m, n in pairwise(nodes)):
        return None
    *_, flatten, linear, _ = nodes
    modules = dict(graph.named_modules())
    flat = flatten.target is torch.flatten and flatten.args[1:] == (1,) and not flatten.kwargs
    flat |= flatten.target == "flatten" and flatten.op == "call_method" and flatten.args[1:] == (1,)
    module = modules.get(str(flatten.target)) if flatten.op == "call_module" else None
    flat |= isinstance(module, nn.Flatten) and (module.start_dim, module.end_dim) == (1, -1)
    last = modules.get(str(linear.target)) if linear.op == "call_module" else None
    return last if flat and type(last) is nn.Linear else None


def _difference(split: Split, tail: Tail) -> float | None:
    """The largest relative difference from the plain tail on the example; None if the activations were overwritten."""
    worst = 0.0
    with torch.no_grad():
        for probe in probes(split.example):
            activations = split.head(probe)
            expected = split.tail(activations)
            # Not in another layout, which the tail would copy: it could then overwrite what it is given unseen.
            given = activations.contiguous()
            version = given._version
            got = tail(given)
            if given._version != version:
                return None
            gap = float((got - expected).abs().max() / expected.abs().max().clamp(min=1e-30))
            # NaN is no difference to `max`, and the largest of all to us.
            worst = max(worst, float("inf") if math.isnan(gap) else gap)
    return worst
