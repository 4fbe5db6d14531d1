"""Figures 2b, 2c, C.1 and C.2 and Table C.1: senders of different bias into Digit, and back, at every cut."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

from seamripper.experiment import AuditPart, Experiment
from seamripper.papers import COUNTS, Claim, Clause, Gate, Item, PaperPlot, PaperTable, Profile, Select, with_options
from seamripper.papers.smith2025.setting import (
    BOTH,
    CUTS,
    DIGIT_IS_GOOD,
    NAMES,
    ONE_DRAW,
    RANKS_APART,
    SIX_CUTS,
    STITCH,
    TITLES,
    WAYS,
    SmithParts,
    leak,
    of_stitch,
)

_SENDERS = ("correlated", "digit", "colour", "colour-only")
_BACK = ("correlated", "colour", "colour-only")
_TABLE = {
    "correlated": (0.999, 0.999, 0.981),
    "digit": (0.978, 0.995, 0.996),
    "colour": (1.000, 0.999, 1.000),
    "colour-only": (0.686, 0.999, 0.985),
}
"""Table C.1: base accuracy, Digit as receiver, Digit as sender; at Block 1, over 5 initialisations."""
_SELF = (0.9944, 0.9870, 0.9853, 0.9863, 0.9854, 0.9854)
"""Digit into itself at the six cuts, from the authors' results."""
_RANKS = {"noise": (142.0, 228.0, 208.0, 42.0, nan, nan), "Digit alone": (42.0, 77.0, 47.0, 10.0, nan, nan)}
"""Ranks at the first convolution behind Blocks 1 to 4, from the authors' results."""
_ALONE = Select("receiver_here", kind="stitch", sender=None, receiver_cut="maxpool", freeze="all").with_name(
    "that of the receiver as it was trained"
)
"""On Correlated: once its statistics have adapted, the receiver is another network."""
_EITHER = {"stitch", "noise"}
_AUDITED = CUTS[:5:2]
"""Blocks 1, 3 and 5: the audits, which need several stitches each, are put there."""


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    return Experiment(
        name="table-c1",
        about="senders of different bias into Digit, and back (Smith et al. 2025, Fig. 2, C.1, C.2, Table C.1)",
        data=smith.samples("correlated"),
        models=smith.resnets(*_SENDERS, seeds=own.cheap_seeds),
        matchings={"theirs": own.stitch, "from noise": own.noise},
        stitch=(
            smith.rated_stitches(_SENDERS, ("digit",), freeze=BOTH, rank=True),
            smith.rated_stitches(("digit",), _BACK, cuts=own.back_cuts, freeze=BOTH, rank=True),
        ),
        noise=(smith.noises(("digit",), freeze=BOTH),),
        # The stitches of an audit start as the others do, at random.
        audit=(AuditPart(senders=_SENDERS, receivers=("digit",), cuts=_AUDITED, stitch=STITCH,
            matching=with_options(own.stitch, init="random"), conflict="mnist/digit", others=("digit",),
            audits=("conflict",), controls=("other_seed",), seeds=(0,)),),
    )  # fmt: skip


_ALL_BEAT = Claim("At all layers, Correlated, Colour, Colour-Only and noise, stitched into Digit, beat Digit",
    "Fig. 2b, C.1", of_stitch(kind=_EITHER, sender=(*_BACK, "clustered noise"), receiver="digit", receiver_cut=CUTS),
    "above", _ALONE, gates=(DIGIT_IS_GOOD,))  # fmt: skip
_ROOM = Gate("there is room above the receiver: it is right on at most 0.995", _ALONE.with_labels(
    receiver=("correlated", "colour"), freeze="all"), "at most", bound=0.995)  # fmt: skip
