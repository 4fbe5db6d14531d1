"""What the looks of the audit `mixing` say together, in figures and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seamripper.audits.base import Answer
from seamripper.audits.departure import FEWEST, Choices, Excess, Floats, Rows, departures, excess
from seamripper.audits.mixtures.base import Mixture
from seamripper.audits.mixtures.frequencies import Frequencies
from seamripper.controls import Control
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError
from seamripper.estimate import Estimate, proportion

TOLERANCE, OWN_TOLERANCE = 0.05, 0.15
"""By how much more than its control a network that holds the same information may depart; the second where the control
has the receiver's own weights.

`benchmarks/same_information.py` says on which cells these were chosen. The receiver stitched to itself departs less
than any other network, and how much networks of other seeds would differ is not known then."""
HALF_WAY = 0.5
"""Where a sender that is known to be different departs by some excess, "yes" needs to stay below this share of it."""
QUIET, SMALL = 2.0, 0.1
"""An excess that is surely above 0 speaks against "yes" from so many times the tolerance on, unless it is only this
share of that sender's."""
PLANTED = 0.5
"""The share of pairs on which a planted sender follows the other input, where there is no untrained one."""
LISTENERS = {"receiver": "receiver", "stitched": "sender"}
"""Who is shown beside whom, where a figure says how much each of them follows a part."""
_VALUES, _MOST = 1 << 23, 256
"""Mixtures are made and shown so many values, and so many samples, at a time."""
_SHOWN = 12
"""How many of the pairs that told most are named."""


