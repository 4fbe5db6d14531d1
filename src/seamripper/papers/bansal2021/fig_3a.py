"""Fig. 3A: networks that were trained with other labels, stitched into one that was trained with the right ones."""

from __future__ import annotations

from seamripper.experiment import Experiment
from seamripper.papers.bansal2021.setting import (
    CLOSE,
    CUT_BY_STAGE,
    GOOD,
    LABELS,
    NAMES,
    READ_SECOND_HAND,
    accuracy,
    accuracy_of,
    into_next,
    networks,
    penalty,
    samples,
    stitchable,
    stitches,
)
from seamripper.papers.claims import Claim, Clause, Gate
from seamripper.papers.items import Item, PaperPlot
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Select

_LESS = ("animals", "noise-10", "noise-50")
"""Labels that say less than all ten classes, and still something."""


def _experiment(own: Profile) -> Experiment:
    return Experiment(
        name="fig-3a",
        about="other label distributions (Bansal et al. 2021, Fig. 3A)",
        data=samples(own),
        models=networks(own, "base", "itself", *LABELS),
        matchings={"theirs": own.stitch},
        stitch=(
            *(part for sender in LABELS for part in into_next(own, sender, "base")),
            *into_next(own, "base", "base"),
            stitches(("itself",), "base"),
        ),
    )


_ANIMALS = Gate("the networks of objects and animals tell them apart", accuracy_of("animals"), "at least", bound=0.75)
_RIGHT = Select(sender="base").with_name("that of a network with the right labels")
CLAIMS = (
    Claim("Early layers learn similar representations even when labels say less than all classes",
        "objects and animals, 10 % and 50 % label noise; Fig. 3A", accuracy(_LESS, "base", "layer1"), "no worse",
        _RIGHT, bound=CLOSE, gates=(GOOD, _ANIMALS, stitchable("layer1"))),
    Claim("Late layers do not: behind the last stage they fit less well than those of a network with the right labels",
        "objects and animals, 50 % and 100 % label noise; Fig. 3A",
        accuracy(("animals", "noise-50", "noise-100"), "base", "layer4"), "below", _RIGHT, gates=(GOOD, _ANIMALS)),
    Claim("The more label noise, the less the last stage fits", "Fig. 3A",
        accuracy("noise-10", "base", "layer4"), "above", Select(sender="noise-50"),
        also=(Clause(accuracy("noise-50", "base", "layer4"), "above", Select(sender="noise-100")),), gates=(GOOD,)),
    Claim("With random labels alone, the middle of the network fits no longer", "Fig. 3A",
        accuracy("noise-100", "base", ("layer2", "layer3")), "below", _RIGHT, gates=(GOOD,)),
    Claim("Does people's label noise (40 %) harm the last stage less than 50 % of random noise?", "",
        accuracy("people", "base", "layer4"), "above", Select(sender="noise-50"), beyond=True, answers=("yes", "no"),
        gates=(GOOD,), remark="CIFAR-10N: a wrong label wherever one of three people gave one."),
    Claim("Do the early layers of a network with people's label noise fit as well as with the right labels?", "",
        accuracy("people", "base", "layer1"), "no worse", _RIGHT, bound=CLOSE, beyond=True, answers=("yes", "no"),
        gates=(GOOD, stitchable("layer1"))),
)  # fmt: skip
SHOWS = (
    PaperPlot("Fig. 3A: stitching penalty of networks with other labels", (
        *(penalty(name, "base", NAMES["sender"][name]) for name in LABELS),
        penalty("base", "base", "a network with the right labels"),
    )),
)  # fmt: skip
_DEPARTS = "People's label noise (CIFAR-10N) is ours. Noise is drawn once, and is the same for all seeds."
ITEM = Item("fig-3a", ("Fig. 3A",), "Networks of objects and animals, of random label noise and of people's.",
    _experiment, CLAIMS, SHOWS, (_DEPARTS, CUT_BY_STAGE, READ_SECOND_HAND), NAMES)  # fmt: skip
