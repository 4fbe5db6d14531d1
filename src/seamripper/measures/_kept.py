"""Kept: what several measures want of one side, computed once and held as long as the side lives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from weakref import WeakKeyDictionary

from torch import Tensor

from seamripper.measures.pair import Side

MOST = 1 << 30
"""Bytes that are held at most, over all sides."""

_KEPT: WeakKeyDictionary[Side, dict[Hashable, Tensor]] = WeakKeyDictionary()
_LOCK = threading.Lock()


def kept(side: Side, key: Hashable, make: Callable[[], Tensor]) -> Tensor:
    """What `make` gives, or gave before for this side and key.

    Once `MOST` bytes are held, what is new is made anew each time. Nothing is dropped for it: a matrix of pairs goes
    through its sides in turn, and of a cache that drops the oldest it would find nothing.

    >>> import torch
    >>> side = Side.of(torch.eye(3))
    >>> kept(side, "sum", lambda: side.kept.sum()) is kept(side, "sum", lambda: torch.tensor(0.0))
    True
    """
    with _LOCK:
        held = _KEPT.setdefault(side, {})
        if key in held:
            return held[key]
    # Without the lock, so that pairs measured side by side do not wait for each other.
    value = make()
    with _LOCK:
        if sum(tensor.nbytes for one in _KEPT.values() for tensor in one.values()) + value.nbytes <= MOST:
            held[key] = value
    return value
