"""Where tensors live. This module alone names devices and moves tensors between them.

A model computes on the device that its weights are on, in their precision. Samples stay in main memory; a batch is
moved once, when it is presented to the model. A stitch lives where the receiver does. What is kept longer than a batch
(activations, answers, rows of a measure) lives in main memory. Sums in float64 live on the device, or in main memory
beside a device that has no float64 (MPS).
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterable
from typing import TypeVar

import torch
from torch import Tensor, nn

from seamripper._words import did_you_mean
from seamripper.errors import ModelError

MAIN_MEMORY = torch.device("cpu")
DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
"""The precisions that a model can be asked to compute in."""
_WITHOUT_FLOAT64 = ("mps",)
M = TypeVar("M", bound=nn.Module)
T = TypeVar("T", Tensor, dict[str, Tensor], Tensor | dict[str, Tensor])


def move(value: T, device: torch.device) -> T:
    """The tensor, or the named tensors, on this device: the very same if they are there. Nothing else moves tensors."""
    if isinstance(value, dict):
        return {name: move(tensor, device) for name, tensor in value.items()}
    return value if value.device == device else value.to(device)


def to_memory(value: T) -> T:
    """The tensor, or the named tensors, in main memory, where all that is kept lives."""
    return move(value, MAIN_MEMORY)


def in_float64(tensor: Tensor) -> Tensor:
    """The tensor in float64: on its own device, or in main memory if that device has no float64."""
    return move(tensor, float64_home(tensor.device)).double()


def float64_home(device: torch.device) -> torch.device:
    """Where float64 numbers of this device live.

    >>> float64_home(torch.device("cuda", 1)), float64_home(torch.device("mps"))
    (device(type='cuda', index=1), device(type='cpu'))
    """
    return MAIN_MEMORY if device.type in _WITHOUT_FLOAT64 else device


def device_of(module: nn.Module) -> torch.device:
    """The device of a module's first parameter or buffer, or on which it takes turns; main memory if it has none.

    >>> device_of(nn.Linear(2, 1))
    device(type='cpu')
    """
    turns: torch.device | None = getattr(module, _TURNS, None)
    return turns or next((tensor.device for tensor in _tensors(module)), MAIN_MEMORY)


def dtype_of(module: nn.Module) -> torch.dtype:
    """The precision of a module's first parameter of floating point; float32 if it has none.

    >>> dtype_of(nn.Linear(2, 1).half())
    torch.float16
    """
    return next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)


_RESIDENTS: dict[torch.device, weakref.ref[nn.Module]] = {}
"""On each device, the module that is there of those that take turns on it."""
_TURNS = "_takes_turns_on"


def take_turns(module: nn.Module, device: torch.device) -> None:
    """Keep a module in main memory, and bring it to the device when it runs: whichever was there before it leaves.

    Modules that take turns are on the device one at a time. Copies of them take turns, too.
    """
    if device == MAIN_MEMORY:
        return
    setattr(module, _TURNS, device)
    module.register_forward_pre_hook(_enter_first)
    # There and back, so that a module for which there is no room is refused now.
    _make_room(device)
    module.to(device)
    leave(module)


def takes_turns(module: nn.Module) -> bool:
    """Whether a module is on its device only while it runs: then nothing may keep a copy of its weights there."""
    return hasattr(module, _TURNS)


def follow(part: nn.Module, whole: nn.Module) -> None:
    """Bring the whole to its device before a part runs that shares its weights, if the whole takes turns."""
    if takes_turns(whole):
        part.register_forward_pre_hook(lambda *_: _enter(whole))


def settle_like(module: nn.Module, other: nn.Module) -> nn.Module:
    """The module where the other one is: on its device, or in turn with it."""
    if takes_turns(other):
        take_turns(module, device_of(other))
        return module
    return module.to(device_of(other))


def copy_in_memory(module: M) -> M:
    """A copy in main memory, which stays there, of a module that is anywhere, or takes turns.

    >>> copy_in_memory(nn.Linear(2, 1))
    Linear(in_features=2, out_features=1, bias=True)
    """
    leave(module)
    twin = copy.deepcopy(module).to(MAIN_MEMORY)
    if takes_turns(twin):
        delattr(twin, _TURNS)
        hooks = twin._forward_pre_hooks
        for key in [key for key, hook in hooks.items() if hook is _enter_first]:
            del hooks[key]
    return twin


def leave(module: nn.Module) -> None:
    """Bring a module that takes turns back to main memory."""
    if takes_turns(module):
        _relocate(module, MAIN_MEMORY)
        if _resident(device_of(module)) is module:
            del _RESIDENTS[device_of(module)]


def _enter_first(module: nn.Module, _: object) -> None:
    _enter(module)


def _enter(module: nn.Module) -> None:
    device = device_of(module)
    if _resident(device) is not module:
        _make_room(device)
        _relocate(module, device)
        _RESIDENTS[device] = weakref.ref(module)


def _make_room(device: torch.device) -> None:
    resident = _resident(device)
    if resident is not None:
        leave(resident)


def _resident(device: torch.device) -> nn.Module | None:
    return _RESIDENTS[device]() if device in _RESIDENTS else None


def _relocate(module: nn.Module, device: torch.device) -> None:
    """Move the numbers, and not the tensors: those are held by the halves of a cut model as well."""
    for tensor in _tensors(module):
        tensor.data = move(tensor.data, device)


def _tensors(module: nn.Module) -> Iterable[Tensor]:
    yield from module.parameters()
    yield from module.buffers()


def usable_devices() -> list[torch.device]:
    """The devices that this build of torch can compute on here, the best first."""
    gpus = [torch.device("cuda", k) for k in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return [*gpus, *([torch.device("mps")] if torch.backends.mps.is_available() else []), MAIN_MEMORY]


def as_device(word: str | torch.device) -> torch.device:
    """The device that a word means: `cpu`, `cuda`, `cuda:1`, `mps`, or with `auto` the best that there is here.

    >>> as_device("cpu")
    device(type='cpu')
    """
    known = usable_devices()
    if word == "auto":
        return known[0]
    try:
        device = torch.device(word)
    except (RuntimeError, TypeError) as e:
        near = did_you_mean(str(word), ["auto", "cpu", "cuda", "mps"])
        raise ModelError(f"Expected a device to be auto, cpu, cuda, cuda:1 or mps, but got {word!r}: {near}") from e
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device() if torch.cuda.is_available() else 0)
    if device not in known:
        raise ModelError(
            f"There is no device {str(word)!r} that torch {torch.__version__} can use here. There are: "
            f"{', '.join(map(str, known))}. `seamripper doctor` says more."
        )
    return device


def as_dtype(word: str | torch.dtype) -> torch.dtype:
    """The precision that a word means.

    >>> as_dtype("bfloat16")
    torch.bfloat16
    """
    if isinstance(word, torch.dtype) and word in DTYPES.values():
        return word
    if word not in DTYPES:
        raise ModelError(f"Expected dtype to be {', '.join(DTYPES)}, but got {str(word)!r}.")
    return DTYPES[str(word)]


def generators_of(device: torch.device) -> list[torch.Generator]:
    """The generators that random numbers come from where a module computes on this device.

    >>> generators_of(MAIN_MEMORY) == [torch.default_generator]
    True
    """
    generators = [torch.default_generator]
    if device.type == "cuda" and torch.cuda.is_available():
        generators.append(torch.cuda.default_generators[device.index or 0])
    if device.type == "mps" and torch.backends.mps.is_available():
        generators.append(torch.mps._get_default_mps_generator())
    return generators


def wide(dtype: torch.dtype) -> torch.dtype:
    """The precision to compute figures and stitches in: float32 for half precisions and float32, else float64.

    >>> wide(torch.bfloat16), wide(torch.float64)
    (torch.float32, torch.float64)
    """
    return torch.float64 if dtype == torch.float64 else torch.float32


def widen(tensor: Tensor) -> Tensor:
    """The numbers in a precision to compute with: half precisions and quantised numbers become float32.

    >>> widen(torch.ones(2).half()).dtype, widen(torch.arange(2)).dtype
    (torch.float32, torch.int64)
    """
    numbers = tensor.dequantize() if tensor.is_quantized else tensor
    return numbers.to(wide(numbers.dtype)) if numbers.is_floating_point() else numbers


def like(tensor: Tensor, other: Tensor) -> Tensor:
    """The tensor in the precision of another, on the device of that one."""
    return move(tensor.to(other.dtype), other.device)
