"""Figures 2b, 2c, C.1 and C.2 and Table C.1: senders of different bias into Digit, and back, at every cut."""

from __future__ import annotations

from math import nan
from typing import Any

from seamripper.estimate import Estimate
from seamripper.experiment.spec import Auditing, Experiment
from seamripper.figures import Sheet
from seamripper.papers.base import Claim, Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import Check, above, below, claim, differ, every, leaks, some
from seamripper.papers.smith2025._setting import CUTS, PLACE, STITCH, TITLES, by_cut, setting, share, sizes

_SENDERS = ("correlated", "digit", "colour", "colour-only")
_BACK = ("correlated", "colour", "colour-only")
_WAYS = {"weights": "BN statistics adapt, the authors' way", "all": "strictly frozen"}
_FREEZES = ("all", "weights")
_TABLE = {
    "correlated": (0.999, 0.999, 0.981),
    "digit": (0.978, 0.995, 0.996),
    "colour": (1.000, 0.999, 1.000),
    "colour-only": (0.686, 0.999, 0.985),
}
"""Table C.1: base accuracy, Digit as receiver, Digit as sender; at Block 1, over 5 initialisations."""
_SELF = (0.9944, 0.9870, 0.9853, 0.9863, 0.9854, 0.9854)
"""Digit into itself at the six cuts, from the authors' results."""
_NOISE_RANK, _NATURAL_RANK = (142, 228, 208, 42, nan, nan), (42, 77, 47, 10, nan, nan)
"""Ranks at the first convolution behind Blocks 1 to 4, from the authors' results."""


def _experiment(profile: Profile) -> Experiment:
    own = setting(profile)
    return Experiment(
        name="table-c1",
        about="senders of different bias into Digit, and back (Smith et al. 2025, Fig. 2, C.1, C.2, Table C.1)",
        data=own.stitched,
        models=own.networks(*_SENDERS),
        matchings=own.ways,
        stitch=(
            own.stitches(senders=_SENDERS, receivers=("digit",), freeze=_FREEZES, rank=True),
            own.stitches(senders=("digit",), receivers=_BACK, freeze=_FREEZES, rank=True),
        ),
        noise=(own.noises(receivers=("digit",), freeze=_FREEZES),),
        audit=(
            Auditing(
                senders=_SENDERS,
                receivers=("digit",),
                cuts=CUTS,
                matching="theirs",
                stitch=STITCH,
                conflict="mnist/digit",
                others=("digit",),
                audits=("conflict",),
                controls=("other_seed",),
                seeds=(0,),
            ),
        ),
    )


def _read(cells: Cells, profile: Profile) -> Finding:
    claims = [
        *_gains(cells),
        _back(cells),
        _rank_gap(cells),
        _self_rank(cells),
        _contradiction(cells),
        _itself(cells),
        _noise_rank(cells),
    ]
    claims += [_adapted(cells), *_conflicts(cells)]
    return Finding(tuple(claims), _figures(cells), sizes(profile, noise=True))


# ---- claims


def _into(cells: Cells, sender: str, cut: str, freeze: str) -> Check:
    kind = "noise" if sender == "clustered noise" else "stitch"
    stitched = cells.of("top1", kind=kind, sender=sender, receiver="digit", receiver_cut=cut, freeze=freeze)
    return above(stitched, _alone(cells, "digit"))


def _alone(cells: Cells, receiver: str) -> Estimate:
    """The receiver as it was trained, on Correlated: once its statistics have adapted, it is another network."""
    return cells.of("receiver_here", kind="stitch", receiver=receiver, receiver_cut="maxpool", freeze="all")


def _gains(cells: Cells) -> list[Claim]:
    """Every sender, every cut: better than Digit alone; in the authors' way, and strictly frozen."""
    senders = ("correlated", "colour", "colour-only", "clustered noise")
    names = [(f"{TITLES.get(s, 'Clustered-Noise')} at {PLACE[cut]}", s, cut) for s in senders for cut in CUTS]
    loose = [(name, _into(cells, s, cut, "weights")) for name, s, cut in names]
    strict = [(name, _into(cells, s, cut, "all")) for name, s, cut in names]
    rule = (
        "Accuracy on Correlated minus that of Digit alone is above 0 at each of 6 cuts (95 % interval over seeds), {}."
    )
    says = "At all layers, Correlated, Colour, Colour-Only and noise, stitched into Digit, beat Digit (Fig. 2b, C.1)"
    return [
        claim(says, rule.format("in the authors' way"), every(loose)),
        leaks("Every sender into Digit beats Digit", loose, strict),
        Claim(
            "The same, strictly frozen: how many of the 24 hold?",
            rule.format("strictly frozen"),
            every(strict)[0],
            every(strict)[1],
            beyond=True,
        ),
    ]


