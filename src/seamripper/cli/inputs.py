"""What users type: words, shapes, models with a cut, and the options that several commands have."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

import seamripper as sr
from seamripper._options import default_options
from seamripper._words import shape_text
from seamripper.errors import CutError, ModelError
from seamripper.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])
_LARGEST = 10**8
"""Numbers in one input; a typing slip must not ask for all the memory there is."""
REGISTRIES = {
    "data": "seamripper.data:datasets",
    "models": "seamripper.models:sources",
    "stitches": "seamripper.stitches:stitches",
    "matchings": "seamripper.matching:matchings",
    "measures": "seamripper.measures:measures",
    "controls": "seamripper.controls:controls",
    "interventions": "seamripper.audits.interventions:interventions",
    "mixtures": "seamripper.audits.mixtures:mixtures",
    "audits": "seamripper.audits:audits",
    "engines": "seamripper.experiment.engines:engines",
    "parts": "seamripper.experiment:parts",
    "tests": "seamripper.benchmark:bench_tests",
    "papers": "seamripper.papers:papers",
    "loggers": "seamripper.loggers:loggers",
}
"""Where the registry of each kind is, by the name that `seamripper list` has for the kind."""


def registry_of(kind: str) -> Registry[Any]:
    """The registry of a kind, imported now: `--help` must not wait for torch."""
    registry: Registry[Any] = _load(REGISTRIES[kind])
    return registry


def _load(home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(importlib.import_module(module), name)


# ---- words


class Word(click.ParamType[str]):
    """A word with options, `name?option=value`, of a kind that `seamripper list` knows, or of `home`."""

    name = "WORD"

    def __init__(self, kind: str, home: str = "") -> None:
        self.home = home or REGISTRIES[kind]

    def options(self) -> Mapping[str, Mapping[str, Any]]:
        """The options of each name; of a class that is no registry, under no name."""
        choices = _load(self.home)
        if isinstance(choices, Registry):
            return {name: choices.options(name) for name in choices}
        return {"": default_options(choices)}


class WordCommand(click.Command):
    """A command that answers a flag which is an option of one of its words with that word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, but for the sentence on a flag that it does not know."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as e:
            for param in self.params:
                if isinstance(param.type, Word) and (word := _word_with(e.option_name, param)):
                    flag = param.opts[-1]
                    raise click.UsageError(
                        f"There is no {e.option_name}: it is an option of {flag}. Write it into that word, for "
                        f"example {flag} '{word}'.",
                        ctx,
                    ) from e
            raise


def _word_with(flag: str, param: click.Parameter) -> str:
    """The word of a parameter that has an option of this name, the parameter's default first; empty if none has.

    `--epochs` is one, and `--task-epochs` another way to say it where `task` is the word.
    """
    assert isinstance(param.type, Word)
    asked = flag.lstrip("-").replace("-", "_")
    names = param.type.options()
    usual = str(param.default or "").partition("?")[0]
    for name in sorted(names, key=lambda name: name != usual):
        option = asked.removeprefix(f"{name}_")
        if option in names[name]:
            return f"{name}?{option}=…"
    return ""


def _with_accuracy(ctx: click.Context, param: click.Parameter, word: str) -> str:
    """Refuse, before anything is read, the one matching whose result has no accuracy."""
    if word.partition("?")[0] == "class_mapping":
        raise click.UsageError(
            "The matching 'class_mapping' is for receivers that answer with images, and images have no accuracy. A "
            "[[pictures]] table of a study makes and shows them (docs/experiments.md); here, use 'task', 'direct', "
            "'regression', 'downstream' or 'embedding_mapping'.",
            ctx,
        )
    return word


MATCHINGS = (
    "task, direct, regression, downstream or embedding_mapping, with options: 'task?epochs=3&lr=0.01&init=direct'. For "
    "all of them and their defaults: seamripper list matchings --json."
)
"""For the help of a command, which must not wait for torch."""


