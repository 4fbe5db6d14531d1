"""Heads: all the cuts of one model, from one forward pass.

The plain way runs the frozen model with hooks and stops behind the last cut. The fused way is the same computation
traced, with batch normalisation folded and convolutions done the way that is fastest on the machine; it is used where
it is true to the plain one within `TOLERANCE` and shows NaN where that does, and the result says which was used.
"""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, fx, nn

from seamripper._fingerprint import model_fingerprint
from seamripper._notebook import short
from seamripper._words import did_you_mean
from seamripper.cut.flow import Flow, Spot
from seamripper.cut.frozen import frozen_copy
from seamripper.cut.fused import TOLERANCE, fuse
from seamripper.cut.place import Cut
from seamripper.cut.split import as_model, example_of, watched
from seamripper.cut.values import first_tensor, probes
from seamripper.data.samples import Inputs
from seamripper.errors import CutError
from seamripper.models.model import Model
from seamripper.models.running import answer_of

_Run = Callable[[Inputs], tuple[Tensor, ...]]


@dataclass(frozen=True, eq=False)
class Heads:
    """A frozen model that shows its activations at several cuts at once, in the order of `cuts`.

    >>> net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> some = heads(net, ["0", "1"], torch.zeros(1, 4))
    >>> [tuple(part.shape) for part in some(torch.ones(5, 4))], some.way
    ([(5, 3), (5, 3)], 'plain')
    """

    model: Model
    """The frozen copy that runs."""
    cuts: tuple[Cut, ...]
    way: str
    run: _Run
    example: Inputs

    def __repr__(self) -> str:
        return f"Heads({short(self.model.source, 120)!r} at {len(self.cuts)} cuts, {self.way})"

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model's parameters and buffers, as they are now."""
        return model_fingerprint(self.model.module)

    def __call__(self, inputs: Inputs) -> tuple[Tensor, ...]:
        """The activations at every cut."""
        with torch.no_grad():
            return self.run(inputs)


def heads(
    model: nn.Module | Model | str,
    names: Sequence[str] | None = None,
    example: Inputs | None = None,
    *,
    optimise: bool = False,
    trial: Inputs | None = None,
) -> Heads:
    """The heads of a model at the cuts of these names, which may hold `*`; by default behind each of its blocks.

    With `optimise` the fused way is tried, and held to the plain one on the example and on a batch of real data,
    `trial`.
    """
    known = as_model(model)
    example = example_of(known, example)
    module = frozen_copy(known.module)
    flow, *_ = watched(module, example)
    spots = _blocks(module, flow) if names is None else _named(flow, names)
    plain = _Taps(module, spots)
    fused = _fused(module, spots, example, plain, trial) if optimise else None
    way, run = ("plain", plain) if fused is None else fused
    cuts = tuple(flow.cut_at(spot) for spot in spots)
    return Heads(replace(known, module=module), cuts, way, run, example)


def _named(flow: Flow, names: Sequence[str]) -> list[Spot]:
    """The spots that these names mean, each one legal, in the order in which the model reaches them."""
    legal = flow.legal()
    spots: dict[str, Spot] = {}
    for name in names:
        if "*" not in name:
            spots.setdefault(name, flow.require(name))
            continue
        matches = [s for s in legal if fnmatch.fnmatchcase(s.name, name)]
        if not matches:
            raise CutError(f"No cut matches {name!r}: {did_you_mean(name.strip('*.'), [s.name for s in legal])}")
        spots.update({s.name: s for s in matches if s.name not in spots})
    if not spots:
        raise CutError("Expected at least one cut, but got none. Leave them out to take every block.")
    return sorted(spots.values(), key=flow.moment)


def _blocks(module: nn.Module, flow: Flow) -> list[Spot]:
    """The outputs of modules that are made of others; for a plain chain of layers, of every layer."""
    legal = [s for s in flow.legal() if not s.before and s.edge != flow.seen.answer]
    blocks = [s for s in legal if any(True for _ in module.get_submodule(s.module).children())]
    chosen = blocks if len(blocks) >= 3 else legal
    if not chosen:
        raise CutError("This model has no cut behind any of its layers.")
    return chosen


class _AllSeen(BaseException):
    """Ends a run behind the last cut. Not an Exception, so that no model's own `except` can keep it."""


