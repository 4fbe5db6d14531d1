"""Agreement beyond chance: Cohen's κ, and its spread over samples and seeds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from seamripper.audits.agreement import Agreement, Bootstrap, mean_kappa


def drawn(n: int, *, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers of two networks that agree on about this share of the samples, and else by chance."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, n), rng.integers(0, 5, n)
    return a, np.where(rng.random(n) < share, a, b)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_kappa_is_that_of_scikit_learn(share: float) -> None:
    a, b = drawn(500, share=share, seed=1)
    assert Agreement.of(a, b).kappa == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)


def test_two_that_say_one_thing_always_tell_nothing() -> None:
    always = np.full(50, 3)
    assert (Agreement.of(always, always).share, Agreement.of(always, always).kappa) == (1.0, 0.0)


def test_the_spread_is_that_of_samples_and_of_seeds() -> None:
    one = Agreement.of(*drawn(1000, share=0.5, seed=0))
    spread = Bootstrap(1000).kappa([one])
    # The standard error of a share, carried over to κ.
    expected = np.sqrt(one.share * (1 - one.share) / 1000) / (1 - one.chance)
    assert spread.std() == pytest.approx(expected, rel=0.1)
    assert spread.mean() == pytest.approx(one.kappa, abs=4 * expected / np.sqrt(1000))
    far = [Agreement.of(*drawn(1000, share=s, seed=0)) for s in (0.2, 0.9)]
    assert Bootstrap(1000).kappa(far).std() > 5 * spread.std()
    assert mean_kappa(far) == pytest.approx((far[0].kappa + far[1].kappa) / 2)
