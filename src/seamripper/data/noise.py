"""Clustered noise: activations of no network at all, one cluster per class (Smith et al. 2025, section 5)."""

from __future__ import annotations

import math

import numpy as np
import torch

from seamripper._doors import in_words, require, require_whole
from seamripper._options import accepts
from seamripper.data.base import SPLITS, check_seed, check_size, check_split
from seamripper.data.samples import Samples
from seamripper.errors import DataError

_PER_CLASS = {"train": 6_000, "test": 1_000}
_TEST_IDS = 1 << 32  # above any id of a train sample, however many per class are asked for
_CHUNK = 1 << 18  # values drawn at a time, few enough to stay in the cache


def clustered_noise(
    shape: tuple[int, ...],
    *,
    classes: int = 10,
    radius: float = 0.1,
    per_class: int | None = None,
    seed: int = 0,
    split: str = "train",
    limit: int = 4 * 10**9,
) -> Samples:
    """Noise in the shape of one sample at a cut: clamp(centre + radius · N(0, 1), 0, 1), centre ~ U[0, 1].

    Each class has one centre, drawn by `seed` alone, so that train and test, and every `radius`, share it.
    Sample i is of class i mod `classes`, and is the same however many `per_class` are asked for: by default
    6,000 to train and 1,000 to test.

    >>> noise = clustered_noise((2,), classes=2, per_class=3)
    >>> noise.labels.tolist()
    [0, 1, 0, 1, 0, 1]
    >>> [[round(x, 3) for x in row] for row in noise.inputs[::2].tolist()]
    [[0.0, 0.644], [0.075, 0.764], [0.053, 0.707]]
    """
    each = _PER_CLASS[check_split(split)] if per_class is None else per_class
    require(shape, (tuple, list, torch.Size), "shape", error=DataError, advice="(3, 28, 28), for example.")
    sizes = {f"shape[{i}]": size for i, size in enumerate(shape)}
    for name, value in {"classes": classes, "per_class": each, **sizes}.items():
        require_whole(value, name, least=1, error=DataError)
    if not accepts(float, radius) or not (math.isfinite(radius) and radius >= 0):
        raise DataError(f"Expected radius to be 0 or more, but got {in_words(radius)}.")
    n, size = classes * each, math.prod(shape)
    check_size(n * size * 4, limit=limit, name="Clustered noise", advice="Ask for fewer per_class.")

    # RandomState and not Generator: numpy promises that its streams never change.
    centres = np.random.RandomState([check_seed(seed), len(SPLITS)]).uniform(size=(classes, size))
    rng = np.random.RandomState([seed, SPLITS.index(split)])
    labels = torch.arange(n) % classes
    inputs = torch.empty(n, size)
    step = max(1, _CHUNK // size)
    for start in range(0, n, step):
        kinds = labels[start : start + step].numpy()
        rows = rng.standard_normal((len(kinds), size))
        rows *= radius
        rows += centres[kinds]
        inputs[start : start + step] = torch.from_numpy(rows).clamp_(0, 1)
    first_id = 0 if split == "train" else _TEST_IDS
    return Samples(
        name=f"noise(radius={radius:g})",
        inputs=inputs.reshape(n, *shape),
        labels=labels,
        ids=torch.arange(first_id, first_id + n),
        classes=classes,
        source=f"clustered noise with seed {seed}",
    )
