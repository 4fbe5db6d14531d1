"""Data sets as Samples, by name. A data set is one file here, or an entry point in `seamripper.data`."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from seamripper._doors import require, require_whole
from seamripper._options import read_options, split_options
from seamripper._plugins import discover
from seamripper._words import did_you_mean
from seamripper.data.base import DataSet, check_options, check_seed, check_split
from seamripper.data.digits8 import FallbackWarning
from seamripper.data.noise import clustered_noise
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import DataError

__all__ = ["DataSet", "FallbackWarning", "Inputs", "Paired", "Samples", "clustered_noise", "datasets", "load_data"]


def load_data(
    name: str,
    split: str = "train",
    *,
    n: int | None = None,
    seed: int = 0,
    classes: int | None = None,
    **options: Any,
) -> Samples:
    """The "train" or "test" samples of a data set; `n` of them, if given.

    `name` is one that `datasets()` lists: `mnist`, `mnist/digit`, `cifar10`, `folder:PATH` … `seed` draws the
    `n` samples and whatever else is random about the set. `classes` keeps the first so many classes, before any are
    drawn; `options` are the set's own. Options may also stand in the name: `mnist/digit?size=32&classes=5`.

    >>> few = load_data("digits/digit", "test", n=4)
    >>> few.name, few.shape, few.labels.tolist()
    ('digits/digit', (3, 28, 28), [1, 6, 4, 2])
    >>> two = load_data("digits?classes=2", "test")
    >>> two.name, two.classes, len(two)
    ('digits/greyscale?classes=2', 2, 66)
    """
    check_split(split)
    seed = check_seed(seed)
    require(name, str, "name", error=DataError, advice="Images in a folder go by 'folder:PATH', say.")
    if n is not None:
        n = require_whole(n, "n", least=1, error=DataError)
    chosen = _named(name, options if classes is None else {**options, "classes": classes})
    samples = chosen.kept(chosen.load(split, n=n, seed=seed), n=n, seed=seed)
    samples = replace(samples, ready=True) if chosen.ready else samples
    told = _told(chosen)
    return replace(samples, name=f"{samples.name}?{told}") if told else samples


def datasets() -> dict[str, str]:
    """Every name that `load_data` takes, with a line on what it is.

    >>> datasets()["cifar10"]
    'photographs of ten kinds of things, 50,000 + 10,000 of 32x32'
    """
    names = {}
    for name, cls in _known().items():
        names[f"{name}:{cls.takes.upper()}" if cls.takes else name] = cls.about
        names.update({f"{name}/{variant}": what for variant, what in cls.variants.items()})
    return names


def _known() -> dict[str, type[DataSet]]:
    return discover(__name__, DataSet)  # type: ignore[type-abstract]


def _named(name: str, options: dict[str, Any]) -> DataSet:
    word, written = _parted(name)
    kind, colon, argument = word.partition(":")
    key, slash, variant = kind.partition("/")
    cls = _known().get(key)
    if cls is None or (slash and variant not in cls.variants) or (colon and not cls.takes):
        raise DataError(f"There is no data set {word!r}: {did_you_mean(kind, list(datasets()))}")
    if cls.takes and not argument:
        raise DataError(f"The data set {key!r} needs a {cls.takes}: '{key}:{cls.takes.upper()}'.")
    allowed = _options(cls)
    for option in [*written, *options]:
        if option not in allowed:
            raise DataError(f"The data set {key!r} has no option {option!r}: {did_you_mean(option, allowed)}")
        if option in written and option in options:
            raise DataError(f"Option {option!r} is given twice, in {name!r} and beside it: keep one of them.")
    taken: dict[str, Any] = {"variant": variant} if slash else {}
    taken |= {cls.takes: argument} if cls.takes else {}
    chosen = cls(**taken, **read_options(written, cls, f"data set {key!r}", error=DataError), **options)
    check_options(chosen)
    return chosen


def _parted(name: str) -> tuple[str, dict[str, str]]:
    """A word and the options in it, as text. A path may hold a question mark if no option follows it.

    >>> _parted("folder:cats?size=64"), _parted("folder:why?")
    (('folder:cats', {'size': '64'}), ('folder:why?', {}))
    """
    word, _, rest = name.partition("?")
    if ":" in word and "=" not in rest:
        return name, {}
    return split_options(name, error=DataError)


def _options(cls: type[DataSet]) -> list[str]:
    return [field.name for field in fields(cls) if field.name not in ("variant", cls.takes)]


def _told(chosen: DataSet) -> str:
    """The options that are not as they are by default, in the way and order of a word: "classes=5&size=32"."""
    usual = {field.name: field.default for field in fields(chosen)}
    given = {option: getattr(chosen, option) for option in _options(type(chosen))}
    return "&".join(f"{option}={value}" for option, value in sorted(given.items()) if value != usual[option])