def _back(cells: Cells) -> Claim:
    found = []
    for receiver in ("correlated", "colour"):
        for cut in CUTS:
            stitched = cells.of(
                "top1", kind="stitch", sender="digit", receiver=receiver, receiver_cut=cut, freeze="weights"
            )
            found.append((f"into {TITLES[receiver]} at {PLACE[cut]}", above(stitched, _alone(cells, receiver))))
    return claim(
        "Digit as sender beats Colour or Correlated alone at particular layers: a contradiction (section 7)",
        "In the authors' way, accuracy minus that of the receiver alone is above 0 at one cut or more of either (95 % "
        "intervals over seeds, not corrected for 12 looks).",
        some(found),
    )


def _self_rank(cells: Cells) -> Claim:
    found = []
    for cut in CUTS[:5]:
        labels = {"kind": "stitch", "sender": "digit", "receiver": "digit", "receiver_cut": cut}
        stitched = cells.of("rank", freeze="weights", **labels)
        found.append((PLACE[cut], differ(stitched, cells.of("rank_native", freeze="all", **labels))))
    return claim(
        "Digit stitched into itself changes the rank of representations (section 7, Fig. C.1b)",
        "In the authors' way, against the rank of Digit as it was trained: at one cut or more, the interval of the "
        "difference over seeds leaves out 0 (not corrected for 5 looks).",
        some(found),
    )


def _rank_gap(cells: Cells) -> Claim:
    found = []
    for cut in ("layer1", "layer2"):
        ranks = [
            cells.of("rank", kind="stitch", sender=s, receiver="digit", receiver_cut=cut, freeze="weights")
            for s in ("digit", "correlated")
        ]
        found.append((f"{PLACE[cut]}, Digit against Correlated", differ(*ranks)))
    return claim(
        "Before the 2nd and 3rd block, Digit's representations have another rank in Digit than Correlated's (Fig. 2c)",
        "In the authors' way, the interval of the difference of ranks over seeds leaves out 0, at both cuts.",
        every(found),
    )


def _contradiction(cells: Cells) -> Claim:
    """Table C.1: each of two is better than the other."""
    labels = {"kind": "stitch", "receiver_cut": "maxpool", "freeze": "weights"}
    found = []
    for sender, receiver in (("colour-only", "digit"), ("digit", "colour-only")):
        pair = {"sender": sender, "receiver": receiver, **labels}
        check = above(cells.of("top1", **pair), _alone(cells, receiver))
        found.append((f"{TITLES[sender]} into {TITLES[receiver]}", check))
    return claim(
        "Colour-Only is “better than” Digit, and Digit is “better than” Colour-Only: a contradiction (Table C.1)",
        "In the authors' way, at Block 1 each stitched network is above its receiver alone (95 % interval over seeds).",
        every(found),
    )


def _itself(cells: Cells) -> Claim:
    found = [(PLACE[cut], _into(cells, "digit", cut, "weights")) for cut in CUTS]
    return claim(
        "Digit stitched into itself beats itself, so that a stitch may add capacity (0.978 → 0.995; Table C.1, Fig. "
        "C.2)",
        "In the authors' way, accuracy minus that of Digit alone is above 0 at each of 6 cuts (95 % interval over "
        "seeds).",
        every(found),
    )


def _noise_rank(cells: Cells) -> Claim:
    found = []
    for cut in CUTS[:4]:
        noise = cells.of("rank", kind="noise", receiver="digit", receiver_cut=cut, freeze="weights")
        native = cells.of("rank_native", kind="stitch", receiver="digit", receiver_cut=cut, freeze="all")
        found.append((PLACE[cut], differ(noise, native)))
    return claim(
        "Noise has another rank in Digit than learned representations have (142/228/208/42 against 42/77/47/10 in the "
        "authors' results, C.1b)",
        "In the authors' way, on the scored samples of noise, against Digit as it was trained on those of Correlated: "
        "the interval of the difference of ranks over seeds leaves out 0, at Blocks 1 to 4.",
        every(found),
    )


def _adapted(cells: Cells) -> Claim:
    """Beyond the paper: what is left of the receiver, once its statistics have adapted to what is stitched into it."""
    found = []
    for cut in CUTS[:4]:
        labels = {"kind": "stitch", "sender": "colour-only", "receiver": "digit", "receiver_cut": cut}
        after = cells.of("receiver_here", **labels, freeze="weights")
        found.append((PLACE[cut], below(after, _alone(cells, "digit"))))
    status, figure = every(found)
    answer = {"reproduced": "no", "not reproduced": "yes"}.get(status, status)
    return Claim(
        "Is the receiver still the receiver after its BN statistics have adapted to Colour-Only?",
        "No, where Digit alone (its own front and back) is worse on Correlated than before, at Blocks 1 to 4.",
        answer,
        figure,
        beyond=True,
    )


