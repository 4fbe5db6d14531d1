"""Reading a study from TOML: an error names the key, the line and the nearest right word."""

from __future__ import annotations

import contextlib
import re
import tomllib
import types
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from seamripper._files import files_beside
from seamripper._words import did_you_mean, nearest, word_list
from seamripper.errors import ExperimentError

M = TypeVar("M", bound=BaseModel)
Where = tuple[str | int, ...]
"""The way to a key: ("stitch", 0, "cuts")."""

_KINDS = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "mapping_type": "a table",
    "dict_type": "a table",
    "model_type": "a table",
    "finite_number": "a finite number",
}


def read_toml(path: Path, kind: type[M]) -> M:
    """The value of this kind that the file describes, with the file's name and folder unless it says otherwise."""
    if path.suffix != ".toml":
        raise ExperimentError(f"Expected an experiment in a .toml file, but got {str(path)!r}.")
    if not path.is_file():
        raise ExperimentError(f"There is no file {path}.{files_beside(path)}")
    try:
        text = path.read_text(encoding="utf-8")
        record = as_tuples(tomllib.loads(text))
    except RecursionError as e:
        raise ExperimentError(f"{path} is nested too deeply to be a study.") from e
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise ExperimentError(f"{path} is not TOML: {e}.") from e
    for key in ("folder", "file"):
        if key in record:
            line = line_of(text, (key,))
            raise ExperimentError(
                f"{path}, line {line}: there is no key {key!r}: file names are relative to the folder of this file."
            )
    description = {"name": path.stem, **record, "folder": str(path.resolve().parent), "file": str(path)}
    try:
        return kind.model_validate(description)
    except ValidationError as e:
        where, sentence = mistake(e, description, kind)
        raise ExperimentError(f"{path}, line {line_of(text, where)}: {sentence}") from e


def mistake(error: ValidationError, description: Mapping[str, Any], kind: type[BaseModel]) -> tuple[Where, str]:
    """The key that is wrong in a description, and a sentence on it."""
    # A union (a name or a table) tells of every member that did not fit: the deepest is the one that was meant.
    first = max(error.errors(), key=lambda detail: (detail["type"] == "extra_forbidden", len(detail["loc"])))
    where = _path(first, description)
    kinds = [_KINDS[o["type"]] for o in error.errors() if o["type"] in _KINDS and _path(o, description) == where]
    return (*where, *_key_within(first)), _sentence(first, where, kind, kinds)


def as_tuples(value: Any) -> Any:
    """Lists as tuples, as a frozen value has them."""
    if isinstance(value, dict):
        return {key: as_tuples(item) for key, item in value.items()}
    return tuple(as_tuples(item) for item in value) if isinstance(value, list) else value


def _path(error: Any, value: Any) -> Where:
    """The keys alone, those that the value has: pydantic also names the member of a union that it tried."""
    keys: list[str | int] = []
    for part in error["loc"]:
        if (isinstance(value, dict) and part in value) or (isinstance(value, tuple) and isinstance(part, int)):
            keys.append(part)
            value = value[part]
    return (*keys, error["loc"][-1]) if error["type"] == "missing" else tuple(keys)


def _key_within(error: Any) -> Where:
    """The key of a table that a sentence about the whole table speaks of."""
    if error["type"] != "value_error" or not isinstance(error["input"], dict):
        return ()
    return tuple(word for word in _literals(str(error["ctx"]["error"])) if word in error["input"])[:1]


