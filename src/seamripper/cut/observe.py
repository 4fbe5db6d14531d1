"""One watched run of a model: every module call in order, and the flow of values between them.

The flow is autograd's own record of the run. The inputs are tainted with `requires_grad`, and so, as sources, are the
values that modules make of integer inputs (an embedding). What depends on them can be followed back from the answer,
edge by edge, through any Python control flow and without tracing. An edge (node, output number) names one value at
one moment: an in-place operation on it makes a new edge, so a value that is overwritten later keeps its own.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge
from torch.overrides import TorchFunctionMode

from seamripper.cut.values import batch_of, first_argument, first_tensor, length_of, map_tensors, tensors_in
from seamripper.data.samples import Inputs
from seamripper.models.running import answer_of

Edge = tuple[int, int]
"""A value at one moment: the number of the autograd node that made it, and which of its outputs it is."""


@dataclass
class ModuleCall:
    """One call of one module: when it began and ended, what went in and what came out."""

    name: str
    occurrence: int
    start: int
    end: int = -1
    input: Edge | None = None
    input_shape: tuple[int, ...] = ()
    output: Edge | None = None
    output_shape: tuple[int, ...] = ()
    returned: Any = None
    differentiable: bool = False
    aliases_input: bool = False


@dataclass
class Observation:
    """The calls of one run, in the order in which they began, and the graph of values."""

    calls: list[ModuleCall]
    batch: int
    length: int
    answer: Edge | None = None
    finite: bool = True
    edges: dict[int, list[Edge]] = field(default_factory=dict)
    born: dict[int, int] = field(default_factory=dict)
    made_at: dict[Edge, int] = field(default_factory=dict)
    sources: dict[int, int] = field(default_factory=dict)
    parameters: dict[int, int] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)

    def ancestors(self, start: Edge, *, without: Edge | None = None) -> set[int]:
        """The nodes that `start` was computed from, not looking behind the value `without`."""
        seen: set[int] = set()
        todo = [start] if start != without else []
        while todo:
            node, _ = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(edge for edge in self.edges[node] if edge != without and edge[0] not in seen)
        return seen


class _Nodes:
    """Numbers for autograd nodes. They are kept alive, because a node that is let go may lend its id to another."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._number: dict[int, int] = {}

    def number(self, node: Any) -> int:
        if id(node) not in self._number:
            self._number[id(node)] = len(self._kept)
            self._kept.append(node)
        return self._number[id(node)]

    def edge(self, tensor: Tensor) -> Edge | None:
        if not tensor.requires_grad:
            return None
        gradient = get_gradient_edge(tensor)
        return self.number(gradient.node), gradient.output_nr

    def graph(self, answer: Edge, into: Observation) -> None:
        todo = [answer[0]]
        while todo:
            number = todo.pop()
            if number in into.edges:
                continue
            node = self._kept[number]
            into.edges[number] = [(self.number(n), nr) for n, nr in node.next_functions if n is not None]
            into.born[number] = node._sequence_nr()
            into.kinds[number] = node.name().removesuffix("0").removesuffix("Backward")
            todo.extend(n for n, _ in into.edges[number])


