"""Neighbours: what the ten nearest rows of each row have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Array, lib, oracle, resi, tensor, unit
from .cka import platonic

METRICS = [{"metric": "cosine"}, {"metric": "euclidean"}]


@oracle("knn_jaccard?metric={metric}", by="mklabunde/resi", each=METRICS)
def resi_jaccard(x: Array, y: Array, metric: str) -> Any:
    return resi("nearest_neighbor").jaccard_similarity(x, y, "nd", k=10, inner=metric, n_jobs=1)


@oracle("rank_similarity?metric={metric}", by="mklabunde/resi", each=METRICS)
def resi_rank(x: Array, y: Array, metric: str) -> Any:
    return resi("nearest_neighbor").rank_similarity(x, y, "nd", k=10, inner=metric, n_jobs=1)


@oracle("mutual_knn", by="minyoungg/platonic-rep")
def platonic_knn(x: Array, y: Array) -> Any:
    return platonic().mutual_knn(tensor(unit(x)), tensor(unit(y)), topk=10)


@oracle("mutual_knn?metric={metric}", by="scikit-learn", each=METRICS)
def sklearn_knn(x: Array, y: Array, metric: str) -> Any:
    return (graph(x, metric) * graph(y, metric)).sum() / (10 * len(x))


@oracle("cknna", by="scikit-learn", note="the paper's equation, of scikit-learn's neighbours and cosines")
def sklearn_cknna(x: Array, y: Array) -> Any:
    kernels = [lib("sklearn.metrics.pairwise").cosine_similarity(rows) for rows in (x, y)]
    k, m = (graph(r, "cosine") * (s - s.mean(1, keepdims=True)) for r, s in zip((x, y), kernels, strict=True))
    return (k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum())


@oracle(
    "cknna",
    by="minyoungg/platonic-rep",
    differs="it masks the kernels and then takes an unbiased HSIC of them; the paper's equation centres, then masks",
)
def platonic_cknna(x: Array, y: Array) -> Any:
    return platonic().cknna(tensor(1e4 * unit(x)), tensor(1e4 * unit(y)), topk=10)


@oracle(
    "second_order_cosine",
    by="scikit-learn + scipy",
    note="the paper's formula, of scikit-learn's neighbours and cosines",
)
def sklearn_second_order(x: Array, y: Array) -> Any:
    s, t = (lib("sklearn.metrics.pairwise").cosine_similarity(rows) for rows in (x, y))
    around = (graph(x, "cosine") + graph(y, "cosine")) > 0
    cosine = lib("scipy.spatial.distance").cosine
    return np.mean([1 - cosine(s[i, near], t[i, near]) for i, near in enumerate(around)])


@oracle(
    "second_order_cosine",
    by="mklabunde/resi",
    differs="it compares cosine distances, where the paper and the survey have cosines",
)
def resi_second_order(x: Array, y: Array) -> Any:
    return resi("nearest_neighbor").second_order_cosine_similarity(x, y, "nd", k=10, n_jobs_neighbors=1)


def graph(rows: Array, metric: str) -> Array:
    """1 where j is one of the ten nearest neighbours of i, by scikit-learn."""
    found: Array = lib("sklearn.neighbors").kneighbors_graph(rows, 10, metric=metric).toarray()
    return found


RETRIEVALS = [{"k": 1, "metric": "cosine"}, {"k": 10, "metric": "euclidean"}]


@oracle("paired_retrieval?k={k}&metric={metric}", by="scikit-learn", each=RETRIEVALS)
def sklearn_retrieval(x: Array, y: Array, k: int, metric: str) -> Any:
    """Row i is in fold i mod 5, and is mapped by a regression on the other folds."""
    folds = lib("sklearn.model_selection").PredefinedSplit(np.arange(len(x)) % 5)
    line = lib("sklearn.linear_model").LinearRegression()
    mapped = lib("sklearn.model_selection").cross_val_predict(line, x, y, cv=folds)
    near = lib("sklearn.neighbors").NearestNeighbors(n_neighbors=k, metric=metric).fit(y).kneighbors(mapped)[1]
    return np.mean([i in row for i, row in enumerate(near)])
