"""Specs: the words by which a model is asked for, taken apart and put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamripper._options import split_options
from seamripper._words import did_you_mean, word_list
from seamripper.errors import ModelError

SCHEMES = ("zoo", "torchvision", "timm", "hf", "imagenet")
WEIGHTS_KEYS = ("weights", "pretrained", "seed", "input")
"""Options that say which weights or inputs, not which architecture."""


@dataclass(frozen=True)
class Spec:
    """A spec in parts: where to look (`scheme`), what for (`name`), and options, still as text.

    `scheme` is one of `SCHEMES`, "factory" (FILE.py:FUNCTION) or "checkpoint" (FILE.safetensors).

    >>> spec = Spec.parse("zoo:resnet18?width=0.25&weights=a.safetensors")
    >>> spec.scheme, spec.name, spec.options
    ('zoo', 'resnet18', {'width': '0.25', 'weights': 'a.safetensors'})
    >>> spec.architecture
    'zoo:resnet18?width=0.25'
    """

    scheme: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Take a spec apart."""
        name, options = split_options(text, error=ModelError)
        scheme, _, rest = name.partition(":")
        if scheme in SCHEMES and rest:
            return cls(scheme, rest, options)
        file, _, function = name.rpartition(":")
        if file.endswith(".py") and function:
            return cls("factory", name, options)
        if name.endswith(".safetensors"):
            return cls("checkpoint", name, options)
        raise ModelError(_unknown(name))

    @property
    def architecture(self) -> str | None:
        """The spec of the same architecture without its weights, or None if it is not in the words of this one."""
        if self.scheme in ("checkpoint", "imagenet"):
            return None
        options = {k: v for k, v in self.options.items() if k not in WEIGHTS_KEYS}
        if self.scheme == "hf":
            options["pretrained"] = "0"  # The one scheme whose models are trained unless told otherwise.
        prefix = "" if self.scheme == "factory" else f"{self.scheme}:"
        return prefix + write_spec(self.name, options)


def write_spec(name: str, options: Mapping[str, object]) -> str:
    """A name and its options in one word, options in alphabetical order.

    >>> write_spec("resnet18", {"width": 0.25, "stem": "3x3"})
    'resnet18?stem=3x3&width=0.25'
    """
    query = "&".join(f"{key}={value}" for key, value in sorted(options.items()))
    return f"{name}?{query}" if query else name


def _unknown(name: str) -> str:
    ways = "zoo:NAME, imagenet:NAME, torchvision:NAME, timm:NAME, hf:FOLDER, FILE.py:FUNCTION or FILE.safetensors"
    scheme, colon, rest = name.partition(":")
    if colon and not rest:
        hint = f"Say which model after {name!r}."
    elif colon:
        hint = f"For {scheme!r}, {did_you_mean(scheme, SCHEMES)}"
    elif name.endswith((".pt", ".pth", ".bin")):
        hint = f"Weights need their architecture, for example 'zoo:resnet18?weights={name}'."
    elif name.endswith(".py"):
        hint = f"Say which function of the file makes the model: '{name}:make'."
    else:
        hint = f"Say where {name!r} is from: {word_list([f'{s}:{name}' for s in SCHEMES[:3]], last='or')}."
    return f"Expected a model as {ways}, but got {name!r}. {hint}"
