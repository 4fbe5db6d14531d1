"""What an energy detector learns to find strange: activations of auxiliary inputs, and changed activations."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from seamripper.cut.place import Cut
from seamripper.data import load_data
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import AuditError

_Change = Callable[[Tensor, torch.Generator], Tensor]
_LEAST_DEVIATION = 0.01


def auxiliary_samples(samples: Samples, given: Samples | str | None, *, seed: int, split: str = "train") -> Samples:
    """Inputs of the shape of `samples` that are not among them; their labels and ids mean nothing.

    Balogh & Jelasity 2025 have 300,000 natural images of no CIFAR-10 class. The nearest to that is a data set of the
    user's own: `given`, as Samples or by its name. Without one, every sample is turned into one of three things: its
    values in another order, its spectrum with other phases (which keeps the smoothness of an image), or uniform noise
    between the smallest and the largest value. Token ids are drawn anew from those that occur. `split` is that of a
    data set that is named.

    >>> toy = Samples("toy", torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> auxiliary_samples(toy, None, seed=0).inputs[0]
    tensor([3., 1., 2.])
    """
    if given is None:
        inputs = _make(samples.batch(slice(None)), torch.Generator().manual_seed(seed))
        return samples.with_inputs(inputs, name="shuffled values, scrambled phases and noise")
    others = load_data(given, split, n=len(samples), seed=seed) if isinstance(given, str) else given
    if _kinds(others) != _kinds(samples):
        raise AuditError(
            f"Expected auxiliary samples like those of {samples.name}, {_kinds(samples)}, but {others.name} has "
            f"{_kinds(others)}. Give others, or none: then they are made from the samples themselves."
        )
    return others


def _kinds(samples: Samples) -> dict[str, tuple[int, ...]]:
    inputs = samples.batch(slice(0, 1))
    named = {"inputs": inputs} if isinstance(inputs, Tensor) else inputs
    # Sequences of tokens may have any length.
    return {key: tuple(value.shape[1:]) if value.is_floating_point() else () for key, value in named.items()}


def _make(inputs: Inputs, generator: torch.Generator) -> Inputs:
    if isinstance(inputs, Tensor):
        return _change(inputs, generator)
    # Masks (which tokens are words) and token types (where a sentence ends) stay.
    made = {key: _change(value, generator) if value.is_floating_point() else value for key, value in inputs.items()}
    if "input_ids" in inputs:
        ids = inputs["input_ids"]
        words = inputs.get("attention_mask", torch.ones_like(ids)).bool()
        made["input_ids"] = ids.masked_scatter(words, _draw(ids[words], int(words.sum()), generator))
    return made


def _draw(values: Tensor, n: int, generator: torch.Generator) -> Tensor:
    return values.flatten()[torch.randint(values.numel(), (n,), generator=generator)]


def _change(values: Tensor, generator: torch.Generator) -> Tensor:
    if not values.is_floating_point():
        return _draw(values, values.numel(), generator).reshape(values.shape)
    made = torch.empty_like(values)
    ways: tuple[_Change, ...] = (_shuffle, _scramble, _uniform)
    for first, way in enumerate(ways):
        rows = values[first :: len(ways)]
        if len(rows):
            made[first :: len(ways)] = way(rows, generator)
    return made.clamp_(float(values.min()), float(values.max()))


def _shuffle(values: Tensor, generator: torch.Generator) -> Tensor:
    """The positions of each sample in another order; the channels of a position stay together."""
    flat = values.flatten(2) if values.dim() > 2 else values[:, None]
    order = torch.rand(len(flat), 1, flat.shape[2], generator=generator).argsort(2)
    return flat.gather(2, order.expand_as(flat)).reshape(values.shape)


def _scramble(values: Tensor, generator: torch.Generator) -> Tensor:
    """Each sample with random phases added to its spectrum, the same for all channels; amplitudes stay."""
    axes = tuple(range(min(2, values.dim() - 1), values.dim()))
    size = values.shape[axes[0] :]
    noise = torch.fft.rfftn(torch.randn(len(values), *size, generator=generator), dim=tuple(range(1, 1 + len(size))))
    turn = torch.polar(torch.ones_like(noise.real), noise.angle()).to(values.dtype.to_complex())
    turn = turn.reshape(len(values), *([1] * (axes[0] - 1)), *turn.shape[1:])
    scrambled: Tensor = torch.fft.irfftn(torch.fft.rfftn(values, dim=axes) * turn, s=size, dim=axes)
    return scrambled


def _uniform(values: Tensor, generator: torch.Generator) -> Tensor:
    low, high = float(values.min()), float(values.max())
    return (torch.rand(values.shape, generator=generator) * (high - low) + low).to(values)


def change_activations(activations: Tensor, cut: Cut, generator: torch.Generator) -> Tensor:
    """Native activations moved to where no input moves them, as an affine stitch may: each sample in one of five ways.

    With each unit in deviations from its mean over the batch, z: scaled (× 2 … 4 or × 1/4 … 1/2) about the mean, or
    about zero; units exchanged, with random signs; each unit shifted by 2 · N(0, 1); N(0, 1) added to each value.

    >>> rows = torch.arange(8.0).reshape(4, 2)
    >>> change_activations(rows, Cut("fc", (2,), "nd"), torch.Generator().manual_seed(1)).shape
    torch.Size([4, 2])
    """
    values = activations.movedim(1, -1) if cut.layout == "nchw" else activations
    deviation, mean = torch.std_mean(values, dim=tuple(range(values.dim() - 1)), correction=0)
    deviation = deviation.clamp_min(_LEAST_DEVIATION * float(deviation.square().mean().sqrt()))
    z, zero, n, d = (values - mean) / deviation, -mean / deviation, len(values), values.shape[-1]
    per_sample = (n, *[1] * (values.dim() - 1))

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(values)

    factor = torch.exp2((1 + torch.rand(per_sample, generator=generator)).to(values) * normal(*per_sample).sign())
    moved = (
        factor * z,
        zero + factor * (z - zero),
        z[..., torch.randperm(d, generator=generator)] * normal(d).sign(),
        z + 2 * normal(*per_sample[:-1], d),
        z + normal(*z.shape),
    )
    way = torch.randint(len(moved), per_sample, generator=generator)
    made = mean + deviation * torch.stack(moved).gather(0, way.expand_as(z)[None])[0]
    return made.movedim(-1, 1) if cut.layout == "nchw" else made
