"""Beyond the paper: direct matching, its cure, is fooled by networks that use different information."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Data, Experiment, Network, StitchPart
from seamripper.papers.balogh2025.setting import NAMES
from seamripper.papers.balogh2025.table_1 import KINDS
from seamripper.papers.claims import Claim, Gate
from seamripper.papers.items import Item, PaperPlot
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Select

_SETS = {"mnist": "MNIST", "fashion": "Fashion-MNIST"}
_CUTS = {
    "resnet": ("layer1.0", "layer2.1", "layer3.1", "layer4.1"),
    "vit": tuple(f"blocks.{k}" for k in range(4)),
}
_SEEDS = (0, 1, 2)


def _name(kind: str, data: str, cue: str) -> str:
    return f"{kind}-{data}-{cue}"


def _networks(own: Profile) -> dict[str, Network]:
    return {
        _name(kind, data, cue): Network(
            train=own.small_resnet if kind == "resnet" else own.small_vit,
            data=f"{data}/{cue}?size=32",
            n=own.cue_images,
            seeds=_SEEDS,
            training=own.small_training if kind == "resnet" else own.cue_training,
        )
        for kind in KINDS
        for data in _SETS
        for cue in ("digit", "colour")
    }


def _experiment(own: Profile) -> Experiment:
    parts = []
    for kind in KINDS:
        for data in _SETS:
            digit, colour = (_name(kind, data, cue) for cue in ("digit", "colour"))
            shown = Data(name=f"{data}/correlated?size=32", n=own.fit, n_test=own.scored)
            more: dict[str, Any] = {"receivers": (digit,), "cuts": _CUTS[kind], "matchings": ("direct",), "data": shown}
            parts.append(StitchPart(senders=(digit,), pairing="others", **more))
            parts.append(StitchPart(senders=(colour,), pairing="all", **more))
    return Experiment(
        name="fooled",
        about="direct matching between networks that use shape and networks that use colour",
        models=_networks(own),
        stitch=tuple(parts),
    )


def _stitch(kind: str, data: str, cue: str, cut: Any) -> Select:
    names = {"sender": _name(kind, data, cue), "receiver": _name(kind, data, "digit")}
    words = f"accuracy of {cue} stitched into digit by direct matching ({NAMES['receiver'][kind]}, {_SETS[data]})"
    return Select("top1", kind="stitch", receiver_cut=cut, **names).with_name(words)


def _gate(kind: str, data: str) -> Gate:
    name = _name(kind, data, "digit")
    says = f"{NAMES['receiver'][kind]} names the shape on {_SETS[data]}"
    return Gate(says, Select("accuracy", kind="train", model=name), "at least", bound=0.6)


def _claim(kind: str, data: str) -> Claim:
    deep = _CUTS[kind][-1]
    same = Select(sender=_name(kind, data, "digit")).with_name("that of a network of another seed that names the shape")
    where = f"{NAMES['receiver'][kind]}, {_SETS[data]}"
    return Claim(f"Is direct matching at the last block fooled by a network that uses colour? ({where})", "",
        _stitch(kind, data, "colour", deep), "no worse", same, bound=0.02, beyond=True, answers=("yes", "no"),
        gates=(_gate(kind, data),))  # fmt: skip


CLAIMS = tuple(_claim(kind, data) for kind in KINDS for data in _SETS)
SHOWS = tuple(
    PaperPlot(
        f"Direct matching into a network that names the shape: {NAMES['receiver'][kind]}, {_SETS[data]}",
        tuple(_stitch(kind, data, cue, _CUTS[kind]).with_name(f"{cue} sends") for cue in ("digit", "colour")),
    )
    for kind in KINDS
    for data in _SETS
)
_DEPARTS = "The paper does not ask this. ViTs have four blocks, so that they learn the shape in the time."
ITEM = Item("fooled", ("Different information",),
    "Direct matching between networks that use the same and different information, two sets, two architectures.",
    _experiment, CLAIMS, SHOWS, (_DEPARTS,), NAMES | {"receiver_cut": {**NAMES["receiver_cut"]}})  # fmt: skip
