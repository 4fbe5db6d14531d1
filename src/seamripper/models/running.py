"""Running a module: its one answer, its random numbers, the layout of its memory, and the versions it ran with."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._devices import MAIN_MEMORY, generators_of
from seamripper.data.samples import Inputs
from seamripper.errors import ModelError


def answer_of(module: nn.Module, inputs: Inputs) -> Tensor:
    """The module's output on `inputs`: of several values (a tuple, a mapping, a dataclass) the logits, if so named.

    If none is named so, the first one that is not None.

    >>> import torch
    >>> answer_of(nn.Identity(), torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    output: Any = module(inputs) if isinstance(inputs, Tensor) else module(**inputs)
    if dataclasses.is_dataclass(output) or hasattr(output, "_fields"):
        # By their names; of a mapping that is a dataclass as well, such as those of transformers, this is the same.
        names = getattr(output, "_fields", None) or [field.name for field in dataclasses.fields(output)]
        output = {name: getattr(output, name) for name in names}
    if isinstance(output, Mapping):
        output = output["logits"] if output.get("logits") is not None else _first(output.values())
    elif isinstance(output, tuple | list):
        output = _first(output)
    if not isinstance(output, Tensor):
        raise ModelError(
            f"Expected {type(module).__name__} to return a tensor, or several with a tensor first, "
            f"but it returned {type(output).__name__}. Wrap it in a module that returns the one tensor."
        )
    return output


def _first(values: Iterable[Any]) -> Any:
    return next((value for value in values if value is not None), None)


@contextlib.contextmanager
def use_seed(seed: int, device: torch.device = MAIN_MEMORY) -> Iterator[None]:
    """Within, PyTorch's random numbers come from `seed`; after, the global generator goes on where it was.

    So do those of a `device` on which a module draws them. No other device is reseeded.

    >>> before = torch.get_rng_state()
    >>> with use_seed(0):
    ...     torch.rand(1)
    tensor([0.4963])
    >>> bool((torch.get_rng_state() == before).all())
    True
    """
    generators = generators_of(device)
    before = [generator.get_state() for generator in generators]
    try:
        # Not torch.manual_seed, which would reseed every GPU.
        for generator in generators:
            generator.manual_seed(seed)
        yield
    finally:
        for generator, state in zip(generators, before, strict=True):
            generator.set_state(state)


def derive_seed(*parts: int) -> int:
    """One seed made of several numbers, such that neighbours have nothing in common.

    >>> derive_seed(0, 1) == derive_seed(0, 1), derive_seed(0, 1) == derive_seed(1, 0)
    (True, False)
    """
    digest = hashlib.sha256(" ".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def layout_of(*modules: nn.Module) -> torch.memory_format:
    """Channels last, but for very narrow strided 1×1 convolutions: their backward then crashes torch 2.13 on CPUs.

    One layout for networks that are run one behind the other, as activations keep that in which they come.
    """
    convolutions = (part for module in modules for part in module.modules() if isinstance(part, nn.Conv2d))
    narrow = (m.in_channels < 16 and m.kernel_size == (1, 1) and m.stride != (1, 1) for m in convolutions)
    return torch.contiguous_format if any(narrow) else torch.channels_last


@contextlib.contextmanager
def use_layout(*modules: nn.Module, trial: Callable[[], object] | None = None) -> Iterator[None]:
    """The weights of convolutions in the layout that is fastest inside the block, and as they were laid out after it.

    Where the `trial` fails in that layout (a model that calls `view` on a map), nothing is changed.
    """
    layout = layout_of(*modules)
    parts = [part for module in modules for part in module.modules() if isinstance(part, nn.Conv2d)]
    plain = [part for part in parts if part.weight.is_contiguous()]
    try:
        _lay(plain, layout)
        if trial is not None:
            try:
                trial()
            except RuntimeError:
                _lay(plain, torch.contiguous_format)
        yield
    finally:
        _lay(plain, torch.contiguous_format)


def _lay(parts: list[nn.Conv2d], layout: torch.memory_format) -> None:
    for part in parts:
        part.weight.data = part.weight.data.contiguous(memory_format=layout)


def machine() -> str:
    """On what this process runs, for a time that was measured here.

    >>> machine().endswith("PyTorch threads")
    True
    """
    system = f"{platform.system()} {platform.machine()}"
    return f"{system}, {os.cpu_count()} cores, {torch.get_num_threads()} PyTorch threads"


def versions() -> dict[str, str]:
    """Of seamripper and of torch."""
    try:
        own = version("seamripper")
    except PackageNotFoundError:
        own = "unknown"  # Run from its source, not installed.
    return {"seamripper": own, "torch": torch.__version__}
