"""Checks by word: how each decides by an interval, what it is called in a rule, and how to plant values for it.

A check holds if it holds over the whole interval, fails if it holds nowhere in it, and is not decided otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, over_seeds, with_looks
from seamripper.paired_estimate import paired_shares

Status = Literal["reproduced", "not reproduced", "not decided at this size", "not testable here"]
HOLDS: Status = "reproduced"
FAILS: Status = "not reproduced"
OPEN: Status = "not decided at this size"
UNTESTABLE: Status = "not testable here"
"""What becomes of a claim one of whose gates fails, whatever its own figures are."""
Over = str | int
Named = tuple[str, Status, str]
"""A cell by name, what came of its check, and the numbers that decided it."""


@dataclass(frozen=True)
class CheckRule:
    """A check of the difference between a value and what stands against it; `bound` is the slack that it allows."""

    decide: Callable[[Estimate, float], Status]
    shortfall: Callable[[float, float], float]
    """By how much a difference misses what the check asks for, given the bound; below 0 where it does not."""
    phrase: str
    """In a rule; {against} is what it is compared with, and {bound} the bound."""
    planted: tuple[float, float]
    """A difference for which it holds, and one for which it fails: in steps, beyond the bound."""
    bound_phrase: str = ""
    """The same where there is a bound beside what it is compared with."""
    of_seeds: bool = False
    """Whether it is about the values of the single seeds, and not about a difference."""


def _status(*, holds: bool, fails: bool) -> Status:
    return HOLDS if holds else FAILS if fails else OPEN


def _similar(gap: Estimate, bound: float) -> Status:
    return _status(holds=gap.low >= -bound and gap.high <= bound, fails=gap.high < -bound or gap.low > bound)


def _differs(gap: Estimate, bound: float) -> Status:
    """Whether two figures differ by more than the bound, in either direction."""
    apart = gap.low > bound or gap.high < -bound
    return _status(holds=apart, fails=-bound <= gap.low and gap.high <= bound)


def _varies(value: Estimate, bound: float) -> Status:
    """Whether the seeds lie far apart. Some of those that still learn may only be slower; one seed cannot vary."""
    seeds = value.values.values()
    if value.lower_bound or len(seeds) < 2:
        return OPEN
    return HOLDS if max(seeds) - min(seeds) >= bound else FAILS


CHECKS: Mapping[str, CheckRule] = {
    # With a bound, a claim about a difference that matters fails, too, where none that large is left in the interval.
    "above": CheckRule(
        lambda gap, least: _status(holds=gap.low > 0, fails=gap.high <= 0 or gap.high < least),
        lambda gap, least: least - gap,
        "is above {against}",
        (1, -1),
        "is above {against}, which fails if it is surely less than {bound} above",
    ),
    "below": CheckRule(
        lambda gap, least: _status(holds=gap.high < 0, fails=gap.low >= 0 or gap.low > -least),
        lambda gap, least: least + gap,
        "is below {against}",
        (-1, 1),
        "is below {against}, which fails if it is surely less than {bound} below",
    ),
    "at least": CheckRule(
        lambda gap, slack: _status(holds=gap.low >= -slack, fails=gap.high < -slack),
        lambda gap, slack: -slack - gap,
        "is at least {against}",
        (1, -1),
    ),
    "at most": CheckRule(
        lambda gap, slack: _status(holds=gap.high <= slack, fails=gap.low > slack),
        lambda gap, slack: gap - slack,
        "is at most {against}",
        (-1, 1),
    ),
    "no worse": CheckRule(
        lambda gap, slack: _status(holds=gap.low >= -slack, fails=gap.high < -slack),
        lambda gap, slack: -slack - gap,
        "is not below {against}",
        (1, -1),
        "is at most {bound} below {against}",
    ),
    "similar": CheckRule(
        _similar,
        lambda gap, bound: abs(gap) - bound,
        "equals {against}",
        (0, 1),
        "is within {bound} of {against}",
    ),
    # Without a bound, only figures that are the same for every seed do not differ: the check could hardly fail.
    "differs": CheckRule(
        _differs,
        lambda gap, bound: bound - abs(gap),
        "differs from {against}",
        (1, 0),
        "differs from {against} by more than {bound}",
    ),
    "varies": CheckRule(
        _varies,
        lambda gap, bound: 0.0,
        "ranges over {against} or more from seed to seed",
        (1, 0),
        of_seeds=True,
    ),
}  # fmt: skip


def difference(value: Estimate, against: Estimate | float) -> Estimate:
    """The value minus another, or minus a number; with no upper end if the value is a lower bound.

    >>> print(difference(Estimate(0.9, 0.88, 0.92), 0.8))
    0.100 [0.080, 0.120]
    """
    if isinstance(against, Estimate):
        return _paired_difference(value, against) or value.minus(against)
    known = value.possible
    value_, low, high = known.value - against, known.low - against, known.high - against
    return replace(known, value=value_, low=low, high=high, lower_bound=False)


def _paired_difference(value: Estimate, against: Estimate) -> Estimate | None:
    """The difference, paired by sample; None where it is paired by seed, or where the two saw other samples.

    If there are several networks on one side, the interval is the wider of that over them and that over samples.
    """
    ours, theirs = value.rule.get("hits"), against.rule.get("hits")
    few, many = sorted((len(value.values), len(against.values)))
    if ours is None or theirs is None or ours[0] != theirs[0] or few > 1:
        return None
    gap = paired_shares(ours[1], theirs[1])
    low, high = gap.low, gap.high
    if many > 1:
        side, sign = (value, 1) if len(value.values) > 1 else (against, -1)
        over = over_seeds([gap.value + sign * (each - side.value) for each in side.values.values()])
        low, high = min(low, over.low), max(high, over.high)
    low, high = -math.inf if against.lower_bound else low, math.inf if value.lower_bound else high
    return replace(gap, low=low, high=high)


def numbers(value: Estimate, against: Estimate | float, *, of_seeds: bool = False) -> str:
    """The numbers that decided a check."""
    if of_seeds:
        return f"from {min(value.values.values()):.3f} to {max(value.values.values()):.3f}"
    if isinstance(against, Estimate):
        return f"{value.value:.3f} against {against.value:.3f}: {gap_text(difference(value, against))}"
    shown = value.as_share
    interval = f" [{shown.low:.3f}, {shown.high:.3f}]" if value.has_interval else ""
    n = len(value.values)
    units = f"{n} seeds" if n > 1 else f"one seed, n = {value.n:,}" if value.n else "one seed"
    learning = ", still learning" if value.lower_bound else ""
    return f"{value.value:.3f}{interval}, {units}{learning} (bound {against:g})"


def gap_text(gap: Estimate) -> str:
    """A difference with its interval; an end that is not known, as a stitch is still learning, is left open.

    >>> gap_text(Estimate(0.02, 0.01, math.inf, 3)), gap_text(Estimate(-0.1, -math.inf, -0.05, 3))
    ('+0.020 [+0.010, …), still learning', '-0.100 (…, -0.050], still learning')
    """
    if math.isnan(gap.low):
        return f"{gap.value:+.3f}"
    low = f"[{gap.low:+.3f}" if math.isfinite(gap.low) else "(…"
    high = f"{gap.high:+.3f}]" if math.isfinite(gap.high) else "…)"
    learning = not (math.isfinite(gap.low) and math.isfinite(gap.high))
    return f"{gap.value:+.3f} {low}, {high}" + (", still learning" if learning else "")


@dataclass(frozen=True)
class Looks:
    """How many looks an interval is corrected for: where its cell may let a claim hold, and where it may let it fail.

    Of k cells, m or more must hold. A claim that is false holds by mistake if one of the k − m + 1 cells does that
    should not; one that is true fails by mistake if one of m does. So a claim about every cell may fail in k ways, and
    one about some cell hold in k ways.
    """

    holding: int = 1
    failing: int = 1

    @classmethod
    def of(cls, over: Over, k: int) -> Looks:
        """The looks at k cells.

        >>> Looks.of("every", 6), Looks.of("some", 6), Looks.of("most", 6)
        (Looks(holding=1, failing=6), Looks(holding=6, failing=1), Looks(holding=3, failing=4))
        """
        least = least_of(over, k)
        return cls(max(1, k - least + 1), least)

    def within(self, inner: Looks) -> Looks:
        """The looks at the cells of groups, where these are those at the groups."""
        return Looks(self.holding * inner.holding, self.failing * inner.failing)

    def decide(self, check: CheckRule, gap: Estimate, slack: float) -> Status:
        """What comes of a check of one cell."""
        holds = check.decide(with_looks(gap, self.holding), slack) == HOLDS
        return _status(holds=holds, fails=check.decide(with_looks(gap, self.failing), slack) == FAILS)


def least_of(over: Over, k: int) -> int:
    """Of how many of k cells a claim must hold at least."""
    words = {"every": k, "some": 1, "most": k // 2 + 1}
    return words[over] if isinstance(over, str) else over


def combine(cells: Sequence[Named], over: Over) -> tuple[Status, str]:
    """What comes of several cells: of "every" one, "some" (one or more), a number of them or more, or "most".

    >>> combine([("a", "reproduced", "1 against 0"), ("b", "not reproduced", "0 against 1")], "every")
    ('not reproduced', 'b: 0 against 1 (1 of 2 hold)')
    """
    if not cells:
        raise ExperimentError(
            "The results have none of the figures of a claim: some jobs have failed or were not run. "
            "`seamripper status` on the store tells which."
        )
    held, failed, undecided = ([c for c in cells if c[1] == status] for status in (HOLDS, FAILS, OPEN))
    least = least_of(over, len(cells))
    status = HOLDS if len(held) >= least else FAILS if len(failed) > len(cells) - least else OPEN
    if over == "most":
        words = f"{len(held)} of {len(cells)} hold, {len(failed)} fail, {len(undecided)} not decided"
        return status, words + (f"; fails: {failed[0][0]}, {failed[0][2]}" if failed else "")
    first = ((failed or undecided or held) if over == "every" else (held or undecided or failed))[0]
    count = f" ({len(held)} of {len(cells)} hold)" if len(cells) > 1 else ""
    return status, (f"{first[0]}: " if first[0] else "") + first[2] + count


def best(values: Sequence[Estimate], bound: float) -> tuple[Status, str]:
    """Whether the best seed of all cells reaches a bound; if some still learn, it may yet."""
    highest = max(seed for value in values for seed in (*value.values.values(), value.value))
    learning = any(value.lower_bound for value in values) and highest < bound
    status = HOLDS if highest >= bound else OPEN if learning else FAILS
    return status, f"the best has {highest:.4f}" + (", still learning" if learning else "")


@dataclass(frozen=True)
class Variants:
    """Two ways to run the same: two values of a label, how each is called, and what sets the two apart."""

    label: str
    values: tuple[str, str]
    names: tuple[str, str]
    what: str

    def compare(self, first: Sequence[Named], second: Sequence[Named]) -> tuple[Status | str, str]:
        """Whether what is decided in the first way is decided otherwise in the second, place by place."""
        depends: list[Named] = []
        same: list[Named] = []
        undecided: list[Named] = []
        for a, b in zip(first, second, strict=True):
            (undecided if OPEN in (a[1], b[1]) else same if a[1] == b[1] else depends).append(b)
        status = f"depends on {self.what}" if depends else OPEN if undecided else f"does not depend on {self.what}"
        answers = (("depends", depends), ("does not depend", same), ("not decided", undecided))
        words = "; ".join(f"{answer} {_at(cells)}" for answer, cells in answers if cells)
        held, kept = (sum(cell[1] == HOLDS for cell in cells) for cells in (first, second))
        counts = f"holds at {held} of {len(first)} {self.names[0]}, at {kept} {self.names[1]}"
        example = f"; {depends[0][0]}, {self.names[1]}: {depends[0][2]}" if depends else ""
        return status, f"{words} ({counts}{example})"


def _at(cells: Sequence[Named]) -> str:
    """The places of cells in words: by name, or how many there are."""
    names = [name for name, _, _ in cells if name]
    return f"at {', '.join(names)}" if 0 < len(names) <= 6 else f"at {len(cells)} places"
