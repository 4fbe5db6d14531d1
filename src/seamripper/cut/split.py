"""Split: a model cut in two halves that are proved to make the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from seamripper._doors import require
from seamripper._fingerprint import model_fingerprint
from seamripper._notebook import card, facts, short, table
from seamripper._words import shape_text, word_list
from seamripper.cut.by_export import split_by_export
from seamripper.cut.by_fx import split_by_fx
from seamripper.cut.by_hooks import HookedHead, split_by_hooks
from seamripper.cut.flow import Flow, Spot, first_line, read_flow
from seamripper.cut.frozen import frozen_copy, seal
from seamripper.cut.halves import CloningTail, Context, Head, Tail, context_of
from seamripper.cut.place import Cut
from seamripper.cut.values import batch_of, probes, version_of
from seamripper.data.samples import Inputs, first_input
from seamripper.errors import CutError, FrozenError, LeakError, ModelError
from seamripper.models.load import load
from seamripper.models.model import Model
from seamripper.models.running import answer_of
from seamripper.models.source import recipe_of

Way = Literal["fx", "hooks", "export"]


@dataclass(frozen=True, eq=False)
class Split:
    """A frozen model, cut: `head` stops at the cut, `tail` starts there and never runs the front.

    `way` says how the halves were made. When the split was made, tail(head(x)) was equal to the model's answer, bit
    for bit, for two batches of different size.
    """

    model: Model
    """The frozen copy that both halves are parts of."""
    cut: Cut
    head: Head
    tail: Tail
    way: Way
    example: Inputs = field(repr=False)
    context: tuple[str, ...] = ()
    """The inputs that the tail takes beside the cut, by name."""
    proved: set[tuple[str, int]] = field(repr=False, default_factory=set)
    """Samples and batch sizes on which the halves were seen to make the model: see `prove_halves`."""

    def __repr__(self) -> str:
        return f"Split({short(self.model.source, 120)!r} at {short(str(self.cut), 120)!r}, by {self.way})"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [("cut", str(self.cut)), ("made by", self.way)]
        rows += [("parameters before", self.cut.before), ("parameters after", self.cut.after)]
        rows += [("taken beside the cut", ", ".join(self.context))] if self.context else []
        rows.append(("classes", self.model.classes))
        return card(short(self.model.source), facts(rows))

    def beside(self, inputs: Inputs) -> Context:
        """What the tail is given of these inputs beside the activations."""
        return context_of(inputs, self.context)

    @property
    def front(self) -> tuple[int, str]:
        """Which front this is: equal for splits of one frozen model at one cut."""
        return id(self.model.module), self.cut.name

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model's parameters and buffers, as they are now."""
        return model_fingerprint(self.model.module)

    def answer(self, inputs: Inputs) -> Tensor:
        """The whole model's answer."""
        return answer_of(self.model.module, inputs)

    def again(self) -> Split:
        """The same split of a copy of its own, whose statistics may adapt without touching this one."""
        return split(self.model, self.cut.name, self.example, way=self.way)

    def as_record(self) -> dict[str, Any]:
        """What a file says of this split."""
        inputs = first_input(self.example)
        return {
            "source": self.model.source,
            "recipe": recipe_of(self.model),
            "fingerprint": self.fingerprint,
            "cut": self.cut.as_record(),
            "way": self.way,
            "input": list(inputs.shape[1:]),
            "classes": self.model.classes,
            "record": dict(self.model.record),
            "wants": None if self.model.wants is None else self.model.wants.as_record(),
        }


