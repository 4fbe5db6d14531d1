"""once: a property computed when it is first asked for, and then held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class once(Generic[_T]):  # noqa: N801  (reads as the decorator that it is)
    """Like `functools.cached_property`, without its lock.

    Up to Python 3.11 that lock is one for all objects of a class, and pairs that are measured side by side would wait
    for each other. Two threads that ask at the same moment may both compute it; one of the two results is held.
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
        # Found there before this descriptor is, from the next time on.
        instance.__dict__[self.name] = value
        return value
