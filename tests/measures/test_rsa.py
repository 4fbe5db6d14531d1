"""RSA in its nine forms, against scipy, pair counting, and what each dissimilarity does not see."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from pairs import noise, rotation
from scipy import stats
from scipy.spatial.distance import pdist

from seamripper.errors import MeasureError
from seamripper.measures.pair import Pair
from seamripper.measures.rsa import RSA

CORRELATIONS = {
    "pearson": lambda a, b: stats.pearsonr(a, b).statistic,
    "spearman": lambda a, b: stats.spearmanr(a, b).statistic,
    "kendall": lambda a, b: stats.kendalltau(a, b).statistic,
}


@pytest.mark.parametrize("variant", RSA.variants(), ids=lambda v: v.label)
@pytest.mark.parametrize(("p", "q"), [(6, 4), (60, 90)])
def test_as_scipy_has_it(variant: RSA, p: int, q: int) -> None:
    x = noise(25, p, 0) + 0.5
    y = x[:, :q] + noise(25, min(p, q), 1)
    expected = CORRELATIONS[variant.compare](pdist(x.numpy(), variant.rdm), pdist(y.numpy(), variant.rdm))
    assert 0.1 < expected < 0.9
    assert variant.value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-12)


def test_there_are_nine_and_each_says_which() -> None:
    assert [v.label for v in RSA.variants()] == [
        "rsa",
        "rsa?compare=pearson",
        "rsa?compare=kendall",
        "rsa?rdm=euclidean",
        "rsa?rdm=euclidean&compare=pearson",
        "rsa?rdm=euclidean&compare=kendall",
        "rsa?rdm=cosine",
        "rsa?rdm=cosine&compare=pearson",
        "rsa?rdm=cosine&compare=kendall",
    ]


def test_kendall_by_counting_pairs() -> None:
    # Whole numbers, so that there are ties for tau-b to divide by.
    x, y = (3 * noise(7, 2, 0)).round(), (3 * noise(7, 2, 1)).round()
    a, b = pdist(x.numpy()).tolist(), pdist(y.numpy()).tolist()
    agree = tied_a = tied_b = 0
    for i, j in itertools.combinations(range(len(a)), 2):
        u, v = np.sign(round(a[i] - a[j], 12)), np.sign(round(b[i] - b[j], 12))
        agree, tied_a, tied_b = agree + u * v, tied_a + (u == 0), tied_b + (v == 0)
    pairs = math.comb(len(a), 2)
    assert tied_a > 0
    assert tied_b > 0
    expected = agree / math.sqrt((pairs - tied_a) * (pairs - tied_b))
    assert RSA(rdm="euclidean", compare="kendall").value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("compare", ["spearman", "kendall"])
@pytest.mark.parametrize("rdm", ["euclidean", "cosine"])
def test_ties_survive_a_rotation(rdm: str, compare: str) -> None:
    # Six places for thirty samples: most distances are tied, and rounding would put them in some order or other.
    x = noise(6, 4, 0)[torch.arange(30) % 6]
    y = noise(30, 5, 1)
    measure = RSA(rdm=rdm, compare=compare)
    value = measure.value(Pair.of(x, y))
    assert measure.value(Pair.of(x @ rotation(4, 9), y)) == pytest.approx(value, abs=1e-12)
    assert value == pytest.approx(
        CORRELATIONS[compare](pdist(x.numpy(), rdm).round(12), pdist(y.numpy(), rdm)), abs=1e-12
    )


def test_squaring_euclidean_distances_matters_to_pearson_alone() -> None:
    x, y = noise(20, 3, 0), noise(20, 3, 1) + noise(20, 3, 0)
    a, b = pdist(x.numpy(), "sqeuclidean") / 3, pdist(y.numpy(), "sqeuclidean") / 3  # as rsatoolbox has them
    pair = Pair.of(x, y)
    for compare in ("spearman", "kendall"):
        found = RSA(rdm="euclidean", compare=compare).value(pair)
        assert found == pytest.approx(CORRELATIONS[compare](a, b), abs=1e-12)
    assert abs(RSA(rdm="euclidean", compare="pearson").value(pair) - CORRELATIONS["pearson"](a, b)) > 1e-3


@pytest.mark.parametrize("variant", RSA.variants(), ids=lambda v: v.label)
def test_what_it_does_not_see(variant: RSA) -> None:
    x, y = noise(25, 5, 0), noise(25, 5, 0) + noise(25, 5, 1)
    value = variant.value(Pair.of(x, y))
    changed = {
        "translation": x + torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0]),
        "scaling": 2.5 * x,
        "orthogonal": x @ rotation(5, 9),
        "permutation": x[:, [3, 1, 4, 0, 2]],
        "invertible": x @ noise(5, 5, 7),
    }
    kept = {name for name, z in changed.items() if abs(variant.value(Pair.of(z, y)) - value) < 1e-10}
    assert kept == variant.claims.invariant_to
    same_to_all = variant.value(Pair.of(x + 2.0, y))
    assert (abs(same_to_all - value) < 1e-10) == (variant.rdm != "cosine")


def test_refuses_rows_that_are_all_as_far() -> None:
    with pytest.raises(
        MeasureError, match=r"rsa\?rdm=euclidean is not defined here: the receiver's rows are all equally far"
    ):
        RSA(rdm="euclidean").value(Pair.of(noise(6, 3, 0), torch.eye(6)))


def test_refuses_a_single_column_for_correlation() -> None:
    with pytest.raises(MeasureError, match=r"rows that are constant: the sender has 6 of them"):
        RSA().value(Pair.of(noise(6, 1, 0), noise(6, 3, 1)))


def test_refuses_a_word_that_it_does_not_know() -> None:
    with pytest.raises(
        MeasureError, match=r"Expected rdm of the measure 'rsa' to be .*'euclidean'.* but got 'pearson'"
    ):
        RSA(rdm="pearson")  # type: ignore[arg-type]
    with pytest.raises(MeasureError, match=r"Expected compare of .* but got 'cosine'"):
        RSA(compare="cosine")  # type: ignore[arg-type]