_ADAPTED = of_stitch("receiver_here", sender="colour-only", receiver="digit", receiver_cut=CUTS[:4])
_AGREEMENT = Select("observed", kind="audit", audit="conflict", receiver_cut=_AUDITED)
_CONTRADICTION = of_stitch(sender="digit", receiver="colour-only", receiver_cut="maxpool")
CLAIMS = (
    _ALL_BEAT,
    leak(_ALL_BEAT, "Every sender into Digit beats Digit"),
    replace(_ALL_BEAT, says="The same, strictly frozen: how many of the 24 hold?", where="",
        select=_ALL_BEAT.select.with_labels(freeze="all"), beyond=True),
    Claim("Digit as sender beats Colour or Correlated alone at particular layers: a contradiction", "section 7",
        of_stitch(sender="digit", receiver=("correlated", "colour"), receiver_cut=CUTS[:1]), "above", _ALONE,
        over="some", gates=(_ROOM,), remark="At Block 1, where Table C.1 is. The table itself does not support it: "
        "0.981 and 1.000, where the receivers alone have 0.999 and 1.000."),
    Claim("Before the 2nd and 3rd block, Digit's representations have another rank in Digit than Correlated's",
        "Fig. 2c", of_stitch("rank", sender="digit", receiver="digit", receiver_cut=("layer1", "layer2")), "differs",
        Select(sender="correlated"), bound=RANKS_APART),
    Claim("Digit stitched into itself changes the rank of representations", "section 7, Fig. C.1b",
        of_stitch("rank", sender="digit", receiver="digit", receiver_cut=CUTS[:5]), "differs",
        Select("rank_native", freeze="all"), bound=RANKS_APART, over="some"),
    Claim("Colour-Only is “better than” Digit, and Digit is “better than” Colour-Only: a contradiction", "Table C.1",
        of_stitch(sender="colour-only", receiver="digit", receiver_cut="maxpool"), "above", _ALONE,
        also=(Clause(_CONTRADICTION, "above", _ALONE),), gates=(DIGIT_IS_GOOD,)),
    Claim("Digit stitched into itself beats itself, so that a stitch may add capacity",
        "0.978 → 0.995; Table C.1, Fig. C.2", of_stitch(sender="digit", receiver="digit", receiver_cut=CUTS), "above",
        _ALONE, gates=(DIGIT_IS_GOOD,)),
    Claim("Noise has another rank in Digit than learned representations have",
        "142/228/208/42 against 42/77/47/10 in the authors' results, C.1b",
        of_stitch("rank", kind="noise", receiver="digit", receiver_cut=CUTS[:4]), "differs",
        Select("rank_native", kind="stitch", freeze="all"), bound=RANKS_APART,
        remark="The rank of noise is that of its scored samples, the other that of Correlated."),
    Claim("Is the receiver still the receiver after its BN statistics have adapted to Colour-Only?", "",
        _ADAPTED.with_name("accuracy of Digit alone, after Colour-Only was stitched into it,"), "below", _ALONE,
        beyond=True, answers=("no", "yes"), remark="Digit alone is its own front and back."),
    Claim("Do stitched networks with fronts that use colour agree with Digit less than with Digit's own front, where "
        "the cues disagree?", "", _AGREEMENT.with_labels(sender=_BACK).with_name("agreement where the cues disagree"),
        "below", Select(sender="digit"), beyond=True, answers=("yes", "no")),
    *(
        Claim(f"Conflict audit, {TITLES[sender]} into Digit: do they use the same information?", "",
            _AGREEMENT.with_labels(sender=sender).with_name("agreement where the cues disagree"), COUNTS,
            Select("recovered", audit="rule"), beyond=True,
            remark="Agreement is with Digit where colour and digit disagree, against Digit of other seeds as senders, "
            "strictly frozen.")
        for sender in _SENDERS
    ),
)  # fmt: skip


def _plots(freeze: str, said: str) -> tuple[PaperPlot, ...]:
    into = {"kind": _EITHER, "sender": (*_SENDERS, "clustered noise"), "receiver": "digit", "freeze": freeze}
    native = Select("rank_native", kind="stitch", sender="digit", receiver="digit", freeze=freeze)
    alone = Select("receiver_here", kind="stitch", sender="digit", freeze="all")
    return (
        PaperPlot(
            f"Fig. 2b and C.1a: into Digit, {said}",
            (Select("top1", receiver_cut=CUTS, **into),),
            {"Digit alone": alone.with_labels(receiver="digit")},
            {"Digit": _SELF} if freeze == "weights" else {},
        ),
        PaperPlot(
            f"Fig. 2c and C.1b: rank in Digit, {said}",
            (Select("rank", receiver_cut=CUTS, **into),),
            {"Digit alone": native},
            _RANKS,
            "Of the receiver's first layer behind the cut; the paper's are of networks of full width.",
        ),
    )


_ROLES = tuple(
    f"{role}, {whose}"
    for role in ("Digit receives", "Digit sends")
    for whose in ("paper", "ours (BN adapts)", "ours (frozen)")
)


def _row(name: str, base: float, receives: float, sends: float) -> tuple[Any, ...]:
    at: dict[str, Any] = {"kind": "stitch", "receiver_cut": "maxpool"}
    alone = Select("receiver_here", receiver=name, sender="digit", freeze="all", **at)
    into = Select("top1", sender=name, receiver="digit", freeze=tuple(WAYS), **at)
    back = Select("top1", sender="digit", receiver=name, freeze=tuple(WAYS), **at)
    return TITLES[name], base, alone, receives, into, sends, back


SHOWS: tuple[PaperTable | PaperPlot, ...] = (
    PaperTable(
        "Table C.1: accuracy on Correlated, stitch at Block 1",
        ("model", "base, paper", "base, ours", *_ROLES),
        tuple(_row(name, *numbers) for name, numbers in _TABLE.items()),
    ),
    *(plot for freeze, said in WAYS.items() for plot in _plots(freeze, said)),
    PaperPlot(
        "Beyond the paper: agreement with Digit where colour and digit disagree",
        (Select("observed", kind="audit", audit="conflict", sender=_SENDERS, receiver_cut=_AUDITED),),
        caption="The audit `conflict` on mnist/digit, strictly frozen.",
    ),
)

ITEM = Item("table-c1", ("Table C.1", "Fig. 2b", "Fig. 2c", "Fig. C.1", "Fig. C.2"),
    "Senders Correlated, Digit, Colour, Colour-Only and noise into Digit and back, every cut: accuracy, rank, and the "
    "contradiction; strictly frozen beside the authors' way, and the conflict audit of every pair.", _experiment,
    CLAIMS, SHOWS, (SIX_CUTS, ONE_DRAW), NAMES)  # fmt: skip
