"""Tables 1, F.1 and D.2, the rows of noise: 1000 clusters into networks trained on ImageNet."""

from __future__ import annotations

from typing import Any

from seamripper.cut.frozen import Freeze
from seamripper.estimate import Estimate
from seamripper.experiment.spec import Experiment, Network, Noising, Way
from seamripper.figures import Sheet
from seamripper.models.imagenet import WEIGHTS
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import Check, claim, denied, every, leaks, reaches
from seamripper.papers.smith2025._setting import CUTS, PLACES, STITCH, share

NETWORKS = {
    "resnet50": ("ResNet-50", CUTS),
    "efficientnet_lite0": (
        "EfficientNet-Lite0",
        ("act1", "blocks.1", "blocks.2", "blocks.4", "act2", "before:classifier"),
    ),
    "mobilenet_v2": (
        "MobileNetV2",
        ("features.0", "features.3", "features.6", "features.13", "features", "before:classifier"),
    ),
}
"""Networks, and for each six cuts that stand where a ResNet's Blocks 1 to 5 and its classifier begin."""
_TOP1 = (4.77, 4.11, 96.59, 100.0, 100.0, 100.0)
_TOP5 = (13.51, 11.99, 99.77, 100.0, 100.0, 100.0)
_SECOND = (None, None, 99.8, 100.0, 100.0, 100.0)
"""Per cent: Table 1 (IMAGENET1K_V1, baseline 76.13 and 92.86) and Table D.2 (V2, baseline 80.86)."""
_QUICK = {"resnet50": (2, 3, 4, 5), "efficientnet_lite0": (4, 5), "mobilenet_v2": (4, 5)}
"""The cuts of the quick profile: of the paper's own network all that it stitches at, of the others the last two."""
_EARLY, _LATE = (3, 32, 32), (3, 64, 64)
"""Inputs of the quick profile, by which the maps at a cut have their size: at Blocks 3 and 4, and behind."""
_EACH = (1, 1, 2, 5, 10, 60)
"""Samples a class of the paper's profile: what fits into 4 GB at each cut. The authors' 6,000 take terabytes."""


def models() -> dict[str, Network]:
    """The networks, with weights that were trained on ImageNet."""
    return {name: Network(load=f"imagenet:{name}") for name in NETWORKS}


def way(profile: Profile, *, epochs: int | None = None, batch: int = 128) -> Way:
    """The paper: SGD 1e-4, weight decay 1e-4, batches of 128, 20 epochs; the quick profile has far fewer steps."""
    quick = profile == "quick"
    return Way(
        way="task", optimiser="sgd", lr=0.1 if quick else 1e-4, momentum=0.9, weight_decay=1e-4,
        epochs=epochs or (3 if quick else 20), batch=batch,
    )  # fmt: skip


def _places(profile: Profile, name: str) -> tuple[int, ...]:
    return _QUICK[name] if profile == "quick" else tuple(range(6))


def _experiment(profile: Profile) -> Experiment:
    quick = profile == "quick"
    noise = []
    for name, (_, cuts) in NETWORKS.items():
        for k in _places(profile, name):
            # Behind the last map there is no BN whose statistics could adapt.
            freeze: tuple[Freeze, ...] = ("all",) if k > 3 else ("all", "weights")
            more: dict[str, Any] = {"input": _EARLY if k < 4 else _LATE} if quick else {}
            noise.append(
                Noising(
                    receivers=(name,), cuts=(cuts[k],), per_class=4 if quick else _EACH[k], per_class_test=1,
                    matchings=("longer" if quick and k < 3 else "theirs",), stitches=(STITCH,), freeze=freeze, **more,
                )
            )  # fmt: skip
    return Experiment(
        name="table-1",
        about="noise into networks trained on ImageNet (Smith et al. 2025, Tables 1, F.1, D.2)",
        models=models(),
        matchings={"theirs": way(profile)} | ({"longer": way(profile, epochs=6)} if quick else {}),
        noise=tuple(noise),
    )


