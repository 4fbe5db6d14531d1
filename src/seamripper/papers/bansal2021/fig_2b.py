"""Fig. 2B: a network that was trained without labels, stitched into one that was trained with them."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment, ProbePart
from seamripper.papers.bansal2021.setting import (
    ANY_RANDOM,
    CLOSE,
    CUT_BY_STAGE,
    CUTS,
    EARLY,
    GOOD,
    NAMES,
    RANDOM,
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
from seamripper.papers.claims import Claim, Gate
from seamripper.papers.items import Item, PaperPlot
from seamripper.papers.profiles import Profile
from seamripper.papers.results import ALONE, Select

_LAST = CUTS[2:]
"""Cuts at which the probes of a short trial (seed 9) were no longer alike; before them they were."""
_SIMILAR = 0.1
"""How far the probes of the two may lie apart for them to be networks of similar error. The bound is ours."""


def _experiment(own: Profile) -> Experiment:
    randoms = RANDOM[: len(own.seeds)]
    return Experiment(
        name="fig-2b",
        about="supervised and self-supervised networks (Bansal et al. 2021, Fig. 2B)",
        data=samples(own),
        models=networks(own, "base", "itself", "rotation", "random"),
        matchings={"theirs": own.stitch},
        probe=(ProbePart(models=("rotation", "base", *randoms), cuts=CUTS),),
        stitch=(
            *into_next(own, "rotation", "base"),
            *into_next(own, "base", "base"),
            stitches(("itself",), "base"),
            *from_random(own, "base"),
        ),
    )


def _probe(receiver: Any, cuts: Any = CUTS) -> Select:
    words = f"accuracy of a linear probe of {NAMES['receiver'][receiver]}"
    return Select("probe", kind="probe", receiver=receiver, receiver_cut=cuts).with_name(words)


def _that_of(receiver: Any) -> Select:
    return Select(receiver=receiver).with_name(f"that of {NAMES['receiver'][receiver]}")


def _learnt(cuts: Any) -> Gate:
    says = "the self-supervised network has learnt something that a linear probe can read"
    return Gate(says, _probe("rotation", cuts), "above", _that_of(ANY_RANDOM))


def _alike(cuts: Any) -> Gate:
    says = "the two networks are of similar error by a linear probe"
    return Gate(says, _probe("rotation", cuts), "no worse", _that_of("base"), bound=_SIMILAR)


def _close(where: str, cuts: Any) -> Claim:
    return Claim(f"Supervised and self-supervised networks of similar error can be stitched in {where} layers",
        "Fig. 2B", accuracy("rotation", "base", cuts), "no worse", ALONE, bound=CLOSE,
        gates=(GOOD, stitchable(cuts), _learnt("layer2"), _alike(cuts)))  # fmt: skip


CLAIMS = (
    Claim("Has the self-supervised network learnt something that a linear probe can read?", "",
        _probe("rotation", "layer2"), "above", _that_of(ANY_RANDOM), beyond=True, answers=("yes", "no")),
    _close("early", EARLY),
    _close("middle and late", _LAST),
    Claim("A self-supervised network stitches better than a random one", "Fig. 2B",
        accuracy("rotation", "base", _LAST), "above",
        Select(sender=ANY_RANDOM).with_name("that of a random network"), gates=(GOOD, _learnt("layer2"))),
    Claim("Does a self-supervised network stitch as well as a supervised one of another seed?", "",
        accuracy("rotation", "base", CUTS[1:]), "no worse", Select(sender="base").with_name("that of another seed"),
        bound=0.02, beyond=True, answers=("yes", "no"), gates=(GOOD, _learnt("layer2"))),
)  # fmt: skip
SHOWS = (
    PaperPlot("Fig. 2B: stitching penalty of a self-supervised network", (
        penalty("rotation", "base", "self-supervised"),
        penalty("base", "base", "supervised, another seed"),
        penalty(ANY_RANDOM, "base", "random"),
    )),
    PaperPlot("What a linear probe reads", (
        _probe("base").with_name("supervised"),
        _probe("rotation").with_name("self-supervised"),
        _probe(ANY_RANDOM).with_name("random"),
    )),
)  # fmt: skip
_DEPARTS = (
    "The self-supervised networks tell by how many quarter turns an image of CIFAR-10 was rotated; the paper's are "
    "SimCLR, SwAV and DINO on ImageNet. No library was fit for use: lightly 1.6.0 brings PyTorch Lightning, hydra and "
    "a torchvision that must be whole."
)
ITEM = Item("fig-2b", ("Fig. 2B",), "A self-supervised network into supervised ones, with linear probes of both.",
    _experiment, CLAIMS, SHOWS, (_DEPARTS, CUT_BY_STAGE, READ_SECOND_HAND), NAMES)  # fmt: skip
