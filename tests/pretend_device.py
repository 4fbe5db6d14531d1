"""A GPU that is not there: tensors that say they are on `cuda` or `mps`, compute real numbers, and keep a GPU's rules.

torch's own FakeTensorMode carries no numbers, so it stops at the first `bool(x.isfinite().all())`, and on a build
without CUDA it cannot even index. Here a tensor on the device is a wrapper around one in main memory. An operation
between the device and main memory is refused, but for single numbers, as CUDA does. A copy from one to the other is
refused unless `seamripper._devices.move` makes it: no other function may move anything, not even by an assignment into
a slice or an index in main memory, which CUDA would let pass. On `mps`, float64 is refused.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map_only

from seamripper import _devices
from seamripper.stitches import Layer

STAND_IN = torch.device("meta")
"""What torch itself is told: autograd asks a real device for its streams, and there is none."""
ATEN = torch.ops.aten


class StrayTensorError(RuntimeError):
    """An operation between two devices."""


class HiddenTransferError(RuntimeError):
    """A copy between two devices that was not announced."""


class OnDevice(Tensor):
    """A tensor on the pretended device: its numbers are in `inner`."""

    inner: Tensor
    place: torch.device

    @staticmethod
    def __new__(cls, inner: Tensor, place: torch.device) -> OnDevice:
        if place.type == "mps" and inner.dtype in (torch.float64, torch.complex128):
            _refuse(TypeError("MPS has no float64."))
        return Tensor._make_wrapper_subclass(  # type: ignore[attr-defined,no-any-return]
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=STAND_IN,
            requires_grad=inner.requires_grad,
        )

    def __init__(self, inner: Tensor, place: torch.device) -> None:
        self.inner, self.place = inner, place
        alive.add(self)

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.place

    @property
    def data(self) -> Tensor:  # type: ignore[override]
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        """The same tensor with other numbers, on the device of those: in main memory, it is as if it were not here."""
        self.inner, self.place = value.inner if isinstance(value, OnDevice) else value, value.device

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        if self.place.type == "cpu":
            return self.inner.numpy(*args, **kwargs)
        raise TypeError(f"can't convert {self.place} device type tensor to numpy. Use Tensor.cpu() first.")

    __array__ = numpy

    def tolist(self) -> Any:
        return self.inner.tolist()

    def __repr__(self) -> str:  # type: ignore[override]
        return f"{self.inner!r} on {self.place}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        copied = memo[id(self)] = self._like(OnDevice(self.inner.detach().clone(), self.place))
        return copied

    def plain(self) -> Tensor:
        """A tensor in main memory as torch has them: nothing but torch's own operations can read a wrapper."""
        return self._like(self.inner.detach())

    def _like(self, tensor: Tensor) -> Tensor:
        return nn.Parameter(tensor, self.requires_grad) if isinstance(self, nn.Parameter) else tensor

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a tensor on a device is not pickled")

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [value for value in tree_flatten((args, kwargs))[0] if isinstance(value, Tensor)]
        place = next(t.place for t in tensors if isinstance(t, OnDevice))
        if func in (ATEN._to_copy.default, ATEN.copy_.default) and _target(func, args, kwargs, place) != place:
            return _transfer(func, args, kwargs)
        for tensor in tensors:
            if tensor.device != place and (tensor.dim() or isinstance(tensor, OnDevice)):
                _refuse(
                    StrayTensorError(f"{func}: a tensor {tuple(tensor.shape)} on {tensor.device}, others on {place}")
                )
        if "device" in kwargs:
            kwargs["device"] = torch.device("cpu")
        plain, named = tree_map_only(OnDevice, lambda t: t.inner, (args, kwargs))
        given = func(*plain, **named)
        if func is ATEN.clone.default and place.type == "cpu":
            return given
        if func._schema.is_mutable and func._schema.returns:
            return _written(func, args, kwargs, given, place)
        return tree_map_only(Tensor, lambda t: OnDevice(t, place), given)


alive: weakref.WeakSet[OnDevice] = weakref.WeakSet()
"""Every tensor that is or was on the device, for as long as somebody has it."""
violations: list[Exception] = []
"""All that was refused, as somebody may have caught it: a cut that fails by one way is tried by another."""


def _refuse(error: Exception) -> NoReturn:
    violations.append(error)
    raise error


