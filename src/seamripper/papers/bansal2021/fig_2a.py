"""Fig. 2A: networks that differ in their first weights alone, stitched at every cut; and random networks."""

from __future__ import annotations

from seamripper.experiment import Experiment
from seamripper.papers.bansal2021.setting import (
    ANY_RANDOM,
    CLOSE,
    CUT_BY_STAGE,
    CUTS,
    GOOD,
    LATE,
    NAMES,
    READ_SECOND_HAND,
    accuracy,
    from_random,
    into_next,
    networks,
    penalty,
    samples,
    stitchable,
    stitches,
)
from seamripper.papers.claims import Claim
from seamripper.papers.items import Item, PaperPlot
from seamripper.papers.profiles import Profile
from seamripper.papers.results import ALONE, Select


def _experiment(own: Profile) -> Experiment:
    return Experiment(
        name="fig-2a",
        about="stitching connectivity (Bansal et al. 2021, Fig. 2A)",
        data=samples(own),
        models=networks(own, "base", "itself", "random"),
        matchings={"theirs": own.stitch},
        stitch=(
            *into_next(own, "base", "base"),
            stitches(("itself",), "base"),
            *from_random(own, "base"),
        ),
    )


_GATES = (GOOD, stitchable(CUTS))
_FROM_RANDOM = Select(sender=ANY_RANDOM).with_name("that of a random network")
CLAIMS = (
    Claim("Networks that differ in their initialisation alone can be stitched at all layers with minimal drop",
        "Fig. 2A, Definition 1", accuracy("base", "base"), "no worse", ALONE, bound=CLOSE, gates=_GATES),
    Claim("A random bottom network cannot: in late layers it is far behind a trained one", "Fig. 2A",
        accuracy("base", "base", LATE), "above", _FROM_RANDOM, gates=(GOOD,)),
    Claim("In late layers a random network stitched into a trained one loses accuracy", "Fig. 2A",
        accuracy(ANY_RANDOM, "base", LATE), "below", ALONE, gates=(GOOD,)),
    Claim("Does a random network do as well as a trained one behind the stem?", "",
        accuracy(ANY_RANDOM, "base", CUTS[0]), "no worse", Select(sender="base").with_name("that of a trained network"),
        bound=0.02, beyond=True, answers=("yes", "no"), gates=(GOOD,),
        remark="If it does, a stitch at that place says nothing of what was learnt."),
)  # fmt: skip
SHOWS = (
    PaperPlot("Fig. 2A: stitching penalty between networks of other seeds", (
        penalty("base", "base", "another seed"),
        penalty("itself", "base", "the network itself"),
        penalty(ANY_RANDOM, "base", "random"),
    )),
)  # fmt: skip
_DEPARTS = (
    "One architecture, where the paper has six. Random networks have every parameter and buffer as drawn; code for the "
    "paper that is in circulation draws the first convolution and the classifier alone."
)
ITEM = Item("fig-2a", ("Fig. 2A",), "Networks of other seeds, and random ones, into trained networks, at every cut.",
    _experiment, CLAIMS, SHOWS, (_DEPARTS, CUT_BY_STAGE, READ_SECOND_HAND), NAMES)  # fmt: skip