@dataclass(frozen=True, eq=False)
class InputPairs:
    """Inputs `a` and `b`, row by row, to which the receiver gives different answers: their labels."""

    a: Samples
    b: Samples

    def __len__(self) -> int:
        return len(self.a)

    @property
    def partners(self) -> Rows:
        """For each pair, the row of the one whose first input is this one's second."""
        order = self.a.ids.argsort()
        return np.asarray(order[torch.searchsorted(self.a.ids[order], self.b.ids)].numpy())

    def parts(self) -> Iterator[InputPairs]:
        """A few rows at a time, as the inputs' size allows."""
        size = max(8, min(_MOST, _VALUES // math.prod(self.a.shape)))
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            yield InputPairs(self.a.take(rows), self.b.take(rows))


@dataclass(frozen=True, eq=False)
class Look:
    """What the receiver chooses (pairs) on the mixtures of one family, and how each network leans (networks, pairs).

    The first of the networks is the receiver itself; all others are stitched.
    """

    mixture: Mixture
    strength: float
    receiver: Choices
    leanings: Floats


@dataclass(frozen=True, eq=False)
class MixingReading:
    """The looks at a sender together: its excess over the control, and that of a sender known to be different."""

    mixtures: tuple[Mixture, ...]
    strengths: tuple[float, ...]
    receiver: Choices
    leanings: Mapping[str, Floats]
    """How the receiver, the sender and the controls lean, (networks, pairs, looks) each."""
    control: Control
    excess: Excess
    different: Excess
    untrained: tuple[str, ...]
    """The controls that such senders are of; none if departures were planted."""

    @classmethod
    def of(
        cls, looks: Sequence[Look], sides: Mapping[str, int], control: Control, *, partners: Rows, seed: int
    ) -> MixingReading:
        """The reading of the looks; `sides` says how many of the looks' networks belong to whom, in their order.

        Behind the receiver, the sender and the control come those that have learnt nothing.
        """
        receiver = np.stack([look.receiver for look in looks], axis=1)
        ends = np.cumsum(list(sides.values()))[:-1]
        every = np.stack([look.leanings for look in looks], axis=2)
        leanings = dict(zip(sides, np.split(every, ends), strict=True))
        same, untrained = leanings[control.name], tuple(sides)[3:]
        tolerance = OWN_TOLERANCE if control.own_weights else TOLERANCE
        over = partial(excess, receiver, control=same, partners=partners, tolerance=tolerance, seed=seed)
        ours = over(leanings["sender"])
        if ours is None:
            raise InapplicableError(f"Under no mixture is the receiver sure on {FEWEST} pairs or more.")
        different = [leanings[name] for name in untrained] or [reversal(same)]
        theirs = over(np.concatenate(different))
        assert theirs is not None
        mixtures, strengths = (tuple(getattr(look, name) for look in looks) for name in ("mixture", "strength"))
        return cls(mixtures, strengths, receiver, leanings, control, ours, theirs, untrained)

    @property
    def labels(self) -> list[str]:
        """The names of the looks."""
        return [mixture.label for mixture in self.mixtures]

    @property
    def tolerance(self) -> float:
        """By how much more than this control a network that holds the same information may depart."""
        return self.excess.tolerance

    @property
    def departs(self) -> NDArray[np.bool_]:
        """The looks in which the sender that is known to be different surely departs."""
        return np.asarray(self.different.counts & (self.different.low > self.tolerance))

    @property
    def tested(self) -> NDArray[np.bool_]:
        """The looks in which a different sender departs, and this one stays below half of that."""
        return self.departs & self.excess.counts & (self.excess.high < HALF_WAY * self.different.value)

    @property
    def answer(self) -> Answer:
        """What the looks say."""
        if self.excess.low[self.excess.largest] > self.tolerance:
            return "no"
        allowed = np.maximum(QUIET * self.tolerance, SMALL * self.different.value)
        above = (self.excess.value > allowed) & (self.excess.low > 0)
        quiet = not above[self.excess.counts].any()
        return "yes" if quiet and self.tested.any() else "unknown"

    @property
    def decided(self) -> int:
        """The look that decides: for "yes" the one that a different sender departs in most, else the largest excess."""
        if self.answer == "yes":
            return int(np.argmax(np.where(self.tested, self.different.value, -np.inf)))
        return self.excess.largest

    def estimate(self, excess: Excess, look: int) -> Estimate:
        """An excess with its interval."""
        value, low, high = (float(side[look]) for side in (excess.value, excess.low, excess.high))
        return Estimate(
            value, low, high, int(excess.pairs[look]), "pairs", note="the interval holds for all looks at once"
        )

    def departures(self, side: str, look: int) -> tuple[Estimate, ...]:
        """The departure of each network of a side."""
        return tuple(
            replace(proportion(float(each.sum()), n), unit="pairs") if n else Estimate(math.nan, n=0, unit="pairs")
            for each in departures(self.receiver[:, look], self.leanings[side][:, :, look])
            for n in [int(self.excess.pairs[look])]
        )

    def departure(self, side: str, look: int) -> Estimate:
        """The mean departure of a side's networks."""
        estimates = self.departures(side, look)
        n = estimates[0].n
        mean = float(np.mean([estimate.value for estimate in estimates]))
        return replace(proportion(mean * n, n), unit="pairs") if n else estimates[0]

    def look(self, k: int) -> dict[str, Any]:
        """The figures of one look, for a verdict's."""
        return {
            "mixes": self.mixtures[k].words,
            "follows": {who: self.follows(side, k) for who, side in LISTENERS.items()},
            "strength": self.strengths[k],
            "receiver_sure": float((self.receiver[:, k] != 0).mean()),
            "pairs": int(self.excess.pairs[k]),
            "counts": bool(self.excess.counts[k]),
            "departure": float(self.excess.sender[k]),
            "control": float(self.excess.control[k]),
            "excess": self.estimate(self.excess, k),
            "different": self.estimate(self.different, k),
            "tested": bool(self.tested[k]),
        }

    def follows(self, side: str, k: int) -> float:
        """How much the networks of a side lean to the input that the part is from, where the receiver is sure."""
        sure = self.receiver[:, k] != 0
        return float(self.leanings[side][:, sure, k].mean()) if sure.any() else math.nan

    @property
    def bands(self) -> dict[str, dict[str, float]] | None:
        """How much receiver and stitched network follow each band of frequencies; None if no look takes one."""
        looks = {str(m.band): k for k, m in enumerate(self.mixtures) if isinstance(m, Frequencies)}
        if not looks:
            return None
        return {who: {band: self.follows(side, k) for band, k in looks.items()} for who, side in LISTENERS.items()}

    @property
    def telling(self) -> list[int]:
        """The rows of the pairs that told most: of the deciding look, those on which the sender departs most."""
        look = self.decided
        departed = departures(self.receiver[:, look], self.leanings["sender"].mean(0)[:, look])
        order = np.argsort(-departed, kind="stable")
        return [int(row) for row in order if self.receiver[row, look]][:_SHOWN]


def reversal(control: Floats) -> Floats:
    """How the control leans, the other way round on a share `PLANTED` of the pairs, spread evenly.

    >>> reversal(np.zeros((1, 10, 1))).ravel().tolist()
    [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    """
    turned = np.arange(control.shape[1]) % round(1 / PLANTED) == 0
    return np.where(turned[None, :, None], 1.0 - control, control)


# ---- in words


def sentence(reading: MixingReading) -> str:
    """The verdict in words."""
    decided, excess = reading.decided, reading.excess
    ours = reading.departure("sender", decided)
    theirs = reading.departure(reading.control.name, decided)
    part = reading.mixtures[decided].words
    words = (
        f"Where one input takes {part} from another and the receiver is sure of one of the two answers, the stitched "
        f"network gives the other answer {ours} of its belief in the two, the control {reading.control.name!r} "
        f"{theirs}: an excess of {reading.estimate(excess, decided)}"
    )
    if reading.answer == "no":
        looks = f"the largest of {int(excess.counts.sum())} kinds of mixtures, p {_p(excess.p)}"
        return f"{words} ({looks}). It follows something else.{_weakness(reading)}"
    if reading.answer == "yes":
        kinds = [m.words for m, tested in zip(reading.mixtures, reading.tested, strict=True) if tested]
        return (
            f"{words}. {_known_different(reading, decided)} there. No kind of mixture shows an excess that matters. It "
            f"was tested under changes of {', '.join(kinds)}: a cue that none of them touches cannot be seen."
            f"{_weakness(reading)}"
        )
    if not reading.departs.any():
        return f"{words}, but {_known_different(reading, decided, low=True)}, so no mixture shows a difference."
    return f"{words}, which is not decisive: networks of the same information may depart by {reading.tolerance:g}."


def _known_different(reading: MixingReading, look: int, *, low: bool = False) -> str:
    who = "a sender that has learnt nothing" if reading.untrained else "a planted sender"
    if low:
        return f"{who} does not depart surely under any of them"
    return f"{who[0].upper()}{who[1:]} has an excess of {reading.estimate(reading.different, look)}"


def _weakness(reading: MixingReading) -> str:
    """What the control cannot show."""
    networks = len(reading.leanings[reading.control.name])
    if reading.control.own_weights:
        return (
            " The control is the receiver stitched to itself, which is weaker evidence than networks trained from "
            "other seeds: pass them as `others`."
        )
    return " With one network of another seed, the spread between such networks is not known." if networks < 2 else ""


def _p(p: float) -> str:
    return f"= {p:.3f}" if p >= 0.002 else "< 0.002"
