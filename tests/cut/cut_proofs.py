"""What proves that two halves are halves: written against the model alone, not against the code that cuts it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from cut_models import Case
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from seamripper.cut import Cut, Split
from seamripper.data.samples import Inputs
from seamripper.models.running import answer_of


def stitched(halves: Split, inputs: Inputs) -> Tensor:
    with torch.no_grad():
        return halves.tail(halves.head(inputs), halves.beside(inputs))


def assert_whole(case: Case, halves: Split, sizes: tuple[int, ...] = (1, 2, 5)) -> None:
    """Head and tail give the very bits of the user's own model, on batches that the split has not seen."""
    for n in sizes:
        batch = case.batch(n)
        value, answer = passing(case, halves.cut.name, batch)
        with torch.no_grad():
            activations = halves.head(batch)
            assert torch.equal(activations, value), (halves.cut.name, halves.way, n)
            assert torch.equal(halves.tail(activations, halves.beside(batch)), answer), (halves.cut.name, halves.way, n)


def passing(case: Case, name: str, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """What passes at a place of the user's model, from a hook (cloned, as it may be overwritten), and its answer."""
    who, call, before = _place(name)
    seen: list[Tensor] = []

    def note(value: Any) -> None:
        first = next(v for v in tree_leaves(value) if isinstance(v, Tensor))
        seen.append(first.clone())

    part = case.module.get_submodule(who)
    if before:
        handle = part.register_forward_pre_hook(lambda _, args, kwargs: note((args, kwargs)), with_kwargs=True)
    else:
        handle = part.register_forward_hook(lambda _, args, output: note(output))
    try:
        answer = case.answer(inputs)
    finally:
        handle.remove()
    return seen[call - 1], answer


def assert_apart(case: Case, halves: Split) -> None:
    """Neither half does anything of the other's: no module called, no parameter read, no bit that depends on one."""
    batch = case.batch(2)
    finished = finished_before(case.module, halves.cut, batch)
    module = halves.model.module
    with torch.no_grad():
        with Reading(module) as ahead:
            activations = halves.head(batch)
        context = halves.beside(batch)
        called: set[str] = set()
        with Reading(module) as behind, calls(module, called.add):
            answer = halves.tail(activations, context)
    if halves.way == "hooks":
        # The outermost modules of the front are called, answer with a blank, and call nothing themselves.
        assert not {name for name in called if name in finished and name.rpartition(".")[0] in finished}
        assert not {name for name in behind.names if name.rpartition(".")[0] in finished}
    else:
        assert finished.isdisjoint(called)
        assert ahead.names.isdisjoint(behind.names)
        assert (ahead.size, behind.size) == (halves.cut.before, halves.cut.after)
    assert_indifferent(module, ahead.names, lambda: halves.tail(activations, context), answer)
    rest = {name for name, _ in module.named_parameters()} - ahead.names
    assert_indifferent(module, rest, lambda: halves.head(batch), activations)


def assert_indifferent(module: nn.Module, names: set[str], half: Callable[[], Tensor], expected: Tensor) -> None:
    """The half answers the same when these parameters are NaN, which nothing computed from them survives."""
    poisoned = [p for name, p in module.named_parameters() if name in names]
    kept = [p.detach().clone() for p in poisoned]
    with torch.no_grad():
        for p in poisoned:
            p.fill_(float("nan"))
        got = half()
        for p, value in zip(poisoned, kept, strict=True):
            p.copy_(value)
    assert torch.equal(got, expected)


def finished_before(module: nn.Module, cut: Cut, inputs: Inputs) -> set[str]:
    """The modules whose last call had ended when the model first had the value at the cut, from one plain run of it."""
    places = {_place(name) for name in (cut.name, *cut.aliases)}
    begun: Counter[str] = Counter()
    over: Counter[str] = Counter()
    early: dict[str, bool] = {}
    passed = False

    def begin(who: str) -> None:
        nonlocal passed
        begun[who] += 1
        passed = passed or (who, begun[who], True) in places

    def end(who: str) -> None:
        nonlocal passed
        over[who] += 1
        early[who] = not passed
        passed = passed or (who, over[who], False) in places

    with calls(module, begin, end), torch.no_grad():
        answer_of(module, inputs)
    assert passed, cut
    return {who for who, yes in early.items() if yes}


def _place(name: str) -> tuple[str, int, bool]:
    who, _, call = name.removeprefix("before:").partition("#")
    return who, int(call or 1), name.startswith("before:")


@contextmanager
def calls(
    module: nn.Module, begin: Callable[[str], object], end: Callable[[str], object] = lambda _: None
) -> Iterator[None]:
    """Tell `begin` and `end` the name of each module that is called inside the block."""
    handles = []
    for name, child in module.named_modules():
        if name:
            handles.append(child.register_forward_pre_hook(lambda *_, name=name: begin(name)))
            handles.append(child.register_forward_hook(lambda *_, name=name: end(name)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class Reading(TorchDispatchMode):
    """Notes which of a module's parameters any operation is given, by their storage."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._known = {p.untyped_storage().data_ptr(): (name, p.numel()) for name, p in module.named_parameters()}
        self._read: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for value in tree_leaves((args, kwargs)):
            if isinstance(value, Tensor) and value.untyped_storage().data_ptr() in self._known:
                name, size = self._known[value.untyped_storage().data_ptr()]
                self._read[name] = size
        return func(*args, **(kwargs or {}))

    @property
    def names(self) -> set[str]:
        return set(self._read)

    @property
    def size(self) -> int:
        return sum(self._read.values())
