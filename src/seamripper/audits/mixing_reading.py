"""What the looks of the audit `mixing` say together, in figures and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seamripper.audits.base import Answer
from seamripper.audits.departure import FEWEST, Choices, Excess, excess
from seamripper.audits.mixtures.base import Mixture
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError
from seamripper.estimate import Estimate, proportion

TOLERANCE = 0.05
"""Networks that hold the same information departed by up to this much more than their control in the trials."""
HALF_WAY = 0.5
"""Where a sender that is known to be different departs by some excess, "yes" needs to stay below this share of it."""
SMALL = 0.1
"""An excess that is this small a share of that sender's does not speak against "yes", even if above `TOLERANCE`."""
PLANTED = 0.2
"""The share of pairs on which a planted sender names the other input, where there is no untrained one."""
_VALUES, _MOST = 1 << 23, 256
"""Mixtures are made and shown so many values, and so many samples, at a time."""
_SHOWN = 12
"""How many of the pairs that told most are named."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Inputs `a` and `b`, row by row, to which the receiver gives different answers: their labels."""

    a: Samples
    b: Samples

    def __len__(self) -> int:
        return len(self.a)

    def parts(self) -> Iterator[Pairs]:
        """A few rows at a time, as the inputs' size allows."""
        size = max(8, min(_MOST, _VALUES // math.prod(self.a.shape)))
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            yield Pairs(self.a.take(rows), self.b.take(rows))


@dataclass(frozen=True, eq=False)
class Look:
    """What the receiver (pairs) and each stitched network (networks, pairs) choose on the mixtures of one family."""

    mixture: Mixture
    strength: float
    receiver: Choices
    stitched: Choices


@dataclass(frozen=True, eq=False)
class Reading:
    """The looks at a sender together: its excess over the control, and that of a sender known to be different."""

    mixtures: tuple[Mixture, ...]
    strengths: tuple[float, ...]
    receiver: Choices
    choices: Mapping[str, Choices]
    control: str
    excess: Excess
    different: Excess
    known_different: str
    """Which sender that is: "random_sender" or "planted"."""

    @classmethod
    def of(
        cls, looks: Sequence[Look], receiver: Choices, choices: Mapping[str, Choices], control: str, seed: int
    ) -> Reading:
        """The reading of the looks; `choices` are of the sender and of the controls, (networks, pairs, looks) each."""
        same, nothing = choices[control], choices["random_sender"]
        ours = excess(receiver, choices["sender"], same, tolerance=TOLERANCE, seed=seed)
        if ours is None:
            raise InapplicableError(
                f"Under no mixture are receiver, stitched network and control sure on {FEWEST} pairs or more."
            )
        theirs = excess(receiver, nothing, same, tolerance=TOLERANCE, seed=seed) if len(nothing) else None
        known = "planted" if theirs is None else "random_sender"
        theirs = excess(receiver, planted(same), same, tolerance=TOLERANCE, seed=seed) if theirs is None else theirs
        assert theirs is not None
        mixtures, strengths = (tuple(getattr(look, name) for look in looks) for name in ("mixture", "strength"))
        return cls(mixtures, strengths, receiver, choices, control, ours, theirs, known)

    @property
    def labels(self) -> list[str]:
        """The names of the looks."""
        return [mixture.label for mixture in self.mixtures]

    @property
    def departs(self) -> NDArray[np.bool_]:
        """The looks in which the sender that is known to be different surely departs."""
        return np.asarray(self.different.counts & (self.different.low > TOLERANCE))

    @property
    def tested(self) -> NDArray[np.bool_]:
        """The looks in which a different sender departs, and this one stays below half of that."""
        return self.departs & self.excess.counts & (self.excess.high < HALF_WAY * self.different.value)

    @property
    def answer(self) -> Answer:
        """What the looks say."""
        if self.excess.low[self.excess.largest] > TOLERANCE:
            return "no"
        allowed = np.maximum(TOLERANCE, SMALL * self.different.value)
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
        products = self.choices[side][:, :, look].astype(int) * self.receiver[:, look]
        return tuple(
            proportion(int((product < 0).sum()), int((product != 0).sum()))
            if product.any()
            else Estimate(math.nan, n=0)
            for product in products
        )

    def departure(self, side: str, look: int) -> Estimate:
        """The departure of a side's networks together, as if on the pairs of one."""
        product = self.choices[side][:, :, look].astype(int) * self.receiver[:, look]
        counts = ((product < 0).sum(), (product != 0).sum())
        other, both = (round(float(count) / len(product)) for count in counts)
        return replace(proportion(other, both), unit="pairs") if both else Estimate(math.nan, n=0, unit="pairs")

    def look(self, k: int) -> dict[str, Any]:
        """The figures of one look, for a verdict's."""
        mine = np.abs(self.receiver[:, k]) > 0
        sure = {
            name: float(np.abs(chosen[:, mine, k]).mean()) if len(chosen) and mine.any() else math.nan
            for name, chosen in self.choices.items()
        }
        follows = {"receiver": _follows(self.receiver[:, k]), "stitched": _follows(self.choices["sender"][:, :, k])}
        return {
            "mixes": self.mixtures[k].words,
            "follows": follows,
            "strength": self.strengths[k],
            "receiver_sure": float(mine.mean()),
            "pairs": int(self.excess.pairs[k]),
            "counts": bool(self.excess.counts[k]),
            "departure": float(self.excess.sender[k]),
            "control": float(self.excess.control[k]),
            "excess": self.estimate(self.excess, k),
            "different": self.estimate(self.different, k),
            "tested": bool(self.tested[k]),
            "sure": sure["sender"],
            "control_sure": sure[self.control],
        }

    def telling_pairs(self, pairs: Pairs) -> list[dict[str, Any]]:
        """Pairs of the deciding look: first those on which receiver and stitched network name different inputs."""
        look = self.decided
        receiver, stitched = self.receiver[:, look], self.choices["sender"][0, :, look]
        order = np.lexsort((np.arange(len(receiver)), receiver * stitched))
        rows = [int(row) for row in order if receiver[row] * stitched[row]][:_SHOWN]

        def named(row: int, choice: int) -> int:
            return int((pairs.a if choice > 0 else pairs.b).labels[row])

        return [
            {
                **{side: int(getattr(pairs, side).ids[row]) for side in ("a", "b")},
                "mixture": self.labels[look],
                "strength": self.strengths[look],
                "answers": [int(pairs.a.labels[row]), int(pairs.b.labels[row])],
                "receiver": named(row, receiver[row]),
                "stitched": named(row, stitched[row]),
            }
            for row in rows
        ]


def _follows(choices: Choices) -> float:
    """Of the mixtures on which a network is sure, the share on which it names the input that the part is from."""
    sure = int((choices != 0).sum())
    return float((choices < 0).sum() / sure) if sure else math.nan


def planted(control: Choices) -> Choices:
    """The control's choices with the other input named on a share `PLANTED` of the pairs, spread evenly.

    >>> planted(np.ones((1, 10, 1), np.int8)).ravel().tolist()
    [-1, 1, 1, 1, 1, -1, 1, 1, 1, 1]
    """
    turned = np.arange(control.shape[1]) % round(1 / PLANTED) == 0
    return np.where(turned[None, :, None], -control, control).astype(np.int8)


# ---- in words


def sentence(reading: Reading) -> str:
    """The verdict in words."""
    decided, found = reading.decided, reading.excess
    ours = reading.departure("sender", decided)
    theirs = reading.departure(reading.control, decided)
    part = reading.mixtures[decided].words
    words = (
        f"Where one input takes {part} from another, the stitched network and the receiver name different "
        f"inputs on {ours} of the pairs on which both are sure, the control {reading.control!r} and the receiver on "
        f"{theirs}: an excess of {reading.estimate(found, decided)}"
    )
    if reading.answer == "no":
        looks = f"the largest of {int(found.counts.sum())} kinds of mixtures, p {_p(found.p)}"
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
    return f"{words}, which is not decisive: networks of the same information may depart by {TOLERANCE:g}."


def _known_different(reading: Reading, look: int, *, low: bool = False) -> str:
    who = "a sender that has learnt nothing" if reading.known_different == "random_sender" else "a planted sender"
    if low:
        return f"{who} does not depart surely under any of them"
    return f"{who[0].upper()}{who[1:]} has an excess of {reading.estimate(reading.different, look)}"


def _weakness(reading: Reading) -> str:
    """What the control cannot show."""
    networks = len(reading.choices[reading.control])
    if reading.control == "self":
        return (
            " The control is the receiver stitched to itself, which is weaker evidence than networks trained from "
            "other seeds: pass them as `others`."
        )
    return " With one network of another seed, the spread between such networks is not known." if networks < 2 else ""


def _p(p: float) -> str:
    return f"= {p:.3f}" if p >= 0.002 else "< 0.002"
