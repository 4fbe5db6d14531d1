"""Cutting a functionalised export: every operation of the model as one graph without in-place changes."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, fx, nn

from seamripper._devices import takes_turns
from seamripper.cut.flow import Flow, Spot
from seamripper.cut.graphs import GraphHead, GraphTail, split_graph
from seamripper.cut.values import integer_names, probes
from seamripper.data.samples import Inputs
from seamripper.errors import CutError


def split_by_export(module: nn.Module, spot: Spot, _: Flow, example: Inputs) -> tuple[GraphHead, GraphTail]:
    """Head and tail of the exported model; raises whatever stops the export."""
    # Three samples: export takes a batch of 0 or 1 for a constant.
    if takes_turns(module):
        raise CutError("an exported model cannot leave its device, so it cannot be loaded with resident='one'")
    probe = probes(example)[1]
    args, kwargs = ((probe,), {}) if isinstance(probe, Tensor) else ((), probe)
    auto = torch.export.Dim.AUTO
    shapes = (
        ({0: auto},)
        if isinstance(probe, Tensor)
        else {k: dict.fromkeys(range(v.dim()), auto) for k, v in probe.items()}
    )
    with warnings.catch_warnings():
        # The exporter warns of its own internals.
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)
        # Without this step in-place operations stay in the graph, and cut by data flow they would vanish silently.
        root = program.run_decompositions({}).module()
    assert isinstance(root, fx.GraphModule)
    names = [str(n.target) for n in root.graph.nodes if n.op == "placeholder"]
    return split_graph(root, root.graph, _cut_node(root.graph, spot), names, integer_names(probe))


def _cut_node(graph: fx.Graph, spot: Spot) -> fx.Node:
    """The node that makes the value at the spot, by the module stack that the exporter noted on each node."""
    calls: dict[str, list[fx.Node]] = {}
    for node in graph.nodes:
        for key, (path, _) in (node.meta.get("nn_module_stack") or {}).items():
            if path == spot.module:
                calls.setdefault(key, []).append(node)
    if len(calls) < spot.occurrence:
        raise CutError(f"The exported graph shows no call {spot.occurrence} of {spot.module!r}.")
    body = list(calls.values())[spot.occurrence - 1]
    if not spot.before:
        return body[-1]
    inside = set(body)
    outside = [n for node in body for n in node.all_input_nodes if n not in inside and n.op != "get_attr"]
    if not outside:
        raise CutError(f"The exported graph shows no input of {spot.module!r}.")
    return outside[0]
