"""Heads: all the cuts of one model, from one forward pass.

The plain way runs the frozen model with hooks and stops behind the last cut. The fused way is the same computation
traced, with batch normalisation folded and convolutions done the way that is fastest on the machine. It is used where
it is true to the plain one (see `fast_heads`), and the result says which was used.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from seamripper._fingerprint import model_fingerprint
from seamripper._notebook import short
from seamripper._words import did_you_mean
from seamripper.cut.by_hooks import Taps
from seamripper.cut.fast import Run, fast_heads
from seamripper.cut.flow import Flow, Spot, read_flow
from seamripper.cut.frozen import frozen_copy
from seamripper.cut.place import Cut
from seamripper.cut.split import as_model, example_of
from seamripper.data.samples import Inputs
from seamripper.errors import CutError
from seamripper.models.model import Model


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
    run: Run
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
    flow = read_flow(module, example)
    spots = block_spots(module, flow) if names is None else _spots_of(flow, names)
    plain = Taps(module, spots)
    fused = fast_heads(module, spots, example, plain, trial) if optimise else None
    way, run = ("plain", plain) if fused is None else fused
    cuts = tuple(flow.cut_at(spot) for spot in spots)
    return Heads(replace(known, module=module), cuts, way, run, example)


def _spots_of(flow: Flow, names: Sequence[str]) -> list[Spot]:
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


def block_spots(module: nn.Module, flow: Flow) -> list[Spot]:
    """The outputs of modules that are made of others; for a plain chain of layers, of every layer."""
    legal = [s for s in flow.legal() if not s.before and s.edge != flow.seen.answer]
    blocks = [s for s in legal if any(True for _ in module.get_submodule(s.module).children())]
    chosen = blocks if len(blocks) >= 3 else legal
    if not chosen:
        raise CutError("This model has no cut behind any of its layers.")
    return chosen
