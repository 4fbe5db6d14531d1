"""Figure C.3: VGG19 senders of different bias into Digit."""

from __future__ import annotations

from seamripper.experiment import Experiment
from seamripper.papers import ALONE, Claim, Item, PaperPlot, Profile
from seamripper.papers.smith2025.setting import VGG_CUTS, VGG_FROZEN, VGG_HAS_LEARNT, VGG_NAMES, SmithParts, of_stitch

_SENDERS = ("correlated", "digit", "colour", "colour-only", "mix", "greyscale")
_INTO = of_stitch(sender=_SENDERS, receiver="digit", receiver_cut=VGG_CUTS, freeze="all")


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    return Experiment(
        name="fig-c3",
        about="VGG19 senders into Digit (Smith et al. 2025, Fig. C.3)",
        data=smith.vgg_samples("correlated"),
        models=smith.vggs(*_SENDERS),
        matchings={"theirs": own.vgg_stitch},
        stitch=(smith.stitches(_SENDERS, ("digit",), cuts=VGG_CUTS),),
    )


_CLAIM = Claim("Most VGG19 models show about equivalent or better performance at all stitch points", "Fig. C.3",
    _INTO, "no worse", ALONE, bound=0.02, over="most", within=("every", "receiver_cut"),
    gates=(VGG_HAS_LEARNT,))  # fmt: skip
_SHOWS = PaperPlot(
    "Fig. C.3: VGG19 senders into Digit, on Correlated",
    (_INTO,),
    {"Digit alone": of_stitch("receiver_here", sender="digit", freeze="all")},
)
ITEM = Item("fig-c3", ("Fig. C.3",),
    "VGG19 senders Correlated, Digit, Colour, Colour-Only, Mix and greyscale into Digit on Correlated, five cuts.",
    _experiment, (_CLAIM,), (_SHOWS,), (VGG_FROZEN, "The paper has three or four seeds."),
    VGG_NAMES)  # fmt: skip
