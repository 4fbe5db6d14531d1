"""What the items of Smith et al. 2025 have in common: networks, cuts, ways to stitch, and sizes by profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seamripper.experiment.spec import Data, Network, Noising, Stitching, Way
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


@dataclass(frozen=True)
class Setting:
    """The sizes of a profile.

    The authors' stitches take 4,688 steps at a learning rate of 1e-4 (10 epochs over 60,000 images in batches of 128).
    Those of the quick profile take 128, in batches as large, as statistics that adapt want them, at 2e-2: of several
    rates from 3e-3 on the one at which so few steps brought the training loss down furthest, with networks of a seed
    that no item uses. Its networks are trained at a learning rate that falls to 0, so that so few steps end at rest.

    `first` is what is different at Block 1, behind which a stitch learns slowest: with networks of that seed, twice as
    many steps brought most stitches to rest in the authors' way.
    """

    width: float
    n: int | None
    fit: int | None
    test: int | None
    seeds: tuple[int, ...]
    per_class: int
    per_class_test: int
    training: Mapping[str, Any]
    stitching: Mapping[str, Any]
    first: Mapping[str, Any]
    noising: Mapping[str, Any]

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
                seeds=self.seeds if seeds is None else seeds,
                **self.training,
            )
            for name in names
        }

    def way(self, **more: Any) -> Way:
        """The authors' stitch: SGD, momentum 0.9, weight decay 1e-2, batches of 128, 10 epochs."""
        common: dict[str, Any] = {"way": "task", "optimiser": "sgd", "momentum": 0.9, "weight_decay": 1e-2}
        return Way(**(common | dict(self.stitching) | more))

    @property
    def ways(self) -> dict[str, Way]:
        """The ways from data and from noise, by the names that `stitchings` and experiments have for them."""
        longer = {"longer": self.way(**self.first)} if self.first else {}
        return {"theirs": self.way(), **longer, "from noise": self.noise_way()}

    def stitchings(self, **joined: Any) -> tuple[Stitching, ...]:
        """Stitches at every cut; at Block 1 longer ones, where the profile has them."""
        common = {"stitches": (STITCH,), **joined}
        if not self.first:
            return (Stitching(cuts=CUTS, matchings=("theirs",), **common),)
        places = {"longer": CUTS[:1], "theirs": CUTS[1:]}
        return tuple(Stitching(cuts=cuts, matchings=(name,), **common) for name, cuts in places.items())

    def noises(self, **joined: Any) -> tuple[Noising, ...]:
        """Stitches from clustered noise at every cut, with ranks."""
        sizes: dict[str, Any] = {"per_class": self.per_class, "per_class_test": self.per_class_test}
        return (Noising(cuts=CUTS, matchings=("from noise",), stitches=(STITCH,), rank=True, **sizes, **joined),)

    def noise_way(self, **more: Any) -> Way:
        """The authors' stitch from noise: batches of 64, 4 epochs over 6,000 samples a class."""
        return self.way(**(dict(self.noising) | more))


QUICK = Setting(
    width=0.25, n=10_000, fit=2_000, test=1_500, seeds=(0, 1, 2), per_class=300, per_class_test=100,
    training={"epochs": 4, "schedule": "cosine"},
    stitching={"lr": 2e-2, "epochs": 8, "batch": 128},
    first={"epochs": 16},
    noising={"epochs": 4, "batch": 64},
)  # fmt: skip
PAPER = Setting(
    width=1.0, n=None, fit=None, test=None, seeds=(0, 1, 2, 3, 4), per_class=6_000, per_class_test=1_000,
    training={"epochs": 4},
    stitching={"lr": 1e-4, "epochs": 10, "batch": 128},
    first={},
    noising={"epochs": 4, "batch": 64},
)  # fmt: skip


def setting(profile: Profile) -> Setting:
    """The sizes of a profile."""
    return QUICK if profile == "quick" else PAPER


def sizes(profile: Profile, *, longer: bool = False) -> tuple[str, ...]:
    """Where the quick profile departs from the paper, in sentences; `longer` if stitches at Block 1 are so."""
    six = "Six cuts: the paper's five for MNIST, and Block 5, before the pooling, as in its other tables."
    if profile == "paper":
        return (six,)
    way = QUICK.stitching
    epochs = f"{way['epochs']} epochs" + (f" ({QUICK.first['epochs']} at Block 1)" if longer else "")
    return (
        f"ResNet-18 of a quarter of the width, trained on {QUICK.n:,} images with a learning rate that falls along a "
        f"cosine; stitches on {QUICK.fit:,} images for {epochs} with learning rate {way['lr']:g} (for 10 epochs with "
        f"1e-4); {len(QUICK.seeds)} seeds; scored on {QUICK.test:,} test images; noise: {QUICK.per_class} samples a "
        f"class (for 6,000).",
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
    """A figure in a table: `0.914 [0.905, 0.923]`; with an arrow if stitches were still learning."""
    return "–" if one is None else one.point.written
