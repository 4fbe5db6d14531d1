"""The pairs that all oracles, and our measures, are put to: drawn here, so that no data are stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = tuple[Array, Array]


def inputs() -> dict[str, Rows]:
    """Pairs x, y of rows by name; each has a generator of its own, so that one more changes none of the others."""
    return {
        "shared": _shared(np.random.default_rng(1)),
        "unrelated": _unrelated(np.random.default_rng(2)),
        "near": _near(np.random.default_rng(3)),
        "relu": _relu(np.random.default_rng(4)),
        "decaying": _decaying(np.random.default_rng(5)),
        "wide": _wide(np.random.default_rng(6)),
        "steep": _steep(np.random.default_rng(5)),
    }


def _shared(rng: np.random.Generator) -> Rows:
    """The same four numbers behind 8 and behind 6 columns; the sender is the wider side."""
    latent = rng.standard_normal((200, 4))
    x = latent @ rng.standard_normal((4, 8)) + 0.5 * rng.standard_normal((200, 8))
    y = latent @ rng.standard_normal((4, 6)) + 0.5 * rng.standard_normal((200, 6))
    return x, y


def _unrelated(rng: np.random.Generator) -> Rows:
    """Noise and other noise."""
    return rng.standard_normal((101, 5)), rng.standard_normal((101, 7))


def _near(rng: np.random.Generator) -> Rows:
    """Columns of different size about a mean, and the same with a little noise."""
    x = rng.standard_normal((300, 10)) * np.linspace(2.0, 0.5, 10) + 1.0
    return x, x + 0.05 * rng.standard_normal((300, 10))


def _relu(rng: np.random.Generator) -> Rows:
    """Not Gaussian, and the means are off zero: two random layers on one input, an offset on each."""
    source = rng.standard_normal((151, 9))
    x, y = (np.maximum(source @ rng.standard_normal((9, 12)) + rng.standard_normal(12), 0.0) for _ in range(2))
    return x + 0.3, y + 0.7


def _decaying(rng: np.random.Generator) -> Rows:
    """Spectra that fall off, one faster than the other: ranks by a threshold, and SVCCA's cut, lie inside."""
    source = rng.standard_normal((250, 20))
    x = source * 10 ** -np.linspace(0.0, 2.0, 20) @ (np.eye(20) + 0.1 * rng.standard_normal((20, 20)))
    y = source[:, :15] * 10 ** -np.linspace(0.0, 1.0, 15) @ (np.eye(15) + 0.1 * rng.standard_normal((15, 15)))
    return x, y + 0.05 * rng.standard_normal((250, 15))


def _steep(rng: np.random.Generator) -> Rows:
    """The largest direction is 1e5 times the smallest: whoever squares that loses ten digits."""
    source = rng.standard_normal((250, 20))
    x = source * 10 ** -np.linspace(0.0, 3.0, 20) @ rng.standard_normal((20, 20))
    y = source[:, :15] * 10 ** -np.linspace(0.0, 1.5, 15) @ rng.standard_normal((15, 15))
    return x, y + 0.05 * rng.standard_normal((250, 15))


def _wide(rng: np.random.Generator) -> Rows:
    """Fewer rows than columns."""
    latent = rng.standard_normal((41, 10))
    x = latent @ rng.standard_normal((10, 60)) + rng.standard_normal((41, 60))
    y = latent @ rng.standard_normal((10, 50)) + rng.standard_normal((41, 50))
    return x, y - 0.5
