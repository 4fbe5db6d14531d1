"""Small networks and samples, with what is known of them planted."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from seamripper.cut import Split, split
from seamripper.data import Samples
from seamripper.data.paired import Paired
from seamripper.matching import Match, Task, Training, match
from seamripper.models import Model, load

SHAPES = {"nd": (6,), "ntd": (4, 6), "nchw": (6, 4, 3)}
"""The shape of one sample whose activations, in `planted`, have this layout."""


@dataclass(frozen=True, eq=False)
class Planted:
    """A sender and a receiver whose activations are `weight` x + `bias` of the sender's, at every position."""

    sender: Split
    receiver: Split
    weight: Tensor
    bias: Tensor


class Nothing(nn.Module):
    """Front and back leave everything as it is, so that a stitch between two of them alone decides."""

    def __init__(self) -> None:
        super().__init__()
        self.back = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.back(x * 1.0)


class Make:
    """Makes what tests are made of."""

    shapes = SHAPES

    @staticmethod
    @contextlib.contextmanager
    def seeded(seed: int) -> Iterator[None]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield

    @staticmethod
    def weights(found: Match) -> dict[str, bytes]:
        """The weights of the stitch that was found, to be compared to the bit."""
        return {name: value.numpy().tobytes() for name, value in found.layer.state_dict().items()}

    @staticmethod
    def samples(
        shape: tuple[int, ...],
        n: int,
        *,
        classes: int = 3,
        seed: int = 0,
        name: str = "toy",
        first_id: int = 0,
        dtype: torch.dtype = torch.float32,
    ) -> Samples:
        """Normal numbers, labelled in turn."""
        generator = torch.Generator().manual_seed(seed)
        inputs = torch.randn(n, *shape, generator=generator, dtype=torch.float64).to(dtype)
        ids = torch.arange(first_id, first_id + n)
        return Samples(name, inputs, torch.arange(n) % classes, ids, classes=classes)

    @staticmethod
    def blobs(n: int, *, seed: int = 0, first_id: int = 0, width: int = 8, classes: int = 3) -> Samples:
        """A cloud a class in `width` dimensions, apart from each other."""
        centres = 2 * torch.randn(classes, width, generator=torch.Generator().manual_seed(99))
        generator = torch.Generator().manual_seed(seed)
        labels = torch.arange(n) % classes
        inputs = centres[labels] + 0.7 * torch.randn(n, width, generator=generator)
        return Samples("blobs", inputs, labels, torch.arange(first_id, first_id + n), classes=classes)

    @staticmethod
    def images(n: int, *, seed: int = 0, first_id: int = 0, side: int = 16) -> Samples:
        """Colour images of bytes in 3 classes, each class a bright stripe at its own place."""
        generator = torch.Generator().manual_seed(seed)
        labels = torch.arange(n) % 3
        pixels = torch.randint(0, 120, (n, 3, side, side), generator=generator, dtype=torch.uint8)
        for row, label in enumerate(labels.tolist()):
            pixels[row, :, 5 * label : 5 * label + 4] += 100
        return Samples("stripes", pixels, labels, torch.arange(first_id, first_id + n), classes=3, mean=0.5, std=0.5)

    def mlp(self, seed: int, *, width: int = 16, inputs: int = 8, classes: int = 3) -> nn.Sequential:
        """Two hidden layers, untrained."""
        with self.seeded(seed):
            return nn.Sequential(
                nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes)
            )

    def trained(self, seed: int, *, width: int = 16) -> nn.Sequential:
        """The same, trained on the blobs."""
        net, data = self.mlp(seed, width=width), self.blobs(300, seed=1, first_id=1000)
        optimiser = torch.optim.Adam(net.parameters(), 0.01)
        for _ in range(120):
            optimiser.zero_grad()
            nn.functional.cross_entropy(net(data.inputs), data.labels).backward()
            optimiser.step()
        return net

    def resnet(self, seed: int, *, width: float = 0.125) -> Model:
        """A small residual network of the zoo for the images, with statistics that are not the initial ones."""
        model = load(f"zoo:R_1111?width={width}&classes=3&stem=3x3&seed={seed}", input=(3, 16, 16))
        model.module.train()
        with torch.no_grad():
            for start in range(3):
                model.module(self.images(32, seed=50 + start).batch(slice(0, 32)))
        model.module.eval()
        return model

    def planted(self, layout: str, *, seed: int = 0, outputs: int = 4, offset: float = 0.0) -> Planted:
        """Float64 networks; the receiver's activations are an affine map of the sender's."""
        with self.seeded(seed):
            conv = layout == "nchw"
            one: nn.Module = nn.Conv2d(6, 5, 1) if conv else nn.Linear(6, 5)
            planted: nn.Module = nn.Conv2d(5, outputs, 1) if conv else nn.Linear(5, outputs)
            positions = torch.Size(SHAPES[layout][1:] if conv else SHAPES[layout][:-1]).numel()
            sender = nn.Sequential(one, nn.Tanh(), nn.Flatten(), nn.Linear(5 * positions, 3))
            receiver = nn.Sequential(
                copy.deepcopy(one), nn.Tanh(), planted, nn.ReLU(), nn.Flatten(), nn.Linear(outputs * positions, 3)
            )
        example = self.samples(SHAPES[layout], 2, dtype=torch.float64).inputs
        sender, receiver = sender.double(), receiver.double()
        with torch.no_grad():
            # To digits that float32 does not have.
            planted.weight.mul_(math.pi)
            planted.bias.mul_(math.pi).add_(offset)
        weight, bias = planted.weight.detach().flatten(1), planted.bias.detach()
        return Planted(split(sender, "1", example), split(receiver, "2", example), weight, bias)

    @staticmethod
    def nothing(*shape: int) -> Split:
        """A float64 network that does nothing, split: its activations are its inputs, its answers its activations."""
        return split(Nothing(), "before:back", torch.zeros(2, *shape, dtype=torch.float64))

    def halves(self, model: nn.Module | Model, cut: str, samples: Samples) -> Split:
        """The model split for these samples."""
        return split(model, cut, Paired.of(samples).receiver.batch(slice(0, 2)))

    def pair(self, cut: str = "1", *, seeds: tuple[int, int] = (0, 1), width: int = 16) -> tuple[Split, Split]:
        """Two networks that were trained on the blobs, split at one place."""
        data = self.blobs(2)
        nets = (self.trained(seed, width=width) for seed in seeds)
        sender, receiver = (self.halves(net, cut, data) for net in nets)
        return sender, receiver


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()


@pytest.fixture(scope="session")
def pair(make: Make) -> tuple[Split, Split]:
    return make.pair()


@pytest.fixture(scope="session")
def stitched(make: Make, pair: tuple[Split, Split]) -> Match:
    """A match by task on the blobs with the ids 0 … 299."""
    return match(*pair, make.blobs(300), matching=Task(Training(epochs=20, batch=256, lr=0.02)))
