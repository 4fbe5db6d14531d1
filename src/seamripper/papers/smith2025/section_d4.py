"""Appendix D.4: fewer clusters of noise than the receiver has classes: 10, 5 and 2 of 1000."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment, Network
from seamripper.papers import Claim, Item, PaperTable, Profile, Select, with_options
from seamripper.papers.smith2025.setting import IMAGENET, NAMES, SmithParts, leak

_CLASSES = (10, 5, 2)
_TEST = 500
"""Scored, of all classes together."""
_CUTS = {name: (IMAGENET[name][1][3], IMAGENET[name][1][5]) for name in ("resnet50",)}
_PLACES = {cut: place for cuts in _CUTS.values() for cut, place in zip(cuts, ("Block 4", "Linear"), strict=True)}
_RUNS = {
    ("theirs", "weights"): "BN adapts",
    ("one epoch", "weights"): "BN adapts, one epoch",
    ("theirs", "all"): "strictly frozen",
}
"""What is run, by matching and freeze. What an epoch does is asked of the paper's own network alone."""


def _runs(name: str) -> list[tuple[str, str]]:
    return list(_RUNS)


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    noise = []
    for name, cuts in _CUTS.items():
        for classes in _CLASSES:
            for word, freeze in _runs(name):
                part: dict[str, Any] = {"matchings": (word,), "freeze": (freeze,), "classes": (classes,)}
                each = own.few_samples // classes if own.few_samples else 500
                part |= {"per_class": each, "per_class_test": _TEST // classes, "input": own.few_input}
                # One network has no seeds: the draw of noise is the unit, so that clusters alone do not make the n.
                noise.append(smith.noises((name,), cuts=cuts, rank=False, seeds=own.draws, **part))
    return Experiment(
        name="section-d4",
        about="misaligned class counts (Smith et al. 2025, D.4)",
        models={name: Network(load=f"imagenet:{name}") for name in _CUTS},
        matchings={
            "theirs": own.few_stitch,
            "one epoch": with_options(own.few_stitch, epochs=1),
        },
        noise=tuple(noise),
    )


def _at(name: str, **labels: Any) -> Select:
    return Select("top1", **{"kind": "noise", "receiver": name, "receiver_cut": _CUTS[name], **labels})


_FEW = Claim("Noise of 10, 5 and 2 classes stitches into a ResNet-50 of 1000 classes", "D.4",
    _at("resnet50", classes=_CLASSES, matching="theirs", freeze="weights"), "at least", bound=0.9,
    remark="One class for all of k gives 1/k.")  # fmt: skip
_EPOCH = _at("resnet50", classes=2, matching="one epoch", freeze="weights")
CLAIMS = (
    _FEW,
    leak(_FEW, "Noise of few classes into a ResNet-50"),
    # What is reached in an epoch is so whatever a longer training would reach.
    Claim("With two classes, 100 % is reached within one epoch", "", _EPOCH, "at least", bound=0.99, at_rest=True),
    Claim("The fewer classes, the easier", "", _EPOCH, "no worse", Select(classes=10), at_rest=True,
        remark="One class for all would give 0.5 and 0.1."),
)  # fmt: skip

_ROWS = tuple(
    (
        f"{IMAGENET[name][0]} at {_PLACES[cut]}",
        _RUNS[word, freeze],
        _at(name, receiver_cut=cut, classes=_CLASSES, matching=word, freeze=freeze),
    )
    for name, cuts in _CUTS.items()
    for cut in cuts
    for word, freeze in _runs(name)
)
_SHOWS = PaperTable(
    "D.4: fewer clusters than classes",
    ("network and cut", "training", *(f"{classes} classes" for classes in _CLASSES)),
    _ROWS,
)
_DEPARTS = (
    "The paper gives no table and no sizes: batches of 16, and in the paper's profile 500 samples per class, are ours "
    "(its other noise has 6,000). Its receivers are ResNet-50s of ImageNet and of Stylized ImageNet; of the latter "
    "there are no weights here."
)
ITEM = Item("section-d4", ("Section D.4",), "Noise of 10, 5 and 2 classes into networks of 1000 classes.",
    _experiment, CLAIMS, (_SHOWS,), (_DEPARTS,), NAMES | {"receiver_cut": _PLACES})  # fmt: skip
