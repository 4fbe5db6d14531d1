"""Normalised Bures similarity, against roots of Gram matrices, and SciPy's Procrustes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from pairs import assert_same_by_moments, centred, related, unrelated
from torch import Tensor

from seamripper.measures.nbs import NBS
from seamripper.measures.pair import Pair


def root_of_gram(x: Tensor) -> np.ndarray:
    u, s, _ = np.linalg.svd(centred(x), full_matrices=False)
    return (u * s) @ u.T


@pytest.mark.parametrize(("n", "p", "q"), [(40, 4, 4), (40, 3, 7), (12, 30, 20)])
def test_is_the_fidelity_of_gram_matrices(n: int, p: int, q: int) -> None:
    x, y = related(n, p, q)
    k, l = root_of_gram(x), root_of_gram(y)  # noqa: E741
    # tr (K^½ L K^½)^½ is the sum of the singular values of K^½ L^½.
    wanted = np.linalg.norm(k @ l, ord="nuc") / np.sqrt(np.trace(k @ k) * np.trace(l @ l))
    assert NBS().value(Pair.of(x, y)) == pytest.approx(wanted, rel=1e-9)


def test_is_the_cosine_at_the_best_rotation() -> None:
    x, y = related(40, 5, 5)
    a, b = centred(x), centred(y)
    rotation, _ = scipy.linalg.orthogonal_procrustes(a, b)
    wanted = ((a @ rotation) * b).sum() / np.linalg.norm(a) / np.linalg.norm(b)
    assert NBS().value(Pair.of(x, y)) == pytest.approx(wanted, rel=1e-9)


def test_a_rotated_copy_is_the_same_and_noise_is_not() -> None:
    x, y = unrelated(2000, 4, 4)
    q, _ = np.linalg.qr(unrelated(4, 4, 1)[0].numpy())
    assert NBS().value(Pair.of(x, 3 * x @ x.new_tensor(q) + 1)) == pytest.approx(1.0, abs=1e-12)
    assert NBS().value(Pair.of(x, y)) < 0.1


def test_from_moments() -> None:
    assert_same_by_moments(NBS(), *related(90, 5, 4))