def _read(cells: Cells, profile: Profile) -> Finding:
    def labels(name: str, k: int, freeze: str) -> dict[str, Any]:
        where = NETWORKS[name][1][k]
        return {"kind": "noise", "receiver": name, "receiver_cut": where, "freeze": freeze if k < 4 else "all"}

    def held(*names: str, places: tuple[int, ...] = (2, 3, 4, 5), freeze: str = "weights") -> list[tuple[str, Check]]:
        """Whether the accuracy on ImageNet is reached at each of these places that the profile runs."""
        return [
            (
                f"{NETWORKS[name][0]} at {PLACES[k]}",
                reaches(cells.of("top1", **labels(name, k, freeze)), WEIGHTS[name].top1 / 100),
            )
            for name in names
            for k in places
            if k in _places(profile, name)
        ]

    def of(figure: str, name: str, k: int, freeze: str) -> Estimate | None:
        return cells.some(figure, **labels(name, k, freeze))

    rule = (
        "Top-1 accuracy is at least that which the weights' authors publish (interval over samples, one run); in the "
        "authors' way at Blocks 1 to 4, behind which BN follows that can adapt."
    )
    loose, strict = (held("resnet50", places=(2, 3), freeze=freeze) for freeze in ("weights", "all"))
    claims = [
        claim(
            "Noise of 1000 classes stitches into a ResNet-50 trained on ImageNet, above its accuracy on ImageNet, at "
            "each block from 3 onwards (Table 1, D.2)",
            rule,
            every(held("resnet50")),
        ),
        leaks("Noise into ResNet-50 at Blocks 3 and 4", loose, strict),
        claim(
            "Beyond the paper: so it does into EfficientNet-Lite0 and MobileNetV2",
            rule,
            every(held("efficientnet_lite0", "mobilenet_v2")),
            beyond=True,
        ),
    ]
    if 0 in _places(profile, "resnet50"):
        says = "At Blocks 1 and 2 it does not (4.8 % and 4.1 %; Table 1)"
        early = [(where, denied(one)) for where, one in held("resnet50", places=(0, 1))]
        claims.append(claim(says, "Top-1 accuracy is below that which the weights' authors publish.", every(early)))
    return Finding(tuple(claims), (_table(of),), _departs(profile))


def _table(of: Any) -> Sheet:
    rows: list[tuple[Any, ...]] = [
        ("ResNet-50 V1, top-1", "paper", *(f"{v / 100:.3f}" for v in _TOP1), "–", "0.761"),
        ("ResNet-50 V1, top-5", "paper", *(f"{v / 100:.3f}" for v in _TOP5), "–", "0.929"),
        ("ResNet-50 V2, top-1", "paper", *("–" if v is None else f"{v / 100:.3f}" for v in _SECOND), "–", "0.809"),
    ]
    for name, (title, _) in NETWORKS.items():
        for top, published in (("top1", WEIGHTS[name].top1), ("top5", WEIGHTS[name].top5)):
            base = "–" if published is None else f"{published / 100:.3f}"
            for freeze, said in (("weights", "BN adapts"), ("all", "frozen")):
                values = (share(of(top, name, k, freeze)) for k in range(6))
                rows.append((f"{title}, {top.replace('p', 'p-')}", f"ours ({said})", *values, "–", base))
    columns = ("network", "whose", *PLACES, "sender baseline", "receiver baseline")
    caption = (
        "Noise has no task on which the receiver could be tried, so there is no sender baseline. Ours is the accuracy "
        "on ImageNet that the authors of the weights publish: there are no images of ImageNet here to measure it on."
    )
    return Sheet("Tables 1, F.1 and D.2: noise into networks trained on ImageNet", columns, tuple(rows), caption)


def _departs(profile: Profile) -> tuple[str, ...]:
    weights = (
        "ResNet-50 has the weights of Keras, not torchvision's V1 or V2: of Table D.2 only the paper's row can stand "
        "here. EfficientNet-Lite0 and MobileNetV2 are ours. Scored on one sample a class, 1,000 in all.",
    )
    if profile == "paper":
        return (
            *weights,
            f"{_EACH} samples a class at the six cuts, what fits into 4 GB, where the authors have 6,000.",
        )
    return (
        *weights,
        "Inputs of 64 × 64, at Blocks 3 and 4 of 32 × 32, and so smaller maps, at the end of one position, where "
        "BN that adapts has little to go by; 4 samples a class; 3 epochs of SGD 0.1 (at Block 3, 6), where the "
        "authors have 20 epochs of 1e-4 over 6,000 a class. Not at Blocks 1 and 2, where the paper finds no "
        "stitch (0.048 and 0.041): so short a training could not tell. The other networks at the last two cuts.",
    )


ITEM = Item(
    "table-1",
    ("Table 1", "Table F.1", "Table D.2"),
    "Noise of 1000 classes into ResNet-50, EfficientNet-Lite0 and MobileNetV2 with ImageNet weights: top-1 and top-5.",
    _experiment,
    _read,
    minutes=2.6,
    times=3000.0,
)
