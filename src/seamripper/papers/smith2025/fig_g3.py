"""Figures G.3 and G.4: VGG19, untrained senders into Digit."""

from __future__ import annotations

from typing import Any

from seamripper.estimate import Estimate
from seamripper.experiment.spec import Experiment, Network, Stitching
from seamripper.figures import Lines
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells, over_parts
from seamripper.papers.checks import above, claim, every, similar
from seamripper.papers.smith2025._setting import STITCH, by_cut
from seamripper.papers.smith2025._vgg import CUTS, PLACE, PLACES, WIDTH, data, departs, networks, way

_UNTRAINED = ("random-0", "random-1", "random-2")
_SIMILAR = 0.02
"""How far from the baseline “very similar” may be; the paper has no number for it."""


def _experiment(profile: Profile) -> Experiment:
    width = WIDTH if profile == "quick" else 1.0
    random = {
        name: Network(load=f"zoo:vgg19?width={width:g}&seed={100 + k}&input=3x32x32")
        for k, name in enumerate(_UNTRAINED)
    }
    joined: dict[str, Any] = {"cuts": CUTS, "matchings": ("theirs",), "stitches": (STITCH,)}
    return Experiment(
        name="fig-g3",
        about="untrained VGG19 into Digit (Smith et al. 2025, Fig. G.3 and G.4)",
        models=networks(profile, "digit") | random,
        matchings={"theirs": way(profile)},
        stitch=tuple(
            Stitching(senders=(*_UNTRAINED, "digit/0"), receivers=("digit/0",), data=data(profile, name), **joined)
            for name in ("digit", "correlated")
        ),
    )


def _read(cells: Cells, profile: Profile) -> Finding:
    def of(figure: str, cut: str, name: str, *, untrained: bool) -> Estimate:
        labels = {"kind": "stitch", "receiver_cut": cut, "data": f"mnist/{name}?size=32"}
        if not untrained:
            return cells.of(figure, sender="digit", **labels)
        return over_parts({one: cells.of(figure, sender=one, **labels) for one in _UNTRAINED})

    alike = [
        (
            PLACE[cut],
            similar(
                of("top1", cut, "digit", untrained=False),
                of("receiver_here", cut, "digit", untrained=False),
                _SIMILAR,
            ),
        )
        for cut in CUTS
    ]
    falls = above(of("top1", CUTS[0], "digit", untrained=True), of("top1", CUTS[-1], "digit", untrained=True))
    improved = [
        (
            PLACE[cut],
            above(
                of("top1", cut, "correlated", untrained=False),
                of("receiver_here", cut, "correlated", untrained=False),
            ),
        )
        for cut in CUTS
    ]
    beaten = [
        (
            PLACE[cut],
            above(of("top1", cut, "correlated", untrained=True), of("top1", cut, "correlated", untrained=False)),
        )
        for cut in CUTS
    ]
    claims = (
        claim(
            "On Digit, a VGG19 stitched into itself is very similar to its baseline at each layer (Fig. G.3)",
            f"Accuracy is within {_SIMILAR} of the baseline at each of 5 cuts (the bound is ours).",
            every(alike),
        ),
        claim(
            "On Digit, an untrained sender degrades with the depth of the stitch (Fig. G.3)",
            "Accuracy at the first cut is above that at the last (interval over three untrained senders).",
            falls,
        ),
        claim(
            "On Correlated, Digit stitched into itself improves on the baseline (Fig. G.4)",
            "Accuracy is above that of Digit alone at each of 5 cuts.",
            every(improved),
        ),
        claim(
            "On Correlated, the untrained sender outperforms Digit stitched into itself (Fig. G.4)",
            "Accuracy of untrained senders is above that of the self-stitch at each of 5 cuts.",
            every(beaten),
        ),
    )
    units = "one Digit network, as in the paper, and three untrained ones, where it has one"
    return Finding(claims, _figures(cells), departs(profile, seeds=units))


def _figures(cells: Cells) -> tuple[Lines, ...]:
    return tuple(
        by_cut(
            f"{title}: into Digit, on {name.title()}",
            cells,
            [(s, {"kind": "stitch", "sender": s, "data": f"mnist/{name}?size=32"}) for s in (*_UNTRAINED, "digit")],
            cuts=CUTS,
            places=PLACES,
            dashed=[
                ("Digit alone", {"kind": "stitch", "sender": "digit", "data": f"mnist/{name}?size=32"}, "receiver_here")
            ],
        )
        for title, name in (("Fig. G.3", "digit"), ("Fig. G.4", "correlated"))
    )


ITEM = Item(
    "fig-g3",
    ("Fig. G.3", "Fig. G.4"),
    "Untrained VGG19 senders into one Digit receiver, on Digit and on Correlated, beside its self-stitch.",
    _experiment,
    _read,
    minutes=1.0,
    times=3000.0,
)
