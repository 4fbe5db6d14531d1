"""Wording that messages share: the nearest right word, lists, and sizes."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Sequence
from types import ModuleType

from seamripper.errors import MissingExtraError


def nearest(word: str, known: Iterable[str], *, n: int = 3) -> tuple[str, ...]:
    """The names in `known` that are most like `word`, best first.

    >>> nearest("layer22", ["layer1", "layer2", "fc"])
    ('layer2', 'layer1')
    """
    return tuple(difflib.get_close_matches(word, list(known), n=n, cutoff=0.5))


_LISTED = 12
"""Names that a message lists."""


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown word: the nearest right ones, or a list of what exists.

    >>> did_you_mean("mnst", ["mnist", "cifar10"])
    "did you mean 'mnist'?"
    """
    close = nearest(word, known)
    if close:
        return f"did you mean {word_list(close, last='or')}?"
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"there are: {', '.join(known[:_LISTED])}{more}."


def word_list(words: Iterable[str], *, last: str = "and", quote: str = "'") -> str:
    """Words in a sentence, quoted if they are no sentence of their own.

    >>> word_list(["a", "b", "c"]), word_list(["a", "b"], quote="")
    ("'a', 'b' and 'c'", 'a and b')
    """
    quoted = [f"{quote}{word}{quote}" for word in words]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"


def shape_text(shape: Iterable[int]) -> str:
    """A shape as users type it.

    >>> shape_text((3, 28, 28))
    '3x28x28'
    """
    return "x".join(str(size) for size in shape)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out: Python's own, or PyTorch's.

    >>> out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."))
    True
    """
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "allocate memory" in str(error))


def need(module: str, *, extra: str, what: str) -> ModuleType:
    """Import an optional library, or say in a sentence how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as e:
        if e.name is None or e.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtraError(
            f"{what} needs the library {module.split('.')[0]!r}, which is not installed: "
            f"pip install 'seamripper[{extra}]'."
        ) from e
