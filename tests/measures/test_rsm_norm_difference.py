"""RSM norm difference against SciPy's distances and loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.spatial.distance
import torch
from pairs import noise, rotation

from seamripper.errors import MeasureError
from seamripper.measures import distances
from seamripper.measures.pair import Pair
from seamripper.measures.rsm_norm_difference import RSMNormDifference

KINDS = ["inner", "cosine", "euclidean"]


def measure(kind: str) -> RSMNormDifference:
    return RSMNormDifference(rsm=kind)  # type: ignore[arg-type]


def entry(a: np.ndarray, b: np.ndarray, kind: str) -> float:
    if kind == "inner":
        return float(a @ b)
    if kind == "cosine":
        return float(1 - scipy.spatial.distance.cosine(a, b))
    return float(scipy.spatial.distance.euclidean(a, b))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "p", "q"), [(15, 4, 4), (15, 3, 6), (6, 20, 9)])
def test_it_is_the_root_mean_square_over_entries(kind: str, n: int, p: int, q: int) -> None:
    x, y = noise(n, p, 0) + 1, 2 * noise(n, q, 1)
    a, b = x.numpy(), y.numpy()
    squares = [(entry(a[i], a[j], kind) - entry(b[i], b[j], kind)) ** 2 for i in range(n) for j in range(n)]
    assert measure(kind).value(Pair.of(x, y)) == pytest.approx(np.sqrt(np.mean(squares)), abs=1e-7)


def test_n_times_it_is_the_pairwise_inner_product_loss() -> None:
    x, y = noise(15, 4, 0) + 1, noise(15, 6, 1)
    loss = np.linalg.norm(x.numpy() @ x.numpy().T - y.numpy() @ y.numpy().T)
    assert 15 * measure("inner").value(Pair.of(x, y)) == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_make_no_difference(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair.of(noise(31, 3, 0) + 1, noise(31, 4, 1))
    whole = measure(kind).value(pair)
    monkeypatch.setattr(distances, "_CELLS", 70)
    assert measure(kind).value(pair) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_does_not_see_depends_on_the_matrix(kind: str) -> None:
    x, y = noise(20, 3, 0), noise(20, 3, 1)
    before = measure(kind).value(Pair.of(x, y))
    changed = {
        "translation": x + 2,
        "scaling": 3 * x,
        "orthogonal": x @ rotation(3, 2),
        "permutation": x[:, [2, 0, 1]],
        "invertible": x @ noise(3, 3, 3),
    }
    same = {k for k, v in changed.items() if measure(kind).value(Pair.of(v, y)) == pytest.approx(before, abs=1e-7)}
    assert same == measure(kind).claims.invariant_to


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_are_0_rotated_too(kind: str) -> None:
    x = noise(25, 6, 0) + 10
    x[3] = x[4]
    assert measure(kind).value(Pair.of(x, x.clone())) == 0.0
    assert measure(kind).value(Pair.of(x, x @ rotation(6, 1))) == pytest.approx(0.0, abs=1e-6)


def test_far_from_the_origin_distances_keep_their_digits() -> None:
    x = noise(20, 4, 0)
    found = torch.cat(list(distances.square_distances(x + 1e6)))
    expected = scipy.spatial.distance.cdist(x.numpy(), x.numpy(), "sqeuclidean")
    assert np.abs(found.numpy() - expected).max() < 1e-7
    assert not found.diagonal().any()


def test_a_row_of_zeros_has_cosine_0() -> None:
    x = torch.ones(4, 2)
    y = x.clone()
    y[0] = 0.0
    assert measure("cosine").value(Pair.of(x, y)) == pytest.approx((7 / 16) ** 0.5, abs=1e-12)


def test_unknown_option() -> None:
    with pytest.raises(MeasureError, match="'inner', 'cosine' or 'euclidean'"):
        measure("manhattan")
