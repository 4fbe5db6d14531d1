"""Cases whose stitched activations are known to be the receiver's own, or known not to be."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper.audits import Verdict
from seamripper.controls import Case
from seamripper.cut import Split, split
from seamripper.cut.place import Layout
from seamripper.data import Samples
from seamripper.data.paired import Paired
from seamripper.models.running import use_seed

SHAPES: dict[Layout, tuple[int, ...]] = {"nd": (8,), "ntd": (4, 8), "nchw": (8, 6, 6)}
LAYOUTS: list[Layout] = ["nd", "ntd", "nchw"]
WIDTH, RANK = 12, 4


def samples(layout: Layout, n: int, *, first_id: int = 0) -> Samples:
    """Three classes, each about a pattern of its own."""
    shape, labels = SHAPES[layout], torch.arange(n) % 3
    patterns = torch.randn(3, *shape, generator=torch.Generator().manual_seed(9))
    noise = torch.randn(n, *shape, generator=torch.Generator().manual_seed(first_id))
    return Samples("patterns", patterns[labels] + noise, labels, torch.arange(first_id, first_id + n), classes=3)


class Net(nn.Module):
    """Its front gives 12 units that span 4 dimensions: there are directions that it never uses."""

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        maps = layout == "nchw"
        self.front = nn.Sequential(
            nn.Conv2d(8, RANK, 1) if maps else nn.Linear(8, RANK), nn.Tanh(), _to_units(layout, WIDTH)
        )
        self.back = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.LazyLinear(3))
        self.change: nn.Module = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.back(self.change(self.front(x)))


def _to_units(layout: Layout, width: int) -> nn.Module:
    return nn.Conv2d(RANK, width, 1) if layout == "nchw" else nn.Linear(RANK, width)


@functools.cache
def network(layout: Layout) -> Net:
    data = samples(layout, 200, first_id=9000)
    with use_seed(0):
        net = Net(layout)
        net(data.inputs)
        optimiser = torch.optim.Adam(net.parameters(), 0.01)
        for _ in range(40):
            optimiser.zero_grad()
            F.cross_entropy(net(data.inputs), data.labels).backward()
            optimiser.step()
    return net.eval()


class Changed(nn.Module):
    """Activations changed by a function of them, with units as the last axis."""

    def __init__(self, layout: Layout, how: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layout, self.how = layout, how

    def forward(self, activations: Tensor) -> Tensor:
        if self.layout != "nchw":
            return self.how(activations)
        return self.how(activations.movedim(1, -1)).movedim(-1, 1).contiguous()


@functools.cache
def changes(layout: Layout) -> dict[str, Callable[[Tensor], Tensor]]:
    """Ways to leave the receiver's distribution."""
    net = network(layout)
    with torch.no_grad():
        native = net.front(samples(layout, 200, first_id=9000).inputs)
    units = (native.movedim(1, -1) if layout == "nchw" else native).flatten(0, -2)
    centre, size = units.mean(0), float(units.std(0).square().mean().sqrt())
    # The largest first.
    basis = torch.linalg.eigh((units - centre).T @ (units - centre)).eigenvectors.T.flip(0)
    # From the directions that are used into four that are not.
    into_null = basis[:RANK].T @ basis[RANK : 2 * RANK]
    scatter = 40 * torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(3))
    moves = 3 * size * torch.randn(3, WIDTH, generator=torch.Generator().manual_seed(5))

    def by_class(a: Tensor) -> Tensor:
        classes = net.back(a.movedim(-1, 1) if layout == "nchw" else a).argmax(1)
        return a + moves[classes].reshape(len(a), *[1] * (a.dim() - 2), WIDTH)

    return {
        "scaled": lambda a: centre + 3 * (a - centre),
        "shifted": lambda a: a + 3 * size,
        "rotated into unused directions": lambda a: centre + 0.6 * (a - centre) + 0.8 * (a - centre) @ into_null,
        "class means moved": by_class,
        # A function of the activations, so that a cut is one and the same at every call, but none that shows.
        "noise": lambda a: a + 1.5 * size * torch.sin(a @ scatter),
    }


CHANGES = list(changes("nd"))


@functools.cache
def receiver(layout: Layout) -> Split:
    return split(network(layout), "front", samples(layout, 2).inputs)


def sender(layout: Layout, how: Callable[[Tensor], Tensor]) -> Split:
    """The receiver with its activations changed; stitched by the identity, the change is all there is."""
    net = Net(layout)
    net.front, net.back, net.change = network(layout).front, network(layout).back, Changed(layout, how)
    return split(net.eval(), "change", samples(layout, 2).inputs)


def case(layout: Layout, sent: Split, *, n: int = 200, **more: Any) -> Case:
    test = samples(layout, n, first_id=5000)
    return Case(
        sent, receiver(layout), samples(layout, 200), **({"test": test, "stitch": "identity", "seeds": (0,)} | more)
    )


def other_images(layout: Layout, n: int) -> Paired:
    """Test samples for the receiver, and others of the same distribution for the sender."""
    return Paired(samples(layout, n, first_id=15_000), samples(layout, n, first_id=5000))


def aurocs(verdict: Verdict) -> dict[str, float]:
    return {name: told["auroc"].value for name, told in verdict.figures["scores"]["sender"].items()}
