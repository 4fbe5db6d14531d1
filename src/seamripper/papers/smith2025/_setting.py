"""What the items of Smith et al. 2025 have in common: networks, cuts, ways to stitch, and sizes by profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seamripper.estimate import Estimate
from seamripper.experiment.spec import Data, Network, Noising, Stitching, Way
from seamripper.figures import Lines, Series
from seamripper.papers.base import Profile
from seamripper.papers.cells import Cells

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
    noising: Mapping[str, Any]

    @property
    def stitched(self) -> Data:
        """The Correlated samples of the stitch."""
        return Data(name="mnist/correlated", n=self.fit, n_test=self.test, ready=True)

    def on(self, name: str) -> Data:
        """Samples of another set for the stitch."""
        return Data(name=name, n=self.fit, n_test=self.test, ready=True)

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
        """The ways from data and from noise, by the names that `stitches` and `noises` have for them."""
        return {"theirs": self.way(), "from noise": self.noise_way()}

    def stitches(self, **joined: Any) -> Stitching:
        """Stitches at every cut."""
        return Stitching(cuts=CUTS, matchings=("theirs",), stitches=(STITCH,), **joined)

    def noises(self, **joined: Any) -> Noising:
        """Stitches from clustered noise at every cut, with ranks."""
        sizes: dict[str, Any] = {"per_class": self.per_class, "per_class_test": self.per_class_test}
        return Noising(cuts=CUTS, matchings=("from noise",), stitches=(STITCH,), rank=True, **sizes, **joined)

    def noise_way(self, **more: Any) -> Way:
        """The authors' stitch from noise: batches of 64, 4 epochs over 6,000 samples a class."""
        return self.way(**(dict(self.noising) | more))


QUICK = Setting(
    width=0.25, n=10_000, fit=2_000, test=1_500, seeds=(0, 1, 2), per_class=300, per_class_test=100,
    training={"epochs": 4, "schedule": "cosine"},
    stitching={"lr": 2e-2, "epochs": 8, "batch": 128},
    noising={"epochs": 4, "batch": 64},
)  # fmt: skip
PAPER = Setting(
    width=1.0, n=None, fit=None, test=None, seeds=(0, 1, 2, 3, 4), per_class=6_000, per_class_test=1_000,
    training={"epochs": 4},
    stitching={"lr": 1e-4, "epochs": 10, "batch": 128},
    noising={"epochs": 4, "batch": 64},
)  # fmt: skip


def setting(profile: Profile) -> Setting:
    """The sizes of a profile."""
    return QUICK if profile == "quick" else PAPER


def sizes(profile: Profile, *, stitched: bool = True, noise: bool = False, seeds: bool = True) -> tuple[str, ...]:
    """Where an item departs from the paper, in sentences of what it has: stitches, noise, seeds."""
    six = ("Six cuts: the paper's five for MNIST, and Block 5, before the pooling, as in its other tables.",)
    once = ("One draw of noise for all receivers of a cut, where the authors draw anew for each test.",)
    always = (*(six if stitched else ()), *(once if noise else ()))
    if profile == "paper":
        return always
    way, lr = QUICK.stitching, f"learning rate {QUICK.stitching['lr']:g}"
    parts = [
        f"ResNet-18 of a quarter of the width, trained on {QUICK.n:,} images with a learning rate that falls along a "
        "cosine"
    ]
    if stitched:
        parts.append(
            f"stitches on {QUICK.fit:,} images for {way['epochs']} epochs with {lr} (on 60,000 for 10 epochs with "
            f"1e-4), scored on {QUICK.test:,} test images"
        )
    if noise:
        parts.append(
            f"noise: {QUICK.per_class} samples a class for {QUICK.noising['epochs']} epochs with {lr} (6,000 for 4 "
            f"with 1e-4), scored on {QUICK.per_class_test} a class"
        )
    if seeds:
        parts.append(f"{len(QUICK.seeds)} seeds")
    return ("; ".join(parts) + ".", *always)


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
    """Lines over cuts: ours, baselines (with the figure that they are), and the authors' own results as dashed ones."""
    found = [Series(name, _points(cells, figure, cuts, labels)) for name, labels in series]
    found += [Series(name, _baseline(cells, what, cuts, labels), dashed=True) for name, labels, what in dashed]
    found += [Series(f"{name} (authors)", tuple(Estimate(v) for v in values), dashed=True) for name, values in paper]
    return Lines(title, tuple(places), tuple(found), y, caption=caption)


def _points(cells: Cells, figure: str, cuts: Sequence[str], labels: dict[str, Any]) -> tuple[Estimate, ...]:
    found = [cells.some(figure, receiver_cut=cut, **labels) for cut in cuts]
    return tuple(Estimate(float("nan")) if one is None else one.as_share for one in found)


_UNADAPTED = {"receiver_here": "receiver_unadapted", "receiver_own": "own_unadapted"}


def _baseline(cells: Cells, figure: str, cuts: Sequence[str], labels: dict[str, Any]) -> tuple[Estimate, ...]:
    """A baseline is the receiver as it was trained, wherever its statistics have adapted since."""
    first = _points(cells, _UNADAPTED.get(figure, figure), cuts, labels)
    return first if any(one.value == one.value for one in first) else _points(cells, figure, cuts, labels)


def share(one: Estimate | None) -> str:
    """A figure in a table: `0.914 [0.905, 0.923]`; with an arrow if stitches were still learning."""
    return "–" if one is None else str(one.as_share)
