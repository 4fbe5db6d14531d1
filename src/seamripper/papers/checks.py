"""Checks: claims decided by intervals. A check holds if its whole interval does, fails if none of it does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate
from seamripper.papers.base import Claim, Status

Check: TypeAlias = tuple[Status, str]
"""What came of one check, and the figures that decided it."""


def at_least(found: Estimate, bound: float) -> Status:
    """Whether a figure is at least `bound`.

    >>> at_least(Estimate(0.99, 0.98, 1.0, 3), 0.95), at_least(Estimate(0.9, 0.88, 0.92, 3), 0.95)
    ('reproduced', 'not reproduced')
    >>> at_least(Estimate(0.95, 0.93, 0.97, 3), 0.95), at_least(Estimate(0.99, math.nan, math.nan, 1), 0.95)
    ('not decided at this size', 'not decided at this size')
    """
    if found.low >= bound:
        return "reproduced"
    return "not reproduced" if found.high < bound else "not decided at this size"


def above(a: Estimate, b: Estimate) -> Check:
    """Whether one figure is above another."""
    gap = a.minus(b)
    status: Status = "not decided at this size"
    if gap.low > 0:
        status = "reproduced"
    elif gap.high <= 0:
        status = "not reproduced"
    return status, f"{_short(a)} against {_short(b)}: {_signed(gap)}"


def no_worse(a: Estimate, b: Estimate, *, slack: float = 0.0) -> Check:
    """Whether one figure is not below another, or by no more than `slack`: the paper's stitch compatibility."""
    gap = a.minus(b)
    return at_least(gap, -slack), f"{_short(a)} against {_short(b)}: {_signed(gap)}"


def similar(a: Estimate, b: Estimate, bound: float) -> Check:
    """Whether two figures are no further apart than `bound`.

    >>> from seamripper.estimate import over_seeds
    >>> similar(over_seeds({0: 0.91, 1: 0.91}), over_seeds({0: 0.90, 1: 0.90}), 0.02)[0]
    'reproduced'
    """
    gap = a.minus(b)
    status: Status = "not decided at this size"
    if gap.low >= -bound and gap.high <= bound:
        status = "reproduced"
    elif gap.high < -bound or gap.low > bound:
        status = "not reproduced"
    return status, f"{_short(a)} against {_short(b)}: {_signed(gap)}"


def differ(a: Estimate, b: Estimate) -> Check:
    """Whether two figures differ. They do not, where they are the same for every seed."""
    gap = a.minus(b)
    status: Status = "reproduced" if gap.low > 0 or gap.high < 0 else "not decided at this size"
    if gap.low == gap.high == 0:
        status = "not reproduced"
    return status, f"{_short(a)} against {_short(b)}: {_signed(gap)}"


def below(a: Estimate, b: Estimate) -> Check:
    """Whether one figure is below another."""
    status, _ = above(b, a)
    return status, f"{_short(a)} against {_short(b)}: {_signed(a.minus(b))}"


def reaches(a: Estimate, bound: float) -> Check:
    """Whether a figure is at least `bound`."""
    return at_least(a.possible, bound), f"{a.describe()} (bound {bound:g})"


def denied(check: Check) -> Check:
    """The contrary of a check: reproduced if that is not, and the other way round.

    >>> denied(("not reproduced", "0.5 (bound 0.9)")), denied(("not decided at this size", ""))[0]
    (('reproduced', '0.5 (bound 0.9)'), 'not decided at this size')
    """
    turned: dict[Status, Status] = {"reproduced": "not reproduced", "not reproduced": "reproduced"}
    return turned.get(check[0], check[0]), check[1]


def every(checks: Iterable[tuple[str, Check]]) -> Check:
    """All of several checks: what fails is told first, then what is not decided; else the first of them.

    >>> every([("a", ("reproduced", "1 against 0")), ("b", ("not reproduced", "0 against 1"))])
    ('not reproduced', 'b: 0 against 1 (1 of 2 hold)')
    """
    found = _given(checks)
    statuses = [status for _, (status, _) in found]
    worst: Status = "reproduced"
    for status in ("not reproduced", "not decided at this size"):
        if status in statuses:
            worst = status
            break
    held = statuses.count("reproduced")
    where, (_, figure) = next(one for one in found if one[1][0] == worst)
    count = f"{held} of {len(found)} hold" if len(found) > 1 else ""
    return worst, f"{where}: {figure}" + (f" ({count})" if count else "")


