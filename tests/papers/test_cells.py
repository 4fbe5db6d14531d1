"""Cells: figures found by their labels, the seeds behind them, and differences paired by seed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, over_seeds
from seamripper.papers.cells import Cells, over_parts


def row(value: float | None, **labels: Any) -> dict[str, Any]:
    """A row of the results table: a figure `top1` with an interval of ± 0.01 over 500 samples."""
    low, high = (None, None) if value is None else (value - 0.01, value + 0.01)
    return {"kind": "stitch", "figure": "top1", "value": value, "low": low, "high": high, "n": 500, **labels}


# ---- units


def test_units_are_the_receivers_training_seeds() -> None:
    rows = [row(0.9 + 0.01 * k, receiver_seed=4 + k, sender_seed=7, seed=0) for k in range(3)]
    found = Cells(rows).of("top1")
    assert found.values == pytest.approx({4: 0.90, 5: 0.91, 6: 0.92})
    assert (found.low, found.high) == (over_seeds(found.values).low, over_seeds(found.values).high)
    assert (found.n, round(found.value, 3)) == (3, 0.91)


def test_where_the_receiver_has_none_they_are_the_senders() -> None:
    rows = [row(0.9, receiver_seed=None, sender_seed=k, seed=5) for k in (3, 4)]
    assert set(Cells(rows).of("top1").values) == {3, 4}


def test_where_neither_has_any_they_are_the_jobs_own() -> None:
    probes = [row(0.9, receiver_seed=None, sender_seed=None, seed=k) for k in range(5)]
    trained = [row(0.9, model="digit", seed=k) for k in (0, 1)]
    assert set(Cells(probes).of("top1").values) == set(range(5))
    assert set(Cells(trained).of("top1", model="digit").values) == {0, 1}


def test_stitch_seeds_are_averaged_within_a_network() -> None:
    rows = [row(value, receiver_seed=k, seed=s) for k, pair in enumerate([(0.8, 1.0), (0.6, 0.7)])
            for s, value in enumerate(pair)]  # fmt: skip
    found = Cells(rows).of("top1")
    assert found.values == pytest.approx({0: 0.9, 1: 0.65})
    assert found.n == 2, "two networks, and not four stitches"


def test_of_one_network_the_stitches_are_the_units() -> None:
    found = Cells([row(0.8, receiver_seed=4, seed=0), row(0.9, receiver_seed=4, seed=1)]).of("top1")
    assert (found.n, found.value) == (2, pytest.approx(0.85))


def test_of_one_result_the_interval_is_over_its_samples() -> None:
    found = Cells([row(0.9, receiver_seed=0)]).of("top1")
    assert found.describe() == "0.9 [0.89, 0.91], n = 500 samples (one seed, interval over samples)"


def test_of_one_result_without_an_interval_there_is_none() -> None:
    rank = {"figure": "rank", "value": 42.0, "n": 500, "receiver_seed": 0}
    found = Cells([rank]).of("rank")
    assert not found.has_interval
    assert "[" not in found.describe()


def test_several_seeds_are_told_as_such() -> None:
    found = Cells([row(v, receiver_seed=k) for k, v in enumerate((0.90, 0.92, 0.94))]).of("top1")
    assert str(found) == "0.920 [0.870, 0.970]"
    assert found.describe() == "0.92 [0.87, 0.97], n = 3 seeds (mean over 3 seeds)"
    assert found.as_share == found


# ---- differences


def test_differences_are_paired_by_seed() -> None:
    a = over_seeds({0: 0.70, 1: 0.80, 2: 0.90})
    b = over_seeds({2: 0.895, 1: 0.79, 0: 0.694})
    gap = a.minus(b)
    assert gap == over_seeds([a.values[k] - b.values[k] for k in range(3)])
    # Networks differ far more than the two figures of one network do: unpaired, nothing could be told.
    halves = [(one.high - one.low) / 2 for one in (a, b)]
    assert gap.low > 0
    assert gap.value - math.hypot(*halves) < -0.2


def test_only_seeds_that_both_have_are_paired() -> None:
    a, b = over_seeds({0: 0.9, 1: 0.8, 2: 0.0}), over_seeds({1: 0.7, 0: 0.8, 5: 1.0})
    assert a.minus(b).value == pytest.approx(0.1)
    assert a.minus(b).n == 2


def test_networks_of_other_seeds_are_not_paired() -> None:
    a, b = over_seeds({0: 0.9, 1: 0.8}), over_seeds({2: 0.5, 3: 0.6})
    gap, halves = a.minus(b), [(one.high - one.low) / 2 for one in (a, b)]
    assert gap.value == pytest.approx(0.3)
    assert (gap.value - gap.low, gap.high - gap.value) == pytest.approx((math.hypot(*halves),) * 2)


def test_uneven_intervals_count_towards_the_end_that_they_widen() -> None:
    """Newcombe's: the interval of 1.0 goes down alone, so a difference from it can hardly be larger than it looks."""
    full = Estimate(1.0, 0.96, 1.0, 100, values={0: 1.0})
    less = Estimate(0.9, 0.82, 0.95, 100, values={0: 0.9})
    gap = full.minus(less)
    assert (gap.low, gap.high) == pytest.approx((0.1 - math.hypot(0.04, 0.05), 0.1 + 0.08))
    back = less.minus(full)
    assert (back.low, back.high) == pytest.approx((-gap.high, -gap.low))


