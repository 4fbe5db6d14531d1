"""Shapes: Procrustes distances, normalised Bures similarity, units matched with units."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Array, centred, clone, lib, normed, oracle, resi, sim_index


@oracle("opd", by="js-d/sim_metric")
def ding(x: Array, y: Array) -> Any:
    return clone("sim_metric", "dists.scoring").procrustes(normed(x).T, normed(y).T)


@oracle("opd", by="scipy")
def scipy_rotation(x: Array, y: Array) -> Any:
    return 2 - 2 * lib("scipy.linalg").orthogonal_procrustes(*padded(normed(x), normed(y)))[1]


@oracle("opd", by="scipy", note="from the disparity d, which is 1 − (1 − opd / 2)²")
def scipy_disparity(x: Array, y: Array) -> Any:
    return 2 - 2 * np.sqrt(1 - lib("scipy.spatial").procrustes(*padded(x, y))[2])


@oracle("opd", by="qc-procrustes")
def qc(x: Array, y: Array) -> Any:
    return lib("procrustes").orthogonal(x, y, translate=True, scale=True).error


@oracle("opd", by="scipy", differs="it scales one side to fit the other best")
def scipy_disparity_itself(x: Array, y: Array) -> Any:
    return lib("scipy.spatial").procrustes(*padded(x, y))[2]


@oracle("procrustes", by="mklabunde/resi")
def resi_procrustes(x: Array, y: Array) -> Any:
    return resi("procrustes").orthogonal_procrustes_centered_and_normalized(x, y, "nd")


@oracle("procrustes", by="ahwillia/netrep")
def netrep_normed(x: Array, y: Array) -> Any:
    return netrep("linear").LinearMetric(score_method="euclidean").fit_score(normed(x), normed(y))


@oracle("procrustes_angular", by="ahwillia/netrep")
def netrep_angular(x: Array, y: Array) -> Any:
    return netrep("linear").LinearMetric(score_method="angular").fit_score(x, y)


@oracle("procrustes_angular", by="mklabunde/resi")
def resi_angular(x: Array, y: Array) -> Any:
    return resi("procrustes").orthogonal_angular_shape_metric_centered(x, y, "nd")


@oracle("size_and_shape", by="ahwillia/netrep")
def netrep_size(x: Array, y: Array) -> Any:
    return netrep("linear").LinearMetric(score_method="euclidean").fit_score(x, y)


@oracle("size_and_shape", by="mklabunde/resi")
def resi_size(x: Array, y: Array) -> Any:
    return resi("procrustes").procrustes_size_and_shape_distance(x, y, "nd")


@oracle("nbs", by="scipy")
def scipy_overlap(x: Array, y: Array) -> Any:
    return lib("scipy.linalg").orthogonal_procrustes(*padded(normed(x), normed(y)))[1]


@oracle("nbs", by="ahwillia/netrep")
def netrep_cosine(x: Array, y: Array) -> Any:
    return np.cos(netrep("linear").LinearMetric(score_method="angular").fit_score(x, y))


@oracle(
    "nbs",
    by="similarity-repository-0.0.1",
    tolerance=1e-6,
    note="the authors' own; it sums the roots of n eigenvalues, and of those that are zero the roots of their rounding",
)
def tang(x: Array, y: Array) -> Any:
    return sim_index().nbs(x @ x.T, y @ y.T)


@oracle("permutation_procrustes", by="ahwillia/netrep")
def netrep_units(x: Array, y: Array) -> Any:
    return netrep("perm").PermutationMetric(score_method="euclidean").fit_score(normed(x), normed(y))


@oracle("permutation_procrustes", by="qc-procrustes")
def qc_units(x: Array, y: Array) -> Any:
    return np.sqrt(lib("procrustes").permutation(x, y, translate=True, scale=True).error)


@oracle("permutation_procrustes", by="ahwillia/netrep", differs="it centres and does not scale")
def netrep_units_unscaled(x: Array, y: Array) -> Any:
    return netrep("perm").PermutationMetric(score_method="euclidean").fit_score(x, y)


@oracle("permutation_procrustes", by="mklabunde/resi", differs="it neither centres nor scales")
def resi_units(x: Array, y: Array) -> Any:
    return resi("procrustes").permutation_procrustes(x, y, "nd")


@oracle("hard_correlation_match", by="mklabunde/resi")
def resi_hard(x: Array, y: Array) -> Any:
    return resi("correlation_match").hard_correlation_match(x, y, "nd")


@oracle("hard_correlation_match", by="scipy")
def scipy_hard(x: Array, y: Array) -> Any:
    found = 1 - lib("scipy.spatial.distance").cdist(x.T, y.T, "correlation")
    return found[lib("scipy.optimize").linear_sum_assignment(found, maximize=True)].mean()


@oracle("soft_correlation_match", by="mklabunde/resi")
def resi_soft(x: Array, y: Array) -> Any:
    return resi("correlation_match").soft_correlation_match(x, y, "nd")


@oracle("aligned_cosine", by="mklabunde/resi")
def resi_cosine(x: Array, y: Array) -> Any:
    return resi("procrustes").aligned_cossim(x, y, "nd")


@oracle("aligned_cosine?about=mean", by="mklabunde/resi")
def resi_cosine_centred(x: Array, y: Array) -> Any:
    return resi("procrustes").aligned_cossim(centred(x), centred(y), "nd")


def netrep(module: str) -> Any:
    """A file of netrep's metrics."""
    return clone("netrep", f"netrep.metrics.{module}")


def padded(x: Array, y: Array) -> tuple[Array, Array]:
    """Both at the same width, by columns of zeros."""
    width = max(x.shape[1], y.shape[1])
    a, b = (np.pad(rows, ((0, 0), (0, width - rows.shape[1]))) for rows in (x, y))
    return a, b
