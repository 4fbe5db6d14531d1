"""Nulls of scores: equal to calibrated-similarity on shared permutations, and at their level for every measure."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import binom
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.estimate import Estimate
from seamripper.measures import Measure, Pair, choose_measures, measures, score
from seamripper.measures.draws import as_moments
from seamripper.measures.null import null_of, null_of_pair, sample_orders

GOLDEN = Path(__file__).parents[1] / "golden" / "null"
WIDTHS = (48, 96, 192)
PAIRED = [measure for measure in choose_measures("all") if measure.claims.paired]


def rows(n: int, d: int, seed: int) -> Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ---- against code that is not ours


def golden() -> list[Any]:
    known = json.loads((GOLDEN / "calibrated.json").read_text(encoding="utf-8"))
    return [pytest.param(name, m, known[name][m], id=f"{name} {m}") for name in known for m in known[name]]


@pytest.mark.parametrize(("name", "label", "theirs"), golden())
def test_calibrated_similarity_gives_the_same(name: str, label: str, theirs: dict[str, Any]) -> None:
    made = runpy.run_path(str(GOLDEN / "make.py"))
    xs, ys = made["inputs"]()[name]
    measure, far = measures.make(label), made["FAR"]
    distance = measure.claims.direction == "distance"
    values: list[tuple[float, list[float]]] = []
    for i, x in enumerate(xs):
        for j, y in enumerate(ys):
            pair = Pair.of(x, y)
            ours = score(measure, pair, interval=False, null=made["PERMUTATIONS"]).null
            assert ours is not None
            calibrated, p, threshold = theirs["cells"][i][j]
            assert ours.p == pytest.approx(p, abs=1e-6)
            assert ours.calibrated == pytest.approx(calibrated, abs=1e-5)
            assert (far - ours.threshold if distance else ours.threshold) == pytest.approx(threshold, abs=1e-6)
            orders = sample_orders(torch.arange(len(x)) % 5, permutations=made["PERMUTATIONS"], seed=0)
            values.append((measure.value(pair), [measure.value(Pair.of(x, y[order])) for order in orders]))
    best = min if distance else max
    observed, permuted = best(v for v, _ in values), [best(c) for c in zip(*(c for _, c in values), strict=True)]
    ours = null_of(observed, permuted, best=measure.claims.self_score, distance=distance)
    assert [ours.calibrated, ours.p] == pytest.approx(theirs["best"][:2], abs=1e-5)


# ---- known truths


def test_a_representation_with_itself_has_all_there_is() -> None:
    x = rows(60, 5, 0)
    for measure in ("linear_cka", "opd", "regression_r2", "mutual_knn"):
        null = score(measure, Pair.of(x, x), null=99).null
        assert null is not None
        assert null.p == 0.01
        assert null.calibrated == pytest.approx(1, abs=1e-6)


def test_raw_scores_of_unrelated_rows_grow_with_width_and_calibrated_ones_do_not() -> None:
    raw, calibrated = [], []
    for d in WIDTHS:
        found = score("linear_cka", Pair.of(rows(96, d, d), rows(96, d, d + 1)), interval=False, null=99)
        assert found.null is not None
        raw.append(found.value)
        calibrated.append(found.null.calibrated)
    assert raw[0] < raw[1] < raw[2]
    assert raw[2] > 0.6
    assert max(calibrated) < 0.05


@pytest.mark.parametrize("measure", PAIRED, ids=lambda measure: measure.label)
def test_reused_parts_of_a_side_change_no_value(measure: Measure) -> None:
    """Distances, moments and directions that are carried over to another order are those of rows in that order."""
    x, y = rows(40, 4, 0), rows(40, 4, 1) + rows(40, 4, 0)
    pair = Pair.of(x, y)
    measure.value(pair)
    for order in sample_orders(torch.arange(40) % 5, permutations=2, seed=3):
        assert measure.value(pair.in_order(order)) == pytest.approx(measure.value(Pair.of(x, y[order])), rel=1e-9)


def test_the_null_is_kept_in_a_record() -> None:
    found = score("linear_cka", Pair.of(rows(40, 3, 0), rows(40, 3, 1)), null=19)
    again = Estimate.from_record(json.loads(json.dumps(found.as_record())))
    assert found.null is not None
    assert again.null == found.null
    assert f"p = {found.null.p:.2g}, calibrated" in found.describe()
    assert "calibrated" in found._repr_html_()
    assert "null" not in score("linear_cka", Pair.of(rows(40, 3, 0), rows(40, 3, 1))).as_record()


def test_another_seed_draws_other_permutations() -> None:
    pair = Pair.of(rows(40, 3, 0), rows(40, 3, 1))
    nulls = [score("linear_cka", pair, null=49, seed=seed).null for seed in (0, 0, 1)]
    assert nulls[0] == nulls[1] != nulls[2]


# ---- what has none


def test_refusals() -> None:
    pair = Pair.of(rows(40, 3, 0), rows(40, 3, 1))
    with pytest.raises(MeasureError, match="does not depend on which sample is which"):
        score("effective_rank", pair, null=19)
    with pytest.raises(MeasureError, match="at least 19 permutations"):
        score("linear_cka", pair, null=18)
    with pytest.raises(MeasureError, match="null"):
        score("linear_cka", pair, null=-1)
    with pytest.raises(MeasureError, match="needs the rows of each sample"):
        score("linear_cka", as_moments(pair), null=19)
    with pytest.raises(MeasureError, match="as many of every sample"):
        score("linear_cka", Pair.of(rows(40, 3, 0), rows(40, 3, 1), places=None), null=19)


# ---- the level


def rejections(measure: Measure, *, times: int, width: int, places: int, said: int) -> int:
    """How often unrelated Gaussians of 96 rows are told apart from chance, with rows of a sample that are nearly alike.

    `said` is how many rows the pair is told that a sample has.
    """
    count, samples = 0, 96 // places
    for number in range(times):
        x, y = (
            rows(samples, width, 10 * number + k + 10_000 * width).repeat_interleave(places, 0)
            + 0.1 * rows(96, width, 10 * number + k + 5)
            if places > 1
            else rows(96, width, 10 * number + k + 10_000 * width)
            for k in (0, 1)
        )
        fold_of = (torch.arange(samples) % 5).repeat_interleave(places)
        pair = Pair.of(x, y, fold_of=fold_of, places=said).compact
        null = null_of_pair(measure, pair, measure.value(pair), permutations=19, seed=number)
        count += null.p <= 0.05
    return count


def refuses_so_few(measure: Measure, width: int) -> bool:
    """Whether the measure has no score of 96 samples of this width, because any two would then be alike."""
    try:
        measure.value(Pair.of(rows(96, width, 0), rows(96, width, 1)))
    except MeasureError as e:
        return "Give at least" in str(e)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("measure", PAIRED, ids=lambda measure: measure.label)
def test_unrelated_gaussians_are_rejected_as_often_as_the_level_says(measure: Measure, width: int) -> None:
    if refuses_so_few(measure, width):
        return
    count = rejections(measure, times=40, width=width, places=1, said=1)
    assert count <= binom.ppf(1 - 1e-5, 40, 0.05)


@pytest.mark.slow
def test_over_many_draws_the_level_is_met_from_both_sides() -> None:
    count = rejections(measures.make("linear_cka"), times=1500, width=48, places=1, said=1)
    low, high = binom.ppf([1e-4, 1 - 1e-4], 1500, 0.05)
    assert low <= count <= high


@pytest.mark.slow
def test_rows_of_a_sample_must_move_together() -> None:
    """The bound can fail: four rows of a sample taken for four samples make chance look like evidence."""
    measure, bound = measures.make("linear_cka"), binom.ppf(1 - 1e-5, 100, 0.05)
    assert rejections(measure, times=100, width=48, places=4, said=4) <= bound
    assert rejections(measure, times=100, width=48, places=4, said=1) > bound
