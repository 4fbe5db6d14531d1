"""The input contract: what a model wants a sample to be, and samples brought to it or refused."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from seamripper._words import shape_text
from seamripper.data.samples import Interpolation, Samples
from seamripper.errors import DataError, ModelError


class UnknownInputsWarning(UserWarning):
    """A model is shown pictures in a way that nobody has said it wants."""


@dataclass(frozen=True)
class InputContract:
    """What a model wants its inputs to be, and who says so.

    A picture is brought to `size` (height, width; None takes any) by `interpolation`, its black and white to the ends
    of `range`, and then each channel is normalised, (x − mean) / std. `tokenizer` names what makes the token ids that a
    text model knows.

    >>> print(InputContract("timm's pretrained_cfg", mean=(0.485, 0.456, 0.406), std=(0.25,), size=(224, 224)))
    pictures of 224x224, values in 0 … 1, less (0.485, 0.456, 0.406), divided by 0.25 (timm's pretrained_cfg)
    """

    source: str
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    range: tuple[float, float] = (0.0, 1.0)
    size: tuple[int, int] | None = None
    interpolation: Interpolation = "bilinear"
    tokenizer: str | None = None

    def __post_init__(self) -> None:
        if not all(value > 0 for value in self.std) or self.range[0] >= self.range[1]:
            raise ModelError(
                f"Expected an input contract to have std above 0 and a range that rises, but got std {self.std} and "
                f"range {self.range}."
            )

    def __str__(self) -> str:
        if self.tokenizer is not None:
            return f"tokens of {self.tokenizer} ({self.source})"
        size = "" if self.size is None else f" of {shape_text(self.size)}"
        low, high = self.range
        plain = self.mean == (0.0,) and self.std == (1.0,)
        rest = "" if plain else f", less {_numbers(self.mean)}, divided by {_numbers(self.std)}"
        return f"pictures{size}, values in {low:g} … {high:g}{rest} ({self.source})"

    @property
    def normalisation(self) -> tuple[float | tuple[float, ...], float | tuple[float, ...]]:
        """Mean and standard deviation of values in 0 … 1 that do what `range`, `mean` and `std` do together."""
        low, high = self.range
        spread = high - low
        return _one((m - low) / spread for m in self.mean), _one(s / spread for s in self.std)

    def as_record(self) -> dict[str, Any]:
        """The contract as JSON has it."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> InputContract:
        """The contract that `as_record` wrote down."""
        try:
            size = record["size"]
            low, high = map(float, record["range"])
            return cls(
                source=str(record["source"]),
                mean=tuple(map(float, record["mean"])),
                std=tuple(map(float, record["std"])),
                range=(low, high),
                size=None if size is None else (int(size[0]), int(size[1])),
                interpolation=record["interpolation"],
                tokenizer=record["tokenizer"],
            )
        except (KeyError, TypeError, ValueError, IndexError) as e:
            raise ModelError(f"An input contract cannot be read from {dict(record)}.") from e

    @classmethod
    def of_training(cls, samples: Samples) -> InputContract | None:
        """What a network that was trained on these samples wants from then on; None if they are no pictures."""
        if not samples.pictures:
            return None
        mean, std = (value if isinstance(value, tuple) else (value,) for value in (samples.mean, samples.std))
        height, width = samples.shape[1:]
        return cls(f"trained on {samples.name}", mean=mean, std=std, size=(height, width))


def nearest_interpolation(word: str) -> Interpolation:
    """The way of resizing that a library means; where it has one of its own, the nearest that there is here.

    >>> nearest_interpolation("lanczos"), nearest_interpolation("bilinear")
    ('bicubic', 'bilinear')
    """
    return {"nearest": "nearest", "bilinear": "bilinear"}.get(word, "bicubic")  # type: ignore[return-value]


def view_for(
    wants: InputContract | None,
    samples: Samples,
    *,
    who: str,
    dtype: torch.dtype | None,
    device: torch.device | None = None,
) -> Samples:
    """The samples as a model wants them or an error that names both.

    `who` is the model, `dtype` the precision of its weights, `device` where it computes.
    """
    if wants is None and samples.assumed:
        warnings.warn(
            f"{who} does not say how it wants pictures, so it is shown those of {samples.name} as "
            f"(x − {samples.mean}) / {samples.std}, x in 0 … 1. If it was trained otherwise, its figures are "
            "wrong: give the data's mean and std (folder:PATH?mean=0.45&std=0.22), or the model a contract "
            "(dataclasses.replace(model, wants=InputContract(…))).",
            UnknownInputsWarning,
            stacklevel=3,
        )
    if wants is None or samples.ready:
        return samples.in_view(dtype, device=device)
    if wants.tokenizer is not None:
        return _tokens(wants, samples, who).in_view(samples.dtype, device=device)
    if not samples.pictures:
        raise DataError(
            f"{who} wants {wants}, but {samples.name} holds {_contents(samples)}. If they are pictures, give the "
            "values of black and white, Samples(…, range=(0.0, 1.0)); if they already are as the model wants them, "
            "give ready=True."
        )
    channels = {len(wants.mean), len(wants.std)} - {1}
    if channels and channels != {samples.shape[0]}:
        raise DataError(
            f"{who} wants {wants}, of {max(channels)} channels, but the pictures of {samples.name} have "
            f"{samples.shape[0]}. Choose data with as many."
        )
    mean, std = wants.normalisation
    return samples.in_view(dtype, mean=mean, std=std, size=wants.size, interpolation=wants.interpolation, device=device)


def _tokens(wants: InputContract, samples: Samples, who: str) -> Samples:
    if isinstance(samples.inputs, Tensor):
        raise DataError(f"{who} wants {wants}, but {samples.name} holds {_contents(samples)}. Choose text.")
    if samples.tokenizer not in (None, wants.tokenizer):
        raise DataError(
            f"{who} wants {wants}, but {samples.name} was made by the tokenizer {samples.tokenizer}: the same ids "
            "stand for different words. Tokenize it as the model wants it."
        )
    return samples


def _contents(samples: Samples) -> str:
    if not isinstance(samples.inputs, Tensor):
        return f"named inputs ({', '.join(samples.inputs)})"
    kind = str(samples.inputs.dtype).removeprefix("torch.")
    return f"{kind} numbers of shape {shape_text(samples.shape)} in a range that it does not say"


def _one(values: Any) -> float | tuple[float, ...]:
    numbers = tuple(values)
    return numbers[0] if len(set(numbers)) == 1 else numbers


def _numbers(values: Sequence[float]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"({', '.join(f'{value:g}' for value in values)})"
