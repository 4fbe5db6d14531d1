"""Splitting a graph of operations at one node, by data flow; shared by the ways that have a graph."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import torch
from torch import Tensor, fx, nn

from seamripper._devices import follow
from seamripper.cut.halves import Context, Head, Tail
from seamripper.data.samples import Inputs
from seamripper.errors import CutError
from seamripper.models.running import answer_of


class GraphHead(Head):
    """The operations that the value at the cut is computed from."""

    def __init__(self, graph: fx.GraphModule) -> None:
        super().__init__()
        self.graph = graph

    def forward(self, inputs: Inputs) -> Tensor:
        """The activations at the cut."""
        return answer_of(self.graph, inputs)


class GraphTail(Tail):
    """The operations that lead from the cut to the answer, and the constants they need."""

    def __init__(self, graph: fx.GraphModule, beside: tuple[str, ...]) -> None:
        super().__init__()
        self.graph = graph
        self._beside = beside

    def forward(self, activations: Tensor, context: Context | None = None) -> Tensor:
        """The answer, from activations and context."""
        beside = {name: (context or {})[name] for name in self._beside}
        return answer_of(self.graph, {"activations": activations, **beside} if beside else activations)


def split_graph(
    root: nn.Module, graph: fx.Graph, cut: fx.Node, inputs: Iterable[str], integers: Iterable[str]
) -> tuple[GraphHead, GraphTail]:
    """Head and tail of `graph` at the node `cut`.

    `inputs` are the model's inputs by name; of those only `integers` may be used behind the cut, and of a float one
    nothing but the batch size, which the tail reads off the activations.
    """
    answer = next(n for n in graph.nodes if n.op == "output")
    _refuse_lost_mutations(graph)
    ahead = _nodes_before([cut], stop=set())
    sizes = {n for n in graph.nodes if n is not cut and _is_batch_size(n)}
    behind = _nodes_before(answer.all_input_nodes, stop={cut, *sizes})
    crossing = [n for n in behind if n.op == "placeholder" and n is not cut]
    allowed = set(integers)
    if any(n.target not in allowed for n in crossing):
        raise CutError("The shape of the input is used behind the cut")
    names = set(inputs)
    keep = [n for n in graph.nodes if n.op == "placeholder" and n.target in names]
    head = fx.Graph()
    env: dict[fx.Node, fx.Node] = {}
    for node in graph.nodes:
        if node in ahead or node in keep:
            env[node] = head.node_copy(node, lambda n: env[n])
    head.output(env[cut])
    tail = fx.Graph()
    env = {cut: tail.placeholder("activations")}
    for node in graph.nodes:
        if node in sizes:
            env[node] = tail.call_method("size", (env[cut], 0))
        elif node in behind and node is not cut:
            env[node] = tail.node_copy(node, lambda n: env[n])
    tail.output(fx.node.map_arg(answer.args[0], lambda n: env[n]))
    beside = tuple(str(n.target) for n in crossing)
    halves = fx.GraphModule(root, head), fx.GraphModule(root, tail)
    for half in halves:
        follow(half, root)
    return GraphHead(halves[0]), GraphTail(halves[1], beside)


def _is_batch_size(node: fx.Node) -> bool:
    """Whether the node is the size of the first axis of one of the model's inputs, however it is written."""
    if not node.args or not isinstance(node.args[0], fx.Node):
        return False
    of, rest = node.args[0], node.args[1:]
    if of.op == "call_function" and of.target is getattr and of.args[1] == "shape":
        return node.target is operator.getitem and rest == (0,) and _is_input(of.args[0])
    written = node.target == "size" or node.target is torch.ops.aten.sym_size.int
    return written and rest == (0,) and _is_input(of)


def _is_input(node: object) -> bool:
    return isinstance(node, fx.Node) and node.op == "placeholder"


def _nodes_before(nodes: Iterable[fx.Node], stop: set[fx.Node]) -> dict[fx.Node, None]:
    """The nodes that these are computed from, themselves included, not looking behind those in `stop`."""
    needed: dict[fx.Node, None] = {}
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if node not in needed:
            needed[node] = None
            if node not in stop:
                todo.extend(node.all_input_nodes)
    return dict.fromkeys(sorted(needed))


def _refuse_lost_mutations(graph: fx.Graph) -> None:
    """A node nobody uses may still have changed a value in place; cut by data flow, it would vanish silently."""
    for node in graph.nodes:
        if not node.users and node.op.startswith("call_") and _may_mutate(node):
            raise CutError(f"The operation {node.name!r} may change a value in place")


def _may_mutate(node: fx.Node) -> bool:
    if node.op == "call_module":
        return not str(node.target).startswith("_guards")
    word = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    word = word.split(".")[0]
    in_place = word.endswith("_") and not word.endswith("__")
    operators = {"setitem", "iadd", "isub", "imul", "itruediv", "imatmul", "ipow", "iand", "ior", "ixor"}
    return in_place or word in operators or bool(node.kwargs.get("inplace")) or "out" in node.kwargs