def observe(module: nn.Module, inputs: Inputs) -> Observation:
    """Run the model once on `inputs` and note every call and every value.

    `module` must be a private copy in eval mode: its parameters are made to require gradients for the run, so that
    the count of parameters on either side of a cut comes from the same graph.
    """
    nodes = _Nodes()
    tainted = map_tensors(inputs, lambda t: t.detach().clone().requires_grad_(t.is_floating_point()))
    seen = Observation(calls=[], batch=batch_of(inputs), length=length_of(inputs))
    integers = _Integers(tainted)
    with _Watcher(nodes, seen, integers).on(module), integers, torch.enable_grad():
        parameters = [p for p in module.parameters() if p.is_floating_point()]
        required = [p.requires_grad for p in parameters]
        try:
            for p in parameters:
                p.requires_grad_(True)
            answer = answer_of(module, tainted)
            seen.finite = bool(torch.isfinite(answer.detach()).all())
            seen.answer = nodes.edge(answer)
            for p in parameters:
                edge = nodes.edge(p)
                assert edge is not None
                seen.parameters[edge[0]] = p.numel()
            for tensor in tensors_in(tainted):
                edge = nodes.edge(tensor)
                if edge is not None:
                    seen.sources[edge[0]] = -1
            if seen.answer is not None:
                nodes.graph(seen.answer, seen)
        finally:
            for p, was in zip(parameters, required, strict=True):
                p.requires_grad_(was)
    # Only ended calls have a value; the nodes' numbers outlive the nodes themselves, which go with `nodes`.
    seen.calls = [c for c in seen.calls if c.end >= 0]
    for call in seen.calls:
        # Values that the answer does not depend on are not in its graph.
        call.input = call.input if call.input is not None and call.input[0] in seen.edges else None
        call.output = call.output if call.output is not None and call.output[0] in seen.edges else None
    return seen


class _Integers(TorchFunctionMode):
    """Knows the integer inputs, and what the model makes of them that is still integer: slices, shifts, masks."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        # Kept alive, because storage that is let go may be lent to another tensor.
        self._kept = [t for t in tensors_in(inputs) if not t.is_floating_point()]
        self._storages = {_storage(t) for t in self._kept}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self._kept and self.among((args, kwargs)):
            made = [t for t in tensors_in(result) if not t.is_floating_point()]
            self._kept.extend(made)
            self._storages.update(map(_storage, made))
        return result

    def among(self, value: Any) -> bool:
        """Whether one of the tensors in the value is known."""
        return any(not t.is_floating_point() and _storage(t) in self._storages for t in tensors_in(value))


def _storage(tensor: Tensor) -> int | None:
    try:
        return tensor.untyped_storage().data_ptr()
    except NotImplementedError:
        return None  # Inside a vmap tensors have none.


class _Watcher:
    """Hooks on every module of a model, for one run."""

    def __init__(self, nodes: _Nodes, seen: Observation, integers: _Integers) -> None:
        self._nodes = nodes
        self._seen = seen
        self._clock = 0
        self._open: list[ModuleCall] = []
        self._count: Counter[str] = Counter()
        self._integers = integers

    @contextlib.contextmanager
    def on(self, module: nn.Module) -> Iterator[None]:
        handles = []
        for name, child in module.named_modules(remove_duplicate=True):
            if name:
                handles.append(child.register_forward_pre_hook(partial(self._begin, name), with_kwargs=True))
                handles.append(child.register_forward_hook(partial(self._end, name), with_kwargs=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _begin(self, name: str, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._count[name] += 1
        call = ModuleCall(name, self._count[name], start=self._tick())
        tensor = first_argument(args, kwargs)
        if tensor is not None:
            call.input, call.input_shape = self._note(tensor), tuple(tensor.shape)
        self._open.append(call)
        self._seen.calls.append(call)

    def _end(self, name: str, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], returned: Any) -> None:
        # Calls that ended by an exception, which the model caught, are still open.
        while (call := self._open.pop()).name != name:
            pass
        call.end = self._tick()
        tensor = first_tensor(returned)
        call.returned = returned
        call.differentiable = any(t.requires_grad for t in tensors_in(returned))
        if tensor is None:
            return
        call.output, call.output_shape = self._note(tensor), tuple(tensor.shape)
        if call.output is not None and self._integers.among((args, kwargs)):
            self._seen.sources.setdefault(call.output[0], call.end)
        given = first_argument(args, kwargs)
        call.aliases_input = given is not None and _same(given, tensor) and call.input == call.output

    def _note(self, tensor: Tensor) -> Edge | None:
        edge = self._nodes.edge(tensor)
        if edge is not None:
            self._seen.made_at.setdefault(edge, self._clock)
        return edge

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


def _same(a: Tensor, b: Tensor) -> bool:
    return a is b or (a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride())