class Cuts(tuple[Cut, ...]):
    """Cuts in the order in which the model reaches them; they display themselves in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        columns = ("cut", "shape", "layout", "parameters before", "parameters after", "other names")
        rows = [
            (cut.name, shape_text(cut.shape), cut.layout, cut.before, cut.after, ", ".join(cut.aliases)) for cut in self
        ]
        return card("1 cut" if len(self) == 1 else f"{len(self)} cuts", table(columns, rows))


def cuts(model: nn.Module | Model | str, example: Inputs | None = None) -> Cuts:
    """Every legal cut of the model, in the order in which the model reaches them.

    `example` is an input, of any batch size; a `Model` that knows its input shape needs none. One value that several
    modules return (a stage, its last block) is listed once; its other names are in `aliases`.

    >>> net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> for cut in cuts(net, torch.zeros(1, 4)):
    ...     print(cut, cut.before, cut.after)
    before:0 (4, nd) 0 23
    0 (3, nd) 15 8
    1 (3, nd) 15 8
    2 (2, nd) 23 0
    """
    known = as_model(model)
    flow = read_flow(frozen_copy(known.module), example_of(known, example))
    return Cuts(flow.cut_at(spot) for spot in flow.legal())


def require_cuts(model: nn.Module | Model | str, names: Iterable[str], example: Inputs | None = None) -> None:
    """Refuse a name at which `split` would not cut the model, in the words of `split`; none of them is cut."""
    known = as_model(model)
    flow = read_flow(frozen_copy(known.module), example_of(known, example))
    for name in names:
        flow.require(name)


def split(
    model: nn.Module | Model | str,
    cut: str | Cut,
    example: Inputs | None = None,
    *,
    way: Way | Literal["auto"] = "auto",
) -> Split:
    """Cut the model at `cut`: the output of the module of that name, or with `before:` its input.

    The cut is made by torch.fx on the ancestors of the cut or, if that is not possible, by hooks with the front
    stubbed; `way="export"` asks for a functionalised export instead. If anything leaks around the cut, the cut is
    refused and the error names what leaks.

    >>> net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> halves = split(net, "1", torch.zeros(1, 4))
    >>> x = torch.randn(5, 4)
    >>> torch.equal(halves.tail(halves.head(x)), net(x)), halves.way
    (True, 'fx')
    """
    if way not in ("auto", *get_args(Way)):
        raise CutError(
            f"Expected argument `way` to be {word_list(('auto', *get_args(Way)), last='or')}, but got {way!r}."
        )
    require(cut, (str, Cut), "cut", error=CutError, advice="`cuts(model)` lists the possible ones.")
    cut = cut.name if isinstance(cut, Cut) else cut
    known = as_model(model)
    example = example_of(known, example)
    module = frozen_copy(known.module)
    flow = read_flow(module, example)
    spot = flow.require(cut)
    why: list[str] = []
    unseen = False
    for name, place in _attempts(spot, flow, way):
        try:
            with seal({"model": module}):
                head, tail = _WAYS[name](module, place, flow, example)
                context, tail = _verify(module, HookedHead(module, spot), head, tail, example)
        except FrozenError:
            raise
        except FAILURES as e:
            why.append(f"By {name}: {first_line(e)}.")
            unseen = unseen or isinstance(e, _NotWholeError)
            continue
        frozen = replace(known, module=module)
        return Split(frozen, flow.cut_at(spot), head.eval(), tail.eval(), name, example, context)
    if unseen:
        raise LeakError(
            f"{cut!r} cannot be cut: something that autograd does not see (a detached value, a number read from a "
            f"tensor, a branch that depends on one) goes around it. {' '.join(why)}"
        )
    raise CutError(f"{cut!r} could not be cut. {' '.join(why)}")


class _NotWholeError(CutError):
    """Head and tail ran, and did not make the model."""


FAILURES = Exception
"""What tracing, stubbing or exporting a model may raise where it cannot be done: anything, as the model's code runs."""


_WAYS: dict[Way, Callable[[nn.Module, Spot, Flow, Inputs], tuple[Head, Tail]]] = {
    "fx": split_by_fx,
    "hooks": split_by_hooks,
    "export": split_by_export,
}


def _attempts(spot: Spot, flow: Flow, way: Way | Literal["auto"]) -> Iterator[tuple[Way, Spot]]:
    """The ways to try, in order. Hooks at the named place, then where the same value first appears."""
    if way in ("auto", "fx"):
        yield "fx", spot
    if way in ("auto", "hooks"):
        assert spot.edge is not None
        first = min(flow.same_value(spot.edge), key=lambda s: s.start if s.before else s.end)
        for place in dict.fromkeys((spot, first)):
            yield "hooks", place
    if way == "export":
        yield "export", spot


