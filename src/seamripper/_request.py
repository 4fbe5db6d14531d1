"""Functions of a request: a frozen dataclass lists their arguments once, with defaults and checks."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def with_arguments_of(
    request: Callable[_Arguments, Any],
) -> Callable[[Callable[[Any], _Result]], Callable[_Arguments, _Result]]:
    """Let a function of a request be called with the arguments of the request itself."""

    def wrap(run: Callable[[Any], _Result]) -> Callable[_Arguments, _Result]:
        @functools.wraps(run)
        def call(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
            return run(request(*args, **options))

        call.__signature__ = inspect.signature(request)  # type: ignore[attr-defined]
        return call

    return wrap
