"""The fast way: the same function as the plain one, computed faster, and held to it within `TOLERANCE`.

`fast` gives a tail with batch normalisation folded into the convolutions, `fast_heads` several heads in one fused pass.
Both are exact in real arithmetic; the plain ones stay as they are, and bit-exact. What is done to a graph to make it
fast is in `fused.py` and known to this file alone.
"""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

from seamripper._devices import takes_turns
from seamripper.cut.flow import Spot
from seamripper.cut.fused import fold_norms, fuse
from seamripper.cut.graphs import GraphTail
from seamripper.cut.halves import CloningTail, Context, Tail
from seamripper.cut.split import Split
from seamripper.cut.values import probes, version_of
from seamripper.data.samples import Inputs
from seamripper.errors import CutError
from seamripper.models.running import answer_of

TOLERANCE = 1e-4
"""How far an optimised network may be from the plain one, relative to the largest value."""
Run = Callable[[Inputs], tuple[Tensor, ...]]
"""Inputs → the values at several cuts."""


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


def fast(split: Split) -> Fast:
    """The split's tail with batch normalisation folded, where that can be done and is true to the plain one.

    `benchmarks/task_step.py` shows what it buys on a machine.
    """
    graph = None if takes_turns(split.model.module) else _trace(split.tail)
    if graph is None or split.context:
        return plain(split)
    steps = ("BN folded",) if fold_norms(graph) else ()
    tail: Tail = _TracedTail(graph.eval())
    difference = _difference(split, tail)
    if difference is None:
        tail = CloningTail(tail)
        difference = _difference(split, tail)
    if difference is None or difference > TOLERANCE:
        return plain(split)
    return Fast(tail.eval(), steps, difference, _pools_first(graph), _readout(graph))


def _trace(tail: Tail) -> fx.GraphModule | None:
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
            version = version_of(given)
            got = tail(given)
            if version_of(given) != version:
                return None
            worst = max(worst, gap(expected, got))
    return worst


def gap(expected: Tensor, got: Tensor) -> float:
    """The largest difference, relative to the largest expected value."""
    relative = float((expected - got).abs().max() / expected.abs().max().clamp(min=1e-30))
    # NaN is no difference to `max`, and the largest of all to us.
    return float("inf") if math.isnan(relative) else relative


def fast_heads(
    module: nn.Module, spots: Sequence[Spot], example: Inputs, plain: Run, trial: Inputs | None
) -> tuple[str, Run] | None:
    """The values at the spots in one fused pass, and how far it is from the plain one; None if it is not to be had.

    It is held to the plain one on the example, on the batch `trial` if there is one, and on NaN, which it must show
    where the plain one does.
    """
    if takes_turns(module) or not isinstance(example, Tensor) or any(spot.before for spot in spots):
        return None
    try:
        run = fuse(_trace_heads(module, spots), example)
        with torch.no_grad():
            inputs = probes(example) if trial is None else (*probes(example), trial)
            worst = max(gap(a, b) for batch in inputs for a, b in zip(plain(batch), run(batch), strict=True))
            bad = torch.full_like(example, torch.nan) if example.is_floating_point() else example
            hidden = _finite(run(bad)) != _finite(plain(bad))
    except Exception:
        # Whatever stops a trace, the plain way needs none.
        return None
    if hidden or not worst <= TOLERANCE:
        return None
    return f"fused (differs from the plain one by {worst:.0e} at most)", run


class _RecordingTracer(fx.Tracer):
    """Traces into every module that is not torch's own, and remembers which value each of them returned."""

    def __init__(self) -> None:
        super().__init__()
        self.returned: dict[str, list[fx.Node | None]] = defaultdict(list)

    def call_module(
        self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        value = super().call_module(m, forward, args, kwargs)
        self.returned[self.path_of_module(m)].append(value.node if isinstance(value, fx.Proxy) else None)
        return value


def _trace_heads(module: nn.Module, spots: Sequence[Spot]) -> fx.GraphModule:
    """The model as one graph that returns the values at the spots."""
    tracer = _RecordingTracer()
    graph = tracer.trace(module)
    nodes = [tracer.returned[spot.module][spot.occurrence - 1] for spot in spots]
    if any(node is None for node in nodes):
        raise CutError("a cut is no value of the trace")
    old = next(node for node in graph.nodes if node.op == "output")
    with graph.inserting_before(old):
        graph.output(tuple(nodes))
    graph.erase_node(old)
    heads = fx.GraphModule(module, graph)
    heads.graph.eliminate_dead_code()
    return heads.eval()


def _finite(values: Sequence[Tensor]) -> list[bool]:
    return [bool(value.isfinite().all()) for value in values]