def _verify(module: nn.Module, passing: Head, head: Head, tail: Tail, example: Inputs) -> tuple[tuple[str, ...], Tail]:
    """The proof: both halves make the whole, for two batch sizes, bit for bit, with nothing seen that need not be.

    The head must show what is `passing` at the cut: in a graph a value keeps its name when it is overwritten.
    """
    batches = probes(example)
    every = tuple(example) if not isinstance(example, Tensor) else ()
    with torch.no_grad():
        # Both heads before the first tail: what a head leaves behind in the model is then of another batch.
        rows = [(batch, answer_of(module, batch), head(batch)) for batch in batches]
        if not all(torch.equal(activations, passing(batch)) for batch, _, activations in rows):
            raise CutError("the head returns another value than the one that passes there")
        for batch, answer, activations in rows:
            version = version_of(activations)
            got = tail(activations, context_of(batch, every))
            if version_of(activations) != version:
                return _verify(module, passing, head, CloningTail(tail), example)
            _compare(answer, got, batch_of(batch))
        needed = tuple(name for name in every if not _is_idle(name, tail, example, rows))
        for batch, answer, activations in rows:
            context = context_of(batch, needed)
            if needed != every:
                _compare(answer, tail(activations, context), batch_of(batch))
            for twin in tail.twins():
                try:
                    got = twin(activations, context)
                except FAILURES:
                    # No proof either way: the model itself refuses such blanks, or does not reach the cut on them.
                    continue
                _compare(answer, got, batch_of(batch))
    return needed, tail


def _compare(expected: Tensor, got: Tensor, n: int) -> None:
    if not torch.equal(expected, got):
        gap = float((expected - got).abs().max()) if expected.shape == got.shape else float("inf")
        raise _NotWholeError(f"head and tail do not make the model (difference {gap:.1e} on {n} samples)")


def _is_idle(name: str, tail: Tail, example: Inputs, rows: list[tuple[Inputs, Tensor, Tensor]]) -> bool:
    """Whether the tail's answer stays the same whatever this integer input says."""
    assert not isinstance(example, Tensor)
    if example[name].is_floating_point():
        return True
    for batch, answer, activations in rows:
        context = context_of(batch, example)
        # Two values, as the example may say nothing but one of them: token types are often all 0.
        for blank in (torch.zeros_like(context[name]), torch.ones_like(context[name])):
            try:
                if not torch.equal(answer, tail(activations, {**context, name: blank})):
                    return False
            except (RuntimeError, IndexError, ValueError):
                return False
    return True


def require_split(value: object, name: str) -> None:
    """Refuse what is no Split, and say how to make one of it.

    >>> require_split("zoo:lenet@pool1", "sender")
    Traceback (most recent call last):
      ...
    seamripper.errors.CutError: Expected sender to be a Split, but got 'zoo:lenet@pool1'. Cut the model first:
    split('zoo:lenet', 'pool1').
    """
    call = "split(model, 'layer2', example)"
    if isinstance(value, str):
        model, _, cut = value.rpartition("@") if "@" in value else (value, "", "layer2")
        call = f"split({model!r}, {cut!r})"
    require(value, Split, name, error=CutError, advice=f"Cut the model first: {call}.")


def as_model(model: nn.Module | Model | str, name: str = "model") -> Model:
    """A bare module as a model that knows no more than its class's name, and the model that a word means."""
    if isinstance(model, str):
        return load(model)
    advice = "It is in the split: split.model." if isinstance(model, Split) else ""
    require(model, (Model, nn.Module, str), name, error=ModelError, advice=advice)
    return model if isinstance(model, Model) else Model(model, type(model).__name__)


def example_of(model: Model, example: Inputs | None) -> Inputs:
    """The example that was given, or one of the model's own."""
    if example is None:
        return model.example(2)
    advice = "An input of any batch size: torch.zeros(1, 3, 32, 32), for example."
    require(example, (Tensor, dict), "example", error=CutError, advice=advice)
    for value in [example] if isinstance(example, Tensor) else example.values() or [torch.empty(0)]:
        require(value, Tensor, "each input of the example", error=CutError, advice=advice)
        if value.dim() == 0 or len(value) == 0:
            raise CutError(
                f"Expected the example to hold at least one sample, but got a shape of {tuple(value.shape)}."
            )
    return model.receive(example)
