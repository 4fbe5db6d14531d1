"""Fig. 2C, 3B and 3C: a better front in a weaker network, with more data, longer training or more width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers.bansal2021.setting import (
    CLOSE,
    CUT_BY_STAGE,
    CUTS,
    GOOD,
    LATE,
    NAMES,
    READ_SECOND_HAND,
    TIMES,
    accuracy,
    accuracy_of,
    into_next,
    networks,
    penalty,
    samples,
    stitchable,
    stitches,
    that_of,
)
from seamripper.papers.claims import Claim, Clause, Gate
from seamripper.papers.items import Item, PaperPlot
from seamripper.papers.profiles import Profile
from seamripper.papers.results import ALONE, Row, Select


@dataclass(frozen=True)
class Weak:
    """A kind of weaker network: what the better one has more of, and the figure that it is of."""

    name: str
    more: str
    figure: str

    @property
    def weaker(self) -> Gate:
        """That the other network is better at all."""
        return Gate("the other network is better", accuracy_of("base"), "above", that_of(self.name))

    def claims(self) -> tuple[Claim, ...]:
        """That the better front improves the weaker network and not the other way round, and what may explain it."""
        gates = (GOOD, self.weaker)
        own_kind = Select(sender=self.name).with_name("that of a front of the weaker kind")
        return (
            Claim(f"Representations learnt with {self.more} can be plugged into a weaker network and improve it",
                f"late layers; {self.figure}", accuracy("base", self.name, LATE), "above", ALONE, gates=gates),
            Claim(f"Not the other way round: a front without {self.more} makes the better network worse", self.figure,
                accuracy(self.name, "base", LATE), "below", ALONE, gates=(*gates, stitchable(LATE))),
            Claim(f"Is it the front, and not the training of the stitch, that improves it? ({self.more})", "",
                accuracy("base", self.name, LATE), "above", own_kind, beyond=True, answers=("yes", "no"), gates=gates),
            Claim(f"Does {self.more} improve a weaker network from Stage 1 on?", "",
                accuracy("base", self.name, CUTS[1]), "above", ALONE, beyond=True, answers=("yes", "no"), gates=gates),
        )  # fmt: skip

    def plots(self) -> tuple[PaperPlot, ...]:
        """The penalty of both fronts, and of the weaker front in the better network."""
        return (
            PaperPlot(f"{self.figure}: {self.more}, plugged into the weaker network", (
                penalty("base", self.name, f"a front with {self.more}"),
                penalty(self.name, self.name, "a front of the weaker kind"),
            )),
            PaperPlot(f"{self.figure}, the other way round: the weaker front in the better network",
                (penalty(self.name, "base", f"a front without {self.more}"), penalty("itself", "base", "its own"))),
        )  # fmt: skip


DATA, TIME, WIDTH = (
    Weak("few", "more data", "Fig. 2C"),
    Weak("quarter", "more training time", "Fig. 3B"),
    Weak("thin", "bigger width", "Fig. 3C"),
)


def _experiment(own: Profile, name: str, weak: Weak, *others: str) -> Experiment:
    """Both fronts in both networks; `others` are further fronts for the better one."""
    return Experiment(
        name=name,
        about=f"more is better: {weak.more} (Bansal et al. 2021, {weak.figure})",
        data=samples(own),
        models=networks(own, "base", "itself", weak.name, *others),
        matchings={"theirs": own.stitch},
        stitch=(
            *into_next(own, "base", weak.name),
            *into_next(own, weak.name, weak.name),
            *(part for sender in (weak.name, *others) for part in into_next(own, sender, "base")),
            stitches(("itself",), "base"),
        ),
    )


def _item(name: str, weak: Weak, about: str, departs: str) -> Item:
    return Item(name, (weak.figure,), about, lambda own: _experiment(own, name, weak), weak.claims(), weak.plots(),
        (departs, CUT_BY_STAGE, READ_SECOND_HAND), NAMES)  # fmt: skip


_MATCHED = (
    "Stitches are fitted on images that all networks were trained on, so that a weaker network is shown nothing new."
)
FIG_2C = _item("fig-2c", DATA, "Networks trained on more images into networks trained on fewer, and back.", _MATCHED)
FIG_3C = _item("fig-3c", WIDTH, "Wide networks into thin ones, and back.", _MATCHED)

# ---- training time: further checkpoints, and which layers converge first


def excess_penalties(rows: Sequence[Row]) -> Iterator[Row]:
    """By how much the penalty of a checkpoint exceeds that of a trained network at each cut of the same receiver.

    What the place alone does to a stitch is in both penalties, and goes out.
    """
    top1 = {(row["sender"], row["receiver_seed"], row["receiver_cut"]): row for row in rows
        if row["figure"] == "top1" and row["receiver"] == "base"}  # fmt: skip
    for (sender, seed, cut), row in top1.items():
        if sender in TIMES and ("base", seed, cut) in top1:
            yield {**row, "figure": "excess_penalty", "value": top1["base", seed, cut]["value"] - row["value"],
                "low": None, "high": None}  # fmt: skip


def _excess(sender: Any, cuts: Any) -> Select:
    select = Select("excess_penalty", sender=sender, receiver="base", receiver_cut=cuts)
    return select.with_name("the penalty of a checkpoint beyond that of a trained network")


_TRAINED = Select(sender="base").with_name("that of a trained front")
_TIME_CLAIMS = (
    *TIME.claims(),
    Claim("Early layers converge faster: the first stage of a checkpoint has less penalty than its last",
        "Fig. 3B", _excess(TIMES[:2], "layer1"), "below", Select(receiver_cut="layer4").with_name("that at Stage 4"),
        gates=(GOOD, stitchable(("layer1", "layer4")))),
    Claim("Representations of different epochs are stitching compatible: the first stage, halfway through", "Fig. 3B",
        accuracy("half", "base", "layer1"), "no worse", _TRAINED, bound=CLOSE, gates=(GOOD, stitchable("layer1"))),
    Claim("The longer a checkpoint was trained, the better its last stage stitches", "Fig. 3B",
        accuracy("quarter", "base", "layer4"), "above", Select(sender="eighth"),
        also=(Clause(accuracy("half", "base", "layer4"), "above", Select(sender="quarter")),), gates=(GOOD,)),
)  # fmt: skip
_TIME_PLOTS = (
    *TIME.plots(),
    PaperPlot("Fig. 3B: checkpoints into the trained network",
        (*(penalty(name, "base", NAMES["sender"][name]) for name in TIMES),
            penalty("base", "base", "the network at the end"))),
    PaperPlot("Early layers converge first: penalty of checkpoints beyond that of a trained network",
        tuple(_excess(name, CUTS).with_name(NAMES["sender"][name]) for name in TIMES)),
)  # fmt: skip
FIG_3B = Item("fig-3b", ("Fig. 3B",), "Trained networks into checkpoints of another seed, and checkpoints back.",
    lambda own: _experiment(own, "fig-3b", TIME, "eighth", "half", "base"), _TIME_CLAIMS,
    _TIME_PLOTS,
    (_MATCHED, "Checkpoints are of the training with another seed than the receiver's.", CUT_BY_STAGE,
        READ_SECOND_HAND), NAMES, derive=excess_penalties)  # fmt: skip
