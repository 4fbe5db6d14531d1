"""Options: the fields of a frozen dataclass, as text says them, and as messages name them.

The fields of a field that is a dataclass itself, such as a matching's training, count as options of the whole.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from seamripper._words import nearest, word_list
from seamripper.errors import SeamripperError

_KINDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a string",
    type(None): "None",
}

_LITERALS = {"True": True, "False": False, "None": None}
_SWITCHES = {"true": True, "1": True, "false": False, "0": False}


def accepts(hint: Any, value: object) -> bool:
    """Whether `value` is of the type `hint`; a hint that is not known here accepts everything.

    >>> accepts(int, 3), accepts(int, True), accepts(float, 3), accepts(Literal["a", "b"], "c")
    (True, False, True, False)
    """
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        return any(accepts(kind, value) for kind in get_args(hint))
    if hint is float and isinstance(value, float) and not math.isfinite(value):
        return False
    if hint in (int, float):
        # To Python True is the number 1; to a reader of `rank=True` it is a slip.
        return isinstance(value, int if hint is int else (int, float)) and not isinstance(value, bool)
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(accepts(get_args(hint)[0], item) for item in value)
    if get_origin(hint) is dict:
        return isinstance(value, dict)
    return isinstance(value, hint) if isinstance(hint, type) else True


def type_words(hint: Any) -> str:
    """The type `hint` in words.

    >>> type_words(Literal["mean", "cls"]), type_words(int | None)
    ("'mean' or 'cls'", 'a whole number or None')
    """
    if get_origin(hint) is Literal:
        return word_list(get_args(hint), last="or")
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(type_words(kind) for kind in get_args(hint))
    if get_origin(hint) is tuple:
        return f"several of {type_words(get_args(hint)[0])}, joined by commas"
    return _KINDS.get(hint, str(getattr(hint, "__name__", hint)))


def require_options(choice: Any, what: str, *, error: type[SeamripperError], **least: float) -> None:
    """Refuse an option that is not of the type its field declares, or lies below its least value.

    A word that no branch knows must not fall through to the last of them.
    """
    hints = get_type_hints(type(choice))
    for field in fields(choice):
        value = getattr(choice, field.name)
        wanted = _expectation(field.name, hints[field.name], least)
        right = accepts(hints[field.name], value)
        if field.name in least:
            # Not <, or NaN would pass.
            right = right and (value is None or value >= least[field.name])
        if isinstance(value, float) and not math.isfinite(value):
            wanted = wanted.replace("a number", "a finite number")
        if not right:
            raise error(f"Expected {field.name} of {what} to be {wanted}, but got {value!r}.")


def _expectation(name: str, hint: Any, least: Mapping[str, float]) -> str:
    """What an option must be, with its bound: "a whole number of at least 1, or None"."""
    words = type_words(hint)
    bound = f" of at least {least[name]:g}" if name in least else ""
    number = words.removesuffix(" or None")
    return f"{number}{bound}, or None" if bound and number != words else words + bound


def known_options(cls: Any) -> dict[str, tuple[Any, str]]:
    """Every option of a dataclass: its type, and the field that holds it if that is a dataclass of its own."""
    hints = get_type_hints(cls)
    options: dict[str, tuple[Any, str]] = {}
    nested = [field.name for field in fields(cls) if field.init and is_dataclass(hints[field.name])]
    for holder in nested:
        options |= {name: (hint, holder) for name, (hint, _) in known_options(hints[holder]).items()}
    return options | {f.name: (hints[f.name], "") for f in fields(cls) if f.init and f.name not in nested}


def default_options(cls: Any) -> dict[str, Any]:
    """Every option with its default; None for one that has none. The class may be a pydantic model as well."""
    if hasattr(cls, "model_fields"):
        return {name: None if field.is_required() else field.default for name, field in cls.model_fields.items()}
    defaults: dict[str, Any] = {}
    for field in (field for field in fields(cls) if field.init):
        value = None if field.default is MISSING else field.default
        if field.default_factory is not MISSING:
            value = field.default_factory()
        defaults |= asdict(value) if is_dataclass(value) and not isinstance(value, type) else {field.name: value}
    return defaults


def require_known(
    options: Mapping[str, object], cls: Any, what: str, *, error: type[SeamripperError], fixed: Collection[str] = ()
) -> None:
    """Refuse an option that the dataclass `cls` does not have, with the nearest one; `fixed` fields are no options."""
    known = [name for name in known_options(cls) if name not in fixed]
    holders = [field.name for field in fields(cls) if field.name not in fixed]
    for option in options:
        if option not in known and option not in holders:
            close = nearest(option, known, n=1)
            guess = f"did you mean {close[0]!r}? " if close else ""
            has = f"Its options are {word_list(known)}." if known else "It has none."
            raise error(f"{what} has no option {option!r}: {guess}{has}")


def split_options(text: str, *, error: type[SeamripperError]) -> tuple[str, dict[str, str]]:
    """A name and its options, still as text.

    >>> split_options("resnet18?width=0.25&stem=3x3", error=SeamripperError)
    ('resnet18', {'width': '0.25', 'stem': '3x3'})
    """
    name, _, query = text.partition("?")
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not (key and equals and value):
            raise error(f"Expected options like ?name=value&name=value, but got {part!r} in {text!r}.")
        if key in options:
            raise error(f"Option {key!r} is given twice in {text!r}: keep one of them.")
        options[key] = value
    return name, options


def read_options(
    options: Mapping[str, str], cls: Any, what: str, *, error: type[SeamripperError], fixed: Collection[str] = ()
) -> dict[str, Any]:
    """The options that text means, by the types that the fields of the dataclass `cls` declare."""
    require_known(options, cls, f"The {what}", error=error, fixed=fixed)
    known, values = known_options(cls), {}
    for name, text in options.items():
        hint = known[name][0]
        meanings = _meanings(hint, text)
        if not meanings:
            wanted = _expectation(name, hint, getattr(cls, "least", {}))
            low = getattr(cls, "between", {}).get(name, (None,))[0]
            wanted += "" if low is None else f" above {low:g}"
            raise error(f"Expected {name} of the {what} to be {wanted}, but got {text!r}.")
        values[name] = meanings[0]
    return values


def with_options(choice: Any, options: Mapping[str, Any]) -> Any:
    """The choice with other options, those of its nested dataclasses among them; lists become tuples, as JSON has none.

    A mapping under the name of a nested dataclass holds options of that.
    """
    known, changes = known_options(type(choice)), dict[str, Any]()
    for name, value in options.items():
        holder = known[name][1] if name in known else ""
        if holder:
            changes[holder] = replace(changes.get(holder, getattr(choice, holder)), **{name: _frozen(value)})
        elif isinstance(value, Mapping) and is_dataclass(getattr(choice, name, None)):
            changes[name] = with_options(changes.get(name, getattr(choice, name)), value)
        else:
            changes[name] = _frozen(value)
    return replace(choice, **changes) if changes else choice


def changed_options(choice: Any) -> dict[str, str]:
    """The options that differ from their defaults, as text, in the order of the fields."""
    changed: dict[str, str] = {}
    for field in fields(choice):
        value, default = getattr(choice, field.name), field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        if is_dataclass(value) and is_dataclass(default):
            usual = _texts(default)
            changed |= {name: text for name, text in _texts(value).items() if text != usual[name]}
        elif isinstance(value, dict):
            changed |= value
        elif value != default:
            changed[field.name] = _text(value)
    return changed


def _texts(choice: Any) -> dict[str, str]:
    return {field.name: _text(getattr(choice, field.name)) for field in fields(choice)}


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _meanings(hint: Any, text: str) -> list[Any]:
    """The value of the type `hint` that `text` means, in a list; an empty list if it means none.

    >>> _meanings(int | None, "20"), _meanings(int | None, "None"), _meanings(Literal["a", "b"], "c")
    ([20], [None], [])
    """
    if get_origin(hint) is Literal:
        return [word for word in get_args(hint) if str(word) == text]
    if get_origin(hint) in (Union, types.UnionType):
        return [value for kind in get_args(hint) for value in _meanings(kind, text)]
    if get_origin(hint) is tuple:
        items = [_meanings(get_args(hint)[0], part.strip()) for part in text.split(",")]
        return [tuple(item[0] for item in items)] if all(items) else []
    if hint is bool:
        return [_SWITCHES[text.lower()]] if text.lower() in _SWITCHES else []
    if hint is type(None):
        return [None] * (text.lower() == "none")
    if hint is str:
        return [text]
    try:
        value = hint(text) if hint in (int, float) else math.nan
    except ValueError:
        return []
    return [value] if math.isfinite(value) else []


def literals(options: Mapping[str, str]) -> dict[str, Any]:
    """What options mean to a library that declares none: numbers, true/false, lists, or else the text itself.

    >>> literals({"img_size": "32", "bias": "true", "pool": "avg"})
    {'img_size': 32, 'bias': True, 'pool': 'avg'}
    """
    return {name: _literal(text) for name, text in options.items()}


def _literal(text: str) -> Any:
    if text in _LITERALS:
        return _LITERALS[text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
