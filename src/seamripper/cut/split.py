"""Split: a model cut in two halves that are proved to make the whole."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from seamripper._doors import require
from seamripper._fingerprint import model_fingerprint
from seamripper._notebook import short
from seamripper._words import shape_text, word_list
from seamripper.cut.by_export import split_by_export
from seamripper.cut.by_fx import split_by_fx
from seamripper.cut.by_hooks import HookedHead, HookedTail
from seamripper.cut.flow import Flow, Spot, read_flow
from seamripper.cut.frozen import frozen_copy, seal
from seamripper.cut.halves import Beside, CloningTail, Head, Tail
from seamripper.cut.observe import Observation, observe
from seamripper.cut.place import Cut
from seamripper.cut.values import batch_of, probes
from seamripper.data.samples import Inputs
from seamripper.errors import CutError, FrozenError, LeakError, ModelError
from seamripper.models.load import load
from seamripper.models.model import Model
from seamripper.models.running import answer_of

Way = Literal["fx", "hooks", "export"]


@dataclass(frozen=True, eq=False)
class Split:
    """A frozen model, cut: `head` stops at the cut, `tail` starts there and never runs the front.

    `way` says how the halves were made, `context` which integer inputs (masks) the tail takes beside the cut. When
    the split was made, tail(head(x)) was equal to the model's answer, bit for bit, for two batches of different size.
    """

    model: Model
    """The frozen copy that both halves are parts of."""
    cut: Cut
    head: Head
    tail: Tail
    way: Way
    example: Inputs = field(repr=False)
    beside: Beside = field(repr=False, default_factory=lambda: Beside(()))
    proved: set[tuple[str, int]] = field(repr=False, default_factory=set)
    """Samples and batch sizes on which the halves were seen to make the model: see `prove_halves`."""

    def __repr__(self) -> str:
        return f"Split({short(self.model.source, 120)!r} at {short(str(self.cut), 120)!r}, by {self.way})"

    @property
    def context(self) -> tuple[str, ...]:
        """The inputs that the tail takes beside the cut, by name."""
        return self.beside.needed

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
        inputs = self.example if isinstance(self.example, Tensor) else next(iter(self.example.values()))
        return {
            "source": self.model.source,
            "recipe": self.model.rebuild(),
            "fingerprint": self.fingerprint,
            "cut": self.cut.as_record(),
            "way": self.way,
            "input": list(inputs.shape[1:]),
            "classes": self.model.classes,
            "record": dict(self.model.record),
            "wants": None if self.model.wants is None else self.model.wants.as_record(),
        }


def cuts(model: nn.Module | Model | str, example: Inputs | None = None) -> tuple[Cut, ...]:
    """Every legal cut of the model, in the order in which the model reaches them.

    `example` is an input, of any batch size; a `Model` that knows its input shape needs none. One value that
    several modules return (a stage, its last block) is listed once; its other names stand in `aliases`.

    >>> net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> for cut in cuts(net, torch.zeros(1, 4)):
    ...     print(cut, cut.before, cut.after)
    before:0 (4, nd) 0 23
    0 (3, nd) 15 8
    1 (3, nd) 15 8
    2 (2, nd) 23 0
    """
    known = as_model(model)
    flow, *_ = watched(frozen_copy(known.module), example_of(known, example))
    return tuple(flow.cut_at(spot) for spot in flow.legal())


def split(
    model: nn.Module | Model | str,
    cut: str | Cut,
    example: Inputs | None = None,
    *,
    way: Way | Literal["auto"] = "auto",
) -> Split:
    """Cut the model at `cut`: the output of the module of that name, or with `before:` its input.

    By fx on the ancestors of the cut, else by hooks with the front stubbed; `way="export"` asks for a functionalised
    export instead. A cut that something leaks around is refused with the names of what does.

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
    require(cut, (str, Cut), "cut", error=CutError, advice="`cuts(model)` lists those that there are.")
    cut = cut.name if isinstance(cut, Cut) else cut
    known = as_model(model)
    example = example_of(known, example)
    module = frozen_copy(known.module)
    flow, *seen = watched(module, example)
    spot = flow.require(cut)
    frozen = replace(known, module=module)
    why: list[str] = []
    unseen = False
    for name, make in _ways(module, spot, flow, seen, example, way):
        try:
            tail: Tail
            with seal({"model": module}):
                head, tail = make()
                beside, tail = _verify(module, HookedHead(module, spot), head, tail, example)
        except FrozenError:
            raise
        except FAILURES as e:
            why.append(f"By {name}: {first_line(e)}.")
            unseen = unseen or isinstance(e, _NotWholeError)
            continue
        return Split(frozen, flow.cut_at(spot), head.eval(), tail.eval(), name, example, beside)
    if unseen:
        raise LeakError(
            f"{cut!r} cannot be cut: something that autograd does not see (a detached value, a number read off a "
            f"tensor, a choice made by one) goes around it. {' '.join(why)}"
        )
    raise CutError(f"{cut!r} could not be cut. {' '.join(why)}")