def _sentence(error: Any, where: Where, kind: type[BaseModel], kinds: Sequence[str]) -> str:
    """What is wrong, in words; `kinds` are all that the value might have been."""
    key = next((part for part in reversed(where) if isinstance(part, str)), "")
    given, context = error["input"], error.get("ctx", {})
    if error["type"] == "extra_forbidden":
        table = _place(where[:-1])
        return f"{table} has no key {key!r}: {did_you_mean(key, _keys(where[:-1], kind))}"
    if error["type"] == "missing":
        return f"{_place(where[:-1])} needs the key {key!r}."
    if error["type"] == "literal_error":
        known = _literals(context["expected"])
        near = nearest(str(given), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"Expected {_place(where)} to be {word_list(known, last='or')}, but got {given!r}.{hint}"
    if error["type"] == "value_error":
        return f"{_place(where)}: {context['error']}."
    if error["type"] == "tuple_type" and isinstance(given, dict):
        return f"Expected {_place(where)} to be a list of tables: write [[{key}]] for [{key}]."
    if error["type"] in _KINDS:
        several = " or ".join(dict.fromkeys(kinds))
        return f"Expected {_place(where)} to be {several}, but got {_plain(given)!r}."
    # Bounds and lengths: "Input should be greater than or equal to 1".
    wanted = re.sub(r" after validation, not \d+$", "", error["msg"])
    wanted = wanted.replace("Input should be ", "to be ").replace("Tuple should have", "to have")
    wanted = wanted.replace("String should match pattern", "to match the pattern").replace("String should", "to")
    return f"Expected {_place(where)} {wanted}, but got {_plain(given)!r}."


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _literals(expected: str) -> list[str]:
    return re.findall(r"'([^']*)'", expected)


def _place(where: Where) -> str:
    """A place in the file, as its author would call it.

    >>> _place(("stitch", 1, "cuts", 0)), _place(())
    ('`cuts` of the 2nd [[stitch]]', 'the experiment')
    """
    words = [part for part in where if isinstance(part, str)]
    if not words:
        return "the experiment"
    if len(where) > 1 and isinstance(where[1], int):
        nth = f"the {ordinal(where[1] + 1)} [[{where[0]}]]"
        return nth if len(words) == 1 else f"`{'.'.join(words[1:])}` of {nth}"
    if words[0] == "models" and len(words) > 1:
        table = f"[models.{words[1]}]"
        return table if len(words) == 2 else f"`{'.'.join(words[2:])}` of {table}"
    if words[0] == "matchings" and len(words) > 1:
        return f"`{'.'.join(words[1:])}` of [matchings]"
    return f"`{'.'.join(words)}`"


def place_of(where: Where, file: str = "") -> str:
    """A key as messages name it, and its line if the file is still there.

    >>> place_of(("matchings", "fast"))
    '`fast` of [matchings]'
    """
    try:
        line = line_of(Path(file).read_text(encoding="utf-8"), where) if file else 0
    except (OSError, ValueError):
        line = 0
    return f"{file}, line {line}: {_place(where)}" if line else _place(where)


def ordinal(n: int) -> str:
    """A number as a place: 1st, 2nd, 3rd …"""
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10 if n % 100 not in (11, 12, 13) else 0, 'th') }"


def _keys(where: Where, kind: Any) -> list[str]:
    """The keys that a table at this place may have."""
    for part in where:
        kind = _inside(kind, part)
    fields = list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []
    return [name for name in fields if name not in ("folder", "file")]


def _inside(kind: Any, part: str | int) -> Any:
    """The type of what stands at `part` within a value of this type, tables before words."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _table(kind.model_fields[str(part)].annotation) if part in kind.model_fields else None
    inner = get_args(kind)
    return _table(inner[1 if isinstance(part, str) else 0]) if inner else None


def _table(kind: Any) -> Any:
    """Of a union, the member that is a table."""
    if get_origin(kind) in (Union, types.UnionType):
        return next((arm for arm in get_args(kind) if isinstance(arm, type) and issubclass(arm, BaseModel)), None)
    return None if get_origin(kind) is Literal else kind


def line_of(text: str, where: Where) -> int:
    """The line, from 1, at which the key is set; that of its table, if the table does not have the key.

    >>> line_of("threads = 1\\n[models.digit]\\nepoch = 2\\n", ("models", "digit", "epoch"))
    3
    """
    lines = text.split("\n")
    known = where[: _depth(tomllib.loads(text), where)]

    def is_set(n: int) -> bool:
        """Whether the key is set by the end of the statement that line n belongs to."""
        return _depth(_parse_start(lines, n), known) == len(known)

    return bisect_left(range(len(lines)), True, lo=1, key=is_set) if known else 1


def _depth(value: Any, where: Where) -> int:
    """How many keys of a path, from its beginning, a value has."""
    for depth, key in enumerate(where):
        try:
            value = value[key]
        except (LookupError, TypeError):
            return depth
    return len(where)


def _parse_start(lines: Sequence[str], n: int) -> dict[str, Any]:
    """What the first n lines say, and as many more as their last statement takes."""
    for end in range(n, len(lines)):
        # A statement of several lines ends in one of these marks: others need not be tried, and a list may be long.
        if end > n and not any(mark in lines[end - 1] for mark in ("]", '"""', "'''")):
            continue
        with contextlib.suppress(tomllib.TOMLDecodeError):
            return tomllib.loads("\n".join(lines[:end]) + "\n")
    return tomllib.loads("\n".join(lines))
