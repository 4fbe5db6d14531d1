"""Fig. 4: the triangle between ResNet-18 and ResNet-34, in both directions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers.claims import Claim
from seamripper.papers.hernandez2022.derived import share, triangle
from seamripper.papers.hernandez2022.fig_2 import REGIONS, against, mean_accuracy
from seamripper.papers.hernandez2022.setting import (
    LAYERS,
    NAMES,
    SIZES,
    good_enough,
    matchings,
    matrix,
    rounds,
    samples,
    trained_nets,
)
from seamripper.papers.items import Item, PaperGrid, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Row, Select

_18, _34 = "R_2222", "resnet34"
_BOTH = ("deeper sender", "deeper receiver")
_NAMES = NAMES | {
    "shape": {"deeper sender": "ResNet-34 into ResNet-18", "deeper receiver": "ResNet-18 into ResNet-34"},
    "noun": {"shape": "direction"},
}


def _experiment(own: Profile) -> Experiment:
    layers = {_18: LAYERS[_18], _34: own.large}
    return Experiment(
        name="fig-4",
        about="ResNet-18 and ResNet-34, every layer into every layer (Hernandez et al. 2022, Fig. 4)",
        data=samples(own),
        models=trained_nets(own, _18, _34, seeds=own.large_seeds),
        matchings={"vanilla": matchings(own)["vanilla"]},
        functional=tuple(
            matrix(f"{sender}/{a}", f"{receiver}/{b}", layers=layers, matchings=("vanilla",))
            for sender, receiver in ((_18, _34), (_34, _18))
            for a, b in rounds(own.large_seeds)
        ),
    )


def _derive(rows: Sequence[Row]) -> Iterator[Row]:
    """Means by place in the matrix, a layer's place being the share of blocks before it."""
    yield from triangle(rows, share)


_GATES = (good_enough(_18, _34),)
CLAIMS = (
    Claim("The same triangular pattern is there between ResNet-18 and ResNet-34 in both directions", "Fig. 4",
        mean_accuracy("below", shape=_BOTH), "above", against("above"), gates=_GATES),
    Claim("Below the diagonal, accuracy is high between them as well", "Fig. 4", mean_accuracy("below", shape=_BOTH),
        "at least", bound=0.8, gates=_GATES),
)  # fmt: skip


def _shows() -> Iterator[PaperTable | PaperGrid]:
    places = ("below", "above", "gap")
    rows: list[tuple[Any, ...]] = [
        (_NAMES["shape"][shape], *(mean_accuracy(p, relative=False, shape=shape) for p in places)) for shape in _BOTH
    ]
    yield PaperTable("Mean accuracy by place in the matrix", ("networks", *(REGIONS[place] for place in places)),
        tuple(rows), form=".3f")  # fmt: skip
    layers = {_18: LAYERS[_18], _34: SIZES["large"].quick}
    for sender, receiver in ((_18, _34), (_34, _18)):
        select = Select("top1", kind="functional", sender=sender, receiver=receiver, matching="vanilla",
            sender_cut=layers[sender], receiver_cut=layers[receiver])  # fmt: skip
        shape = "deeper sender" if sender == _34 else "deeper receiver"
        yield PaperGrid(f"{_NAMES['shape'][shape]}: accuracy", select)


_DEPARTS = (
    "R_2222 is ResNet-18. The two networks have different depths: below the diagonal is where a larger share of the "
    "sender's blocks comes before its layer than of the receiver's. The matrices show the layers of the quick profile."
)
ITEM = Item("fig-4", ("Fig. 4",), "ResNet-18 into ResNet-34 and back, every layer into every layer.", _experiment,
    CLAIMS, tuple(_shows()), (_DEPARTS,), _NAMES, derive=_derive)  # fmt: skip
