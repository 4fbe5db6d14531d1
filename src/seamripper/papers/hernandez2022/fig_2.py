"""Fig. 2: every layer of every sender into every layer of the receiver, trained and untrained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from seamripper.experiment import Experiment, FunctionalPart
from seamripper.papers.claims import Claim, Clause, Gate
from seamripper.papers.hernandez2022.derived import MARGIN, triangle
from seamripper.papers.hernandez2022.setting import (
    CASES,
    FEW,
    LAYERS,
    NAMES,
    OPPOSITE,
    QUICK,
    RANDOM,
    good_enough,
    matchings,
    matrix,
    random_nets,
    rounds,
    samples,
    trained_nets,
)
from seamripper.papers.items import Item, PaperGrid, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Row, Select

WAYS = ("vanilla", "similarity")


def _parts(own: Profile) -> Iterator[FunctionalPart]:
    """The matrices: of trained networks in both directions of the seeds, and of untrained ones with the first seed."""
    choices: dict[str, Any] = {"layers": LAYERS, "matchings": WAYS, "errors": True}
    more = choices | {"matchings": (*WAYS, "direct"), "ood": ("distribution",)}
    for sender, receiver in own.pairs:
        audited = (sender, receiver) in own.audited
        for a, b in rounds(own.audited_seeds if audited else own.seeds):
            yield matrix(f"{sender}/{a}", f"{receiver}/{b}", **(more if audited else choices))
    for sender, receiver in own.random_pairs:
        yield matrix(sender + RANDOM, f"{receiver}/0", **choices)
        yield matrix(f"{sender}/0", receiver + RANDOM, **choices)
        yield matrix(sender + RANDOM, receiver + RANDOM, **choices)


def matrices(own: Profile, name: str, about: str) -> Experiment:
    """Every layer into every layer, by vanilla, similarity-trained and exact stitches. Three items ask for it."""
    names = tuple(dict.fromkeys(name for pair in own.pairs for name in pair))
    return Experiment(
        name=name,
        about=about,
        data=samples(own),
        models={**trained_nets(own, *names), **random_nets(own, *names)},
        matchings=matchings(own),
        functional=tuple(_parts(own)),
    )


def _experiment(own: Profile) -> Experiment:
    return matrices(own, "fig-2", "the triangle between small ResNets (Hernandez et al. 2022, Fig. 2)")


REGIONS = {
    "below": "below the diagonal",
    "diagonal": "on the diagonal",
    "above": "above the diagonal",
    "far below": "below the diagonal, at least half the depth apart",
    "gap": "below the diagonal minus that above",
    "all": "over all layers",
    "first": "between the first two layers of both",
    "last": "between the last two layers of both",
    "elsewhere": "outside these corners",
}


def mean_accuracy(layers: str, *, relative: bool = True, matching: str = "vanilla", **labels: Any) -> Select:
    """The mean accuracy of a receiver's stitches by their place in the matrix."""
    figure = "mean_relative_accuracy" if relative else "mean_accuracy"
    chosen = {"case": "trained", "shape": "any", **labels}
    select = Select(figure, layers=layers, matching=matching, **chosen)
    return select.with_name(f"mean {'relative ' if relative else ''}accuracy {REGIONS[layers]}")


def against(layers: str) -> Select:
    """The same of another place."""
    return Select(layers=layers).with_name(f"that {REGIONS[layers]}")


