"""Behind a cut: the values at later places of the same model, as the tail makes them from given activations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from seamripper._words import word_list
from seamripper.cut.by_hooks import Taps
from seamripper.cut.flow import Flow, Spot, read_flow
from seamripper.cut.halves import Context
from seamripper.cut.many import block_spots
from seamripper.cut.place import Cut
from seamripper.cut.split import Split
from seamripper.cut.values import first_argument, first_tensor
from seamripper.errors import CutError


class Behind:
    """Activations at a split's cut → the values at some places at it or behind it, `cuts`, in the order of the model.

    The tail runs as it is, so gradients flow back to the activations. `all` is the cut itself, every block behind it
    and the last layer; `last` is what the model's last layer with parameters is given; other words name places. When it
    was made, the values were equal, bit for bit, to those that the whole model has there.

    >>> from torch import nn
    >>> from seamripper.cut.split import split
    >>> net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2))
    >>> halves = split(net, "1", torch.zeros(1, 4))
    >>> [cut.name for cut in Behind(halves, ["all"]).cuts], [cut.name for cut in Behind(halves, ["last"]).cuts]
    (['1', '2', '3'], ['3'])
    """

    def __init__(self, split: Split, words: Sequence[str]) -> None:
        self.split = split
        self._flow = read_flow(split.model.module, split.example)
        spots = _spots_of(self._flow, split, words)
        self.cuts: tuple[Cut, ...] = tuple(self._flow.cut_at(spot) for spot in spots)
        self._taps = [self._tap(spot) for spot in spots]

    def __call__(self, activations: Tensor, context: Context | None = None) -> tuple[Tensor, ...]:
        """The values, from activations at the cut and what passes beside it."""
        taps = [tap for tap in self._taps if tap is not None]
        values = iter(self._values_at(taps, activations, context) if taps else ())
        return tuple(activations if tap is None else next(values) for tap in self._taps)

    def _values_at(self, spots: Sequence[Spot], activations: Tensor, context: Context | None) -> list[Tensor]:
        with _listening(self.split, spots) as calls:
            self.split.tail(activations, context)
        # Counted from the last call: a tail does not make the calls in front of the cut.
        return [calls[k][spot.occurrence - 1 - self._flow.repeated.get(spot.module, 1)] for k, spot in enumerate(spots)]

    def _tap(self, spot: Spot) -> Spot | None:
        """The spot, or another name of its value, where the tail passes; None if its value is that at the cut."""
        split, flow = self.split, self._flow
        if spot.edge == flow.find(split.cut.name).edge:
            return None
        assert spot.edge is not None
        with torch.no_grad():
            (expected,) = Taps(split.model.module, [spot])(split.example)
            activations, context = split.head(split.example), split.beside(split.example)
            for place in flow.same_value(spot.edge):
                with contextlib.suppress(IndexError):
                    if torch.equal(self._values_at([place], activations, context)[0], expected):
                        return place
        raise CutError(
            f"The tail behind {split.cut.name!r}, made by {split.way}, does not pass {spot.name!r} as the model does, "
            "so its value cannot be seen there. Name other layers, or cut the model by hooks: split(…, way='hooks')."
        )


@contextlib.contextmanager
def _listening(split: Split, spots: Sequence[Spot]) -> Iterator[list[list[Tensor]]]:
    """For each spot the values of all calls of its module within the block, copied, as a later layer may overwrite."""
    calls: list[list[Tensor]] = [[] for _ in spots]

    def note(k: int, tensor: Tensor | None) -> None:
        if tensor is not None:
            calls[k].append(tensor.clone())

    def hook(k: int, spot: Spot) -> Any:
        module = split.model.module.get_submodule(spot.module)
        if spot.before:
            return module.register_forward_pre_hook(
                lambda _, args, kwargs: note(k, first_argument(args, kwargs)), with_kwargs=True
            )
        return module.register_forward_hook(lambda _, args, returned: note(k, first_tensor(returned)))

    handles = [hook(k, spot) for k, spot in enumerate(spots)]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _spots_of(flow: Flow, split: Split, words: Sequence[str]) -> list[Spot]:
    """The spots that these words mean, each value once, in the order in which the model reaches them."""
    cut = flow.find(split.cut.name)
    later = [spot for spot in flow.legal() if flow.moment(spot) > flow.moment(cut) and spot.edge != flow.seen.answer]
    # Behind the last of these there is still a layer with parameters, as a softmax or an average is not one.
    last = ([spot for spot in later if flow.cut_at(spot).after] or [cut])[-1]
    chosen: list[Spot] = []
    for word in words:
        if word == "all":
            blocks = {spot.edge for spot in block_spots(split.model.module, flow)}
            chosen += [cut, *(spot for spot in later if spot.edge in blocks), last]
        elif word == "last":
            chosen.append(last)
        else:
            spot = flow.require(word)
            if flow.moment(spot) < flow.moment(cut):
                names = word_list([spot.name for spot in later] or [cut.name])
                raise CutError(f"{word!r} comes before the cut {cut.name!r}. Behind it are {names}.")
            chosen.append(spot)
    return sorted({spot.edge: spot for spot in chosen}.values(), key=flow.moment)
