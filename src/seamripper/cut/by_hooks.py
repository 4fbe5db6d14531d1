"""Cutting by hooks: the head stops by an exception; the tail runs the model with the modules of its front stubbed.

Works wherever the model itself runs. The tail's front costs nothing: each outermost module that had ended
before the cut returns blanks of the right shape, and the value at the cut is put in place of them. What a model does
in its front outside of any module is done on the blanks, and comes to nothing.
"""

from __future__ import annotations

import contextlib
import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from seamripper.cut.flow import Flow, Spot
from seamripper.cut.halves import Context, Head, Tail
from seamripper.cut.observe import ModuleCall, Observation
from seamripper.cut.values import first_argument, first_tensor, map_tensors, tensors_in, version_of, with_first
from seamripper.data.samples import Inputs
from seamripper.errors import CutError
from seamripper.models.running import answer_of


def split_by_hooks(module: nn.Module, spot: Spot, flow: Flow, example: Inputs) -> tuple[Head, Tail]:
    """Head and tail that run the model itself, under hooks."""
    return HookedHead(module, spot), HookedTail(module, spot, flow, example)


class _AllSeen(BaseException):
    """Ends a run behind the last cut. Not an Exception, so that no model's own `except` can keep it."""


class Taps:
    """Hooks that take the values at one or more spots as they pass, and end the run behind the last of them."""

    def __init__(self, module: nn.Module, spots: Sequence[Spot]) -> None:
        self._module = module
        self._spots = tuple(spots)
        # Values that the model overwrites later on are copied as they pass; which ones these are, a first run shows.
        self._copied: set[int] = set()

    def __call__(self, inputs: Inputs) -> tuple[Tensor, ...]:
        """The values on these inputs, in the order of the spots."""
        values = self._values_at_cuts(inputs)
        overwritten = {k for k, (value, version) in values.items() if version_of(value) != version}
        if overwritten:
            self._copied |= overwritten
            values = self._values_at_cuts(inputs)
        missing = [spot.name for k, spot in enumerate(self._spots) if k not in values]
        if missing:
            raise CutError(
                f"The model did not reach {missing[0]!r} on these inputs, though it did on the example: "
                "its path depends on its data. Choose a cut that every input passes."
            )
        return tuple(values[k][0] for k in range(len(self._spots)))

    def _values_at_cuts(self, inputs: Inputs) -> dict[int, tuple[Tensor, int]]:
        """The value at each spot, by its number, and its version when it passed."""
        values: dict[int, tuple[Tensor, int]] = {}
        calls: Counter[int] = Counter()

        def take(k: int, tensor: Tensor | None) -> None:
            calls[k] += 1
            if calls[k] == self._spots[k].occurrence and tensor is not None:
                tensor = tensor.clone() if k in self._copied else tensor
                values[k] = tensor, version_of(tensor)
                if len(values) == len(self._spots):
                    raise _AllSeen

        handles = [self._hook(k, spot, take) for k, spot in enumerate(self._spots)]
        try:
            answer_of(self._module, inputs)
        except _AllSeen:
            pass
        finally:
            for handle in handles:
                handle.remove()
        return values

    def _hook(self, k: int, spot: Spot, take: Callable[[int, Tensor | None], None]) -> Any:
        target = self._module.get_submodule(spot.module)
        if spot.before:
            return target.register_forward_pre_hook(
                lambda _, args, kwargs: take(k, first_argument(args, kwargs)), with_kwargs=True
            )
        return target.register_forward_hook(lambda _, args, returned: take(k, first_tensor(returned)))


class HookedHead(Head):
    """Runs the model until the cut and no further."""

    def __init__(self, module: nn.Module, spot: Spot) -> None:
        super().__init__()
        self.module = module
        self._tap = Taps(module, [spot])

    def forward(self, inputs: Inputs) -> Tensor:
        """The activations at the cut."""
        (activations,) = self._tap(inputs)
        return activations


class HookedTail(Tail):
    """Runs the model with stubs in place of its front and the given activations at the cut."""

    def __init__(self, module: nn.Module, spot: Spot, flow: Flow, example: Inputs) -> None:
        super().__init__()
        self.module = module
        twins = {(c.name, c.occurrence): c for c in flow.second.calls}
        stubs, self._turn = _calls_to_stub(spot, flow.seen, twins)
        self._stubs: dict[str, dict[int, _Template]] = defaultdict(dict)
        for call, turn in stubs:
            twin = twins[call.name, call.occurrence]
            self._stubs[call.name][turn] = _Template(call.returned, twin.returned, flow.seen, flow.second)
        self._spot = spot
        self._example = example
        self._fill = 0.0

    def forward(self, activations: Tensor, context: Context | None = None) -> Tensor:
        """The answer of the model whose front never ran."""
        batch = len(activations)
        length = next((v.shape[1] for v in (context or {}).values() if v.dim() == 2), 0)
        waiting = [activations]
        with contextlib.ExitStack() as stack:
            for name, stubs in self._stubs.items():
                here = name == self._spot.module and not self._spot.before
                blanks = {turn: stub.make(batch, length, self._fill) for turn, stub in stubs.items()}
                stack.enter_context(
                    _use_stubs(self.module.get_submodule(name), blanks, self._turn if here else None, waiting)
                )
            if self._spot.before:
                target = self.module.get_submodule(self._spot.module)
                stack.enter_context(_overwrite_input(target, self._turn, waiting))
            answer = answer_of(self.module, self._blank(batch, context or {}))
        if waiting:
            raise CutError(f"The model does not reach {self._spot.name!r} when its front is blank.")
        return answer

    def twins(self) -> Iterator[Tail]:
        """Two tails whose blanks hold large numbers: a choice that the front makes for the back turns with them."""
        for fill in (-10.0, 10.0):
            twin = copy.copy(self)
            twin._fill = fill
            yield twin

    def _blank(self, batch: int, context: Context) -> Inputs:
        """Inputs of the right shape that hold nothing."""
        if isinstance(self._example, Tensor):
            return self._example.new_full((batch, *self._example.shape[1:]), self._fill)
        floats = {k: v for k, v in self._example.items() if v.is_floating_point()}
        return {**{k: v.new_full((batch, *v.shape[1:]), self._fill) for k, v in floats.items()}, **context}