def _conflicts(cells: Cells) -> list[Claim]:
    """Beyond the paper: where colour and digit disagree, does the stitched network follow the digit?"""
    found = []
    for sender in _SENDERS:
        labels = {"kind": "audit", "sender": sender}
        per_cut = [(PLACE[c], cells.of("observed", receiver_cut=c, audit="conflict", **labels)) for c in CUTS]
        answers = cells.counts("status", audit="rule", figure="recovered", **labels)
        said = ", ".join(f"{place} {one.value:.2f}" for place, one in per_cut)
        found.append(
            Claim(
                f"Conflict audit, {TITLES[sender]} into Digit: do they use the same information?",
                "The audit's rule, by agreement with Digit where colour and digit disagree, against Digit of other "
                "seeds as senders; 6 cuts, strictly frozen.",
                ", ".join(f"{answer} ({n})" for answer, n in answers.most_common()),
                f"agreement where the cues disagree: {said}",
                beyond=True,
            )
        )
    return found


# ---- tables and figures


def _figures(cells: Cells) -> tuple[Any, ...]:
    found: list[Any] = [_table(cells)]
    for freeze, said in _WAYS.items():
        into = {"receiver": "digit", "freeze": freeze}
        series = [(TITLES[s], {"kind": "stitch", "sender": s, **into}) for s in _SENDERS]
        series.append(("Clustered-Noise", {"kind": "noise", **into}))
        alone = [
            (
                "Digit alone",
                {"kind": "stitch", "sender": "digit", "receiver": "digit", "freeze": "all"},
                "receiver_here",
            )
        ]
        native = [("Digit alone", {"kind": "stitch", "sender": "digit", **into}, "rank_native")]
        ours = [("Digit", _SELF)] if freeze == "weights" else []
        found.append(by_cut(f"Fig. 2b and C.1a: into Digit, {said}", cells, series, dashed=alone, paper=ours))
        ranks = [(TITLES[s], {"kind": "stitch", "sender": s, **into}) for s in _SENDERS]
        ranks.append(("Clustered-Noise", {"kind": "noise", **into}))
        found.append(
            by_cut(
                f"Fig. 2c and C.1b: rank in Digit, {said}", cells, ranks, figure="rank", y="rank", dashed=native,
                paper=[("noise", _NOISE_RANK), ("Digit alone", _NATURAL_RANK)],
                caption="Of the receiver's first layer behind the cut; the paper's are of networks of full width.",
            )
        )  # fmt: skip
        back = [(TITLES[r], {"kind": "stitch", "sender": "digit", "receiver": r, "freeze": freeze}) for r in _BACK]
        base = [(f"{name} alone", {**labels, "freeze": "all"}, "receiver_here") for name, labels in back]
        found.append(by_cut(f"Digit into the others, {said}", cells, back, dashed=base))
    found.append(_conflict_figure(cells))
    return tuple(found)


def _conflict_figure(cells: Cells) -> Any:
    series = [(TITLES[s], {"kind": "audit", "audit": "conflict", "sender": s}) for s in _SENDERS]
    return by_cut(
        "Beyond the paper: agreement with Digit where colour and digit disagree", cells, series, figure="observed",
        y="agreement", caption="The audit `conflict` on mnist/digit, strictly frozen.",
    )  # fmt: skip


def _table(cells: Cells) -> Sheet:
    rows = []
    for name in _SENDERS:
        base, receiver, sender = _TABLE[name]
        row: list[Any] = [TITLES[name], base]
        own = {"kind": "stitch", "receiver": name, "receiver_cut": "maxpool", "freeze": "all", "sender": "digit"}
        row.append(share(cells.some("receiver_here", **own)))
        for place, labels in (
            (receiver, {"sender": name, "receiver": "digit"}),
            (sender, {"sender": "digit", "receiver": name}),
        ):
            row.append(place)
            for freeze in _WAYS:
                where = {"kind": "stitch", "receiver_cut": "maxpool", "freeze": freeze, **labels}
                row.append(share(cells.some("top1", **where)))
        rows.append(tuple(row))
    columns: tuple[str, ...] = ("model", "base, paper", "base, ours")
    for role in ("Digit receives", "Digit sends"):
        columns += (f"{role}, paper", f"{role}, ours (BN adapts)", f"{role}, ours (frozen)")
    return Sheet("Table C.1: accuracy on Correlated, stitch at Block 1", columns, tuple(rows))


ITEM = Item(
    "table-c1",
    ("Table C.1", "Fig. 2b", "Fig. 2c", "Fig. C.1", "Fig. C.2"),
    "Senders Correlated, Digit, Colour, Colour-Only and noise into Digit and back, every cut: accuracy, rank, and the "
    "contradiction; strictly frozen beside the authors' way, and the conflict audit of every pair.",
    _experiment,
    _read,
    minutes=8.8,
    times=900.0,
)
