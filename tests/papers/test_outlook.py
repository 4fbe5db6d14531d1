"""Why a claim stays open, and what would decide it at which cost: on planted numbers, against SciPy's Student."""

from __future__ import annotations

import math
from statistics import stdev
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from seamripper.papers import Claim, Results, Select, Variants
from seamripper.papers.decisions import DecidedClaim, decide
from seamripper.papers.outlook import MOST

NEAR = (0.91, 0.93, 0.95)
"""Above 0.9 by 0.03, with a deviation of 0.02: five seeds would decide it."""
FAR, EVEN = (0.89, 0.93, 0.97), (0.88, 0.90, 0.92)


def rows(**cells: tuple[float, ...]) -> list[dict[str, Any]]:
    return [{"figure": "top1", "value": value, "cell": cell, "receiver_seed": seed, "key": f"{cell}/{seed}"}
            for cell, values in cells.items() for seed, value in enumerate(values)]  # fmt: skip


def decided(check: str = "at least", *, learning: bool = False, claim: Any = None, **cells: Any) -> DecidedClaim:
    """What comes of a bound of 0.9 on these cells."""
    known = rows(**cells)
    falling = [{"figure": "falling", "value": 0.5, "key": row["key"]} for row in known if learning]
    whole = Claim("", "", Select("top1", cell=tuple(cells)), check, bound=0.9, **(claim or {}))
    found = decide(whole, Results([*known, *falling]), {"cell": {}})
    assert found
    return found


def needed(values: tuple[float, ...], bound: float = 0.9, looks: int = 1) -> int:
    """The first number of seeds whose half-width is below the distance, counted up one by one."""
    gap, deviation, tail = abs(np.mean(values) - bound), stdev(values), 1 - 0.025 / looks
    return next(n for n in range(len(values), 10_000) if student.ppf(tail, n - 1) * deviation / math.sqrt(n) <= gap)


def test_the_number_of_seeds_is_students() -> None:
    outlook = decided(a=NEAR).outlook
    assert outlook
    assert (outlook.now, outlook.seeds) == (3, 5) == (3, needed(NEAR))
    for values in ((0.85, 0.91, 0.99), (0.7, 0.8, 0.95), (0.95, 0.89, 0.9, 0.93)):
        found = decided(a=values).outlook
        assert found
        assert found.seeds == needed(values)


@pytest.mark.parametrize("check", ["at least", "above", "below", "at most"])
@pytest.mark.parametrize("values", [NEAR, FAR, (0.82, 0.86, 0.91)])
def test_so_many_seeds_decide_it_and_fewer_do_not(check: str, values: tuple[float, ...]) -> None:
    """Tried out with seeds of the same mean and deviation."""
    outlook = decided(check, a=values).outlook
    assert outlook
    assert outlook.seeds
    for n in (outlook.seeds - 1, outlook.seeds):
        spread = np.linspace(-1, 1, n)
        more = np.mean(values) + stdev(values) * spread / stdev(spread.tolist())
        assert (decided(check, a=tuple(more.tolist())).outlook is None) == (n == outlook.seeds)


def test_the_sentence_has_cause_remedy_and_cost() -> None:
    open_, start = decided(a=NEAR), "Too few seeds, whose interval is too wide for the gap: 5 in place of 3 would "
    assert open_.notes(6.0) == start + "decide it, if values and deviations stay (at least 4.0 more minutes)."
    assert open_.notes(None) == start + "decide it, if values and deviations stay (cost unknown)."
    assert open_.notes(600.0).endswith("(at least 400 more minutes).")
    assert decided(a=(0.95, 0.96, 0.97)).outlook is None


def test_of_several_cells_so_many_must_be_decided() -> None:
    one, two, low = needed(NEAR, looks=2), needed(FAR), needed((0.82, 0.86, 0.91), looks=3)
    seeds = {
        over: getattr(decided(a=NEAR, b=FAR, claim={"over": over}).outlook, "seeds", None)
        for over in ("every", "some", "most", 2)
    }
    assert seeds == {"every": two, "some": one, "most": two, 2: two}
    assert one < two < low
    falls = decided(a=NEAR, b=FAR, c=(0.82, 0.86, 0.91)).outlook
    assert falls
    assert falls.seeds == low, "where one cell would fail, the claim does"


def test_where_the_gap_is_about_zero_no_number_of_seeds_would_do() -> None:
    found = decided(a=EVEN, b=NEAR)
    assert found.notes(6.0) == f"The gap to what would decide it is about zero (a): no number of seeds up to " \
                               f"{MOST:,} would decide it."  # fmt: skip
    assert needed((0.881, 0.901, 0.921)) > MOST
    assert "about zero" in decided(a=(0.881, 0.901, 0.921)).notes()


def test_what_still_learns_wants_a_longer_training_unless_it_is_high_already() -> None:
    low = decided(a=(0.5, 0.51, 0.52), learning=True)
    assert low.notes(6.0) == (
        "Training was not at rest, so that figures are lower bounds: a longer training would decide it, and seeds "
        "alone would not (cost unknown)."
    )
    high = decided(a=NEAR, learning=True).outlook
    assert high
    assert high.seeds == 5, "it only goes up: that it is above can be decided"
    assert "lower bounds (a and 1 more)" in decided(a=(0.5, 0.51), b=(0.6, 0.61), learning=True).notes()
    assert "lower bounds" in decided(a=(0.5, 0.51), learning=True, claim={"over": "best"}).notes()


def test_one_seed_tells_nothing_of_how_many_it_takes() -> None:
    single = decided(a=(0.95,))
    assert single.notes(6.0) == (
        "One seed has no interval over seeds: several seeds would decide it, nobody knows how many (cost unknown)."
    )
    assert "One seed" in decided("varies", a=(0.95,)).notes()
    samples = Claim("", "", Select("top1"), "at least", bound=0.9)
    row = {"figure": "top1", "value": 0.91, "low": 0.88, "high": 0.94, "n": 500, "receiver_seed": 0}
    found = decide(samples, Results([row]), {})
    assert found
    assert found.notes().startswith("One seed has no interval over seeds"), "an interval over samples is none"


def test_claims_along_a_label_and_claims_that_depend_have_an_outlook() -> None:
    along = decided(a=FAR, b=NEAR, claim={"within": ("some", "cell")}).outlook
    assert along
    assert along.seeds == needed(NEAR, looks=2), "one of the group is enough, and either may be it"
    ways = Variants("cell", ("a", "b"), ("first", "second"), "the way")
    depends = Claim("", "", Select("top1", cell="a"), "at least", bound=0.9, depends=ways)
    found = decide(depends, Results(rows(a=FAR, b=(0.96, 0.97, 0.98))), {})
    assert found
    assert found.outlook
    assert found.outlook.seeds == needed(FAR)
