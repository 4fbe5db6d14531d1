"""Profiles as data: the sizes of a paper's experiments, in the quick profile, for a night, and in the paper's own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from seamripper._options import split_options
from seamripper.errors import ExperimentError
from seamripper.experiment import Experiment

PROFILES = ("quick", "night", "paper")
"""Minutes on two cores, at most eight hours on two cores, and the authors' sizes."""
_AS_QUICK: Any = ("as in the quick profile",)


@dataclass(frozen=True)
class Size:
    """A size of all profiles, and the words for it: {} stands for the value, {#} for how many values there are.

    Words without either tell of the quick profile alone. The profile `night` has the quick one's value, unless it has
    one of its own.
    """

    about: str
    quick: Any
    paper: Any
    night: Any = _AS_QUICK

    def value(self, profile: str) -> Any:
        """The size in a profile.

        >>> Size("{#} seeds", (0, 1), (0, 1, 2, 3, 4)).value("night")
        (0, 1)
        """
        value = getattr(self, profile)
        return self.quick if value is _AS_QUICK else value

    def departure(self, profile: str = "quick") -> str:
        """Where a profile departs from the paper's; empty if it does not.

        >>> Size("stitches trained with {}", "task?lr=0.02&epochs=8", "task?lr=0.0001&epochs=8").departure()
        "stitches trained with learning rate 0.02 (learning rate 0.0001 in the paper's profile)"
        """
        if self.value(profile) == self.paper:
            return ""
        if "{" not in self.about:
            return self.about
        quick, paper = _differences(self.value(profile), self.paper)
        count = "{#}" in self.about
        values = [str(len(value)) if count else _in_words(value) for value in (quick, paper)]
        return f"{self.about.replace('{#}', '{}').format(values[0])} ({values[1]} in the paper's profile)"


Sizes = Mapping[str, Size]


@dataclass(frozen=True)
class Profile:
    """The sizes of one profile by name, `profile.width`. It takes note of those that are asked for."""

    name: str
    sizes: Sizes = field(repr=False)
    used: set[str] = field(default_factory=set, repr=False, compare=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self.sizes:
            raise AttributeError(f"The profile has no size {name!r}.")
        self.used.add(name)
        return self.sizes[name].value(self.name)

    def using(self, **others: str) -> Profile:
        """The profile with some of its sizes in place of others.

        >>> sizes = {"seeds": Size("{#} seeds", (0, 1), None), "more_seeds": Size("{#} seeds", (0, 1, 2), None)}
        >>> Profile("quick", sizes).using(seeds="more_seeds").seeds
        (0, 1, 2)
        """
        self.used.update(others.values())
        return replace(self, sizes={**self.sizes, **{name: self.sizes[other] for name, other in others.items()}})


def departures(sizes: Sizes, used: Iterable[str], profile: str = "quick") -> str:
    """Where a profile departs from the paper's in the sizes that are used, as a sentence; empty if nowhere."""
    chosen = set(used)
    sentence = "; ".join(filter(None, (size.departure(profile) for name, size in sizes.items() if name in chosen)))
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def _differences(quick: Any, paper: Any) -> tuple[Any, Any]:
    """Of two words with options, the options that differ."""
    if not (isinstance(quick, str) and isinstance(paper, str) and "?" in quick + paper):
        return quick, paper
    (head, first), (other, second) = _parts(quick), _parts(paper)
    keys = [key for key in {**first, **second} if first.get(key) != second.get(key)]
    parts = [
        ", ".join(f"{_OPTIONS.get(key, key)} {options[key]}" for key in keys if key in options)
        for options in (first, second)
    ]
    if head != other:
        parts = [f"{word.rpartition(':')[2]} {part}".strip() for word, part in zip((head, other), parts, strict=True)]
    return parts[0] or "the default", parts[1] or "the default"


_OPTIONS = {"lr": "learning rate", "batch": "batches of", "weight_decay": "weight decay"}


def _in_words(value: Any) -> str:
    if value is None:
        return "all"
    if isinstance(value, tuple):
        return ", ".join(map(_in_words, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def with_options(word: str, **options: Any) -> str:
    """A word with other options.

    >>> with_options("task?lr=0.1&epochs=3", epochs=1, label_map=(1, 0))
    'task?lr=0.1&epochs=1&label_map=1,0'
    """
    head, known = _parts(word)
    known |= {key: ",".join(map(str, v)) if isinstance(v, tuple) else str(v) for key, v in options.items()}
    return f"{head}?" + "&".join(f"{key}={value}" for key, value in known.items())


_parts = partial(split_options, error=ExperimentError)
"""What stands before the options of a word, and the options as text."""


# ---- how much work an experiment is

_IMAGES, _EPOCHS, _PIXELS = 60_000, 10, 224 * 224
"""What is taken for a size that a description leaves to the data or to a default."""


def work(experiment: Experiment) -> float:
    """About how much work an experiment is, in arbitrary units: samples × epochs × width², over all of its jobs."""
    total = 0.0
    for network in experiment.models.values():
        if network.train is not None:
            total += _width(network) ** 2 * len(network.seeds) * (network.n or _IMAGES) * _epochs(network.training)
    for _, part in experiment.parts():
        receivers = {word.partition("/")[0] for word in getattr(part, "receivers", ())}
        width = max((_width(experiment.models[name]) for name in receivers), default=1.0)
        words = [experiment.matchings.get(word, word) for word in getattr(part, "matchings", ("",))]
        epochs = sum(map(_epochs, words)) / len(words)
        total += part.size(experiment) * _images(part, experiment) * epochs * width**2
    return total


def _images(part: Any, experiment: Experiment) -> float:
    """How many samples a job of a part is fitted on; inputs that are smaller than ImageNet's count less."""
    if hasattr(part, "per_class"):
        pixels = math.prod(part.input[1:]) / _PIXELS if part.input else 1.0
        return float(10 * part.per_class * pixels)
    return float(getattr(getattr(part, "data", None) or experiment.data, "n", None) or _IMAGES)


def _epochs(word: str | None) -> float:
    options = _parts(word or "")[1]
    return float(options.get("stop", options.get("epochs", _EPOCHS)))


def _width(network: Any) -> float:
    return float(_parts(str(network.train or network.load))[1].get("width", 1.0))