def _written(func: Any, args: Any, kwargs: Any, given: Any, place: torch.device) -> Any:
    """What an operation that writes into an argument returns: that argument itself."""
    outs = [
        args[k] if k < len(args) else kwargs.get(argument.name)
        for k, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    if isinstance(given, Tensor):
        return outs[0] if len(func._schema.returns) == 1 and outs else OnDevice(given, place)
    spare = iter(outs)
    return tuple(
        next(spare) if returned.alias_info is not None and returned.alias_info.is_write else OnDevice(value, place)
        for value, returned in zip(given, func._schema.returns, strict=True)
    )


def _target(func: Any, args: Any, kwargs: Any, place: torch.device) -> torch.device:
    """The device that a copy goes to."""
    if func is ATEN.copy_.default:
        source = args[1]
        return args[0].device if args[0].device != place else source.device if source.dim() else place
    asked = kwargs.get("device")
    return place if asked in (None, STAND_IN) else asked


def _transfer(func: Any, args: Any, kwargs: Any) -> Tensor:
    _require_announced(func)
    if func is ATEN.copy_.default:
        (there, source), inner = args[:2], lambda t: t.inner if isinstance(t, OnDevice) else t
        inner(there).copy_(inner(source))
        return there  # type: ignore[no-any-return]
    return args[0].inner.to(kwargs.get("dtype") or args[0].dtype).clone()  # type: ignore[no-any-return]


_MOVERS = (_devices.move.__code__, nn.Module._apply.__code__, Layer._apply.__code__)


def _require_announced(what: Any) -> None:
    """Refuse a copy between devices that `move` does not make. (`.to` moves a module, as its user asks.)"""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code in _MOVERS:
            return
        frame = frame.f_back  # type: ignore[assignment]
    _refuse(HiddenTransferError(f"{what} copies between a device and main memory, and not through _devices.move"))


class Pretend(TorchFunctionMode):
    """Within, `cuda` (or `mps`) can be asked for: new tensors on it and `.to` it are made of wrappers."""

    def __init__(self, kind: str = "cuda") -> None:
        super().__init__()
        self.kind = kind

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        place = next(self._places(args, kwargs), None)
        name = getattr(func, "__name__", "")
        if name == "to" and isinstance(args[0], Tensor):
            return self._to(func, args, kwargs, place)
        if place is None or name == "_parse_to" or func is torch.device:
            return func(*args, **kwargs)
        if any(isinstance(v, OnDevice) for v in tree_flatten((args, kwargs))[0]):
            # `zeros_like` and its kind: the wrapper's own dispatch puts the result where the wrapper is.
            return func(*args, **{k: STAND_IN if k == "device" else v for k, v in kwargs.items()})
        args, kwargs = tuple(self._plain(v) for v in args), {k: self._plain(v) for k, v in kwargs.items()}
        return OnDevice(func(*args, **kwargs), place)

    def _places(self, args: Any, kwargs: Any) -> Iterator[torch.device]:
        for value in (*args, *kwargs.values()):
            device = self._device(value)
            if device is not None:
                yield device

    def _device(self, value: Any) -> torch.device | None:
        if isinstance(value, str) and value.partition(":")[0] == self.kind:
            value = torch.device(value)
        if isinstance(value, torch.device) and value.type == self.kind:
            return torch.device(self.kind, value.index or 0) if self.kind == "cuda" else torch.device(self.kind)
        return None

    def _plain(self, value: Any) -> Any:
        return torch.device("cpu") if self._device(value) is not None else value

    def _to(self, func: Any, args: Any, kwargs: Any, place: torch.device | None) -> Any:
        tensor, others = args[0], (*args[1:], *kwargs.values())
        like = next((v for v in others if isinstance(v, Tensor)), None)
        if like is not None:
            dtype, target = like.dtype, like.device
        else:
            dtype = next((v for v in others if isinstance(v, torch.dtype)), tensor.dtype)
            asked = next((torch.device(v) for v in others if isinstance(v, str | torch.device)), tensor.device)
            target = asked if place is None else place
        if isinstance(tensor, OnDevice) and target == tensor.device and target.type == "cpu":
            return func(tensor.plain(), dtype)
        if target == tensor.device:
            return func(tensor, dtype) if dtype != tensor.dtype else tensor
        _require_announced(f"to({target})")
        inner = tensor.inner if isinstance(tensor, OnDevice) else tensor
        moved = inner.detach().to(dtype).clone()
        return moved if target.type == "cpu" else OnDevice(moved, target)


def moved(module: nn.Module, device: str) -> nn.Module:
    """The module with its parameters and buffers on the pretended device."""
    return module.to(torch.device(device))