class _Taps:
    """The plain way: hooks that take the values as they pass."""

    def __init__(self, module: nn.Module, spots: Sequence[Spot]) -> None:
        self.module = module
        self.spots = tuple(spots)
        # Values that the model overwrites later on are copied as they pass; which ones these are, a first run shows.
        self.copied: set[int] = set()

    def __call__(self, inputs: Inputs) -> tuple[Tensor, ...]:
        taken = self._values_at_cuts(inputs)
        overwritten = {k for k, (value, version) in taken.items() if value._version != version}
        if overwritten:
            self.copied |= overwritten
            taken = self._values_at_cuts(inputs)
        missing = [spot.name for k, spot in enumerate(self.spots) if k not in taken]
        if missing:
            raise CutError(
                f"The model did not reach {missing[0]!r} on these inputs, though it did on the example: "
                "its path depends on its data. Choose cuts that every input passes."
            )
        return tuple(taken[k][0] for k in range(len(self.spots)))

    def _values_at_cuts(self, inputs: Inputs) -> dict[int, tuple[Tensor, int]]:
        taken: dict[int, tuple[Tensor, int]] = {}
        calls: dict[int, int] = defaultdict(int)

        def take(k: int, value: Any) -> None:
            calls[k] += 1
            tensor = first_tensor(value)
            if calls[k] == self.spots[k].occurrence and tensor is not None:
                tensor = tensor.clone() if k in self.copied else tensor
                taken[k] = tensor, tensor._version
                if len(taken) == len(self.spots):
                    raise _AllSeen

        handles = [self._hook(k, spot, take) for k, spot in enumerate(self.spots)]
        try:
            answer_of(self.module, inputs)
        except _AllSeen:
            pass
        finally:
            for handle in handles:
                handle.remove()
        return taken

    def _hook(self, k: int, spot: Spot, take: Callable[[int, Any], None]) -> Any:
        target = self.module.get_submodule(spot.module)
        if spot.before:
            return target.register_forward_pre_hook(
                lambda _, args, kwargs: take(k, args if first_tensor(args) is not None else kwargs), with_kwargs=True
            )
        return target.register_forward_hook(lambda _, args, returned: take(k, returned))


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


def _fused(
    module: nn.Module, spots: Sequence[Spot], example: Inputs, plain: _Run, trial: Inputs | None
) -> tuple[str, _Run] | None:
    """The fused way, and how far it is from the plain one; None if it cannot be had or is not true."""
    if not isinstance(example, Tensor) or any(spot.before for spot in spots):
        return None
    try:
        run = fuse(_graph(module, spots), example)
        with torch.no_grad():
            inputs = probes(example) if trial is None else (*probes(example), trial)
            gap = max(_gap(plain(some), run(some)) for some in inputs)
            bad = torch.full_like(example, torch.nan) if example.is_floating_point() else example
            hidden = _finite(run(bad)) != _finite(plain(bad))
    except Exception:
        # Whatever stops a trace, the plain way needs none.
        return None
    if hidden or not gap <= TOLERANCE:
        return None
    return f"fused (differs from the plain one by {gap:.0e} at most)", run


def _graph(module: nn.Module, spots: Sequence[Spot]) -> fx.GraphModule:
    tracer = _RecordingTracer()
    graph = tracer.trace(module)
    nodes = [tracer.returned[spot.module][spot.occurrence - 1] for spot in spots]
    if any(node is None for node in nodes):
        raise CutError("a cut is no value of the trace")
    old = next(node for node in graph.nodes if node.op == "output")
    with graph.inserting_before(old):
        graph.output(tuple(nodes))
    graph.erase_node(old)
    traced = fx.GraphModule(module, graph)
    traced.graph.eliminate_dead_code()
    return traced.eval()


def _finite(values: Sequence[Tensor]) -> list[bool]:
    return [bool(value.isfinite().all()) for value in values]


def _gap(expected: Sequence[Tensor], got: Sequence[Tensor]) -> float:
    """The largest difference at any cut, relative to the largest activation there; NaN counts as infinite."""
    gaps = [float((a - b).abs().max() / a.abs().max().clamp(min=1e-30)) for a, b in zip(expected, got, strict=True)]
    return max(gap if gap == gap else float("inf") for gap in gaps)
