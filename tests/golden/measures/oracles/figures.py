"""Figures of one side, which are compared: ranks, and how rows are spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import TALL, Array, centred, clone, lib, oracle, resi, tensor, unit


@oracle("numerical_rank", by="numpy", inputs=(*TALL, "steep"), reads="sides")
def numpy_rank(x: Array, y: Array) -> Any:
    covariances = [np.cov(rows, rowvar=False) for rows in (x, y)]
    return tuple(np.linalg.matrix_rank(c, tol=1e-3 * np.linalg.norm(c, 2)) for c in covariances)


@oracle("effective_rank", by="scikit-bio", reads="sides", note="Hill's number of order 1 is exp(entropy)")
def skbio_hill(x: Array, y: Array) -> Any:
    return tuple(lib("skbio.diversity.alpha").hill(spectrum(rows), order=1) for rows in (x, y))


@oracle(
    "effective_rank",
    by="scikit-bio",
    reads="sides",
    differs="another convention that is in use: of the covariance's eigenvalues, the squares of the singular values",
)
def skbio_hill_of_squares(x: Array, y: Array) -> Any:
    return tuple(lib("skbio.diversity.alpha").hill(spectrum(rows) ** 2, order=1) for rows in (x, y))


@oracle("magnitude_difference", by="mklabunde/resi")
def resi_magnitude(x: Array, y: Array) -> Any:
    return resi("statistics").magnitude_difference(x, y, "nd")


@oracle("concentricity_difference", by="mklabunde/resi")
def resi_concentricity(x: Array, y: Array) -> Any:
    return resi("statistics").concentricity_difference(x, y, "nd")


@oracle("uniformity_difference", by="ssnl/align_uniform", reads="sides")
def wang(x: Array, y: Array) -> Any:
    return tuple(clone("align_uniform", "align_uniform").uniform_loss(tensor(unit(rows))) for rows in (x, y))


@oracle(
    "uniformity_difference",
    by="mklabunde/resi",
    inputs=("unrelated", "near", "decaying"),
    differs="rows are not brought to length 1, and each counts with itself",
)
@oracle(
    "uniformity_difference?rows=raw&pairs=all",
    by="mklabunde/resi",
    inputs=("unrelated", "near", "decaying"),
)
def resi_uniformity(x: Array, y: Array) -> Any:
    return resi("statistics").uniformity_difference(x, y, "nd")


def spectrum(rows: Array) -> Array:
    """The singular values of the centred rows; of n rows there are n − 1, and one more would be rounding."""
    return np.asarray(np.linalg.svd(centred(rows), compute_uv=False)[: len(rows) - 1], dtype=np.float64)