def some(checks: Iterable[tuple[str, Check]], *, least: int = 1) -> Check:
    """At least one of several checks, or at least so many.

    >>> some([("a", ("not reproduced", "0 against 1")), ("b", ("reproduced", "1 against 0"))])
    ('reproduced', 'b: 1 against 0 (1 of 2 hold)')
    """
    found = _given(checks)
    held = [one for one in found if one[1][0] == "reproduced"]
    open_ = [one for one in found if one[1][0] == "not decided at this size"]
    best: Status = "not reproduced"
    if len(held) >= least:
        best = "reproduced"
    elif len(held) + len(open_) >= least:
        best = "not decided at this size"
    where, (_, figure) = (held or open_ or found)[0]
    return best, f"{where}: {figure} ({len(held)} of {len(found)} hold)"


def most(checks: Iterable[tuple[str, Check]]) -> Check:
    """More than half of several checks.

    >>> most([("a", ("reproduced", "")), ("b", ("reproduced", "")), ("c", ("not reproduced", "0 against 1"))])
    ('reproduced', '2 of 3 hold, 1 fail, 0 not decided; fails: c, 0 against 1')
    """
    found = _given(checks)
    held = [one for one in found if one[1][0] == "reproduced"]
    failed = [one for one in found if one[1][0] == "not reproduced"]
    status: Status = "not decided at this size"
    if 2 * len(held) > len(found):
        status = "reproduced"
    elif 2 * len(failed) >= len(found):
        status = "not reproduced"
    unsure = len(found) - len(held) - len(failed)
    figure = f"{len(held)} of {len(found)} hold, {len(failed)} fail, {unsure} not decided"
    return status, figure + (f"; fails: {failed[0][0]}, {failed[0][1][1]}" if failed else "")


def claim(says: str, rule: str, check: Check, *, beyond: bool = False) -> Claim:
    """The claim that a check decides."""
    return Claim(says, rule, check[0], check[1], beyond)


def leaks(what: str, adapting: Sequence[tuple[str, Check]], frozen: Sequence[tuple[str, Check]]) -> Claim:
    """Whether a claim rests on BN statistics that adapt: it holds with them and, at places, not without."""
    lost = [
        (where, strict[1])
        for (where, loose), (_, strict) in zip(adapting, frozen, strict=True)
        if loose[0] == "reproduced" and strict[0] == "not reproduced"
    ]
    held = sum(one[0] == "reproduced" for _, one in adapting)
    kept = sum(one[0] == "reproduced" for _, one in frozen)
    status = "depends on the leak" if lost else "does not depend on the leak"
    unsure = any(one[0] == "not decided at this size" for _, one in (*adapting, *frozen))
    if not lost and unsure:
        status = "not decided at this size"
    elif not held and not kept:
        status = "holds in neither way"
    elif held < kept:
        status = "holds at more places strictly frozen"
    figure = f"holds at {held} of {len(adapting)} with BN statistics that adapt, at {kept} strictly frozen"
    if lost:
        figure += f"; {lost[0][0]}, frozen: {lost[0][1]}"
    return Claim(
        f"{what}: does it depend on BN statistics that adapt?",
        "It does where the check holds in the authors' way and fails with everything frozen.",
        status,
        figure,
        beyond=True,
    )


def _given(checks: Iterable[tuple[str, Check]]) -> list[tuple[str, Check]]:
    """The checks as a list; of none at all it cannot be said that they hold."""
    found = list(checks)
    if not found:
        raise ExperimentError(
            "The results have none of the figures of a claim: some jobs have failed or were not run. "
            "`seamripper status` on the store tells which."
        )
    return found


def _short(one: Estimate) -> str:
    return f"{one.value:.3f}"


def _signed(gap: Estimate) -> str:
    """A difference with its interval; an end that is not known, as a stitch is still learning, is left open.

    >>> _signed(Estimate(0.02, 0.01, math.inf, 3)), _signed(Estimate(-0.1, -math.inf, -0.05, 3))
    ('+0.020 [+0.010, …), still learning', '-0.100 (…, -0.050], still learning')
    """
    if math.isnan(gap.low):
        return f"{gap.value:+.3f}"
    low = f"[{gap.low:+.3f}" if math.isfinite(gap.low) else "(…"
    high = f"{gap.high:+.3f}]" if math.isfinite(gap.high) else "…)"
    learning = not (math.isfinite(gap.low) and math.isfinite(gap.high))
    return f"{gap.value:+.3f} {low}, {high}" + (", still learning" if learning else "")
