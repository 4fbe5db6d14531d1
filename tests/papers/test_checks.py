"""Checks: what planted intervals must come to, ties and missing intervals included."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, over_seeds
from seamripper.papers.checks import (
    Check,
    above,
    at_least,
    below,
    claim,
    differ,
    every,
    leaks,
    most,
    no_worse,
    reaches,
    some,
)

YES, NO, UNSURE = "reproduced", "not reproduced", "not decided at this size"


def seeds(*values: float) -> Estimate:
    """A figure of several training seeds."""
    return over_seeds(dict(enumerate(values)))


def one(value: float, low: float, high: float, n: int = 1000) -> Estimate:
    """A figure of one seed, with its interval over samples."""
    return Estimate(value, low, high, n, values={0: value})


def bare(value: float) -> Estimate:
    """A figure without any interval: one seed, and no samples to speak of."""
    return over_seeds({0: value})


# ---- two figures

HIGH, LOW = seeds(0.95, 0.96, 0.97), seeds(0.90, 0.91, 0.92)
TORN = seeds(0.80, 0.99, 0.95)
"""Better than `LOW` for some seeds, worse for another."""


@pytest.mark.parametrize(
    ("check", "high_low", "low_high", "torn", "tie"),
    [
        (above, YES, NO, UNSURE, NO),
        (no_worse, YES, NO, UNSURE, YES),
        (below, NO, YES, UNSURE, NO),
        (differ, YES, YES, UNSURE, NO),
    ],
    ids=["above", "no_worse", "below", "differ"],
)
def test_two_figures_of_several_seeds(
    check: Callable[[Estimate, Estimate], Check], high_low: str, low_high: str, torn: str, tie: str
) -> None:
    found = [check(a, b)[0] for a, b in ((HIGH, LOW), (LOW, HIGH), (TORN, LOW), (seeds(1, 1, 1), seeds(1, 1, 1)))]
    assert found == [high_low, low_high, torn, tie]


@pytest.mark.parametrize(
    ("check", "apart", "turned", "near"),
    [
        (above, YES, NO, UNSURE),
        (no_worse, YES, NO, UNSURE),
        (below, NO, YES, UNSURE),
        (differ, YES, YES, UNSURE),
    ],
    ids=["above", "no_worse", "below", "differ"],
)
def test_two_figures_of_one_seed_each(
    check: Callable[[Estimate, Estimate], Check], apart: str, turned: str, near: str
) -> None:
    high, low, close = one(0.95, 0.94, 0.96), one(0.90, 0.89, 0.91), one(0.945, 0.935, 0.955)
    assert [check(high, low)[0], check(low, high)[0], check(high, close)[0]] == [apart, turned, near]


@pytest.mark.parametrize("check", [above, no_worse, below, differ])
def test_without_any_interval_nothing_is_decided(check: Callable[[Estimate, Estimate], Check]) -> None:
    assert check(bare(0.99), bare(0.10)) == (UNSURE, "0.990 against 0.100: +0.890")
    assert check(bare(0.10), bare(0.99))[0] == UNSURE


def test_a_published_figure_counts_as_exact() -> None:
    assert above(HIGH, bare(0.90))[0] == YES
    assert above(one(0.95, 0.94, 0.96), bare(0.96))[0] == NO


def test_the_figures_that_decided_are_told() -> None:
    assert above(HIGH, LOW)[1] == "0.960 against 0.910: +0.050 [+0.050, +0.050]"
    assert below(LOW, HIGH)[1] == "0.910 against 0.960: -0.050 [-0.050, -0.050]"


# ---- a figure and a bound


@pytest.mark.parametrize(
    ("found", "bound", "status"),
    [
        (HIGH, 0.90, YES),
        (HIGH, 0.96, UNSURE),
        (HIGH, 0.99, NO),
        (seeds(1.0, 1.0, 1.0), 1.0, YES),
        (one(0.5, 0.5, 0.6), 0.5, YES),
        (one(0.4, 0.3, 0.5), 0.5, UNSURE),
        (one(0.4, 0.3, 0.49), 0.5, NO),
        (bare(0.99), 0.5, UNSURE),
        (bare(0.01), 0.5, UNSURE),
    ],
)
def test_a_figure_and_a_bound(found: Estimate, bound: float, status: str) -> None:
    assert reaches(found, bound)[0] == status == at_least(found, bound)


def test_the_bound_is_told_with_the_seeds() -> None:
    assert reaches(seeds(0.90, 0.92, 0.94), 0.8)[1] == "0.92 [0.87, 0.97], n = 3 seeds (bound 0.8)"
    assert reaches(one(0.9, 0.88, 0.92, 2000), 0.8)[1] == "0.9 [0.88, 0.92], n = 2,000 (bound 0.8)"


# ---- several checks

PASS, FAIL, OPEN = (YES, "good"), (NO, "bad"), (UNSURE, "open")


@pytest.mark.parametrize(
    ("checks", "all_of", "one_of", "most_of"),
    [
        ([PASS], YES, YES, YES),
        ([FAIL], NO, NO, NO),
        ([OPEN], UNSURE, UNSURE, UNSURE),
        ([PASS, PASS, FAIL], NO, YES, YES),
        ([PASS, FAIL, FAIL], NO, YES, NO),
        ([PASS, FAIL], NO, YES, NO),
        ([PASS, OPEN], UNSURE, YES, UNSURE),
        ([FAIL, OPEN], NO, UNSURE, NO),
        ([PASS, OPEN, FAIL], NO, YES, UNSURE),
        ([PASS, PASS, OPEN], UNSURE, YES, YES),
        ([FAIL, OPEN, OPEN], NO, UNSURE, UNSURE),
    ],
)
def test_every_some_and_most(checks: list[Any], all_of: str, one_of: str, most_of: str) -> None:
    named = [(f"place {k}", check) for k, check in enumerate(checks)]
    assert [every(named)[0], some(named)[0], most(named)[0]] == [all_of, one_of, most_of]
    assert every(iter(named))[0] == all_of, "checks may come one by one"


def test_what_fails_is_told_and_how_many_hold() -> None:
    named = [("a", PASS), ("b", OPEN), ("c", FAIL), ("d", FAIL)]
    assert every(named)[1] == "c: bad (1 of 4 hold)"
    assert every(named[:2])[1] == "b: open (1 of 2 hold)"
    assert every(named[:1])[1] == "a: good"
    assert some(named)[1] == "a: good (1 of 4 hold)"
    assert most(named)[1] == "1 of 4 hold, 2 fail, 1 not decided; fails: c, bad"
    assert most(named[:1])[1] == "1 of 1 hold, 0 fail, 0 not decided"


@pytest.mark.parametrize("several", [every, some, most])
def test_of_no_checks_at_all_nothing_is_said_to_hold(several: Callable[..., Check]) -> None:
    with pytest.raises(ExperimentError, match="some jobs have failed or were not run"):
        several([])


def test_a_claim_has_the_status_of_its_check() -> None:
    found = claim("It is so", "It is.", FAIL, beyond=True)
    assert (found.status, found.figure, found.beyond) == (NO, "bad", True)
    assert found.as_record() == {
        "says": "It is so",
        "rule": "It is.",
        "status": NO,
        "figure": "bad",
        "beyond": True,
    }


# ---- the leak


@pytest.mark.parametrize(
    ("adapting", "frozen", "status"),
    [
        ([PASS, PASS], [PASS, PASS], "does not depend on the leak"),
        ([FAIL, PASS], [FAIL, PASS], "does not depend on the leak"),
        ([PASS, PASS], [PASS, FAIL], "depends on the leak"),
        ([PASS, OPEN], [FAIL, OPEN], "depends on the leak"),
        ([PASS, PASS], [PASS, OPEN], UNSURE),
        ([OPEN, PASS], [PASS, PASS], UNSURE),
        ([FAIL, PASS], [PASS, PASS], "holds at more places strictly frozen"),
        ([FAIL, FAIL], [PASS, FAIL], "holds at more places strictly frozen"),
        ([FAIL, FAIL], [FAIL, FAIL], "holds in neither way"),
    ],
)
def test_whether_a_claim_depends_on_the_leak(adapting: list[Any], frozen: list[Any], status: str) -> None:
    names = ("Block 1", "Block 2")
    found = leaks("It stitches", list(zip(names, adapting, strict=True)), list(zip(names, frozen, strict=True)))
    assert found.status == status
    assert found.beyond, "the paper does not ask"
    assert found.says == "It stitches: does it depend on BN statistics that adapt?"


def test_where_a_claim_is_lost_is_told() -> None:
    found = leaks("It stitches", [("Block 1", PASS), ("Block 2", PASS)], [("Block 1", PASS), ("Block 2", FAIL)])
    assert found.figure == ("holds at 2 of 2 with BN statistics that adapt, at 1 strictly frozen; Block 2, frozen: bad")


def test_two_ways_at_different_places_are_not_compared() -> None:
    with pytest.raises(ValueError, match="shorter"):
        leaks("It stitches", [("Block 1", PASS)], [])


# ---- wider intervals decide less, never otherwise

NUMBERS = st.floats(-2, 2, allow_nan=False)
WIDTHS = st.floats(0, 1)


@st.composite
def widened(draw: st.DrawFn) -> tuple[Estimate, Estimate]:
    """A figure with its interval, and the same figure with one that holds the first."""
    value, left, right, more_left, more_right = draw(NUMBERS), *(draw(WIDTHS) for _ in range(4))
    tight = one(value, value - left, value + right)
    return tight, one(value, value - left - more_left, value + right + more_right)


OPPOSITE = {YES: NO, NO: YES}


@settings(max_examples=300, deadline=None)
@given(widened(), widened(), NUMBERS)
def test_a_wider_interval_never_turns_a_status_into_its_opposite(
    a: tuple[Estimate, Estimate], b: tuple[Estimate, Estimate], bound: float
) -> None:
    for check in (above, below, no_worse, differ):
        tight, wide = check(a[0], b[0])[0], check(a[1], b[1])[0]
        assert wide in (tight, UNSURE), check.__name__
    tight, wide = reaches(a[0], bound)[0], reaches(a[1], bound)[0]
    assert wide in (tight, UNSURE)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(widened(), NUMBERS), min_size=1, max_size=5))
def test_nor_do_several_checks_with_wider_intervals(found: list[tuple[tuple[Estimate, Estimate], float]]) -> None:
    tight, wide = ([(f"{k}", reaches(pair[w], x)) for k, (pair, x) in enumerate(found)] for w in (0, 1))
    for several in (every, some, most):
        before, after = several(tight)[0], several(wide)[0]
        assert after != OPPOSITE.get(before), several.__name__


def test_the_property_catches_a_check_that_is_turned_by_its_width() -> None:
    """The planted failure: a check that goes by the upper end alone."""

    def hopeful(found: Estimate) -> str:
        return YES if found.high >= 0.5 else NO

    tight, wide = Estimate(0.4, 0.35, 0.45, 3), Estimate(0.4, 0.2, 0.6, 3)
    assert hopeful(wide) == OPPOSITE[hopeful(tight)]
    assert at_least(wide, 0.5) == UNSURE
    assert at_least(tight, 0.5) == NO
    assert math.isnan(bare(0.4).low)


# ---- what is still learning


def test_a_stitch_that_still_learns_can_be_high_enough_but_not_too_low() -> None:
    high, low = (replace(seeds(*values), lower_bound=True) for values in ((0.95, 0.96, 0.97), (0.3, 0.31, 0.32)))
    base = seeds(0.90, 0.905, 0.91)
    assert reaches(high, 0.9)[0] == YES
    assert reaches(low, 0.9)[0] == UNSURE
    assert reaches(seeds(0.3, 0.31, 0.32), 0.9)[0] == NO
    assert above(high, base)[0] == no_worse(high, base)[0] == YES
    assert above(low, base)[0] == no_worse(low, base)[0] == UNSURE
    assert below(low, base)[0] == UNSURE, "it may yet come up"
    assert below(seeds(0.3, 0.31, 0.32), base)[0] == YES
    assert below(high, base)[0] == NO, "it is above already, and only goes up"
    assert above(low, base)[1].endswith("still learning")