def test_two_figures_without_intervals_differ_by_nobody_knows_how_much() -> None:
    gap = over_seeds({0: 42.0}).minus(over_seeds({0: 142.0}))
    assert gap.value == -100
    assert math.isnan(gap.low)
    assert math.isnan(gap.high)


# ---- labels

TABLE = [
    row(0.9, sender="colour", receiver_cut="layer1", receiver_seed=0),
    row(0.8, sender="colour", receiver_cut="layer2", receiver_seed=0),
    row(0.7, sender="digit", receiver_cut="layer1", receiver_seed=0),
    {**row(None, sender="digit", receiver_cut="layer2", receiver_seed=0), "status": "diverged"},
    {"kind": "stitch", "state": "failed", "sender": "mix", "error": "ExperimentError: no"},
]


def test_labels_choose() -> None:
    cells = Cells(TABLE)
    assert cells.of("top1", sender="colour", receiver_cut="layer2").value == 0.8
    assert cells.of("top1", sender="digit").value == 0.7, "a figure that is not a number is none"
    assert cells.some("top1", sender="digit", receiver_cut="layer2") is None
    assert cells.some("top1", sender="mix") is None
    assert cells.some("top1", nosuch="label") is None


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_of_values_takes_any_of_them(kind: Any) -> None:
    found = Cells(TABLE).of("top1", sender=kind({"colour", "digit"}), receiver_cut="layer1")
    assert found.value == pytest.approx(0.8)
    assert Cells(TABLE).some("top1", sender=kind()) is None


def test_a_figure_that_is_not_there_is_told_with_what_to_do() -> None:
    with pytest.raises(ExperimentError) as told:
        Cells(TABLE).of("rank", sender="colour")
    assert str(told.value) == (
        "The results have no figure 'rank' with {'sender': 'colour'}: some jobs have failed or were not run. "
        "`seamripper status` on the store tells which."
    )


def test_the_receiver_alone_is_the_one_that_was_trained() -> None:
    """Where its statistics have adapted it is another network, and both are among the figures."""
    adapted = [{**row(0.2, receiver_seed=k), "figure": "receiver_here"} for k in range(2)]
    trained = [{**row(0.9, receiver_seed=k), "figure": "receiver_unadapted"} for k in range(2)]
    assert Cells(adapted).alone().value == 0.2, "nothing has adapted: there is one receiver alone"
    assert Cells([*adapted, *trained]).alone().value == 0.9
    assert Cells([*adapted, *trained]).alone(receiver_seed=1).value == 0.9
    own = [
        {**row(0.3, receiver_seed=0), "figure": "receiver_own"},
        {**row(0.8, receiver_seed=0), "figure": "own_unadapted"},
    ]
    assert Cells(own).own().value == 0.8
    assert Cells(own[:1]).own().value == 0.3
    with pytest.raises(ExperimentError, match="no figure 'receiver_here'"):
        Cells(own).alone()


def test_what_a_column_says_is_counted() -> None:
    rows = [row(0.9, status="same", sender="a"), row(0.8, status="same", sender="a"), row(0.7, status="other")]
    assert Cells(rows).counts("status") == {"same": 2, "other": 1}
    assert Cells(rows).counts("status", sender="a") == {"same": 2}
    assert Cells(rows).counts("status", sender="b") == {}
    assert Cells(rows).counts("nosuch") == {}


# ---- what is still learning


def test_a_stitch_that_still_learns_is_known_by_its_job() -> None:
    """The loss of the job 'b' still fell by a tenth; that of 'a' by a hundredth, which is at rest."""
    rows = [row(0.5, receiver_seed=0, key="a"), row(0.6, receiver_seed=1, key="b"), row(0.7, receiver_seed=2, key="c")]
    falls = [row(0.01, key="a") | {"figure": "falling"}, row(0.1, key="b") | {"figure": "falling"}]
    cells = Cells([*rows, *falls])
    assert cells.of("top1").lower_bound
    assert not cells.of("top1", receiver_seed=0).lower_bound
    assert not cells.of("top1", receiver_seed=2).lower_bound, "nothing is told of it"
    small = [row(0.02, key="b") | {"figure": "loss_end"}]
    assert not Cells([*rows, *falls, *small]).of("top1").lower_bound, "a tenth of next to nothing"
    assert not Cells([one | {"figure": "receiver_here"} for one in rows] + falls).of("receiver_here").lower_bound


def test_what_still_learns_is_a_lower_bound() -> None:
    settled = over_seeds({0: 0.5, 1: 0.6})
    learning, base = replace(settled, lower_bound=True), over_seeds({0: 0.9, 1: 0.92})
    assert str(learning) == f"{settled} ↑"
    assert learning.possible == replace(learning, high=math.inf)
    assert settled.possible == settled
    gap = settled.minus(base)
    assert learning.minus(base) == replace(gap, high=math.inf)
    assert base.minus(learning) == replace(gap, value=-gap.value, low=-math.inf, high=-gap.low)
    both = over_parts({"a": settled, "b": learning})
    assert both.lower_bound
    assert both.note == "mean over 2 seeds, still learning"
