"""Fig. 5 and Table 1: what CKA says where stitching says something else."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers.bansal2021.setting import (
    ANY_RANDOM,
    CUT_BY_STAGE,
    CUTS,
    GOOD,
    LATE,
    NAMES,
    READ_SECOND_HAND,
    accuracy,
    comparisons,
    from_random,
    into_next,
    networks,
    penalty,
    same_cut,
    samples,
)
from seamripper.papers.claims import Claim
from seamripper.papers.items import Item, PaperPlot, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Select

_PAIRS: dict[Any, str] = {
    "base": "another seed",
    "rotation": "self-supervised",
    "few": "fewer images",
    "thin": "thin",
    ANY_RANDOM: "random",
}


def _experiment(own: Profile) -> Experiment:
    trained = ("base", "rotation", "few", "thin")
    return Experiment(
        name="fig-5",
        about="random and trained networks by stitching and by CKA (Bansal et al. 2021, Fig. 5 and Table 1)",
        data=samples(own),
        models=networks(own, *trained, "random"),
        matchings={"theirs": own.stitch},
        compare=tuple(comparisons(own, *trained, "random")),
        stitch=(*(part for sender in trained for part in into_next(own, sender, "base")), *from_random(own, "base")),
    )


def _cka(sender: Any, cuts: Any = CUTS) -> Select:
    words = f"CKA between {NAMES['sender'][sender]} and a trained one"
    return Select("cka", sender=sender, receiver="base", receiver_cut=cuts).with_name(words)


_SEEDS = Select(sender="base").with_name("that between trained networks of two seeds")
CLAIMS = (
    Claim("By stitching, a random network is far from a trained one in late layers", "Fig. 5",
        accuracy(ANY_RANDOM, "base", LATE), "below", Select(sender="base").with_name("that of a trained network"),
        gates=(GOOD,)),
    Claim("By CKA, a random network is less like a trained one than another trained one is, in late layers", "Fig. 5",
        _cka(ANY_RANDOM, LATE), "below", _SEEDS, gates=(GOOD,)),
    Claim("By CKA a self-supervised network is less like a supervised one than another seed is", "Table 1",
        _cka("rotation", ("layer2", "layer3")), "below", _SEEDS, gates=(GOOD,)),
    Claim("By CKA a network with more data is far from the weaker one, which stitching finds it to improve", "Table 1",
        _cka("few", "layer4"), "below", _SEEDS, gates=(GOOD,)),
    Claim("Does CKA tell a random network from a trained one behind the stem?", "", _cka(ANY_RANDOM, CUTS[0]), "below",
        _SEEDS, beyond=True, answers=("yes", "no"), gates=(GOOD,)),
    Claim("Does stitching tell a random network from a trained one behind the stem?", "",
        accuracy(ANY_RANDOM, "base", CUTS[0]), "below", Select(sender="base").with_name("that of a trained network"),
        beyond=True, answers=("yes", "no"), gates=(GOOD,)),
)  # fmt: skip
SHOWS = (
    PaperPlot("Fig. 5: CKA with a trained network", tuple(_cka(s).with_name(name) for s, name in _PAIRS.items())),
    PaperPlot("Fig. 5: stitching penalty into a trained network",
        tuple(penalty(s, "base", name) for s, name in _PAIRS.items())),
    PaperTable("Table 1: CKA and stitching penalty side by side",
        ("sender", "by", *(NAMES["receiver_cut"][cut] for cut in CUTS)),
        tuple(row for s, name in _PAIRS.items()
            for row in ((name, "CKA", _cka(s)), (name, "penalty", penalty(s, "base", ""))))),
)  # fmt: skip
_DEPARTS = "CKA is linear and of flattened maps, with its bias."
ITEM = Item("fig-5", ("Fig. 5", "Table 1"), "Random, self-supervised and weaker networks by stitching and by CKA.",
    _experiment, CLAIMS, SHOWS, (_DEPARTS, CUT_BY_STAGE, READ_SECOND_HAND), NAMES, derive=same_cut)  # fmt: skip
