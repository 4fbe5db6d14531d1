"""Figure C.3: VGG19 senders of different bias into Digit."""

from __future__ import annotations

from seamripper.estimate import Estimate
from seamripper.experiment.spec import Experiment, Stitching
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import claim, every, most, no_worse
from seamripper.papers.smith2025._setting import STITCH, TITLES, by_cut
from seamripper.papers.smith2025._vgg import CUTS, PLACE, PLACES, data, departs, networks, way

_SLACK = 0.02
"""How far below counts as about equivalent; the paper has no number for it."""
_SENDERS = ("correlated", "digit", "colour", "colour-only", "mix", "greyscale")


def _experiment(profile: Profile) -> Experiment:
    return Experiment(
        name="fig-c3",
        about="VGG19 senders into Digit (Smith et al. 2025, Fig. C.3)",
        data=data(profile, "correlated"),
        models=networks(profile, *_SENDERS),
        matchings={"theirs": way(profile)},
        stitch=(
            Stitching(senders=_SENDERS, receivers=("digit",), cuts=CUTS, matchings=("theirs",), stitches=(STITCH,)),
        ),
    )


def _read(cells: Cells, profile: Profile) -> Finding:
    def of(figure: str, sender: str, cut: str) -> Estimate:
        return cells.of(figure, kind="stitch", sender=sender, receiver_cut=cut)

    found = [
        (
            TITLES[s],
            every(
                (PLACE[cut], no_worse(of("top1", s, cut), of("receiver_here", s, cut), slack=_SLACK)) for cut in CUTS
            ),
        )
        for s in _SENDERS
    ]
    claims = (
        claim(
            "Most VGG19 models show about equivalent or better performance at all stitch points (Fig. C.3)",
            f"For more than half of 6 senders, accuracy on Correlated is at most {_SLACK} (ours) below Digit's at "
            "all 5 cuts.",
            most(found),
        ),
    )
    figure = by_cut(
        "Fig. C.3: VGG19 senders into Digit, on Correlated",
        cells,
        [(TITLES[s], {"kind": "stitch", "sender": s}) for s in _SENDERS],
        cuts=CUTS,
        places=PLACES,
        dashed=[("Digit alone", {"kind": "stitch", "sender": "digit"}, "receiver_here")],
    )
    return Finding(claims, (figure,), departs(profile))


ITEM = Item(
    "fig-c3",
    ("Fig. C.3",),
    "VGG19 senders Correlated, Digit, Colour, Colour-Only, Mix and greyscale into Digit on Correlated, five cuts.",
    _experiment,
    _read,
    minutes=7.2,
    times=6000.0,
)
