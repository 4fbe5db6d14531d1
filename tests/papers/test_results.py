"""Results: values selected by their labels, the seeds behind them, and what stands beside a cell."""

from __future__ import annotations

import math
from typing import Any

import pytest

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, over_seeds
from seamripper.papers import ALONE, OWN, TRAINED, Range, Results, Select, Units


def row(value: float | None, **labels: Any) -> dict[str, Any]:
    """A row of the results table: a figure `top1` with an interval of ± 0.01 over 500 samples."""
    low, high = (None, None) if value is None else (value - 0.01, value + 0.01)
    return {"kind": "stitch", "figure": "top1", "value": value, "low": low, "high": high, "n": 500, **labels}


def top1(rows: Any, **labels: Any) -> Estimate:
    return Results(rows).of(["top1"], labels)


# ---- units


def test_an_interval_of_a_figure_that_is_no_share_ends_where_the_figure_does() -> None:
    rows = [
        {"figure": "kendall", "value": value, "receiver_seed": k, "range": (-1.0, 1.0)}
        for k, value in enumerate((-0.2, 0.4, 1.0))
    ]
    value = Results(rows).of(["kendall"], {})
    assert value.low < -0.9
    assert value.high > 1, "as it was computed"
    assert (value.as_share.low, value.as_share.high) == (max(value.low, -1.0), 1.0)


def test_units_are_the_receivers_training_seeds() -> None:
    value = top1([row(0.9 + 0.01 * k, receiver_seed=4 + k, sender_seed=7, seed=0) for k in range(3)])
    assert value.values == pytest.approx({4: 0.90, 5: 0.91, 6: 0.92})
    assert (value.low, value.high) == (over_seeds(value.values).low, over_seeds(value.values).high)
    assert (value.n, round(value.value, 3), value.note) == (3, 0.91, "mean over 3 seeds")


def test_where_the_receiver_has_none_they_are_the_senders_or_the_jobs_own() -> None:
    assert set(top1([row(0.9, receiver_seed=None, sender_seed=k, seed=5) for k in (3, 4)]).values) == {3, 4}
    assert set(top1([row(0.9, receiver_seed=None, sender_seed=None, seed=k) for k in range(5)]).values) == set(range(5))
    assert set(top1([row(0.9, model="digit", seed=k) for k in (0, 1)], model="digit").values) == {0, 1}


def test_stitch_seeds_are_averaged_within_a_network() -> None:
    pairs = [(0.8, 1.0), (0.6, 0.7)]
    value = top1([row(x, receiver_seed=k, seed=s) for k, pair in enumerate(pairs) for s, x in enumerate(pair)])
    assert value.values == pytest.approx({0: 0.9, 1: 0.65})
    assert value.n == 2, "two networks, and not four stitches"


def test_of_one_network_the_stitches_are_the_units() -> None:
    value = top1([row(0.8, receiver_seed=4, seed=0), row(0.9, receiver_seed=4, seed=1)])
    assert (value.n, value.value) == (2, pytest.approx(0.85))


def test_of_one_result_the_interval_is_over_its_samples() -> None:
    value = top1([row(0.9, receiver_seed=0)])
    assert value.describe() == "0.9 [0.89, 0.91], n = 500 samples (one seed, interval over samples)"
    rank = {"figure": "rank", "value": 42.0, "n": 500, "receiver_seed": 0}
    assert not Results([rank]).of(["rank"], {}).has_interval


def test_values_of_a_label_can_be_the_units() -> None:
    rows = [row(value, sender=name, receiver_seed=0) for name, value in (("a", 0.5), ("b", 0.7), ("c", 0.9))]
    value = top1(rows, sender=Units(("a", "b", "c")))
    assert value.values == {"a": 0.5, "b": 0.7, "c": 0.9}
    assert Results(rows).find(["top1"], {"sender": Units(("a", "d"))}) is None, "one is missing"


def test_the_range_over_a_label_is_taken_seed_by_seed() -> None:
    rows = [
        row(0.5 + 0.1 * k + 0.01 * s * k, offset=k, receiver_seed=s, key=f"{k}/{s}") for k in (0, 1, 2) for s in (0, 1)
    ]
    value = top1(rows, offset=Range((0, 1, 2)))
    assert value.values == pytest.approx({0: 0.2, 1: 0.22})
    falling = {"figure": "falling", "value": 0.3, "key": "1/0"}
    assert not top1([*rows, falling], offset=Range((0, 1, 2))).has_interval, "they may yet come to the same"


# ---- labels

TABLE = [
    row(0.9, sender="colour", receiver_cut="layer1", receiver_seed=0),
    row(0.8, sender="colour", receiver_cut="layer2", receiver_seed=0),
    row(0.7, sender="digit", receiver_cut="layer1", receiver_seed=0),
    {**row(None, sender="digit", receiver_cut="layer2", receiver_seed=0), "status": "diverged"},
    {"kind": "stitch", "state": "failed", "sender": "mix", "error": "ExperimentError: no"},
]