def matching_option(about: str = "") -> Callable[[F], F]:
    """The option `--matching`, with what a command has to add to its help."""
    return click.option("--matching", type=Word("matchings"), default="task", show_default=True,
                        callback=_with_accuracy, help=f"{MATCHINGS}{about}")  # fmt: skip


# ---- options that several commands have

SEED = click.IntRange(0, 2**32 - 1)
"""The seeds that every generator takes."""
FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
split_option = click.option("--split", "split_name", type=click.Choice(["train", "test"]), default="test",
                            show_default=True)  # fmt: skip
stitch_option = click.option("--stitch", type=Word("stitches"), default="auto", show_default=True,
                             help="See: seamripper list stitches.")  # fmt: skip
freeze_option = click.option("--freeze", type=click.Choice(["all", "weights"]), default="all", show_default=True,
                             help="weights: BN statistics adapt, as in Smith's code.")  # fmt: skip
study_argument = click.argument("study", type=click.Path(path_type=Path), metavar="STUDY.toml")
store_argument = click.argument("folder", type=click.Path(path_type=Path), metavar="STORE")
store_option = click.option("--store", type=FOLDER, help="Where results are kept (default: runs/NAME).")
engine_option = click.option("--engine", type=Word("engines"), default="local", show_default=True,
                             help="local?workers=2, ray?address=HOST:PORT … See: seamripper list engines.")  # fmt: skip
retry_option = click.option("--retry-failed", is_flag=True, help="Run jobs again that failed before.")
log_option = click.option("--log", "logs", type=Word("loggers"), multiple=True,
                          help="Keep the figures, and how they were made, in another tool as well: wandb, mlflow or "
                               "tensorboard, with options, for example 'wandb?project=mine'. Repeatable. See: "
                               "seamripper list loggers.")  # fmt: skip
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing unless something goes wrong.")


def names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Names that are separated by commas; None if the option was left out."""
    return None if value is None else [name.strip() for name in value.split(",")]


_ASKED = "seamripper.device"


def _ask(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.meta.setdefault(_ASKED, {})[param.name] = value


def device_options(command: F) -> F:
    """The options `--device` and `--dtype`, which `load_model` and `asked_device` read."""
    device = click.option("--device", expose_value=False, callback=_ask, metavar="auto|cpu|cuda[:k]|mps",
                          help="Where the models compute; auto: the best there is (default: the CPU).")  # fmt: skip
    kinds = click.Choice(["float64", "float32", "bfloat16", "float16"])
    dtype = click.option("--dtype", type=kinds, expose_value=False, callback=_ask,
                         help="The precision of the models (default: their own).")  # fmt: skip
    return device(dtype(command))


def resident_option(command: F) -> F:
    """The option `--resident`, which `load_model` reads."""
    option = click.option("--resident", type=click.Choice(["both", "one"]), expose_value=False, callback=_ask,
                          help="one: models are on the device one at a time, and wait in main memory (default: "
                               "both).")  # fmt: skip
    return option(command)


class Shape(click.ParamType[tuple[int, ...]]):
    """A shape like 3x28x28."""

    name = "SHAPE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """The shape as numbers."""
        if isinstance(value, tuple):
            return value
        try:
            sizes = tuple(int(part) for part in str(value).lower().split("x"))
        except ValueError:
            sizes = ()
        if not sizes or min(sizes) < 1:
            self.fail(f"expected a shape like 3x28x28, but got {value!r}", param, ctx)
        if math.prod(sizes) > _LARGEST:
            self.fail(f"expected at most {_LARGEST:,} numbers in an input, but {value!r} has more", param, ctx)
        return sizes


class OutputPath(click.ParamType[Path]):
    """The name of a file to write, checked before the work that fills it begins; with `folder`, or of a folder."""

    def __init__(self, suffix: str = ".safetensors", *, folder: bool = False) -> None:
        self.suffix, self.folder = suffix, folder
        self.name = f"FOLDER|FILE{suffix}" if folder else "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The name as a path; that of a file has the suffix."""
        path = Path(value)
        if path.suffix == self.suffix:
            if path.is_dir():
                self.fail(f"{str(value)!r} is a folder", param, ctx)
        elif not self.folder:
            self.fail(f"expected a name that ends in {self.suffix}, but got {str(value)!r}", param, ctx)
        elif path.is_file() or (path.suffix and not path.is_dir() and not str(value).endswith("/")):
            self.fail(f"expected a folder, or a name that ends in {self.suffix}, but got {str(value)!r}", param, ctx)
        return path


