"""Checks: what planted intervals must come to, ties and missing intervals included."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, over_seeds, proportion
from seamripper.papers import Claim, Select, Variants
from seamripper.papers.checks import CHECKS, Looks, best, combine, difference, numbers

YES, NO, OPEN = "reproduced", "not reproduced", "not decided at this size"
TWO = ("above", "no worse", "below", "differs")
"""Checks of two values, with no bound."""


def seeds(*values: float) -> Estimate:
    """A value of several training seeds."""
    return over_seeds(dict(enumerate(values)))


def single(value: float, low: float, high: float, n: int = 1000) -> Estimate:
    """A value of one seed, with its interval over samples."""
    return Estimate(value, low, high, n, "samples", {0: value})


def bare(value: float) -> Estimate:
    """A value without any interval: one seed, and no samples to speak of."""
    return over_seeds({0: value})


def check(word: str, a: Estimate, b: Estimate | float, bound: float = 0.0) -> str:
    return CHECKS[word].decide(difference(a, b), bound)


HIGH, LOW = seeds(0.95, 0.96, 0.97), seeds(0.90, 0.91, 0.92)
TORN = seeds(0.80, 0.99, 0.95)
"""Better than `LOW` for some seeds, worse for another."""


@pytest.mark.parametrize(
    ("word", "statuses"),
    [
        ("above", (YES, NO, OPEN, NO)),
        ("no worse", (YES, NO, OPEN, YES)),
        ("at least", (YES, NO, OPEN, YES)),
        ("below", (NO, YES, OPEN, NO)),
        ("at most", (NO, YES, OPEN, YES)),
        ("differs", (YES, YES, OPEN, NO)),
        ("similar", (NO, NO, OPEN, YES)),
    ],
)
def test_two_values_of_several_seeds(word: str, statuses: tuple[str, ...]) -> None:
    pairs = ((HIGH, LOW), (LOW, HIGH), (TORN, LOW), (seeds(1, 1, 1), seeds(1, 1, 1)))
    assert tuple(check(word, a, b) for a, b in pairs) == statuses


@pytest.mark.parametrize(
    ("word", "statuses"),
    [
        ("above", (YES, NO, OPEN)),
        ("no worse", (YES, NO, OPEN)),
        ("below", (NO, YES, OPEN)),
        ("differs", (YES, YES, OPEN)),
    ],
)
def test_two_values_of_one_seed_each(word: str, statuses: tuple[str, ...]) -> None:
    high, low, near = single(0.95, 0.94, 0.96), single(0.90, 0.89, 0.91), single(0.945, 0.935, 0.955)
    assert tuple(check(word, a, b) for a, b in ((high, low), (low, high), (high, near))) == statuses


@pytest.mark.parametrize("word", [word for word in CHECKS if not CHECKS[word].of_seeds])
def test_without_any_interval_nothing_is_decided(word: str) -> None:
    assert check(word, bare(0.99), bare(0.10)) == check(word, bare(0.10), bare(0.99)) == OPEN
    assert check(word, bare(0.99), 0.5) == OPEN


def test_a_bound_is_the_slack_beside_another_value() -> None:
    assert (check("no worse", LOW, HIGH, 0.06), check("no worse", LOW, HIGH, 0.04)) == (YES, NO)
    assert (check("similar", LOW, HIGH, 0.06), check("similar", LOW, HIGH, 0.04)) == (YES, NO)


def test_a_claim_that_is_surely_too_small_to_matter_fails() -> None:
    """A tie decides it: the interval has 0 in it, and nothing as large as the bound."""
    tie, ahead = seeds(0.93, 0.91, 0.92), seeds(0.915, 0.925, 0.935)
    bounds = (0.0, 0.08, 0.03)
    assert [check("above", tie, LOW, bound) for bound in bounds] == [OPEN, NO, OPEN]
    assert [check("below", LOW, tie, bound) for bound in bounds] == [OPEN, NO, OPEN]
    assert check("above", ahead, LOW, 0.08) == YES, "what is surely above is not failed for its size"


@pytest.mark.parametrize(
    ("value", "bound", "status"),
    [
        (HIGH, 0.90, YES),
        (HIGH, 0.96, OPEN),
        (HIGH, 0.99, NO),
        (seeds(1.0, 1.0, 1.0), 1.0, YES),
        (single(0.5, 0.5, 0.6), 0.5, YES),
        (single(0.4, 0.3, 0.5), 0.5, OPEN),
        (single(0.4, 0.3, 0.49), 0.5, NO),
    ],
)
def test_a_value_and_a_number(value: Estimate, bound: float, status: str) -> None:
    assert check("at least", value, bound) == status
    assert check("below", value, bound) == {YES: NO, NO: YES}.get(status, status), "one is the contrary of the other"


def test_seeds_vary_or_they_do_not() -> None:
    varies = CHECKS["varies"].decide
    assert (varies(TORN, 0.1), varies(HIGH, 0.1), varies(bare(0.9), 0.1)) == (YES, NO, OPEN)
    assert varies(replace(TORN, lower_bound=True), 0.1) == OPEN, "some may only be slower than others"


def test_the_numbers_that_decided_are_given() -> None:
    assert numbers(HIGH, LOW) == "0.960 against 0.910: +0.050 [+0.050, +0.050]"
    assert numbers(bare(0.99), bare(0.10)) == "0.990 against 0.100: +0.890"
    assert numbers(seeds(0.90, 0.92, 0.94), 0.8) == "0.920 [0.870, 0.970], 3 seeds (bound 0.8)"
    assert numbers(single(0.9, 0.88, 0.92, 2000), 0.8) == "0.900 [0.880, 0.920], one seed, n = 2,000 (bound 0.8)"
    assert numbers(TORN, 0.1, of_seeds=True) == "from 0.800 to 0.990"


def test_a_check_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ExperimentError, match=r"Expected check to be one of above, below, .*, but got 'better'"):
        Claim("", "", Select("top1"), "better").clauses()


# ---- several cells

PASS, FAIL, UNSURE = (YES, "good"), (NO, "bad"), (OPEN, "open")


def named(*checks: Any) -> list[Any]:
    return [(name, *check) for name, check in zip("abcdef", checks, strict=False)]


@pytest.mark.parametrize(
    ("checks", "every", "some", "most", "two"),
    [
        ([PASS], YES, YES, YES, NO),
        ([FAIL], NO, NO, NO, NO),
        ([UNSURE], OPEN, OPEN, OPEN, NO),
        ([PASS, PASS, FAIL], NO, YES, YES, YES),
        ([PASS, FAIL, FAIL], NO, YES, NO, NO),
        ([PASS, FAIL], NO, YES, NO, NO),
        ([PASS, UNSURE], OPEN, YES, OPEN, OPEN),
        ([FAIL, UNSURE], NO, OPEN, NO, NO),
        ([PASS, UNSURE, FAIL], NO, YES, OPEN, OPEN),
        ([PASS, PASS, UNSURE], OPEN, YES, YES, YES),
        ([FAIL, UNSURE, UNSURE], NO, OPEN, OPEN, OPEN),
    ],
)
def test_every_some_most_and_a_number(checks: list[Any], every: str, some: str, most: str, two: str) -> None:
    said = [combine(named(*checks), over)[0] for over in ("every", "some", "most", 2)]
    assert said == [every, some, most, two]


def test_what_fails_is_named_and_how_many_hold() -> None:
    cells = named(PASS, UNSURE, FAIL, FAIL)
    assert combine(cells, "every")[1] == "c: bad (1 of 4 hold)"
    assert combine(cells[:2], "every")[1] == "b: open (1 of 2 hold)"
    assert combine(cells[:1], "every")[1] == "a: good"
    assert combine(cells, "some")[1] == "a: good (1 of 4 hold)"
    assert combine(cells, "most")[1] == "1 of 4 hold, 2 fail, 1 not decided; fails: c, bad"
    assert combine(cells[:1], "most")[1] == "1 of 1 hold, 0 fail, 0 not decided"


@pytest.mark.parametrize("over", ["every", "some", "most", 2])
def test_of_no_cells_at_all_nothing_is_said_to_hold(over: Any) -> None:
    with pytest.raises(ExperimentError, match="some jobs have failed or were not run"):
        combine([], over)


def test_the_best_seed_of_all_cells() -> None:
    assert best([LOW, HIGH], 0.97) == (YES, "the best has 0.9700")
    assert best([LOW, HIGH], 0.98) == (NO, "the best has 0.9700")
    assert best([LOW, replace(HIGH, lower_bound=True)], 0.98) == (OPEN, "the best has 0.9700, still learning")


# ---- paired by sample


def on_samples(right: np.ndarray, *, test: str = "t", units: int = 1) -> Estimate:
    """The estimate of networks that get these samples right, (networks, samples)."""
    rows = right.reshape(units, -1)
    whole = proportion(int(rows.sum()), rows.size) if units == 1 else over_seeds(dict(enumerate(rows.mean(1))))
    values = {("a", k): float(row.mean()) for k, row in enumerate(rows)}
    return replace(whole, values=values, rule={"hits": (test, rows.mean(0))})


def test_two_networks_on_the_same_images_are_compared_image_by_image() -> None:
    """They miss the same 10 %, and one of them 1 % more: that is seen by pairs and lost without."""
    first, second = np.ones(1500), np.ones(1500)
    first[:150], second[:165] = 0, 0
    a, b = on_samples(first), replace(on_samples(second), values={("b", 0): 0.89})
    paired, apart = difference(a, b), difference(a, replace(b, rule={"hits": ("other", second)}))
    assert paired.value == pytest.approx(apart.value) == pytest.approx(0.01)
    assert paired.high - paired.low < (apart.high - apart.low) / 3
    assert (CHECKS["above"].decide(paired, 0.0), CHECKS["above"].decide(apart, 0.0)) == (YES, OPEN)
    assert numbers(a, b) == "0.900 against 0.890: +0.010 [+0.006, +0.016]"


def test_of_several_networks_the_wider_interval_counts() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(1000) < 0.9
    three = np.stack([base & (rng.random(1000) < keep) for keep in (0.99, 0.95, 0.85)])
    one = replace(on_samples(base.astype(float)), values={("b", 0): float(base.mean())})
    gap = difference(on_samples(three.astype(float), units=3), one)
    over = over_seeds((three.mean(1) - base.mean()).tolist())
    assert (gap.value, gap.low, gap.high) == pytest.approx((over.value, over.low, over.high)), "seeds are few"
    back = difference(one, on_samples(three.astype(float), units=3))
    assert (back.low, back.high) == pytest.approx((-gap.high, -gap.low))
    learning = difference(replace(on_samples(three.astype(float), units=3), lower_bound=True), one)
    assert learning.high == math.inf


# ---- looks


def test_a_claim_about_every_cell_fails_and_one_about_some_cell_holds_at_the_level_of_all_looks() -> None:
    """Of 20 cells with nothing behind them, one is beyond its own interval on average, and rarely beyond this one."""
    rng = np.random.default_rng(0)
    rule, wrong = CHECKS["at least"], {"every": 0, "some": 0}
    for _ in range(200):
        gaps = [over_seeds(row.tolist()) for row in rng.normal(size=(20, 5))]
        for over in wrong:
            cells = [("", Looks.of(over, 20).decide(rule, gap, 0.0), "") for gap in gaps]
            plain = [("", rule.decide(gap, 0.0), "") for gap in gaps]
            assert combine(plain, over)[0] != OPEN or combine(cells, over)[0] == OPEN
            wrong[over] += combine(cells, over)[0] == {"every": NO, "some": YES}[over]
    assert max(wrong.values()) <= 14, "at most 7 % of 200, where 5 % are expected and 40 % without a correction"


def test_two_figures_that_differ_by_less_than_the_margin_are_alike() -> None:
    rule = CHECKS["differs"]
    gaps = [single(0.02, 0.01, 0.03), single(0.2, 0.15, 0.25), single(0.02, -0.02, 0.06), single(0.05, 0.01, 0.09)]
    assert [rule.decide(gap, 0.05) for gap in gaps] == [NO, YES, OPEN, OPEN]
    assert rule.decide(gaps[0], 0.0) == YES


# ---- two ways

LEAK = Variants("freeze", ("weights", "all"), ("adapting", "frozen"), "the leak")


@pytest.mark.parametrize(
    ("adapting", "frozen", "status"),
    [
        ([PASS, PASS], [PASS, PASS], "does not depend on the leak"),
        ([FAIL, PASS], [FAIL, PASS], "does not depend on the leak"),
        ([PASS, PASS], [PASS, FAIL], "depends on the leak"),
        ([PASS, UNSURE], [FAIL, UNSURE], "depends on the leak"),
        ([PASS, PASS], [PASS, UNSURE], OPEN),
        ([UNSURE, PASS], [PASS, PASS], OPEN),
        ([FAIL, PASS], [PASS, PASS], "depends on the leak"),
        ([FAIL, FAIL], [PASS, FAIL], "depends on the leak"),
        ([FAIL, FAIL], [FAIL, FAIL], "does not depend on the leak"),
    ],
)
def test_whether_a_claim_depends_on_something(adapting: list[Any], frozen: list[Any], status: str) -> None:
    assert LEAK.compare(named(*adapting), named(*frozen))[0] == status


def test_every_place_has_its_answer() -> None:
    _, words = LEAK.compare(named(PASS, PASS), named(PASS, FAIL))
    assert words == "depends at b; does not depend at a (holds at 2 of 2 adapting, at 1 frozen; b, frozen: bad)"
    _, words = LEAK.compare(named(PASS, UNSURE), named(PASS, PASS))
    assert words == "does not depend at a; not decided at b (holds at 1 of 2 adapting, at 2 frozen)"
    with pytest.raises(ValueError, match="shorter"):
        LEAK.compare(named(PASS), [])


# ---- wider intervals decide less, never otherwise

NUMBERS = st.floats(-2, 2, allow_nan=False)
WIDTHS = st.floats(0, 1)
OPPOSITE = {YES: NO, NO: YES}


@st.composite
def widened(draw: st.DrawFn) -> tuple[Estimate, Estimate]:
    """A value with its interval, and the same value with one that holds the first."""
    value, left, right, more_left, more_right = draw(NUMBERS), *(draw(WIDTHS) for _ in range(4))
    tight = single(value, value - left, value + right)
    return tight, single(value, value - left - more_left, value + right + more_right)


@settings(max_examples=300, deadline=None)
@given(widened(), widened(), NUMBERS)
def test_a_wider_interval_never_turns_a_status_into_its_opposite(
    a: tuple[Estimate, Estimate], b: tuple[Estimate, Estimate], bound: float
) -> None:
    for word in (*TWO, "at most", "similar"):
        tight, wide = check(word, a[0], b[0], 0.1), check(word, a[1], b[1], 0.1)
        assert wide in (tight, OPEN), word
        tight, wide = check(word, a[0], bound), check(word, a[1], bound)
        assert wide in (tight, OPEN), word


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(widened(), NUMBERS), min_size=1, max_size=5))
def test_nor_do_several_cells_with_wider_intervals(cells: list[tuple[tuple[Estimate, Estimate], float]]) -> None:
    tight, wide = ([(str(k), check("at least", pair[w], x), "") for k, (pair, x) in enumerate(cells)] for w in (0, 1))
    for over in ("every", "some", "most", 2):
        before, after = combine(tight, over)[0], combine(wide, over)[0]  # type: ignore[arg-type]
        assert after != OPPOSITE.get(before), over


def test_the_property_catches_a_check_that_is_turned_by_its_width() -> None:
    """The planted failure: a check that goes by the upper end alone."""
    tight, wide = single(0.4, 0.35, 0.45), single(0.4, 0.2, 0.6)
    hopeful = [YES if value.high >= 0.5 else NO for value in (tight, wide)]
    assert hopeful[1] == OPPOSITE[hopeful[0]]
    assert (check("at least", tight, 0.5), check("at least", wide, 0.5)) == (NO, OPEN)


# ---- what is still learning


def test_a_stitch_that_still_learns_can_be_high_enough_but_not_too_low() -> None:
    high, low = (replace(seeds(*values), lower_bound=True) for values in ((0.95, 0.96, 0.97), (0.3, 0.31, 0.32)))
    base = seeds(0.90, 0.905, 0.91)
    assert (check("at least", high, 0.9), check("at least", low, 0.9)) == (YES, OPEN)
    assert check("above", high, base) == check("no worse", high, base) == YES
    assert check("above", low, base) == check("no worse", low, base) == OPEN
    assert check("below", low, base) == OPEN, "it may yet come up"
    assert check("below", high, base) == NO, "it is above already, and only goes up"
    assert numbers(low, base).endswith("still learning")
