"""Cutting by torch.fx: only the modules that contain the cut are traced, every other one stays an opaque call."""

from __future__ import annotations

import inspect
from typing import Any

from torch import Tensor, fx, nn

from seamripper.cut.flow import Flow, Spot
from seamripper.cut.graphs import GraphHead, GraphTail, split_graph
from seamripper.cut.values import integer_names
from seamripper.data.samples import Inputs
from seamripper.errors import CutError


class _AncestorTracer(fx.Tracer):
    """Looks into the ancestors of the cut, and into nothing else."""

    def __init__(self, module: str) -> None:
        super().__init__()
        parts = module.split(".")
        self._ancestors = {".".join(parts[:i]) for i in range(1, len(parts))}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return module_qualified_name not in self._ancestors


def split_by_fx(module: nn.Module, spot: Spot, flow: Flow, example: Inputs) -> tuple[GraphHead, GraphTail]:
    """Head and tail by tracing; raises whatever stops the trace."""
    names, defaults = _arguments(module, example)
    graph = _AncestorTracer(spot.module).trace(module, concrete_args=defaults)
    node = _cut_node(graph, spot, total=flow.repeated.get(spot.module, 1))
    return split_graph(module, graph, node, names, integer_names(example))


def _arguments(module: nn.Module, example: Inputs) -> tuple[list[str], dict[str, Any] | None]:
    """The names of the arguments that are given, and the defaults of those that are not."""
    parameters = list(inspect.signature(module.forward).parameters.values())
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise CutError("The model takes arguments that its signature does not name.")
    names = [parameters[0].name] if isinstance(example, Tensor) else list(example)
    rest = {p.name: p.default for p in parameters if p.name not in names}
    if any(value is inspect.Parameter.empty for value in rest.values()):
        raise CutError("The model has arguments that the example does not give.")
    return names, rest or None


def _cut_node(graph: fx.Graph, spot: Spot, *, total: int) -> fx.Node:
    calls: list[fx.Node] = [n for n in graph.nodes if n.op == "call_module" and n.target == spot.module]
    if len(calls) != total:
        raise CutError(f"{spot.module!r} is called {total} times, of which the trace shows {len(calls)}.")
    node = calls[spot.occurrence - 1]
    if not spot.before:
        return node
    given = [a for a in (*node.args, *node.kwargs.values()) if isinstance(a, fx.Node)]
    if not given:
        raise CutError(f"The input of {spot.module!r} is not a value of the trace.")
    return given[0]
