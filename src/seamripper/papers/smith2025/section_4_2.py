"""Section 4.2: Colour-Only into greyscale MNIST on Colour-Only data, and clustered noise into Digit."""

from __future__ import annotations

from seamripper.experiment import Experiment
from seamripper.papers import OWN, TRAINED, Claim, Item, PaperPlot, Profile, Select
from seamripper.papers.smith2025.setting import BOTH, CUTS, NAMES, ONE_DRAW, SIX_CUTS, WAYS, SmithParts, leak, of_stitch

_RECEIVERS = ("digit", "greyscale", "colour-only", "colour", "correlated")
"""Into which noise is stitched (B.2)."""


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    return Experiment(
        name="section-4.2",
        about="no digit in the data, or no data at all (Smith et al. 2025, section 4.2)",
        data=smith.samples("colour-only"),
        models=smith.resnets(*_RECEIVERS, seeds=own.cheap_seeds),
        matchings={"theirs": own.stitch, "from noise": own.noise},
        stitch=(smith.rated_stitches(("colour-only",), ("greyscale",), freeze=BOTH, rank=True),),
        noise=(smith.noises(_RECEIVERS[:1], freeze=BOTH), smith.noises(_RECEIVERS[1:], freeze=("weights",))),
    )


_COLOURS = Claim("Colour-Only stitches into greyscale MNIST on images without a digit, at every layer",
    "100 %; 99.0 % alone; section 4.2", of_stitch(sender="colour-only", receiver="greyscale", receiver_cut=CUTS),
    "no worse", OWN)  # fmt: skip
_NOISE = Claim("Clustered noise stitches into Digit at every layer", "",
    of_stitch(kind="noise", receiver="digit", receiver_cut=CUTS), "no worse", TRAINED)  # fmt: skip
CLAIMS = (
    _COLOURS,
    Claim("Colour-Only reaches 100 % there", "", _COLOURS.select, "at least", bound=0.99),
    leak(_COLOURS, "Colour-Only into greyscale"),
    _NOISE,
    leak(_NOISE, "Noise into Digit"),
    Claim("So it does into networks of every other bias", "B.2",
        of_stitch(kind="noise", receiver=_RECEIVERS[1:], receiver_cut=CUTS), "no worse", TRAINED, bound=0.01),
)  # fmt: skip

SHOWS = tuple(
    PaperPlot(
        f"No digit in the data, {said}",
        (
            Select("top1", kind="stitch", freeze=freeze, receiver_cut=CUTS).with_name("Colour-Only into greyscale"),
            Select("top1", kind="noise", receiver="digit", freeze=freeze, receiver_cut=CUTS).with_name(
                "Clustered-Noise into Digit"
            ),
        ),
        {"greyscale on its own task": Select("own_unadapted", "receiver_own", kind="stitch", freeze=freeze)},
        {"Colour-Only": (1.0,) * 6},
    )
    for freeze, said in WAYS.items()
)
ITEM = Item("section-4.2", ("Section 4.2",),
    "Colour-Only into greyscale MNIST on data without a digit, and clustered noise into Digit; both ways of freezing.",
    _experiment, CLAIMS, SHOWS, (SIX_CUTS, ONE_DRAW), NAMES)  # fmt: skip