methods_option = click.option("--methods", type=OutputPath(".json"),
                              help="Write how the figures were made to this file (.json); see: seamripper "
                                   "card.")  # fmt: skip


# ---- models and data


def asked_device() -> dict[str, Any]:
    """The device and the precision that the command was given: see `device_options`."""
    asked = click.get_current_context().meta.get(_ASKED, {})
    return {"device": asked.get("device"), "dtype": asked.get("dtype")}


def load_model(text: str) -> sr.Model:
    """The model on the device and in the precision that the command was given: see `device_options`."""
    asked = click.get_current_context().meta.get(_ASKED, {})
    return sr.load(text, **asked_device(), resident=asked.get("resident") or "both")


def model_at(text: str, role: str) -> tuple[sr.Model, str]:
    """Load the model of MODEL@CUT; the name of its cut comes along."""
    model, at, cut = text.rpartition("@")
    if not at or not model or not cut:
        raise click.UsageError(
            f"Expected the {role} as MODEL@CUT, for example digit-0.safetensors@layer2, but got {text!r}."
        )
    return load_model(model), cut


def data_for(name: str, *models: sr.Model) -> str:
    """The name of the data, with the size of its pictures, or the tokenizer of its texts, where it leaves that open.

    The size is the largest that one of the models wants: the others are then shown smaller ones, made from the same
    pictures. The tokenizer is that of the first Hugging Face model; for a Parquet file, which may hold anything, of the
    first one that is known to have a tokenizer.
    """
    if name.startswith(("text:", "parquet:")) and "tokenizer=" not in name:
        words = [
            model.source.removeprefix("hf:").partition("?")[0]
            for model in models
            if model.source.startswith("hf:") and (name.startswith("text:") or _has_tokenizer(model))
        ]
        return f"{name}{'&' if '?' in name else '?'}tokenizer={words[0]}" if words else name
    sizes = [max(model.wants.size) for model in models if model.wants is not None and model.wants.size is not None]
    options = name.partition("?")[2].split("&")
    if not sizes or not name.startswith("folder:") or any(option.startswith("size=") for option in options):
        return name
    return f"{name}{'&' if '?' in name else '?'}size={max(sizes)}"


def _has_tokenizer(model: sr.Model) -> bool:
    return model.wants is not None and model.wants.tokenizer is not None


def split_for(samples: sr.Samples, model: sr.Model, cut: str, role: str) -> sr.Split:
    """Split the model for inputs like the samples; an error says which of the two models it is about."""
    try:
        return sr.split(model, cut, example_for(model, model.present(samples).shape))
    except CutError as e:
        e.add_note(f"This is about the {role}, {model.source}.")
        if model.input is not None and model.input != samples.shape:
            made, given = shape_text(model.input), shape_text(samples.shape)
            e.add_note(f"It takes inputs of {made}, and {samples.name} has {given}.")
        raise


def example_for(model: sr.Model, shape: tuple[int, ...] | None) -> Any:
    """An example input: of the given shape, or of the one that the model knows."""
    try:
        return model.example(2, input=shape)
    except ModelError as e:
        if shape is not None:
            raise
        raise ModelError(
            f"The shape of one input of {model.source} is not known. Give it, for example --input 3x32x32."
        ) from e
