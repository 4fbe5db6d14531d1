"""Alignment: the layers of a changed model beside those of the model that it was made from, by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from torch import nn

from seamripper._words import shape_text, word_list
from seamripper.cut.flow import Flow, Spot, read_flow
from seamripper.cut.frozen import frozen_copy
from seamripper.cut.observe import Edge
from seamripper.cut.values import first_of
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import CutError
from seamripper.models.model import Model

_SHOWN = 4
"""Names that a message lists."""


@dataclass(frozen=True, eq=False)
class TracedNetwork:
    """A frozen model, two inputs of it, and the flow of values between its layers."""

    model: Model
    example: Inputs
    flow: Flow

    @classmethod
    def of(cls, model: Model, samples: Samples, role: str) -> TracedNetwork:
        """A frozen copy of the model, watched on the first samples."""
        example = first_of(model.present(samples).batch(slice(0, 2)), 2)
        module = frozen_copy(model.module)
        try:
            return cls(replace(model, module=module), example, read_flow(module, example))
        except CutError as e:
            raise CutError(f"The {role} model ({model.source}): {e}") from e

    @property
    def module(self) -> nn.Module:
        """The frozen copy."""
        return self.model.module


@dataclass(frozen=True, eq=False)
class AlignedLayer:
    """A value of the base, and the value of the changed model that a layer of the same name returns.

    `name` is that of the innermost layer which returns the value. `complete` says that nothing goes around the value:
    all that the base computes later, it computes from this.
    """

    name: str
    base: Spot
    changed: Spot
    complete: bool

    @property
    def same_layout(self) -> bool:
        """Whether both values are maps, or tokens, or vectors."""
        return len(self.base.shape) == len(self.changed.shape)

    @property
    def misfit(self) -> str:
        """Why the two values cannot be subtracted; empty if they can."""
        ours, theirs = self.base.shape[1:], self.changed.shape[1:]
        return "" if ours == theirs else f"{shape_text(ours)} in the base, {shape_text(theirs)} in the changed model"


@dataclass(frozen=True, eq=False)
class Alignment:
    """The layers that both models have, in the order in which the base runs, and why others could not be aligned."""

    layers: tuple[AlignedLayer, ...]
    unaligned: Mapping[str, str]

    @classmethod
    def of(cls, base: TracedNetwork, changed: TracedNetwork) -> Alignment:
        """Align by names; a changed model that is wrapped in another has one more name before each."""
        ours, theirs = base.flow, changed.flow
        prefix = wrapper_prefix(ours.spots, theirs.spots)
        complete = {spot.edge for spot in ours.legal()} | {ours.seen.answer}
        layers, unaligned = [], {}
        for spot in layer_spots(ours):
            assert spot.edge is not None
            names = [prefix + name for name in _names_of(ours, spot.edge)]
            other = next((theirs.spots[name] for name in names if name in theirs.spots), None)
            if other is None:
                unaligned[spot.name] = "the changed model has no layer of this name, or does not run it"
            else:
                layers.append(AlignedLayer(spot.name, spot, other, spot.edge in complete))
        for spot in layer_spots(theirs):
            if spot.name.removeprefix(prefix) not in ours.spots:
                unaligned[spot.name] = "only the changed model has this layer"
        if not layers:
            raise CutError(
                f"{base.model.source} and {changed.model.source} have no layer of the same name: the first has "
                f"{_some(ours)}, the other {_some(theirs)}. Expected two checkpoints of one architecture. To compare "
                "different architectures, use `seamripper compare`."
            )
        return cls(tuple(layers), unaligned)


def layer_spots(flow: Flow) -> list[Spot]:
    """The output of every layer that the answer depends on, each value once, by the innermost layer that returns it."""
    innermost: dict[Edge, Spot] = {}
    for spot in flow.spots.values():
        if spot.edge is None or spot.before or spot.alias or not spot.batched:
            continue
        if spot.edge not in innermost or spot.start > innermost[spot.edge].start:
            innermost[spot.edge] = spot
    return sorted(innermost.values(), key=flow.moment)


def _names_of(flow: Flow, edge: Edge) -> Iterator[str]:
    """The names of the layers that return this value, the innermost first."""
    spots = [spot for spot in flow.same_value(edge) if not spot.before and not spot.alias]
    yield from (spot.name for spot in sorted(spots, key=lambda spot: -spot.start))


def wrapper_prefix(names: Mapping[str, object], others: Mapping[str, object]) -> str:
    """What stands before the names of a model where it is wrapped in another; empty if some names are the same.

    >>> wrapper_prefix({"conv": 0, "fc": 0}, {"module": 0, "module.conv": 0, "module.fc": 0})
    'module.'
    """
    if any(name in others for name in names):
        return ""
    outputs = [other for other in others if not other.startswith("before:")]
    counts = Counter(other.removesuffix(name) for name in names for other in outputs if other.endswith(f".{name}"))
    return counts.most_common(1)[0][0] if counts else ""


def _some(flow: Flow) -> str:
    names = [spot.name for spot in layer_spots(flow)]
    return word_list(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
