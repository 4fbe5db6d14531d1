"""Where a model comes from: the word before the colon, `timm:resnet18`, or the kind of file, as a choice."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from seamripper._options import changed_options, default_options, split_options
from seamripper._words import did_you_mean, word_list
from seamripper.errors import ModelError
from seamripper.models.model import Model
from seamripper.registry import Choice, Registry

WEIGHTS_KEYS = ("weights", "pretrained", "seed", "input")
"""Options that say which weights or inputs, not which architecture."""


@dataclass(frozen=True)
class ModelSource(Choice):
    """A source of models. A leaf is a frozen dataclass; its fields are the options that its models have.

    `timm:resnet18?seed=1` is the leaf named `timm` with `model="resnet18"` and `seed=1`. A leaf whose models have
    options that it cannot know is an `OpenSource`.
    """

    what, error, takes, least = "model source", ModelError, "model", {"seed": 0}
    about: ClassVar[str]
    """One line for a list."""
    form: ClassVar[str] = ""
    """How its models are asked for, where not as NAME:MODEL."""
    takes_path: ClassVar[Literal["always", "never", "perhaps"]] = "perhaps"
    """Whether a path follows the colon; perhaps: a path where there is one, else a name."""
    buildable: ClassVar[bool] = False
    """Whether the word alone has an installed package build a network: then a file of results may name it."""

    model: str
    seed: int = field(default=0, kw_only=True)
    """Where the weights of an untrained network are drawn from."""
    weights: str | None = field(default=None, kw_only=True)
    """A file of weights, which `load` puts into the network."""
    input: str | None = field(default=None, kw_only=True)
    """The shape of one input, 3x32x32."""

    @abc.abstractmethod
    def build(self) -> Model:
        """The model without `weights` and `input`, which `load` sees to, under PyTorch's generator from `seed`."""

    @property
    def architecture(self) -> str | None:
        """The word of the same architecture without its weights; None if this source has no word for it."""
        changed = {name: text for name, text in changed_options(self).items() if name not in WEIGHTS_KEYS}
        model = changed.pop("model")
        query = "&".join(f"{name}={text}" for name, text in sorted(changed.items()))
        return ("" if self.form else f"{self.name}:") + (f"{model}?{query}" if query else model)

    @classmethod
    def models(cls) -> dict[str, tuple[str, dict[str, Any]]]:
        """What it has, for a list: each model's word, a line on it, and its options; here, the form of all words."""
        options = {k: v for k, v in default_options(cls).items() if k not in (cls.takes, cls.keywords)}
        return {cls.form or f"{cls.name}:MODEL": (cls.about, options)}


@dataclass(frozen=True)
class OpenSource(ModelSource):
    """A source whose models have options that it does not know: they are passed on, as text."""

    keywords = "options"
    options: dict[str, str] = field(default_factory=dict, kw_only=True)

    def require_untrained(self) -> None:
        """Refuse to look for published weights where there are none."""
        if "pretrained" in self.options:
            raise ModelError(f"{self.label!r} has no weights of its own to ask for: give weights=FILE.")


sources: Registry[ModelSource] = Registry(
    ModelSource, "seamripper.models", what="model source", error=ModelError, files=False
)
"""Every source of models by name."""


def source_of(word: str) -> ModelSource:
    """The source that a word means: `NAME:MODEL?option=value`, `FILE.py:FUNCTION` or `FILE.safetensors`.

    >>> source = source_of("zoo:resnet18?width=0.25&weights=a.safetensors")
    >>> source.name, source.model, source.weights, source.architecture
    ('zoo', 'resnet18', 'a.safetensors', 'zoo:resnet18?width=0.25')
    """
    head, _ = split_options(word, error=ModelError)
    name = head.partition(":")[0]
    if name in sources or name in sources.broken:
        return sources.make(word)
    file, _, function = head.rpartition(":")
    if file.endswith(".py") and function:
        return sources.make(f"factory:{word}")
    if head.endswith(".safetensors"):
        return sources.make(f"checkpoint:{word}")
    raise ModelError(_why_unknown(head))


def recipe_of(model: Model) -> str | None:
    """The word by which `load` makes a model's architecture again, without its weights; None if there is none.

    >>> from torch import nn
    >>> recipe_of(Model(nn.Identity(), "timm:resnet18?pretrained=1&in_chans=1"))
    'timm:resnet18?in_chans=1'
    """
    if "architecture" in model.record:
        return str(model.record["architecture"])
    try:
        return source_of(model.source).architecture
    except ModelError:
        return None


def _why_unknown(head: str) -> str:
    forms = [source.form or f"{name}:MODEL" for name, source in sources.items()]
    name, colon, _ = head.partition(":")
    if colon:
        hint = f"For {name!r}, {did_you_mean(name, list(sources))}"
    elif head.endswith((".pt", ".pth", ".bin")):
        hint = f"Weights need their architecture, for example 'zoo:resnet18?weights={head}'."
    elif head.endswith(".py"):
        hint = f"Say which function of the file makes the model: '{head}:make'."
    else:
        places = [f"{name}:{head}" for name, source in sources.items() if source.buildable]
        hint = f"Say where {head!r} is from: {word_list(places, last='or')}."
    return f"Expected a model as {', '.join(forms[:-1])} or {forms[-1]}, but got {head!r}. {hint}"
