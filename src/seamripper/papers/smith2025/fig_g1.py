"""Figures G.1 and G.2: untrained senders."""

from __future__ import annotations

from seamripper.estimate import Estimate
from seamripper.experiment.spec import Experiment, Network
from seamripper.figures import Lines
from seamripper.papers.base import Claim, Finding, Item, Profile
from seamripper.papers.cells import Cells, over_parts
from seamripper.papers.checks import above, claim, every, reaches, some
from seamripper.papers.smith2025._setting import CUTS, PLACE, TITLES, by_cut, setting, sizes

_RANDOM = (0.9896, 0.9925, 0.9959, 0.9945, 0.9916, 0.9922)
"""Untrained into Digit on Correlated at the six cuts, from the authors' results; 0.978 unstitched."""
_UNTRAINED = ("random-0", "random-1", "random-2")
_FREEZE = ("weights",)
_UNITS = "Three untrained networks (G.1 has two, G.2 one), and one trained network of each kind."
_BETTER = ("correlated", "colour", "colour-only", "clustered noise")
"""Senders that untrained ones fall short of, by the paper."""


def untrained(width: float) -> dict[str, Network]:
    """Three networks that nothing was ever shown to."""
    return {name: Network(load=f"zoo:resnet18?width={width:g}&seed={100 + k}") for k, name in enumerate(_UNTRAINED)}


def _experiment(profile: Profile) -> Experiment:
    own = setting(profile)
    return Experiment(
        name="fig-g1",
        about="untrained senders (Smith et al. 2025, Fig. G.1 and G.2)",
        models=own.networks("digit", "greyscale", *_BETTER[:3]) | untrained(own.width),
        matchings=own.ways,
        # With ranks, as in table-c1: the same jobs, and done once.
        noise=(own.noises(receivers=("digit/0",), freeze=_FREEZE),),
        stitch=(
            own.stitches(
                senders=("digit/0", *(f"{name}/0" for name in _BETTER[:3])),
                receivers=("digit/0",),
                data=own.stitched,
                rank=True,
                freeze=_FREEZE,
            ),
            own.stitches(senders=_UNTRAINED, receivers=("digit/0",), data=own.stitched, freeze=_FREEZE),
            own.stitches(
                senders=(*_UNTRAINED, "greyscale/0"),
                receivers=("greyscale/0",),
                data=own.on("mnist/colour-only"),
                freeze=_FREEZE,
            ),
            own.stitches(
                senders=(*_UNTRAINED, "greyscale/0", "colour-only/0"),
                receivers=("colour-only/0",),
                data=own.on("mnist/greyscale"),
                freeze=_FREEZE,
            ),
        ),
    )


def _read(cells: Cells, profile: Profile) -> Finding:
    claims = (*_into_digit(cells), *_into_greyscale(cells), *_into_colours(cells))
    return Finding(claims, _figures(cells), (*sizes(profile, noise=True, seeds=False), _UNITS))


def _of(cells: Cells, cut: str, receiver: str, data: str, sender: str | None = None, figure: str = "top1") -> Estimate:
    """A figure of one sender; of the untrained ones, which are then the units, if none is named."""
    if sender == "clustered noise":
        return cells.of(figure, kind="noise", receiver=receiver, receiver_cut=cut)
    labels = {"kind": "stitch", "receiver": receiver, "receiver_cut": cut, "data": data}
    if sender is not None:
        return cells.of(figure, sender=sender, **labels)
    return over_parts({name: cells.of(figure, sender=name, **labels) for name in _UNTRAINED})