def test_labels_choose() -> None:
    results = Results(TABLE)
    assert top1(TABLE, sender="colour", receiver_cut="layer2").value == 0.8
    assert top1(TABLE, sender="digit").value == 0.7, "a figure that is not a number is none"
    assert top1(TABLE, sender=None, receiver_cut="layer2").value == 0.8, "a label that is None is free"
    for labels in ({"sender": "digit", "receiver_cut": "layer2"}, {"sender": "mix"}, {"nosuch": "label"}):
        assert results.find(["top1"], labels) is None


def test_a_set_of_values_takes_any_of_them() -> None:
    (cell,) = Select("top1", sender={"colour", "digit"}, receiver_cut="layer1").cells()
    assert top1(TABLE, **cell).value == pytest.approx(0.8)


def test_the_first_figure_that_there_is_counts() -> None:
    adapted = [{**row(0.2, receiver_seed=k), "figure": "receiver_here"} for k in range(2)]
    trained = [{**row(0.9, receiver_seed=k), "figure": "receiver_unadapted"} for k in range(2)]
    assert Results(adapted).of(ALONE.figures, {}).value == 0.2, "nothing has adapted: there is one receiver alone"
    assert Results([*adapted, *trained]).of(ALONE.figures, {}).value == 0.9
    with pytest.raises(ExperimentError, match="no figure 'receiver_own'"):
        Results(adapted).of(OWN.figures, {})


def test_a_figure_that_is_missing_is_named_with_what_to_do() -> None:
    with pytest.raises(ExperimentError) as error:
        Results(TABLE).of(["rank"], {"sender": "colour", "freeze": None})
    assert str(error.value) == (
        "The results have no figure 'rank' with {'sender': 'colour'}: some jobs have failed or were not run. "
        "`seamripper status` on the store tells which."
    )


def test_what_a_column_says_is_counted() -> None:
    rows = [row(0.9, status="same", sender="a"), row(0.8, status="same", sender="a"), row(0.7, status="other")]
    assert Results(rows).counts("status", {}) == {"same": 2, "other": 1}
    assert Results(rows).counts("status", {"sender": "a"}) == {"same": 2}
    assert Results(rows).counts("status", {"sender": "b"}) == Results(rows).counts("nosuch", {}) == {}


# ---- selections


def test_the_cells_are_the_product_of_the_axes_in_their_order() -> None:
    select = Select("top1", sender=("a", "b"), receiver="r", cut=(1, 2))
    assert [(cell["sender"], cell["cut"]) for cell in select.cells()] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert {cell["receiver"] for cell in select.cells()} == {"r"}
    assert select == Select("top1", sender=("a", "b"), receiver="r", cut=(1, 2))
    assert select.with_labels(cut=1).axes == {"sender": ("a", "b")}


def test_what_stands_beside_a_cell_has_its_labels_but_for_those_that_are_changed() -> None:
    select = Select("top1", radius=(0.5, 0.9), receiver="digit", freeze="weights")
    cells = list(select.cells())
    assert Select(freeze="all").beside(cells[0], select.axes) == {**cells[0], "freeze": "all"}
    aligned = [Select(radius=(0.9, 1.0)).beside(cell, select.axes)["radius"] for cell in cells]
    assert aligned == [0.9, 1.0], "axes of one name are aligned by position"
    assert TRAINED.beside(cells[0], select.axes) == {"kind": "train", "model": "digit"}


# ---- what is still learning


def test_a_stitch_that_still_learns_is_known_by_its_job() -> None:
    """The loss of the job 'b' still fell by a tenth; that of 'a' by a hundredth, which is at rest."""
    rows = [row(0.5, receiver_seed=0, key="a"), row(0.6, receiver_seed=1, key="b"), row(0.7, receiver_seed=2, key="c")]
    falls = [row(0.01, key="a") | {"figure": "falling"}, row(0.1, key="b") | {"figure": "falling"}]
    learning = top1([*rows, *falls])
    assert learning.lower_bound
    assert learning.possible.high == math.inf
    assert learning.note.endswith("still learning")
    assert not top1([*rows, *falls], receiver_seed=0).lower_bound
    assert not top1([*rows, *falls], receiver_seed=2).lower_bound, "nothing is known of it"
    small = [row(0.02, key="b") | {"figure": "loss_end"}]
    assert not top1([*rows, *falls, *small]).lower_bound, "a tenth of next to nothing"
    alone = [each | {"figure": "receiver_here"} for each in rows]
    assert not Results([*alone, *falls]).of(["receiver_here"], {}).lower_bound


# ---- differences


def test_a_difference_is_not_cut_to_a_share() -> None:
    """A penalty of 0.02 may well be below 0; an accuracy of 0.02 may not."""
    values = [row(value, receiver_seed=k) for k, value in enumerate((0.0, 0.02, 0.04))]
    penalty = Results([{**each, "figure": "penalty"} for each in values]).of(["penalty"], {})
    assert penalty.as_share.low == penalty.low < 0
    assert top1(values).as_share.low == 0
