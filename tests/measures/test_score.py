"""Scores: what an interval covers, and what a record says."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from pairs import related

from seamripper.measures import Claims, Measure, Pair, measures, score
from seamripper.measures.base import SHAPE


@dataclass(frozen=True)
class MeanOfX(Measure):
    """The mean of x's first column, whose standard error is known."""

    name = "mean_of_x"
    paper = "none"

    @property
    def claims(self) -> Claims:
        """Enough for a test."""
        return Claims("similarity", symmetric=False, range=(-1.0, 1.0), self_score=0.0, invariant_to=SHAPE)

    def of(self, pair: Pair) -> float:
        """The mean."""
        return float(pair.x.mean[0])


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    """Over g folds of equal size, the jackknife's error of a mean is that of the folds' means: sd / √g."""
    x = torch.randn(100, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 0.1
    got = score(MeanOfX(), Pair.of(x, x))
    means = x.reshape(20, 5).mean(0)
    half = 2.7764451051977987 * float(means.std()) / math.sqrt(5)
    assert (got.high - got.low) / 2 == pytest.approx(half, rel=1e-9)
    assert (got.high + got.low) / 2 == pytest.approx(float(x.mean()))


def test_intervals_stay_within_the_range() -> None:
    x = 1.0 - 0.001 * torch.rand(50, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64) ** 20
    assert score(MeanOfX(), Pair.of(x + 0.0005, x)).high <= 1.0


@pytest.mark.parametrize("name", ["linear_cka", "cca_mean_square", "regression_r2", "nbs"])
def test_an_interval_covers_the_value_of_many_samples(name: str) -> None:
    """In 60 draws of 200 samples, 95 % of the intervals should hold the value of 60,000; well over half must."""
    x, y = related(60_000, 4, 3)
    measure = measures.make(name)
    truth = measure.value(Pair.of(x, y))
    hits = 0
    for k in range(60):
        part = slice(200 * k, 200 * (k + 1))
        got = score(measure, Pair.of(x[part], y[part]))
        hits += got.low <= truth <= got.high
    # Some measures are biased at 200 samples, which no jackknife of their spread corrects.
    assert hits >= 48


def test_a_cross_validated_measure_has_the_interval_of_its_folds() -> None:
    pair = Pair.of(*related(100, 3, 3))
    measure = measures.make("direct_structural")
    parts = torch.tensor(measure.by_fold(pair), dtype=torch.float64)
    got = score(measure, pair)
    assert (got.high - got.low) / 2 == pytest.approx(2.7764451051977987 * float(parts.std()) / math.sqrt(5), rel=1e-9)


def test_without_folds_there_is_no_interval() -> None:
    x, y = related(20, 2, 2)
    got = score(measures.make("linear_cka"), Pair.of(x, y, fold_of=torch.zeros(20, dtype=torch.int64)))
    assert math.isnan(got.low)
    assert got.as_record()["interval"] is None
    few = score(measures.make("cca_mean"), Pair.of(x[:4], y[:4]))
    assert math.isnan(few.high)
    off = score(measures.make("linear_cka"), Pair.of(x, y), interval=False)
    assert off.as_record()["interval"] is None


def test_a_record_has_what_a_reader_needs() -> None:
    got = score(measures.make("effective_rank"), Pair.of(*related(40, 3, 5)), sampling="pool")
    record = got.as_record()
    assert {"measure", "value", "n", "sampling", "interval"} <= record.keys()
    assert (record["measure"], record["n"], record["sampling"]) == ("effective_rank", 40, "pool")
    assert record["value"] == pytest.approx(abs(record["sides"][0] - record["sides"][1]))
    assert "effective_rank" in repr(got)