def _calls_to_stub(
    spot: Spot, seen: Observation, twins: Mapping[tuple[str, int], ModuleCall]
) -> tuple[list[tuple[ModuleCall, int]], int]:
    """The outermost calls before the cut, but for those that are made again; and the turn of the call at the cut.

    A call's turn is its number among the calls that its module still gets when these are answered with stubs. A call
    that only some inputs lead to has no twin. What the back uses of the front is constant, or there would be a leak:
    position embeddings, rotary tables (which autograd does not see, as it does not see a leak: verified later).
    """
    assert seen.answer is not None
    moment = spot.start if spot.before else spot.end
    ended = [c for c in seen.calls if c.end < moment or (c.end == moment and not spot.before)]
    used = seen.ancestors(seen.answer, without=spot.edge)

    def again(call: ModuleCall) -> bool:
        crosses = not call.differentiable or (call.output is not None and call.output[0] in used)
        return (call.name, call.occurrence) not in twins or (crosses and call.end < moment)

    front = [c for c in ended if not again(c)]
    outer = [c for c in front if not any(o.start < c.start and c.end < o.end for o in front)]
    inside = {id(c) for c in seen.calls for o in outer if o.start < c.start and c.end < o.end}
    turns: Counter[str] = Counter()
    stubs, turn, chosen = [], 0, {id(c) for c in outer}
    for call in seen.calls:
        if id(call) in inside:
            continue
        turns[call.name] += 1
        if id(call) in chosen:
            stubs.append((call, turns[call.name]))
        if (call.name, call.occurrence) == (spot.module, spot.occurrence):
            turn = turns[call.name]
    return stubs, turn


class _Template:
    """What a stubbed call returns: the structure it returned when watched, with blanks for its tensors."""

    def __init__(self, a: Any, b: Any, first: Observation, second: Observation) -> None:
        shapes: list[list[Callable[[int, int], int]]] = []
        orders: list[list[int]] = []
        others = tensors_in(b)

        def learn(tensor: Tensor) -> Tensor:
            other = next(others, None)
            if other is None or other.dim() != tensor.dim():
                raise CutError("A stubbed module returns tensors of changing rank.")
            sizes = zip(tensor.shape, other.shape, strict=True)
            shapes.append([_size_rule(x, y, first, second) for x, y in sizes])
            orders.append(sorted(range(tensor.dim()), key=tensor.stride, reverse=True))
            return tensor.new_zeros(())

        self._structure = map_tensors(a, learn)
        self._shapes = shapes
        self._orders = orders

    def make(self, batch: int, length: int, fill: float) -> Any:
        parts = zip(self._shapes, self._orders, strict=True)

        def blank(tensor: Tensor) -> Tensor:
            rules, order = next(parts)
            shape = [rules[axis](batch, length) for axis in order]
            made = tensor.new_full(shape, fill) if tensor.is_floating_point() else tensor.new_zeros(shape)
            # In memory as the real one was: what is put in its place must meet the same kernels, bit for bit.
            return made.permute([order.index(axis) for axis in range(len(order))])

        return map_tensors(self._structure, blank)


def _size_rule(x: int, y: int, first: Observation, second: Observation) -> Callable[[int, int], int]:
    """How an axis that had size x in the first run and y in the second follows batch and length."""
    if x == y:
        return lambda batch, length: x
    if x * second.batch == y * first.batch:
        return lambda batch, length: x * batch // first.batch
    if (x, y) == (first.length, second.length):
        return lambda batch, length: length
    if x * second.batch * second.length == y * first.batch * first.length:
        return lambda batch, length: x * batch * length // (first.batch * first.length)
    raise CutError(f"A stubbed module returns an axis of size {x}, then {y}: it follows neither batch nor length.")


@contextlib.contextmanager
def _use_stubs(module: nn.Module, blanks: dict[int, Any], at_cut: int | None, waiting: list[Tensor]) -> Iterator[None]:
    """`module.forward` answers its first calls with blanks, later ones for real.

    With `at_cut`, the call of that turn answers with the waiting activations.
    """
    real, turn = module.forward, 0

    def forward(*args: Any, **kwargs: Any) -> Any:
        nonlocal turn
        turn += 1
        if turn not in blanks:
            return real(*args, **kwargs)
        return with_first(blanks[turn], waiting.pop()) if turn == at_cut else blanks[turn]

    had = module.__dict__.get("forward")
    module.forward = forward
    try:
        yield
    finally:
        if had is None:
            del module.forward
        else:
            module.forward = had


@contextlib.contextmanager
def _overwrite_input(module: nn.Module, turn: int, waiting: list[Tensor]) -> Iterator[None]:
    """The `turn`-th call of the module finds what is waiting in its first tensor, as do all others that hold it.

    Written into the tensor, not passed in its place: a residual branch uses the same tensor past the module.
    """
    calls = 0

    def overwrite(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        nonlocal calls
        calls += 1
        blank = first_argument(args, kwargs)
        if calls == turn and blank is not None:
            blank.copy_(waiting.pop())

    handle = module.register_forward_pre_hook(overwrite, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()
