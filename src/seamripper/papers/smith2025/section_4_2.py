"""Section 4.2: Colour-Only into greyscale MNIST on Colour-Only data, and clustered noise into Digit."""

from __future__ import annotations

from seamripper.experiment.spec import Experiment
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import Check, claim, every, leaks, no_worse, reaches
from seamripper.papers.smith2025._setting import CUTS, PLACE, by_cut, setting, sizes

_WAYS = {"weights": "BN statistics adapt, the authors' way", "all": "strictly frozen"}
_FREEZES = ("all", "weights")


def _experiment(profile: Profile) -> Experiment:
    own = setting(profile)
    return Experiment(
        name="section-4.2",
        about="no digit in the data, or no data at all (Smith et al. 2025, section 4.2)",
        data=own.on("mnist/colour-only"),
        models=own.networks("colour-only", "greyscale", "digit"),
        matchings=own.ways,
        stitch=(own.stitches(senders=("colour-only",), receivers=("greyscale",), freeze=_FREEZES, rank=True),),
        noise=(own.noises(receivers=("digit",), freeze=_FREEZES),),
    )


def _colours(cells: Cells, cut: str, freeze: str) -> Check:
    labels = {"kind": "stitch", "receiver_cut": cut, "freeze": freeze}
    return no_worse(cells.of("top1", **labels), cells.own(**labels))


def _noise(cells: Cells, cut: str, freeze: str) -> Check:
    base = cells.of("accuracy", kind="train", model="digit")
    return no_worse(cells.of("top1", kind="noise", receiver_cut=cut, freeze=freeze), base)


def _read(cells: Cells, profile: Profile) -> Finding:
    claims = []
    for says, what, check in (
        (
            "Colour-Only stitches into greyscale MNIST on images without a digit, at every layer (100 %; 99.0 % alone)",
            "Colour-Only into greyscale",
            _colours,
        ),
        ("Clustered noise stitches into Digit at every layer", "Noise into Digit", _noise),
    ):
        loose, strict = ([(PLACE[cut], check(cells, cut, freeze)) for cut in CUTS] for freeze in _WAYS)
        rule = (
            "In the authors' way, accuracy is not below that of the receiver on its own task, at each of 6 cuts "
            "(interval over seeds)."
        )
        claims += [claim(says, rule, every(loose)), leaks(what, loose, strict)]
    full = [
        (PLACE[cut], reaches(cells.of("top1", kind="stitch", receiver_cut=cut, freeze="weights"), 0.99)) for cut in CUTS
    ]
    says, rule = "Colour-Only reaches 100 % there", "Accuracy is at least 0.99 (ours) at each of 6 cuts."
    claims.insert(1, claim(says, rule, every(full)))
    figures = []
    for freeze, said in _WAYS.items():
        ours = [
            ("Colour-Only into greyscale", {"kind": "stitch", "freeze": freeze}),
            ("Clustered-Noise into Digit", {"kind": "noise", "freeze": freeze}),
        ]
        own = [("greyscale on its own task", {"kind": "stitch", "freeze": freeze}, "receiver_own")]
        figures.append(
            by_cut(f"No digit in the data, {said}", cells, ours, dashed=own, paper=[("Colour-Only", (1.0,) * 6)])
        )
    return Finding(tuple(claims), tuple(figures), sizes(profile, noise=True))


ITEM = Item(
    "section-4.2",
    ("Section 4.2",),
    "Colour-Only into greyscale MNIST on data without a digit, and clustered noise into Digit; both ways of freezing.",
    _experiment,
    _read,
    minutes=1.0,
    times=900.0,
)
