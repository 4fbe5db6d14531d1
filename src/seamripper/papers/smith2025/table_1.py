"""Tables 1, F.1 and D.2, the rows of noise: 1000 clusters into networks trained on ImageNet."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment, Network
from seamripper.models.imagenet import WEIGHTS
from seamripper.papers import Claim, Clause, Item, PaperTable, Profile, Select
from seamripper.papers.smith2025.setting import IMAGENET, NAMES, PLACES, SmithParts, leak, shares

_THEIRS = {
    "ResNet-50 V1, top-1": ((4.77, 4.11, 96.59, 100.0, 100.0, 100.0), 76.13),
    "ResNet-50 V1, top-5": ((13.51, 11.99, 99.77, 100.0, 100.0, 100.0), 92.86),
    "ResNet-50 V2, top-1": ((None, None, 99.8, 100.0, 100.0, 100.0), 80.86),
}
"""Per cent: Table 1 (IMAGENET1K_V1) and Table D.2 (V2), and the receiver's own accuracy."""


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    noise = []
    for name, (_, cuts) in IMAGENET.items():
        for k in own.imagenet_places[name]:
            # Behind the last map there is no BN whose statistics could adapt; at the first two, no claim is frozen.
            freeze = ("all",) if k > 3 else ("all", "weights") if k > 1 else ("weights",)
            part: dict[str, Any] = {"cuts": (cuts[k],), "freeze": freeze}
            part |= {"per_class": own.imagenet_per_class[k], "per_class_test": 1, "input": own.imagenet_input}
            word = "theirs, first" if k < 2 else "theirs, early" if k < 3 else "theirs"
            noise.append(smith.noises((name,), matchings=(word,), rank=False, **part))
    return Experiment(
        name="table-1",
        about="noise into networks trained on ImageNet (Smith et al. 2025, Tables 1, F.1, D.2)",
        models={name: Network(load=f"imagenet:{name}") for name in IMAGENET},
        matchings={
            "theirs": own.imagenet_stitch,
            "theirs, first": own.imagenet_first,
            "theirs, early": own.imagenet_early,
        },
        noise=tuple(noise),
    )


def _clause(
    name: str, places: tuple[int, ...], *, check: str = "no worse", profile: str = "", figure: str = "top1"
) -> Clause:
    """A network against its published accuracy; in the authors' way where BN behind the cut can adapt."""
    cuts = tuple(IMAGENET[name][1][k] for k in places)
    freeze = "all" if min(places) > 3 else "weights"
    select = Select(figure, kind="noise", receiver=name, receiver_cut=cuts, freeze=freeze)
    return Clause(select, check, getattr(WEIGHTS[name], figure) / 100, profile=profile)


def _claim(says: str, where: str, *clauses: Clause, beyond: bool = False) -> Claim:
    first = clauses[0]
    remark = "The bound is what the authors of the weights publish; the interval is over samples of one run."
    return Claim(
        says, where, first.select, first.check, first.against, beyond=beyond, also=clauses[1:], ours=False,
        profile=first.profile, remark=remark,
    )  # fmt: skip


_EARLY = _claim("", "", _clause("resnet50", (2, 3)))
CLAIMS = (
    _claim("Noise of 1000 classes stitches into a ResNet-50 trained on ImageNet, above its accuracy on ImageNet, at "
        "each block from 3 onwards", "Table 1, D.2", _clause("resnet50", (2, 3)), _clause("resnet50", (4, 5))),
    leak(_EARLY, "Noise into ResNet-50 at Blocks 3 and 4"),
    _claim("Beyond the paper: so it does into EfficientNet-Lite0 and MobileNetV2", "",
        *(_clause(name, (4, 5)) for name in ("efficientnet_lite0", "mobilenet_v2")),
        *(_clause(name, (2, 3), profile="paper") for name in ("efficientnet_lite0", "mobilenet_v2")), beyond=True),
    _claim("At Blocks 1 and 2 it does not", "4.8 % and 4.1 %; Table 1",
        _clause("resnet50", (0, 1), check="below")),
    _claim("By top-5 accuracy it does from Block 3 onwards as well", "99.8 % to 100 %; Table 1",
        _clause("resnet50", (2, 3), figure="top5"), _clause("resnet50", (4, 5), figure="top5")),
)  # fmt: skip


def _row(name: str, figure: str, freeze: str, said: str) -> tuple[Any, ...]:
    title, cuts = IMAGENET[name]
    published = {"top1": WEIGHTS[name].top1, "top5": WEIGHTS[name].top5}[figure]
    where = {"kind": "noise", "receiver": name}
    front = Select(figure, receiver_cut=cuts[:4], freeze=freeze, **where)
    back = Select(figure, receiver_cut=cuts[4:], freeze="all", **where)
    said = f"ours ({said})"
    return (f"{title}, {figure.replace('p', 'p-')}", said, front, back, None, *shares(published))


_PAPER = [(title, "paper", shares(*numbers), None, *shares(base)) for title, (numbers, base) in _THEIRS.items()]
_OURS = [
    _row(name, figure, freeze, said)
    for name in IMAGENET
    for figure in ("top1", "top5")
    for freeze, said in (("weights", "BN adapts"), ("all", "frozen"))
]
_SHOWS = PaperTable(
    "Tables 1, F.1 and D.2: noise into networks trained on ImageNet",
    ("network", "whose", *PLACES, "sender baseline", "receiver baseline"),
    (*_PAPER, *_OURS),
    "Noise has no task on which the receiver could be tried, so there is no sender baseline. Ours is the accuracy on "
    "ImageNet that the authors of the weights publish: there are no images of ImageNet here to measure it on.",
)
_DEPARTS = (
    "ResNet-50 has the weights of Keras, not torchvision's V1 or V2: of Table D.2 only the paper's row can stand here. "
    "EfficientNet-Lite0 and MobileNetV2 are ours. Scored on one sample per class, 1,000 in all; the authors fit on "
    "6,000 per class."
)
_CUT_NAMES = {cut: place for _, cuts in IMAGENET.values() for cut, place in zip(cuts, PLACES, strict=True)}
ITEM = Item("table-1", ("Table 1", "Table F.1", "Table D.2"),
    "Noise of 1000 classes into ResNet-50, EfficientNet-Lite0 and MobileNetV2 with ImageNet weights: top-1 and top-5.",
    _experiment, CLAIMS, (_SHOWS,), (_DEPARTS,), NAMES | {"receiver_cut": _CUT_NAMES})  # fmt: skip
