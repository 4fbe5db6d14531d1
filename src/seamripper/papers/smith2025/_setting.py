"""What the items of Smith et al. 2025 have in common: networks, cuts, ways to stitch, and sizes by profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seamripper.experiment.spec import Data, Network, Way
from seamripper.papers.base import Profile
from seamripper.papers.cells import Cells, Spread
from seamripper.report.figures import Lines, Point, Series

CUTS = ("maxpool", "layer1", "layer2", "layer3", "layer4", "before:fc")
"""Before each residual stage of a ResNet, before the pooling, and before the classifier."""
PLACES = ("Block 1", "Block 2", "Block 3", "Block 4", "Block 5", "Linear")
"""What the paper calls them."""
PLACE = dict(zip(CUTS, PLACES, strict=True))
STITCH = "bn_affine"
"""BN – 1×1 convolution – BN; BN – linear – BN at a vector."""
SETS = {
    "correlated": "mnist/correlated",
    "digit": "mnist/digit",
    "colour": "mnist/colour",
    "colour-only": "mnist/colour-only",
    "greyscale": "mnist/greyscale",
    "mix": "mnist/mix",
}
TITLES = {
    "correlated": "Correlated",
    "digit": "Digit",
    "colour": "Colour",
    "colour-only": "Colour-Only",
    "greyscale": "Greyscale",
    "mix": "Mix",
}
_STEPS = 60_000 * 10 / 128
"""Of the authors' stitches: 10 epochs over 60,000 images in batches of 128."""


@dataclass(frozen=True)
class Setting:
    """The sizes of a profile.

    Fewer images make fewer steps. So that a stitch can go as far as the authors' (SGD, learning rate 1e-4), its
    learning rate is raised by as much as there are fewer steps, 1e-4 · 4,688 / steps, and lr · steps stays.
    """

    width: float
    n: int | None
    fit: int | None
    test: int | None
    seeds: tuple[int, ...]
    epochs: int
    per_class: int
    per_class_test: int

    @property
    def stitched(self) -> Data:
        """The Correlated samples of the stitch."""
        return Data(name="mnist/correlated", n=self.fit, n_test=self.test)

    def on(self, name: str) -> Data:
        """Samples of another set for the stitch."""
        return Data(name=name, n=self.fit, n_test=self.test)

    def networks(self, *names: str, seeds: tuple[int, ...] | None = None) -> dict[str, Network]:
        """ResNets trained on these sets as the authors train them: SGD 0.1, 4 epochs, batches of 128."""
        return {
            name: Network(
                train=f"zoo:resnet18?width={self.width:g}",
                data=SETS[name],
                n=self.n,
                epochs=self.epochs,
                seeds=self.seeds if seeds is None else seeds,
            )
            for name in names
        }

    def lr(self, n: int | None, epochs: int, batch: int, *, base: float = 1e-4, steps: float = _STEPS) -> float:
        """The authors' learning rate, raised by as much as there are fewer steps."""
        ours = epochs * max(1, (n or 60_000) // batch)
        return float(f"{base * max(1.0, steps / ours):.3g}")

    def way(self, **more: Any) -> Way:
        """The authors' stitch: SGD, momentum 0.9, weight decay 1e-2, batches of 128, 10 epochs."""
        given: dict[str, Any] = {
            "way": "task",
            "optimiser": "sgd",
            "lr": self.lr(self.fit, 10, 128),
            "momentum": 0.9,
            "weight_decay": 1e-2,
            "epochs": 10,
            "batch": 128,
        }
        return Way(**(given | more))

    def noise_way(self, *, classes: int = 10, epochs: int = 4, **more: Any) -> Way:
        """The authors' stitch from noise: batches of 64, 4 epochs over 6,000 samples a class."""
        steps = 60_000 * 4 / 64
        lr = self.lr(self.per_class * classes, epochs, 64, steps=steps)
        return self.way(**({"lr": lr, "epochs": epochs, "batch": 64} | more))


QUICK = Setting(0.25, 10_000, 2_000, 2_000, (0, 1, 2), 4, 300, 100)
PAPER = Setting(1.0, None, None, None, (0, 1, 2, 3, 4), 4, 6_000, 1_000)


def setting(profile: Profile) -> Setting:
    """The sizes of a profile."""
    return QUICK if profile == "quick" else PAPER


def sizes(profile: Profile) -> tuple[str, ...]:
    """Where the quick profile departs from the paper, in sentences."""
    six = "Six cuts: the paper's five for MNIST, and Block 5, before the pooling, as in its other tables."
    if profile == "paper":
        return (six,)
    return (
        f"ResNet-18 of a quarter of the width, trained on {QUICK.n:,} images; stitches on {QUICK.fit:,} images for 10 "
        f"epochs with the learning rate raised so that lr · steps is the authors' ({QUICK.way().lr:g} for 1e-4); "
        f"{len(QUICK.seeds)} seeds; scored on {QUICK.test:,} test images.",
        six,
    )


def by_cut(
    title: str,
    cells: Cells,
    series: Sequence[tuple[str, dict[str, Any]]],
    *,
    figure: str = "top1",
    y: str = "accuracy",
    cuts: Sequence[str] = CUTS,
    places: Sequence[str] = PLACES,
    dashed: Sequence[tuple[str, dict[str, Any], str]] = (),
    paper: Sequence[tuple[str, Sequence[float]]] = (),
    caption: str = "",
) -> Lines:
    """Lines over cuts: ours, baselines (with the figure that they are), and the paper's own numbers as dashed ones."""
    found = [Series(name, _points(cells, figure, cuts, labels)) for name, labels in series]
    found += [Series(name, _baseline(cells, what, cuts, labels), dashed=True) for name, labels, what in dashed]
    found += [Series(f"{name} (paper)", tuple(Point(v) for v in values), dashed=True) for name, values in paper]
    return Lines(title, tuple(places), tuple(found), y, caption=caption)


def _points(cells: Cells, figure: str, cuts: Sequence[str], labels: dict[str, Any]) -> tuple[Point, ...]:
    found = [cells.some(figure, receiver_cut=cut, **labels) for cut in cuts]
    return tuple(Point(float("nan")) if one is None else one.point for one in found)


_UNADAPTED = {"receiver_here": "receiver_unadapted", "receiver_own": "own_unadapted"}


def _baseline(cells: Cells, figure: str, cuts: Sequence[str], labels: dict[str, Any]) -> tuple[Point, ...]:
    """A baseline is the receiver as it was trained, wherever its statistics have adapted since."""
    first = _points(cells, _UNADAPTED.get(figure, figure), cuts, labels)
    return first if any(one.value == one.value for one in first) else _points(cells, figure, cuts, labels)


def share(one: Spread | None) -> str:
    """A figure in a table: `0.914 ± 0.009`."""
    if one is None:
        return "–"
    found = one.estimate
    half = (found.high - found.low) / 2
    return f"{found.value:.3f}" + (f" ± {half:.3f}" if half == half else "")
