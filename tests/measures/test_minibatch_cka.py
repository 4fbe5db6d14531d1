"""Minibatch CKA, against sums over batches of U-centred Gram matrices."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from pairs import by_moments, related, ucentred_hsic, unrelated
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures import measures
from seamripper.measures.debiased_cka import DebiasedCKA
from seamripper.measures.minibatch_cka import MinibatchCKA
from seamripper.measures.pair import Batched, Pair


def hsic_sums(x: Tensor, y: Tensor, bounds: list[int]) -> tuple[float, float, float]:
    """HSIC₁ of x with itself, of x with y, and of y with itself, summed over batches between the bounds."""
    batches = [(x[low:high], y[low:high]) for low, high in itertools.pairwise(bounds)]
    own_x, cross, own_y = (
        sum(ucentred_hsic(*sides) for sides in column)
        for column in zip(*(((a, a), (a, b), (b, b)) for a, b in batches), strict=True)
    )
    return own_x, cross, own_y


def by_batches(x: Tensor, y: Tensor, bounds: list[int]) -> float:
    own_x, cross, own_y = hsic_sums(x, y, bounds)
    return cross / (own_x * own_y) ** 0.5


def test_sums_over_batches_in_row_order() -> None:
    x, y = related(50, 4, 6)
    assert MinibatchCKA(batch=10).value(Pair.of(x, y)) == pytest.approx(by_batches(x, y, [0, 10, 20, 30, 40, 50]))
    shuffled = torch.randperm(50, generator=torch.Generator().manual_seed(0))
    other = MinibatchCKA(batch=10).value(Pair.of(x[shuffled], y[shuffled]))
    assert other != pytest.approx(by_batches(x, y, [0, 10, 20, 30, 40, 50]), abs=1e-6)


@pytest.mark.parametrize(("n", "bounds"), [(143, [0, 64, 128, 143]), (132, [0, 64, 128, 132]), (131, [0, 64, 128])])
def test_a_last_batch_counts_from_four_rows_on(n: int, bounds: list[int]) -> None:
    x, y = related(n, 5, 5)
    assert MinibatchCKA().value(Pair.of(x, y)) == pytest.approx(by_batches(x, y, bounds), rel=1e-9)


def test_one_batch_is_debiased_cka() -> None:
    pair = Pair.of(*related(40, 6, 3))
    assert MinibatchCKA().value(pair) == pytest.approx(DebiasedCKA().value(pair), rel=1e-9)


def test_the_sums_of_a_pass_are_used() -> None:
    """Where the folds are whole batches, they are the sums of the rows."""
    x, y = related(80, 4, 6)
    folds = torch.arange(80) // 16
    sums = tuple(hsic_sums(x, y, [start, start + 8, start + 16]) for start in range(0, 80, 16))
    moments = replace(by_moments(x, y, fold_of=folds), batched=Batched((16,) * 5, sums))
    assert MinibatchCKA(batch=8).value(moments) == pytest.approx(MinibatchCKA(batch=8).value(Pair.of(x, y)), rel=1e-9)
    rest = MinibatchCKA(batch=8).value(Pair.of(x, y, fold_of=folds).without(2))
    assert MinibatchCKA(batch=8).value(moments.without(2)) == pytest.approx(rest, rel=1e-9)


def test_a_pass_without_the_sums_is_refused() -> None:
    with pytest.raises(MeasureError, match="sums that this pass did not make"):
        MinibatchCKA().value(by_moments(*related(40, 3, 3)))


def test_unrelated_rows_come_out_about_zero() -> None:
    values = [MinibatchCKA(batch=10).value(Pair.of(*unrelated(100, 50, 50, seed=seed))) for seed in range(20)]
    assert abs(sum(values) / len(values)) < 0.02


def test_options() -> None:
    assert measures.make("minibatch_cka?batch=32") == MinibatchCKA(batch=32)
    assert MinibatchCKA(batch=32).label == "minibatch_cka?batch=32"
    with pytest.raises(MeasureError, match="Expected batch of minibatch_cka to be at least 4, but got 3"):
        MinibatchCKA(batch=3)
    with pytest.raises(MeasureError, match="a whole number"):
        MinibatchCKA(batch=6.5)  # type: ignore[arg-type]
