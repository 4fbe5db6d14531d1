"""Beyond the paper: where a better front improves a weaker network, is it the same information?"""

from __future__ import annotations

from typing import Any

from seamripper.experiment import AuditPart, Experiment
from seamripper.papers.bansal2021.better import DATA, TIME, WIDTH, Weak
from seamripper.papers.bansal2021.setting import CUTS, GOOD, LATE, NAMES, STITCH, into_next, networks, samples
from seamripper.papers.claims import COUNTS, Claim
from seamripper.papers.items import Item, PaperPlot
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Select

_ALL = (DATA, TIME, WIDTH)


def _experiment(own: Profile) -> Experiment:
    audit: dict[str, Any] = {"cuts": LATE, "stitch": STITCH, "matching": "theirs", "audits": ("conflict", own.mixing)}
    audit |= {"controls": ("other_seed", "random_sender"), "seeds": (0,), "pairing": "all"}
    return Experiment(
        name="same-information",
        about="more is better, audited: do the better front and the weaker network use the same information?",
        data=samples(own),
        models=networks(own, "base", *(weak.name for weak in _ALL)),
        matchings={"theirs": own.stitch},
        stitch=tuple(
            part for weak in _ALL for sender in ("base", weak.name) for part in into_next(own, sender, weak.name)
        ),
        audit=tuple(
            AuditPart(
                senders=(f"base/{own.seeds[k - 1]}",), receivers=(f"{weak.name}/{seed}",), others=(weak.name,), **audit
            )
            for weak in _ALL
            for k, seed in enumerate(own.seeds)
        ),
    )


def _agreement(sender: str, weak: Weak, cuts: Any, called: str) -> Select:
    labels = {"kind": "stitch", "stitch": STITCH, "sender": sender, "receiver": weak.name, "receiver_cut": cuts}
    return Select("agreement", **labels).with_name(called)


def _claims(weak: Weak) -> tuple[Claim, ...]:
    gates = (GOOD, weak.weaker)
    own_kind = Select(sender=weak.name).with_name("that with a front of its own kind")
    observed = Select("observed", kind="audit", audit="conflict", sender="base", receiver=weak.name, receiver_cut=LATE)
    return (
        Claim(f"With {weak.more} in front, does a weaker network give its own answers as often as with its own kind?",
            "", _agreement("base", weak, LATE, "agreement of the stitched network with the weaker network alone"),
            "no worse", own_kind, bound=0.02, beyond=True, answers=("yes", "no"), gates=gates),
        Claim(f"Conflict and mixing audits, {weak.more} into a weaker network: do they use the same information?", "",
            observed.with_name("agreement under interventions"), COUNTS, Select("recovered", audit="rule"), beyond=True,
            gates=gates,
            remark="Agreement is with the weaker network on changed images, against fronts of its own kind. With the "
            "conflict audit alone, in a first run, no pair was judged."),
    )  # fmt: skip


_SHOWS = tuple(
    PaperPlot(
        f"Agreement with the weaker network alone: {weak.more}",
        (
            _agreement("base", weak, CUTS, f"a front with {weak.more}"),
            _agreement(weak.name, weak, CUTS, "a front of its own kind"),
        ),
    )
    for weak in _ALL
)
ITEM = Item("same-information", ("More is better",),
    "Better fronts in weaker networks, put to the conflict and mixing audits: the same information, or other?",
    _experiment, tuple(claim for weak in _ALL for claim in _claims(weak)), _SHOWS, (), NAMES)  # fmt: skip
