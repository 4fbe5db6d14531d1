"""SwapVerdict: whether the new model's front may be put under the old model's back, why, and what speaks against it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

from seamripper._frames import Row
from seamripper._notebook import card as html_card, line, one_line, table
from seamripper.audits import Audited
from seamripper.audits.rule import DIFFERENT, NOISE, SAME
from seamripper.cards import MEASURED_ON, WithMethods
from seamripper.data.samples import Samples
from seamripper.estimate import LEVEL, Estimate
from seamripper.matching import Functional, Match
from seamripper.swapping.cost import Cost
from seamripper.swapping.curve import LearningCurve
from seamripper.swapping.joined import JoinedNetwork
from seamripper.swapping.joints import Trial
from seamripper.swapping.loss import Flip, Loss, count_flips
from seamripper.swapping.methods import CHOICE, COST, CURVE, PARTS, TEST, swap_method, swap_sentences

Answer: TypeAlias = Literal["swap", "do not swap", "other reason", "not shown", "reason unknown"]
ANSWERS: Mapping[Answer, str] = {
    "swap": "May be swapped",
    "do not swap": "Must not be swapped",
    "other reason": "Works here, but for another reason",
    "not shown": "Not shown that it may be swapped",
    "reason unknown": "Works here, but not shown to be for the right reason",
}
"""Each answer as a title has it."""
_POWER = 0.8416212335729143
"""The normal quantile of 0.8: the power that "enough samples" have."""
_LEVEL = 1.6448536269514722
"""The normal quantile of 0.95, the level of each one-sided test."""


@dataclass(frozen=True, eq=False)
class SwapVerdict(WithMethods):
    """The answer, and all that it rests on. `loss` and `flips` are of test samples, on which nothing was chosen.

    `costs` are those of the `old` network and of the `joined` one. `audit` says whether it works for the right reason;
    None if it was not asked for or not possible, and `no_audit` says why. `failed` has what could not be tried.
    """

    kind: ClassVar[str] = "swap"
    axes: ClassVar[tuple[str, ...]] = ("part", "figure")
    loss: Loss
    chosen: Trial
    functional: Functional | None
    flips: tuple[Flip, ...] = field(repr=False)
    trials: tuple[Trial, ...] = field(repr=False)
    curve: LearningCurve = field(repr=False)
    costs: Mapping[str, Cost]
    audit: Audited | None
    no_audit: str
    network: JoinedNetwork = field(repr=False)
    few: Samples = field(repr=False)
    """Some test samples as the new model wants them: on them, files of the network are compared with it."""
    failed: Mapping[str, str] = field(repr=False)
    record: Mapping[str, Any] = field(repr=False)

    @property
    def answer(self) -> Answer:
        """`swap` only if no more than the tolerance is lost and, unless no audit was asked for, for the right reason.

        `other reason` if the audit says that the two use different information; `reason unknown` if it cannot tell.
        """
        if self.loss.answer != "swap" or not self.record["request"]["audit"]:
            return self.loss.answer
        conclusion = None if self.audit is None else self.audit.conclusion
        return "swap" if conclusion == SAME else "other reason" if conclusion == DIFFERENT else "reason unknown"

    def rows(self) -> list[Row]:
        """One row per figure: of the test, the learning curve, the trials, cost and audit."""
        figures = {"old": self.loss.old, "joined": self.loss.joined, "flips": Estimate(len(self.flips), n=self.loss.n)}
        if self.functional is not None:
            figures |= {name: e for name in ("agreement", "kl") if (e := getattr(self.functional, name)) is not None}
        losses = {(CURVE, f"{point.n:,}"): point.loss for point in self.curve.points}
        losses |= {(CHOICE, f"{trial.pair}, {trial.way}"): trial.loss for trial in self.trials}
        costs = [(name, what) for name in self.costs for what in ("parameters", "flops")]
        audits = [] if self.audit is None else self.audit.rows()
        return [
            {"part": TEST, "figure": "penalty", **self.loss.as_row()},
            *({"part": TEST, "figure": name, **figure.as_row()} for name, figure in figures.items()),
            *({"part": part, "figure": name, **loss.as_row()} for (part, name), loss in losses.items()),
            *({"part": COST, "figure": f"{w}, {k}", "value": getattr(self.costs[k], w)} for k, w in costs),
            *(self._time(name) for name in self.costs),
            *({"part": f"audit {row['audit']}", **{k: v for k, v in row.items() if k != "audit"}} for row in audits),
        ]

    def _time(self, network: str) -> Row:
        """Seconds per sample of a network, and on what they were measured."""
        seconds = self.costs[network].seconds.as_row()
        return {"part": COST, "figure": f"seconds, {network}", **seconds, MEASURED_ON: self.record["machine"]}

    def method(self) -> dict[str, Any]:
        """All that decides the figures."""
        return swap_method(self.record, self.chosen.as_record())

    def sentences(self) -> list[str]:
        """How the stitches were fitted, chosen and tested."""
        return swap_sentences(self.record, self.chosen.as_record())

    def figure_sentences(self) -> dict[str, str]:
        """What each figure is of."""
        return PARTS

    @property
    def match(self) -> Match:
        """The stitch that was chosen; `network` is made of it."""
        return self.chosen.match

    def __repr__(self) -> str:
        return one_line(f"SwapVerdict({ANSWERS[self.answer]}. {self.sentence})")

    @property
    def joint(self) -> str:
        """Which cut and which stitch, in a phrase."""
        trial = self.chosen
        return (
            f"{self.record['new']['source']} up to {trial.new_cut.name}, the stitch {trial.match.stitch.name!r} "
            f"({trial.label}), and {self.record['old']['source']} from {trial.old_cut.name} on"
        )

    @property
    def sentence(self) -> str:
        """What is lost, with the test against the tolerance."""
        loss = self.loss
        if loss.yardstick == "labels":
            change = f"({loss.old.value:.3f} → {loss.joined.value:.3f})"
            what = f"{lost_or_gained(loss.penalty)} percentage points of accuracy {change}"
        else:
            what = f"gives another answer than the old network to {points(loss.penalty)} % of the samples"
        test = {
            "swap": f"a loss of {_share(loss.tolerance)} or more is rejected ({_p(loss.p_worse)})",
            "do not swap": f"a loss of {_share(loss.tolerance)} or less is rejected ({_p(loss.p_within)})",
            "not shown": f"a loss of {_share(loss.tolerance)} or more is not rejected ({_p(loss.p_worse)})",
        }[loss.answer]
        return f"The joined network {what} on {loss.n:,} test samples; {test}.{self._equivalence}"

    @property
    def _equivalence(self) -> str:
        if self.loss.answer != "swap" or self.loss.yardstick == "old answers":
            return ""
        if self.loss.equivalent:
            return f" So is a gain of as much ({_p(self.loss.p_better)}): the two are equivalent."
        return f" A gain of as much is not ({_p(self.loss.p_better)})."

    @property
    def consequence(self) -> str:
        """Which samples flip, in a sentence."""
        n, counts = self.loss.n, count_flips(self.flips)
        text = f"{len(self.flips):,} of {n:,} answers change"
        if self.loss.yardstick == "old answers":
            return f"{text}. Labels are not counted: {self.record['unreadable']}."
        return f"{text}: {', '.join(f'{count:,} from {name}' for name, count in counts.items())}."

    @property
    def reason(self) -> str:
        """Whether it works for the right reason, as the audit says."""
        if self.audit is None:
            return f"Not audited: {self.no_audit}"
        conclusion, size = self.audit.conclusion, self.record["audited"]
        return (
            f"{conclusion[0].upper()}{conclusion[1:]}, by an audit with {size['fit']:,} samples to fit on and "
            f"{size['test']:,} test samples."
        )

    @property
    def doubt(self) -> str:
        """The strongest reason to doubt the answer, and what to do about it."""
        return self._doubt_of_size or self._doubt_of_reason

    @property
    def _doubt_of_size(self) -> str:
        if self.loss.answer == "swap":
            return ""
        if self.loss.answer == "do not swap":
            return f"Other cuts may lose less: name some with --old-cuts and --new-cuts. {self.curve.sentence}"
        enough = samples_to_show(self.loss)
        if enough is None:
            measured = "What was measured is not below the tolerance, so more test samples will not help."
            return f"{measured} {self.curve.sentence}"
        return (
            f"{self.loss.n:,} test samples are too few. If the figures stay as they are, about {enough:,} would show "
            "that less than the tolerance is lost, in four cases of five."
        )

    @property
    def _doubt_of_reason(self) -> str:
        conclusion = None if self.audit is None else self.audit.conclusion
        if conclusion == DIFFERENT:
            return (
                "It works on data like this, and by other information than the old front gives: where the cues of this "
                "data disagree, expect other answers. Test such inputs before you swap."
            )
        if conclusion == NOISE:
            return (
                "A front that has learnt nothing works as well here, so this data is too easy to tell a good front "
                "from any other. Test on harder data before you swap."
            )
        if conclusion == SAME:
            return "Only data like this was tested, with one training of each model: other inputs may tell more."
        return (
            "That nothing is lost on this data does not show that both fronts use the same information: the audit "
            "could not tell. Inputs on which cues disagree would (seamripper audit --conflict)."
            if conclusion is not None
            else "Nobody has asked whether it works for the right reason: leave out --no-audit."
        )

    def as_record(self) -> dict[str, Any]:
        """All but the weights, as JSON has it."""
        return {
            "kind": "swap",
            "answer": self.answer,
            "sentence": self.sentence,
            "consequence": self.consequence,
            "reason": self.reason,
            "doubt": self.doubt,
            "loss": self.loss.as_record(),
            "chosen": self.chosen.as_record(),
            "functional": None if self.functional is None else self.functional.as_record(),
            "flips": [flip.as_record() for flip in self.flips],
            "curve": self.curve.as_record(),
            "costs": {name: cost.as_record() for name, cost in self.costs.items()},
            "audit": None if self.audit is None else self.audit.as_record(),
            "trials": [trial.as_record() for trial in self.trials],
            "failed": dict(self.failed),
            "record": dict(self.record),
        }

    def _repr_html_(self) -> str:
        rows = [(trial.pair, trial.label, trial.loss.penalty) for trial in self.trials]
        parts = [line(text) for text in (self.joint, self.sentence, self.consequence, self.reason)]
        return html_card(
            ANSWERS[self.answer], *parts, table(("cuts", "matching", "loss"), rows), line(self.doubt, faint=True)
        )


def samples_to_show(loss: Loss) -> int | None:
    """How many samples would show a loss below the tolerance with a power of 0.8; None if it is not below it.

    >>> from seamripper.estimate import proportion
    >>> from seamripper.paired_estimate import paired_difference
    >>> share = proportion(90, 100)
    >>> samples_to_show(Loss(paired_difference(3, 2, 500), share, share, 0.01, "labels", 0.1, 0.0, 0.9))
    1798
    """
    gap = loss.tolerance - loss.penalty.value
    if gap <= 0:
        return None
    # The half width of the interval towards the tolerance stands for the spread.
    spread = (loss.penalty.high - loss.penalty.value) * math.sqrt(loss.n) / 1.96
    return math.ceil(((_LEVEL + _POWER) * spread / gap) ** 2)


def points(estimate: Estimate) -> str:
    """A share in percentage points, with its interval.

    >>> points(Estimate(0.004, -0.003, 0.0112))
    '0.4 [−0.3, 1.1]'
    """
    value, low, high = (
        f"{100 * end + 0.0:.1f}".replace("-", "−") for end in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} [{low}, {high}]"


def lost_or_gained(penalty: Estimate) -> str:
    """What is lost, or what is gained, in percentage points.

    >>> lost_or_gained(Estimate(-0.017, -0.043, 0.009)), lost_or_gained(Estimate(0.0, -0.01, 0.01))
    ('gains 1.7 [−0.9, 4.3]', 'loses 0.0 [−1.0, 1.0]')
    """
    if penalty.value >= 0:
        return f"loses {points(penalty)}"
    return f"gains {points(replace(penalty, value=-penalty.value, low=-penalty.high, high=-penalty.low))}"


def _share(tolerance: float) -> str:
    return f"{100 * tolerance:g}"


def _p(p: float) -> str:
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def tost_words(loss: Loss) -> str:
    """Both one-sided tests in a sentence, with the level."""
    much = f"{_share(loss.tolerance)} point{'' if loss.tolerance == 0.01 else 's'}"
    return (
        f"Two one-sided tests at the level {LEVEL:g}: worse by {much} or more has {_p(loss.p_worse)}, better by as "
        f"much has {_p(loss.p_better)}."
    )
