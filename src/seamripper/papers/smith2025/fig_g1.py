"""Figures G.1 and G.2: untrained senders."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers import ALONE, Claim, Clause, Item, PaperPlot, Profile, Select, Units
from seamripper.papers.smith2025.setting import (
    CUTS,
    DIGIT_IS_GOOD,
    NAMES,
    ONE_DRAW,
    SIX_CUTS,
    UNTRAINED,
    SmithParts,
    of_stitch,
)

_RANDOM = (0.9896, 0.9925, 0.9959, 0.9945, 0.9916, 0.9922)
"""Untrained into Digit on Correlated at the six cuts, from the authors' results; 0.978 unstitched."""
_BETTER = ("correlated", "colour", "colour-only")
"""Senders that untrained ones fall short of, by the paper; and noise."""
_FREEZE = ("weights",)
_DIGIT = {"receiver": "digit", "data": "mnist/correlated", "receiver_cut": CUTS}
_GREY = {"receiver": "greyscale", "data": "mnist/colour-only", "receiver_cut": CUTS}
_COLOURS = {"receiver": "colour-only", "data": "mnist/greyscale", "receiver_cut": CUTS}
_RANDOMS = Units(UNTRAINED, "three untrained senders")


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)

    def part(receiver: str, data: str, *senders: str, **more: Any) -> Any:
        return smith.rated_stitches(senders, (receiver,), data=smith.samples(data), freeze=_FREEZE, **more)

    trained = ("digit/0", *(f"{name}/0" for name in _BETTER))
    random = smith.untrained_networks(f"zoo:resnet18?width={own.width:g}")
    return Experiment(
        name="fig-g1",
        about="untrained senders (Smith et al. 2025, Fig. G.1 and G.2)",
        models=smith.resnets("digit", "greyscale", *_BETTER) | random,
        matchings={"theirs": own.stitch, "from noise": own.noise},
        # With ranks, as in table-c1: the same jobs, and done once. Of one Digit, the draw of noise is the unit.
        noise=(smith.noises(("digit/0",), freeze=_FREEZE, seeds=own.draws),),
        stitch=(
            part("digit/0", "correlated", *trained, rank=True),
            part("digit/0", "correlated", *UNTRAINED),
            part("greyscale/0", "colour-only", *UNTRAINED, "greyscale/0"),
            part("colour-only/0", "greyscale", *UNTRAINED, "greyscale/0", "colour-only/0"),
        ),
    )


_THEM = Select(kind="stitch", sender=_RANDOMS, data="mnist/correlated").with_name("that of three untrained senders")
_NOISE = Select("top1", kind="noise", freeze="weights", sender="clustered noise", receiver="digit", receiver_cut=CUTS)
CLAIMS = (
    Claim("Untrained senders stitched into Digit on Correlated improve on its baseline", "Fig. G.1",
        of_stitch(sender=_RANDOMS, **_DIGIT), "above", ALONE, gates=(DIGIT_IS_GOOD,)),
    Claim("They do better than Digit as a sender", "G.1; at five of six cuts in the authors' results",
        of_stitch(sender=_RANDOMS, **_DIGIT), "above", Select(sender="digit"), over=5, gates=(DIGIT_IS_GOOD,)),
    Claim("They do less well than Correlated, Colour, Colour-Only and noise as senders", "G.1",
        of_stitch(sender=_BETTER, **_DIGIT), "above", _THEM, also=(Clause(_NOISE, "above", _THEM),),
        gates=(DIGIT_IS_GOOD,)),
    Claim("An untrained sender of Colour-Only data into greyscale reaches 100 % at each layer", "G.2",
        of_stitch(sender=_RANDOMS, **_GREY), "at least", bound=0.99),
    Claim("The greyscale network stitched into itself reaches 100 % on Colour-Only data at each layer", "G.2",
        of_stitch(sender="greyscale", **_GREY), "at least", bound=0.99,
        remark="The interval is over samples of one network, as in the paper."),
    Claim("On greyscale data into Colour-Only, an untrained sender is worse than one trained on greyscale", "Fig. G.2",
        of_stitch(sender="greyscale", **_COLOURS), "above",
        Select(sender=_RANDOMS).with_name("that of three untrained senders")),
    Claim("There, an untrained sender outperforms Colour-Only stitched into itself", "Fig. G.2",
        of_stitch(sender=_RANDOMS, **_COLOURS), "above", Select(sender="colour-only")),
)  # fmt: skip

SHOWS = (
    PaperPlot("Fig. G.1: untrained into Digit, on Correlated",
        (of_stitch(sender=(*UNTRAINED, "digit", *_BETTER), **_DIGIT), _NOISE.with_labels(data=None)),
        {"Digit alone": Select(*ALONE.figures, kind="stitch", sender="digit", receiver="digit")},
        {"untrained": _RANDOM}),
    PaperPlot("G.2: untrained into greyscale, on Colour-Only", (of_stitch(sender=(*UNTRAINED, "greyscale"), **_GREY),)),
    PaperPlot("Fig. G.2: into Colour-Only, on greyscale",
        (of_stitch(sender=(*UNTRAINED, "greyscale", "colour-only"), **_COLOURS),)),
)  # fmt: skip

_DEPARTS = "Three untrained networks (G.1 has two, G.2 one), and one trained network of each kind."
ITEM = Item("fig-g1", ("Fig. G.1", "Fig. G.2"),
    "Untrained senders into Digit on Correlated, into greyscale on Colour-Only, and into Colour-Only on greyscale.",
    _experiment, CLAIMS, SHOWS, (SIX_CUTS, ONE_DRAW, _DEPARTS), NAMES)  # fmt: skip
