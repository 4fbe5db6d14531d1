"""What users type: shapes, models with a cut, options shared by commands."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seamripper._words import shape_text
from seamripper.errors import CutError, ModelError

if TYPE_CHECKING:
    from seamripper.cut import Split
    from seamripper.data import Inputs, Samples
    from seamripper.models import Model

_LARGEST = 10**8
"""Numbers in one input; a typing slip must not ask for all the memory there is."""

SEED = click.IntRange(0, 2**32 - 1)
"""The seeds that every generator takes."""


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
    """The name of a file to write, safetensors or of another kind, checked before the work that fills it begins."""

    name = "FILE"

    def __init__(self, suffix: str = ".safetensors") -> None:
        self.suffix = suffix

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The name as a path."""
        path = Path(value)
        if path.suffix != self.suffix:
            self.fail(f"expected a name that ends in {self.suffix}, but got {str(value)!r}", param, ctx)
        if path.is_dir():
            self.fail(f"{str(value)!r} is a folder", param, ctx)
        return path


class FileOrFolder(click.ParamType[Path]):
    """A JSON file to write, or a folder for a store with its report, checked before the work that fills it begins."""

    name = "FOLDER|FILE.json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The name as a path; that of a file ends in .json."""
        path = Path(value)
        if path.suffix == ".json":
            return OutputPath(".json").convert(value, param, ctx)
        if path.is_file() or (path.suffix and not path.is_dir() and not str(value).endswith("/")):
            self.fail(f"expected a folder, or a name that ends in .json, but got {str(value)!r}", param, ctx)
        return path


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")


def model_at(text: str, role: str) -> tuple[Model, str]:
    """Load the model of MODEL@CUT; the name of its cut comes along."""
    from seamripper.models import load

    model, at, cut = text.rpartition("@")
    if not at or not model or not cut:
        raise click.UsageError(f"Expected the {role} as MODEL@CUT, say digit-0.safetensors@layer2, but got {text!r}.")
    return load(model), cut


def data_for(name: str, *models: Model) -> str:
    """The name of the data, with the size that its pictures are read in where it leaves that open.

    The largest that one of the models wants: the others are then shown smaller ones, made from the same pictures.
    """
    sizes = [max(model.wants.size) for model in models if model.wants is not None and model.wants.size is not None]
    options = name.partition("?")[2].split("&")
    if not sizes or not name.startswith("folder:") or any(option.startswith("size=") for option in options):
        return name
    return f"{name}{'&' if '?' in name else '?'}size={max(sizes)}"


def words_of(given: tuple[str, ...]) -> tuple[str, ...]:
    """The words of an option that may be repeated and may hold several, with commas between them.

    >>> words_of(("self,shuffled", "clustered_noise?radius=0.5"))
    ('self', 'shuffled', 'clustered_noise?radius=0.5')
    """
    return tuple(word.strip() for some in given for word in some.split(","))


def split_for(samples: Samples, model: Model, cut: str, role: str) -> Split:
    """Split the model for inputs like the samples; an error says which of the two models it is about."""
    from seamripper.cut import split

    try:
        return split(model, cut, example_for(model, model.present(samples).shape))
    except CutError as e:
        e.add_note(f"This is about the {role}, {model.source}.")
        if model.input is not None and model.input != samples.shape:
            made, given = shape_text(model.input), shape_text(samples.shape)
            e.add_note(f"It takes inputs of {made}, and {samples.name} has {given}.")
        raise


def example_for(model: Model, shape: tuple[int, ...] | None) -> Inputs:
    """An example input: of the given shape, or of the one that the model knows."""
    try:
        return model.example(2, input=shape)
    except ModelError as e:
        if shape is not None:
            raise
        raise ModelError(f"The shape of one input of {model.source} is not known: give it, --input 3x32x32 say.") from e