UNLIKE = ("deeper sender", "deeper receiver")
"""The shapes of pairs that have least squares stitches in both profiles."""
_GATES = (good_enough(*FEW),)
_FOUND = Gate(
    "vanilla stitches are at most 0.05 less accurate than least squares stitches, which they could have become",
    mean_accuracy("diagonal", shape=UNLIKE),
    "no worse",
    Select(matching="direct").with_name("that of least squares stitches"),
    bound=0.05,
)
_SHAPES = ("deeper sender", "as deep", "deeper receiver")
_SEVERAL = Select("mean_relative_accuracy", layers="several", matching="vanilla", case="trained", shape="any")
CLAIMS = (
    Claim("Every layer of the sender is extremely similar to all layers before it in the receiver",
        "section 3.1, Fig. 2", mean_accuracy("below"), "at least", bound=0.8, gates=(*_GATES, _FOUND)),
    Claim("The similarity matrix has a triangle: it is higher below the diagonal than above", "section 3.1, Fig. 2",
        mean_accuracy("below"), "above", against("above"), gates=_GATES),
    Claim("It is there regardless of the architecture", "section 3.1", mean_accuracy("below", shape=_SHAPES), "above",
        against("above"), gates=_GATES),
    Claim("Accuracy is high even if the layers are far apart", "abstract", mean_accuracy("far below"), "at least",
        bound=0.8, also=(Clause(mean_accuracy("far below"), "no worse", against("diagonal"), bound=0.05),),
        gates=(*_GATES, _FOUND)),
    Claim("Corresponding layers stitch with high accuracy, as in Bansal et al.", "section 3.2",
        mean_accuracy("diagonal"), "at least", bound=0.8, gates=(*_GATES, _FOUND)),
    Claim("Layers of the sender are similar to multiple layers of the receiver, against expectation", "section 3.1",
        _SEVERAL.with_name(f"the share of the sender's layers with a second layer of the receiver within {MARGIN:g} of "
            "the best"), "at least", bound=0.5, gates=_GATES),
    Claim("Stitches never yield high similarity for untrained networks", "section 2.2, Fig. 2",
        mean_accuracy("all", relative=False, case=CASES[1:]), "at most", bound=0.4,
        also=(Clause(mean_accuracy("below", relative=False, case=CASES[1:]), "at most", bound=0.4),), gates=_GATES),
    Claim("Of an untrained sender, only the first layers stitch well into a trained receiver", "section 3.1",
        mean_accuracy("first", relative=False, case="random sender"), "above", against("elsewhere"), gates=_GATES),
    Claim("Into an untrained receiver, only the last layers of a trained sender stitch well", "section 3.1",
        mean_accuracy("last", relative=False, case="random receiver"), "above", against("elsewhere"), gates=_GATES),
    Claim("Is accuracy higher below the diagonal than above by 0.1 or more?", "", mean_accuracy("gap", relative=False),
        "at least", bound=0.1, beyond=True, answers=("yes", "no"), gates=_GATES),
    Claim("Has training failed to find stitches between the first layers, where least squares finds better ones?", "",
        mean_accuracy("first", matching="direct", shape=UNLIKE), "above",
        Select(matching="vanilla").with_name("that of vanilla stitches"), beyond=True, answers=("yes", "no"),
        gates=_GATES, remark="Both are stitches of one form."),
)  # fmt: skip


def _table() -> PaperTable:
    places = ("below", "above", "gap", "diagonal", "far below")
    rows: list[tuple[Any, ...]] = [
        (NAMES["case"][case], *(mean_accuracy(p, relative=False, case=case) for p in places)) for case in CASES
    ]
    rows += [(f"both trained, {NAMES['shape'][shape]}",
        *(mean_accuracy(p, relative=False, shape=shape) for p in places)) for shape in _SHAPES]  # fmt: skip
    return PaperTable(
        "The triangle as numbers: mean accuracy by place in the matrix",
        ("networks", *(REGIONS[place] for place in places)),
        tuple(rows),
        "Of vanilla stitches; means over receivers, each of which is a network of its own. The paper has no numbers.",
        form=".3f",
    )


def grids(figure: str, matching: str, words: str, pairs: Sequence[tuple[str, str]] = QUICK) -> Iterator[PaperGrid]:
    """The matrix of a figure for each pair of trained networks, the mean over seeds."""
    for sender, receiver in pairs:
        select = Select(figure, kind="functional", sender=sender, receiver=receiver, matching=matching,
            sender_cut=LAYERS[sender], receiver_cut=LAYERS[receiver])  # fmt: skip
        yield PaperGrid(f"{sender} into {receiver}: {words}", select)


def _random_grids() -> Iterator[PaperGrid]:
    for sender, receiver in OPPOSITE[:1]:
        for a, b in ((RANDOM, ""), ("", RANDOM), (RANDOM, RANDOM)):
            called = [f"{name}, {'untrained' if end else 'trained'}" for name, end in ((sender, a), (receiver, b))]
            select = Select("top1", kind="functional", sender=sender + a, receiver=receiver + b, matching="vanilla",
                sender_cut=LAYERS[sender], receiver_cut=LAYERS[receiver])  # fmt: skip
            yield PaperGrid(f"{called[0]}, into {called[1]}: accuracy", select)


def derive(rows: Sequence[Row]) -> Iterator[Row]:
    """Means by place in the matrix, a layer's place being the number of blocks before it."""
    yield from triangle(rows)


_DEPARTS = (
    "Sender and receiver are always of different seeds, also where they have one architecture. Stitches are trained on "
    "kept activations, so without augmentation. The relative accuracy is that of the stitched network over the "
    "receiver's own, where the paper has accuracies of networks that reach 90 %."
)
ITEM = Item("fig-2", ("Fig. 2",),
    "Every layer into every layer between small ResNets, trained and untrained: the triangle as matrices and as "
    "numbers.", _experiment, CLAIMS, (_table(), *grids("top1", "vanilla", "accuracy"), *_random_grids()), (_DEPARTS,),
    NAMES, derive=derive)  # fmt: skip
