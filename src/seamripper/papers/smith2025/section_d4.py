"""Appendix D.4: fewer clusters of noise than the receiver has classes: 10, 5 and 2 of 1000."""

from __future__ import annotations

from dataclasses import replace

from seamripper.cut.frozen import Freeze
from seamripper.estimate import Estimate
from seamripper.experiment.spec import Experiment, Noising
from seamripper.figures import Sheet
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import Check, claim, every, leaks, no_worse, reaches
from seamripper.papers.smith2025._setting import STITCH, share
from seamripper.papers.smith2025.table_1 import NETWORKS, models, way

_CLASSES = (10, 5, 2)
_TEST = 500
"""Scored, of all classes together."""
_SAMPLES = 1_500
"""Of the quick profile, of all classes together, so that an epoch has as many steps whatever the number of classes: 94,
as the authors' has with two."""
_PLACES = {"Block 4": 3, "Linear": 5}
_RUNS: dict[tuple[str, Freeze], str] = {
    ("theirs", "weights"): "BN adapts",
    ("one epoch", "weights"): "BN adapts, one epoch",
    ("theirs", "all"): "strictly frozen",
}
"""What is run, by way and freeze. What an epoch does is asked of the paper's own network alone."""
_NETWORKS = {name: NETWORKS[name] for name in ("resnet50", "efficientnet_lite0")}


def _experiment(profile: Profile) -> Experiment:
    quick = profile == "quick"
    ways = {"theirs": way(profile, epochs=2 if quick else 20, batch=16), "one epoch": way(profile, epochs=1, batch=16)}
    return Experiment(
        name="section-d4",
        about="misaligned class counts (Smith et al. 2025, D.4)",
        models={name: one for name, one in models().items() if name in _NETWORKS},
        matchings=ways,
        noise=tuple(
            Noising(
                receivers=(name,), cuts=(cuts[k],), matchings=(word,), freeze=(freeze,), stitches=(STITCH,),
                classes=(classes,), per_class=_SAMPLES // classes if quick else 500, per_class_test=_TEST // classes,
                input=(3, 64, 64) if quick else (),
            )
            for name, (_, cuts) in _NETWORKS.items()
            for k in _PLACES.values()
            for classes in _CLASSES
            for word, freeze in _runs(name)
        ),
    )  # fmt: skip


def _runs(name: str) -> list[tuple[str, Freeze]]:
    return [(word, freeze) for word, freeze in _RUNS if name == "resnet50" or word == "theirs"]


def _read(cells: Cells, profile: Profile) -> Finding:
    def of(name: str, place: str, classes: int, matching: str = "theirs", freeze: str = "weights") -> Estimate:
        cut = _NETWORKS[name][1][_PLACES[place]]
        labels = {"receiver": name, "receiver_cut": cut, "classes": classes, "matching": matching, "freeze": freeze}
        return cells.of("top1", **labels)

    every_place = [(f"{_NETWORKS[name][0]} at {place}", name, place) for name in _NETWORKS for place in _PLACES]

    def held(network: str, freeze: str) -> list[tuple[str, Check]]:
        return [
            (f"{title}, {classes} classes", reaches(of(name, place, classes, freeze=freeze), 0.9))
            for title, name, place in every_place
            for classes in _CLASSES
            if name == network
        ]

    # What is reached in an epoch is so whatever a longer training would reach.
    two, ten = (
        {
            title: replace(of(name, place, classes, "one epoch"), lower_bound=False)
            for title, name, place in every_place
            if name == "resnet50"
        }
        for classes in (2, 10)
    )
    claims = (
        claim(
            "Noise of 10, 5 and 2 classes stitches into a ResNet-50 of 1000 classes (D.4)",
            "Accuracy is at least 0.9 (ours) for each cut and number k of classes; one class for all gives 1/k.",
            every(held("resnet50", "weights")),
        ),
        leaks("Noise of few classes into a ResNet-50", held("resnet50", "weights"), held("resnet50", "all")),
        claim(
            "With two classes, 100 % is reached within one epoch",
            "In the authors' way, accuracy after one epoch is at least 0.99 (ours) at each cut (interval over "
            "samples).",
            every((title, reaches(one, 0.99)) for title, one in two.items()),
        ),
        claim(
            "The fewer classes, the easier",
            "After one epoch, accuracy with 2 classes is not below that with 10 (one class for all would give 0.5 "
            "and 0.1).",
            every((title, no_worse(one, ten[title])) for title, one in two.items()),
        ),
        claim(
            "Beyond the paper: noise of 10, 5 and 2 classes stitches into an EfficientNet-Lite0, strictly frozen",
            "Accuracy is at least 0.9 (ours) for each cut and number k of classes; one class for all gives 1/k.",
            every(held("efficientnet_lite0", "all")),
            beyond=True,
        ),
    )
    rows = [
        (title, _RUNS[run], *(share(of(name, place, classes, *run)) for classes in _CLASSES))
        for title, name, place in every_place
        for run in _runs(name)
    ]
    columns = ("network and cut", "training", *(f"{classes} classes" for classes in _CLASSES))
    sheet = Sheet("D.4: fewer clusters than classes", columns, tuple(rows))
    departs: tuple[str, ...] = (
        "The paper gives no table and no sizes: batches of 16 are ours. Its receivers are ResNet-50s of ImageNet and "
        "of Stylized ImageNet; of the latter there are no weights here.",
    )
    if profile == "quick":
        departs += (f"Inputs of 64 × 64; {_SAMPLES:,} samples of all classes together, one epoch or two of SGD 0.1.",)
    else:
        departs += ("500 samples a class, where the authors have 6,000.",)
    return Finding(claims, (sheet,), departs)


ITEM = Item(
    "section-d4",
    ("Section D.4",),
    "Noise of 10, 5 and 2 classes into networks of 1000 classes.",
    _experiment,
    _read,
    minutes=2.8,
    times=60.0,
)