def _into_digit(cells: Cells) -> tuple[Claim, ...]:
    """Fig. G.1: on Correlated."""
    where = ("digit", "mnist/correlated")
    untrained = {cut: _of(cells, cut, *where) for cut in CUTS}
    alone = [(PLACE[cut], above(untrained[cut], _of(cells, cut, *where, figure="receiver_unadapted"))) for cut in CUTS]
    itself = [(PLACE[cut], above(untrained[cut], _of(cells, cut, *where, "digit"))) for cut in CUTS]
    others = [
        (f"{TITLES.get(name, 'Clustered-Noise')} at {PLACE[cut]}", above(_of(cells, cut, *where, name), untrained[cut]))
        for name in _BETTER
        for cut in CUTS
    ]
    return (
        claim(
            "Untrained senders stitched into Digit on Correlated improve on its baseline (Fig. G.1)",
            "In the authors' way, accuracy minus that of Digit alone is above 0 at each of 6 cuts (interval over three "
            "untrained senders).",
            every(alone),
        ),
        claim(
            "They do better than Digit as a sender (G.1; at five of six cuts in the authors' results)",
            "In the authors' way, accuracy minus that of Digit stitched into itself is above 0 at five cuts or more "
            "(interval over three untrained senders).",
            some(itself, least=5),
        ),
        claim(
            "They do less well than Correlated, Colour, Colour-Only and noise as senders (G.1)",
            "In the authors' way, accuracy of each of the four is above that of the untrained senders, at each of 6 "
            "cuts.",
            every(others),
        ),
    )


def _into_greyscale(cells: Cells) -> tuple[Claim, ...]:
    """G.2: on data without a digit."""
    where = ("greyscale", "mnist/colour-only")
    untrained = [(PLACE[cut], reaches(_of(cells, cut, *where), 0.99)) for cut in CUTS]
    itself = [(PLACE[cut], reaches(_of(cells, cut, *where, "greyscale"), 0.99)) for cut in CUTS]
    return (
        claim(
            "An untrained sender of Colour-Only data into greyscale reaches 100 % at each layer (G.2)",
            "In the authors' way, accuracy is at least 0.99 (ours) at each of 6 cuts (interval over three untrained "
            "senders).",
            every(untrained),
        ),
        claim(
            "The greyscale network stitched into itself reaches 100 % on Colour-Only data at each layer (G.2)",
            "In the authors' way, accuracy is at least 0.99 (ours) at each of 6 cuts (one network, as in the paper; "
            "interval over samples).",
            every(itself),
        ),
    )


def _into_colours(cells: Cells) -> tuple[Claim, ...]:
    """Fig. G.2: on data without a colour."""
    where = ("colour-only", "mnist/greyscale")
    untrained = {cut: _of(cells, cut, *where) for cut in CUTS}
    grey = [(PLACE[cut], above(_of(cells, cut, *where, "greyscale"), untrained[cut])) for cut in CUTS]
    itself = [(PLACE[cut], above(untrained[cut], _of(cells, cut, *where, "colour-only"))) for cut in CUTS]
    return (
        claim(
            "On greyscale data into Colour-Only, an untrained sender is worse than one trained on greyscale (Fig. G.2)",
            "In the authors' way, accuracy of the trained sender is above that of the untrained ones, at each of 6 "
            "cuts.",
            every(grey),
        ),
        claim(
            "There, an untrained sender outperforms Colour-Only stitched into itself (Fig. G.2)",
            "In the authors' way, accuracy is above that of Colour-Only into itself, at each of 6 cuts.",
            every(itself),
        ),
    )


def _figures(cells: Cells) -> tuple[Lines, ...]:
    return (
        by_cut(
            "Fig. G.1: untrained into Digit, on Correlated",
            cells,
            [(name, {"sender": name, "receiver": "digit"}) for name in (*_UNTRAINED, "digit", *_BETTER)],
            dashed=[("Digit alone", {"sender": "digit", "receiver": "digit"}, "receiver_here")],
            paper=[("untrained", _RANDOM)],
        ),
        by_cut(
            "G.2: untrained into greyscale, on Colour-Only",
            cells,
            [(name, {"sender": name, "receiver": "greyscale"}) for name in (*_UNTRAINED, "greyscale")],
        ),
        by_cut(
            "Fig. G.2: into Colour-Only, on greyscale",
            cells,
            [(name, {"sender": name, "receiver": "colour-only"}) for name in (*_UNTRAINED, "greyscale", "colour-only")],
        ),
    )


ITEM = Item(
    "fig-g1",
    ("Fig. G.1", "Fig. G.2"),
    "Untrained senders into Digit on Correlated, into greyscale on Colour-Only, and into Colour-Only on greyscale.",
    _experiment,
    _read,
    minutes=1.9,
    times=300.0,
)
