"""Small trained networks in a case whose answers are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from seamripper.controls import Case
from seamripper.cut import Split, split
from seamripper.data import Samples
from seamripper.data.paired import Paired
from seamripper.matching import Task, Training
from seamripper.models import Model, load

CLASSES = 4


class Make:
    """Makes what tests are made of."""

    classes = CLASSES
    task = Task(Training(epochs=15, batch=64, lr=0.02))

    @staticmethod
    def blobs(n: int, *, seed: int = 0, first_id: int = 0) -> Samples:
        """A cloud a class in 8 dimensions, apart from each other, labelled in turn."""
        centres = 2 * torch.randn(CLASSES, 8, generator=torch.Generator().manual_seed(99))
        labels = torch.arange(n) % CLASSES
        inputs = centres[labels] + 0.7 * torch.randn(n, 8, generator=torch.Generator().manual_seed(seed))
        return Samples("blobs", inputs, labels, torch.arange(first_id, first_id + n), classes=CLASSES)

    @staticmethod
    def images(n: int, *, seed: int = 0, first_id: int = 0, channels: int = 3, side: int = 16) -> Samples:
        """Images of bytes in 4 classes, each class a bright stripe at its own place."""
        generator = torch.Generator().manual_seed(seed)
        labels = torch.arange(n) % CLASSES
        pixels = torch.randint(0, 120, (n, channels, side, side), generator=generator, dtype=torch.uint8)
        for row, label in enumerate(labels.tolist()):
            pixels[row, :, 4 * label : 4 * label + 3] += 100
        ids = torch.arange(first_id, first_id + n)
        return Samples("stripes", pixels, labels, ids, classes=CLASSES, mean=0.5, std=0.5)

    @staticmethod
    def net(seed: int) -> nn.Sequential:
        """A network trained on the blobs, with a batch normalisation whose statistics are theirs."""
        data = Make.blobs(400, seed=1, first_id=1000)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = nn.Sequential(
                nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, CLASSES)
            )
        optimiser = torch.optim.Adam(net.parameters(), 0.01)
        for _ in range(100):
            optimiser.zero_grad()
            nn.functional.cross_entropy(net(data.inputs), data.labels).backward()
            optimiser.step()
        return net.eval()

    @staticmethod
    def resnet(seed: int) -> Model:
        """A small residual network of the zoo for the images, with statistics and weights that are not the first."""
        model = load(f"zoo:R_1111?width=0.0625&classes=4&stem=3x3&seed={seed}", input=(3, 16, 16))
        Make.moved(model.module)
        return model

    @staticmethod
    def moved(module: nn.Module) -> nn.Module:
        """The module as if trained: no parameter, and no statistic, is where it began."""
        generator = torch.Generator().manual_seed(5)
        with torch.no_grad():
            for tensor in [*module.parameters(), *module.buffers()]:
                if tensor.is_floating_point():
                    tensor.add_(0.05 + 0.1 * torch.rand(tensor.shape, generator=generator).to(tensor))
                elif tensor.dim() == 0:
                    tensor.add_(7)
        return module

    @staticmethod
    def halves(model: nn.Module | Model, cut: str, samples: Samples) -> Split:
        """The model split for these samples."""
        return split(model, cut, Paired.of(samples).receiver.batch(slice(0, 2)))

    def maps(self, **changes: Any) -> Case:
        """A case of two small residual networks on images."""
        fit, test = self.images(48), self.images(40, seed=3, first_id=500)
        sender, receiver = (self.halves(self.resnet(seed), "layer2", fit) for seed in (0, 1))
        task = Task(Training(epochs=1, batch=16))
        return replace(Case(sender, receiver, fit, test, task, seeds=(0, 1)), **changes)


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()


@pytest.fixture(scope="session")
def halves(make: Make) -> tuple[Split, ...]:
    """Three networks that were trained on the blobs from the seeds 0, 1 and 2, split in the middle."""
    return tuple(make.halves(make.net(seed), "2", make.blobs(2)) for seed in range(3))


@pytest.fixture(scope="session")
def case(make: Make, halves: tuple[Split, ...]) -> Case:
    """The network of seed 0 into that of seed 1, with that of seed 2 as the other."""
    fit, test = make.blobs(400), make.blobs(400, seed=3, first_id=8000)
    return Case(halves[0], halves[1], fit, test, make.task, seeds=(0, 1), others=halves[2:])


@pytest.fixture(scope="session")
def maps(make: Make) -> Case:
    return make.maps()
