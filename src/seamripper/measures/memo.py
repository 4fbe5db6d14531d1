"""Memo: what was computed of an object, held as long as the object lives.

`once` is for properties, `recall` for what has a key. Both write into the object's own `__dict__`, and neither holds a
lock while it computes: two threads that ask at the same moment may both compute, and one of the two results is held.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar, overload
from weakref import WeakKeyDictionary

from torch import Tensor

MOST = 1 << 30
"""Bytes of tensors that `recall` holds at most, over all objects."""

_HELD: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""How many bytes of tensors each object holds."""
_LOCK = threading.Lock()
_T = TypeVar("_T")


class once(Generic[_T]):  # noqa: N801  (reads as the decorator that it is)
    """Like `functools.cached_property`, without its lock.

    Up to Python 3.11 that lock is one for all objects of a class, and pairs that are measured side by side would wait
    for each other.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self.compute, self.name = compute, compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> once[_T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...
    def __get__(self, instance: object | None, owner: type) -> once[_T] | _T:
        if instance is None:
            return self
        value = self.compute(instance)
        # From the next time on, Python looks here before it asks the descriptor.
        instance.__dict__[self.name] = value
        return value


def recall(owner: object, key: Hashable, make: Callable[[], _T]) -> _T:
    """The value of `make`, computed when this owner and key are first asked for.

    Once `MOST` bytes are held, a new tensor is computed each time. Nothing is dropped to make room: a matrix of pairs
    visits its sides in turn, so a cache that drops the oldest entry would never be hit.

    >>> import torch
    >>> from seamripper.measures.pair import Side
    >>> side = Side.of(torch.eye(3))
    >>> recall(side, "sum", lambda: side.matrix.sum()) is recall(side, "sum", lambda: torch.tensor(0.0))
    True
    """
    values: dict[Hashable, Any] = owner.__dict__.setdefault("_recalled", {})
    if key in values:
        return values[key]  # type: ignore[no-any-return]
    value = make()
    if not isinstance(value, Tensor):
        values[key] = value
        return value
    with _LOCK:
        if sum(_HELD.values()) + value.nbytes <= MOST:
            _HELD[owner] = _HELD.get(owner, 0) + value.nbytes
            values[key] = value
    return value
