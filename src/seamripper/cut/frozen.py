"""Frozen means frozen: a private copy in eval mode without gradients, and the proof that nothing in it moved."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from typing import Literal

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from seamripper._devices import leave
from seamripper._fingerprint import fingerprints_of, hidden_tensors, tensor_fingerprint, tensors_of
from seamripper._words import word_list
from seamripper.errors import FrozenError, ModelError

Freeze = Literal["all", "weights"]
"""`all`: parameters and buffers stay. `weights`: BN statistics adapt, as in the code of Smith et al. 2025."""


def frozen_copy(model: nn.Module) -> nn.Module:
    """A copy of the model in eval mode that wants no gradients. The user's own object is not touched.

    A copy, because what is compared must stay what it was even if the user trains on.
    """
    # A copy of one that is on the device just now would be there as a second.
    leave(model)
    for name, tensor in tensors_of(model).items():
        if tensor.is_floating_point() and not _finite(tensor):
            raise ModelError(
                f"The weights hold NaN or Inf, first in {name!r}. Nothing computed from them would mean much."
            )
    try:
        twin = copy.deepcopy(model)
    except (RuntimeError, TypeError) as e:
        raise ModelError(f"The model {type(model).__name__} cannot be copied (copy.deepcopy): {e}") from e
    config = getattr(twin, "config", None)
    if getattr(config, "use_cache", False):
        # A cache of keys and values is a second way past every cut.
        config.use_cache = False  # type: ignore[union-attr]
    for _, tensor in hidden_tensors(twin):
        if isinstance(tensor, nn.Parameter):
            tensor.requires_grad_(False)
    return twin.eval().requires_grad_(False)


def _finite(tensor: Tensor) -> bool:
    # A finite sum is ten times as fast to have, and proof enough; one that is not may have overflowed.
    return bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all())


@contextlib.contextmanager
def seal(models: Mapping[str, nn.Module], *, freeze: Freeze = "all") -> Iterator[None]:
    """Nothing in these models may change inside the block; what did is named in the error.

    Parameters and buffers are fingerprinted before and after, training modes are compared, and so are tensors that a
    module keeps without registering them, if they are written to in place. (One that is replaced is a cache; whether
    it matters for the answer, `prove_halves` sees.) With `freeze="weights"` the statistics of batch normalisation may
    change, and nothing else.
    """
    before = {role: _State(model) for role, model in models.items()}
    yield
    for role, model in models.items():
        free = set(statistics_of(model)) if freeze == "weights" else set()
        changed = tuple(name for name in before[role].differences(_State(model)) if name not in free)
        if changed:
            more = f" and {len(changed) - 4} more" if len(changed) > 4 else ""
            raise FrozenError(
                f"The {role} should have stayed frozen, but {word_list(changed[:4])}{more} changed while it was run. "
                "A result made with it would not be about the model you gave. Change the model's `forward` so that "
                "it does not change the model in eval mode. If the statistics of batch normalisation are meant to "
                "adapt, use freeze='weights'.",
                changed=changed,
            )


class _State:
    """All of a model that must not change, as it is now."""

    def __init__(self, model: nn.Module) -> None:
        self.prints = fingerprints_of(model)
        self.modes = {f"{name}.training".removeprefix("."): part.training for name, part in model.named_modules()}
        # The tensors themselves are held on to, so that their memory is not lent to another meanwhile.
        others = ((name, t) for name, t in hidden_tensors(model) if not isinstance(t, nn.Parameter))
        self.others = [(name, t, tensor_fingerprint(t)) for name, t in others]

    def differences(self, later: _State) -> list[str]:
        """The names of all that is not the same in the later state."""
        tensors = (n for n in sorted(self.prints.keys() | later.prints) if self.prints.get(n) != later.prints.get(n))
        modes = (name for name, mode in self.modes.items() if later.modes.get(name, mode) != mode)
        others = (name for name, tensor, before in self.others if tensor_fingerprint(tensor) != before)
        return [*tensors, *modes, *others]


def statistics_of(model: nn.Module) -> list[str]:
    """The names of the buffers in which batch normalisation keeps its running statistics."""
    return [
        f"{name}.{buffer}".removeprefix(".")
        for name, module in model.named_modules()
        if isinstance(module, _BatchNorm)
        for buffer, _ in module.named_buffers(recurse=False)
    ]


@contextlib.contextmanager
def adapting(*models: nn.Module) -> Iterator[None]:
    """Batch normalisation in training mode inside the block (its statistics adapt), in eval mode after it."""
    layers = [m for model in models for m in model.modules() if isinstance(m, _BatchNorm)]
    try:
        for layer in layers:
            layer.train()
        yield
    finally:
        for layer in layers:
            layer.eval()