class _NotWholeError(CutError):
    """Head and tail ran, and did not make the model."""


FAILURES = Exception
"""What tracing, stubbing or exporting a model may raise where it cannot be done: anything, as the model's code runs."""


def first_line(error: Exception) -> str:
    """What an error says, in short."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _ways(
    module: nn.Module, spot: Spot, flow: Flow, seen: list[Observation], example: Inputs, way: str
) -> Iterator[tuple[Way, Callable[[], tuple[Head, Tail]]]]:
    """The ways to try, in order. Hooks at the named place, then where the same value first appears."""
    if way in ("auto", "fx"):
        yield "fx", lambda: split_by_fx(module, spot, flow, example)
    if way in ("auto", "hooks"):
        assert spot.edge is not None
        first = min(flow.same_value(spot.edge), key=lambda s: s.start if s.before else s.end)
        for place in dict.fromkeys((spot, first)):
            halves = functools.partial(_hooked, module, place, seen, example)
            yield "hooks", halves
    if way == "export":
        yield "export", lambda: split_by_export(module, spot, example)


def _hooked(module: nn.Module, spot: Spot, seen: list[Observation], example: Inputs) -> tuple[Head, Tail]:
    return HookedHead(module, spot), HookedTail(module, spot, seen[0], seen[1], example)


def watched(module: nn.Module, example: Inputs) -> tuple[Flow, Observation, Observation]:
    """The flow of a frozen model, and the two runs that it was read from."""
    try:
        with seal({"model": module}):
            first, second = (observe(module, probe) for probe in probes(example))
    except (RuntimeError, TypeError, ValueError, IndexError, AssertionError) as e:
        shapes = example.shape[1:] if isinstance(example, Tensor) else next(iter(example.values())).shape[1:]
        raise CutError(
            f"The model does not run on inputs of shape {shape_text(shapes)}: {first_line(e)}. "
            "Give an example (or --input) of the shape it was made for."
        ) from e
    if not (first.finite and second.finite):
        raise CutError(
            "The model's answer on the example holds NaN or Inf, so no two halves could be seen to make it. "
            "Give an example like the inputs it was trained on."
        )
    return read_flow(module, first, second), first, second


def _verify(module: nn.Module, passing: Head, head: Head, tail: Tail, example: Inputs) -> tuple[Beside, Tail]:
    """The proof: both halves make the whole, for two batch sizes, bit for bit, with nothing seen that need not be.

    The head must show what is `passing` at the cut: in a graph a value keeps its name when it is overwritten.
    """
    batches = probes(example)
    whole = Beside(tuple(example) if not isinstance(example, Tensor) else ())
    with torch.no_grad():
        # Both heads before the first tail: what a head leaves behind in the model is then of another batch.
        rows = [(batch, answer_of(module, batch), head(batch)) for batch in batches]
        if not all(torch.equal(activations, passing(batch)) for batch, _, activations in rows):
            raise CutError("the head shows another value than passes there")
        for batch, answer, activations in rows:
            version = activations._version
            got = tail(activations, whole(batch))
            if activations._version != version:
                return _verify(module, passing, head, CloningTail(tail), example)
            _compare(answer, got, batch_of(batch))
        beside = Beside(tuple(name for name in whole.needed if not _idle(name, tail, example, rows)))
        for batch, answer, activations in rows:
            if beside.needed != whole.needed:
                _compare(answer, tail(activations, beside(batch)), batch_of(batch))
            for twin in tail.twins():
                try:
                    got = twin(activations, beside(batch))
                except FAILURES:
                    # No proof either way: the model itself refuses such blanks, or does not reach the cut on them.
                    continue
                _compare(answer, got, batch_of(batch))
    return beside, tail


def _compare(expected: Tensor, got: Tensor, n: int) -> None:
    if not torch.equal(expected, got):
        gap = float((expected - got).abs().max()) if expected.shape == got.shape else float("inf")
        raise _NotWholeError(f"head and tail do not make the model (difference {gap:.1e} on {n} samples)")


def _idle(name: str, tail: Tail, example: Inputs, rows: list[tuple[Inputs, Tensor, Tensor]]) -> bool:
    """Whether the tail's answer stays the same whatever this integer input says."""
    assert not isinstance(example, Tensor)
    if example[name].is_floating_point():
        return True
    for batch, answer, activations in rows:
        context = Beside(tuple(example))(batch)
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
    return example
