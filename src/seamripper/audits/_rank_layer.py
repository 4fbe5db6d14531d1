"""The receiver's first layer behind the cut: what it puts out when the tail runs on given activations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from seamripper.cut.halves import Context
from seamripper.cut.split import Split
from seamripper.cut.values import tensors_in
from seamripper.errors import CutError

_NORMS = (nn.LayerNorm, nn.RMSNorm)
"""Their weights may have several axes, and they map nothing."""


class _Met(BaseException):
    """Carries the layer's output out and ends the run. Not an Exception, or a model's own `except` could keep it."""

    def __init__(self, output: Tensor) -> None:
        self.output = output


def first_layer(split: Split, activations: Tensor, context: Context | None = None) -> tuple[str | None, Tensor]:
    """The name of the first layer that the tail leads the activations through, and what it puts out for them.

    A layer is a module with a matrix of weights: a convolution, a linear map. A tail by hooks is the whole model with
    its front stubbed, and constants may pass through layers of their own; so only a layer counts whose input depends on
    the activations, which autograd knows. Of several that are given the same tensor (a block's first convolution and
    that of its shortcut) it is the one that the model lists first, whichever is called first. Without any such layer
    the name is None, and the activations come back as they are.

    >>> from seamripper.cut import split
    >>> net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> name, output = first_layer(split(net, "0", torch.zeros(2, 4)), torch.ones(5, 3))
    >>> name, tuple(output.shape)
    ('2', (5, 2))
    """
    few = {key: value[:2] for key, value in (context or {}).items()}
    met: list[tuple[nn.Module, Tensor]] = []
    with _hooked(_layers(split.tail), lambda layer, given, output: met.append((layer, given))):
        _run(split, activations[:2], few)
    if not met:
        return None, activations
    names = {id(module): name for name, module in split.model.module.named_modules()}
    rank = {key: place for place, key in enumerate(names)}
    together = [layer for layer, given in met if given is met[0][1]]
    chosen = min(together, key=lambda layer: rank.get(id(layer), len(rank)))
    return names.get(id(chosen), type(chosen).__name__), _output(split, chosen, activations, context)


def _output(split: Split, layer: nn.Module, activations: Tensor, context: Context | None) -> Tensor:
    """What the layer puts out; the tail's run ends there."""

    def stop(_: nn.Module, given: Tensor, output: Tensor) -> None:
        raise _Met(output)

    try:
        with _hooked([layer], stop):
            _run(split, activations, context)
    except _Met as met:
        return met.output.detach()
    raise CutError(
        "The tail leads a few of the activations through a layer, and not all of them: its path depends on its data. "
        "Choose another cut."
    )


def _run(split: Split, activations: Tensor, context: Context | None) -> None:
    # A copy of their own: the first operation may write into them, and a leaf that wants a gradient forbids that.
    with torch.enable_grad():
        split.tail(activations.detach().requires_grad_().clone(), context)


def _layers(tail: nn.Module) -> Iterator[nn.Module]:
    for module in tail.modules():
        weight = getattr(module, "weight", None)
        if isinstance(weight, Tensor) and weight.dim() > 1 and not isinstance(module, _NORMS):
            yield module


@contextlib.contextmanager
def _hooked(layers: Iterable[nn.Module], meet: Callable[[nn.Module, Tensor, Tensor], None]) -> Iterator[None]:
    """Within, `meet` is told of each call of these layers whose input depends on the activations."""

    def hook(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        # A stub that puts the activations in its place was itself given blanks, and so does not count.
        given = next((tensor for tensor in tensors_in((args, kwargs)) if tensor.requires_grad), None)
        if given is not None and isinstance(output, Tensor) and output.requires_grad:
            meet(layer, given, output)

    handles = [layer.register_forward_hook(hook, with_kwargs=True) for layer in layers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
