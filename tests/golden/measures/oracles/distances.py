"""Distances between rows: RSA, distance correlation, the norm of a difference."""

from __future__ import annotations

import itertools
from typing import Any

from .base import Array, lib, oracle, resi, sim_index

_COMPARES = {"pearson": "corr", "spearman": "spearman", "kendall": "kendall"}
"""How rsatoolbox calls what compares two matrices."""


@oracle(
    "rsa?rdm={rdm}&compare={compare}",
    by="scikit-bio + scipy",
    each=[
        {"rdm": rdm, "compare": compare}
        for rdm, compare in itertools.product(("correlation", "euclidean", "cosine"), _COMPARES)
    ],
)
def skbio(x: Array, y: Array, rdm: str, compare: str) -> Any:
    distance, method = lib("scipy.spatial.distance"), {"kendall": "kendalltau"}.get(compare, compare)
    tables = [distance.squareform(distance.pdist(rows, rdm)) for rows in (x, y)]
    return lib("skbio.stats.distance").mantel(*tables, method=method, permutations=0)[0]


@oracle(
    "rsa?rdm={rdm}&compare={compare}",
    by="rsatoolbox",
    each=[{"rdm": "euclidean", "compare": "pearson"}],
    differs="its Euclidean distance is squared, and divided by the width",
)
@oracle(
    "rsa?rdm={rdm}&compare={compare}",
    by="rsatoolbox",
    each=[
        {"rdm": rdm, "compare": compare}
        for rdm, compare in itertools.product(("correlation", "euclidean"), _COMPARES)
        if (rdm, compare) != ("euclidean", "pearson")
    ],
)
def rsatoolbox(x: Array, y: Array, rdm: str, compare: str) -> Any:
    toolbox = lib("rsatoolbox")
    rdms = [toolbox.rdm.calc_rdm(toolbox.data.Dataset(rows), method=rdm) for rows in (x, y)]
    return toolbox.rdm.compare(*rdms, method=_COMPARES[compare])[0, 0]


@oracle("distance_correlation", by="dcor")
def dcor(x: Array, y: Array) -> Any:
    return lib("dcor").distance_correlation(x, y)


@oracle("distance_correlation?debiased=True", by="dcor")
def dcor_debiased(x: Array, y: Array) -> Any:
    return lib("dcor").u_distance_correlation_sqr(x, y)


@oracle("distance_correlation?debiased={debiased}", by="hyppo", each=[{"debiased": False}, {"debiased": True}])
def hyppo(x: Array, y: Array, debiased: bool) -> Any:
    return lib("hyppo.independence").Dcorr(bias=not debiased).statistic(x, y)


@oracle(
    "rsm_norm_difference?rsm={rsm}",
    by="similarity-repository-0.0.1 + scikit-learn",
    each=[
        {"rsm": "inner", "kernel": "linear_kernel"},
        {"rsm": "cosine", "kernel": "cosine_similarity"},
        {"rsm": "euclidean", "kernel": "euclidean_distances"},
    ],
)
def tang(x: Array, y: Array, rsm: str, kernel: str) -> Any:
    matrices = [getattr(lib("sklearn.metrics.pairwise"), kernel)(rows) for rows in (x, y)]
    return sim_index().euclidean(*matrices) / len(x)


@oracle(
    "rsm_norm_difference?rsm=euclidean",
    by="mklabunde/resi",
    differs="it takes the spectral norm, and does not divide by n",
)
def resi_norm(x: Array, y: Array) -> Any:
    return resi("rsm_norm_difference").rsm_norm_diff(x, y, "nd")
