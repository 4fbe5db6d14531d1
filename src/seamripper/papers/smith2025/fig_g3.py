"""Figures G.3 and G.4: VGG19, untrained senders into Digit."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers import ALONE, Claim, Item, PaperPlot, Profile, Select, Units
from seamripper.papers.smith2025.setting import (
    UNTRAINED,
    VGG_CUTS,
    VGG_FROZEN,
    VGG_HAS_LEARNT,
    VGG_NAMES,
    SmithParts,
    of_stitch,
)

_RANDOMS = Units(UNTRAINED, "three untrained senders")


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    random = smith.untrained_networks(f"zoo:vgg19?width={own.vgg_width:g}&input=3x32x32")
    return Experiment(
        name="fig-g3",
        about="untrained VGG19 into Digit (Smith et al. 2025, Fig. G.3 and G.4)",
        models=smith.vggs("digit") | random,
        matchings={"theirs": own.vgg_stitch},
        stitch=tuple(
            smith.stitches((*UNTRAINED, "digit/0"), ("digit/0",), data=smith.vgg_samples(name), cuts=VGG_CUTS)
            for name in ("digit", "correlated")
        ),
    )


def _on(name: str, **labels: Any) -> Select:
    return of_stitch(**{"data": f"mnist/{name}?size=32", "receiver_cut": VGG_CUTS, "freeze": "all", **labels})


CLAIMS = (
    Claim("On Digit, a VGG19 stitched into itself is very similar to its baseline at each layer", "Fig. G.3",
        _on("digit", sender="digit"), "similar", ALONE, bound=0.02, gates=(VGG_HAS_LEARNT,)),
    Claim("On Digit, an untrained sender degrades with the depth of the stitch", "Fig. G.3",
        _on("digit", sender=_RANDOMS, receiver_cut=VGG_CUTS[0]), "above",
        Select(receiver_cut=VGG_CUTS[-1]).with_name("that at the last cut"), gates=(VGG_HAS_LEARNT,)),
    Claim("On Correlated, Digit stitched into itself improves on the baseline", "Fig. G.4",
        _on("correlated", sender="digit"), "above", ALONE, gates=(VGG_HAS_LEARNT,)),
    Claim("On Correlated, the untrained sender outperforms Digit stitched into itself", "Fig. G.4",
        _on("correlated", sender=_RANDOMS), "above", Select(sender="digit"), gates=(VGG_HAS_LEARNT,)),
)  # fmt: skip

SHOWS = tuple(
    PaperPlot(
        f"{title}: into Digit, on {name.title()}",
        (_on(name, sender=(*UNTRAINED, "digit")),),
        {"Digit alone": Select("receiver_here", kind="stitch", sender="digit", data=f"mnist/{name}?size=32")},
    )
    for title, name in (("Fig. G.3", "digit"), ("Fig. G.4", "correlated"))
)
_DEPARTS = "One Digit network, as in the paper, and three untrained ones, where it has one."
ITEM = Item("fig-g3", ("Fig. G.3", "Fig. G.4"),
    "Untrained VGG19 senders into one Digit receiver, on Digit and on Correlated, beside its self-stitch.", _experiment,
    CLAIMS, SHOWS, (VGG_FROZEN, _DEPARTS), VGG_NAMES)  # fmt: skip
