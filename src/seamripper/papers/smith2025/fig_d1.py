"""Figure D.1 and Table D.1: clustered noise into VGG19."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers import TRAINED, Claim, Clause, Item, PaperPlot, PaperTable, Profile, Select
from seamripper.papers.smith2025.setting import (
    RANKS_APART,
    TITLES,
    VGG_CUTS,
    VGG_FROZEN,
    VGG_HAS_LEARNT,
    VGG_NAMES,
    SmithParts,
)

_RECEIVERS = {"correlated": 1.00, "digit": 0.98, "colour": 1.00, "colour-only": 1.00}
"""Table D.1: accuracy of the uncut networks."""


_VARIED = ("colour", "colour-only")
"""Networks whose stitches from noise depend on where they start: one of the paper's goes from 40 to 80 %."""


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    part: dict[str, Any] = {"cuts": VGG_CUTS, "matchings": ("from noise",), "rank": True}
    sizes = {"per_class": own.vgg_per_class, "per_class_test": own.per_class_test}
    return Experiment(
        name="fig-d1",
        about="clustered noise into VGG19 (Smith et al. 2025, Fig. D.1)",
        models=smith.vggs(*_RECEIVERS),
        matchings={"from noise": own.vgg_noise},
        noise=(
            smith.noises(tuple(_RECEIVERS), **sizes, **part),
            *(smith.noises((f"{name}/0",), seeds=own.restarts, **sizes, **part) for name in _VARIED),
        ),
        # The natural ranks: Digit itself on Digit, whose own activations are read beside a stitch into itself.
        stitch=(smith.stitches(("digit",), ("digit",), data=smith.vgg_samples("digit"), **part),),
    )


def _noise(figure: str = "top1", /, **labels: Any) -> Select:
    return Select(figure, **{"kind": "noise", "receiver_cut": VGG_CUTS, **labels})


CLAIMS = (
    Claim("Noise improves on Digit and keeps Correlated's accuracy, as in ResNet", "Fig. D.1a",
        _noise(receiver="digit"), "above", TRAINED,
        also=(Clause(_noise(receiver="correlated"), "no worse", TRAINED, bound=0.01),),
        gates=(VGG_HAS_LEARNT,)),
    Claim("Colour and Colour-Only show very varied results with noise", "Fig. D.1a",
        _noise(receiver=_VARIED, seed=0), "varies", bound=0.2, within=("some", "receiver_cut")),
    Claim("One network's stitches go from 40 to 80 % by where they start", "Fig. D.1a",
        _noise(receiver=_VARIED, receiver_seed=0), "varies", bound=0.2, over="some"),
    Claim("Noise has another rank in Digit than Digit's own data", "Fig. D.1b",
        _noise("rank", receiver="digit", receiver_cut=VGG_CUTS[:4]), "differs", Select("rank_native", kind="stitch"),
        bound=RANKS_APART, gates=(VGG_HAS_LEARNT,), remark="The four cuts are those before a convolution."),
)  # fmt: skip

SHOWS = (
    PaperTable("Table D.1: uncut VGG19 on their own tasks", ("model", "paper", "ours"),
        tuple((TITLES[n], theirs, Select("accuracy", kind="train", model=n)) for n, theirs in _RECEIVERS.items())),
    PaperPlot("Fig. D.1a: noise into VGG19", (_noise(receiver=tuple(_RECEIVERS)),)),
    PaperPlot("Fig. D.1b: ranks behind the stitch", (_noise("rank", receiver=tuple(_RECEIVERS)),),
        {"Digit alone, on Digit": Select("rank_native", kind="stitch")}),
)  # fmt: skip

ITEM = Item("fig-d1", ("Fig. D.1", "Table D.1"),
    "Clustered noise into VGG19 of Correlated, Digit, Colour and Colour-Only, five cuts: accuracy and rank.",
    _experiment, CLAIMS, SHOWS, (VGG_FROZEN, "The paper has three or four seeds."), VGG_NAMES)  # fmt: skip
