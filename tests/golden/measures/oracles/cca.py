"""Canonical correlations: their means, SVCCA, PWCCA, the overlap of subspaces, GULP."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import TALL, Array, centred, clone, lib, normed, oracle, resi

STEEP: dict[str, Any] = {
    "inputs": ("steep",),
    "tolerance": 1e-8,
    "note": "from moments this pair loses digits that an SVD of the rows keeps",
}
INVERTED = "it takes the root of an inverted covariance, where the largest directions drown in the smallest's rounding"
POWERS = [{"mean": "cca_mean", "power": 1}, {"mean": "cca_mean_square", "power": 2}]
SUMMARIES = [{"mean": "cca_mean", "summary": "pillai"}, {"mean": "cca_mean_square", "summary": "yanai"}]


@oracle("{mean}", by="scipy", each=POWERS, **STEEP)
@oracle("{mean}", by="scipy", each=POWERS, inputs=TALL)
def scipy_angles(x: Array, y: Array, mean: str, power: int) -> Any:
    return (np.cos(lib("scipy.linalg").subspace_angles(centred(x), centred(y))) ** power).mean()


@oracle("{mean}", by="statsmodels", each=POWERS, **STEEP)
@oracle("{mean}", by="statsmodels", each=POWERS, inputs=TALL)
def statsmodels(x: Array, y: Array, mean: str, power: int) -> Any:
    return (cancorr(x, y) ** power).mean()


@oracle("cca_mean", by="cca-zoo", inputs=TALL)
def cca_zoo(x: Array, y: Array) -> Any:
    return lib("cca_zoo.linear").CCA(n_components=min(x.shape[1], y.shape[1])).fit([x, y]).score([x, y])


@oracle("{mean}", by="repsim", each=SUMMARIES, inputs=TALL)
def repsim(x: Array, y: Array, mean: str, summary: str) -> Any:
    return lib("repsim").cca([centred(x), centred(y)], summary)[0, 1]


@oracle("cca_mean", by="google/svcca", inputs=("steep",), differs=INVERTED)
@oracle("cca_mean", by="google/svcca", inputs=TALL)
def google_all(x: Array, y: Array) -> Any:
    return google(x, y)["cca_coef1"].mean()


@oracle(
    "cca_mean",
    by="google/svcca",
    inputs=("shared",),
    differs="its own mean leaves out the last correlations, beyond 98 % of their sum",
)
def google_mean(x: Array, y: Array) -> Any:
    return google(x, y)["mean"][0]


@oracle("svcca", by="scikit-learn + statsmodels", inputs=TALL)
def svcca(x: Array, y: Array) -> Any:
    return cancorr(principal(x, 0.99), principal(y, 0.99)).mean()


@oracle("svcca?dims=4", by="scikit-learn + statsmodels")
def svcca_dims(x: Array, y: Array) -> Any:
    return cancorr(principal(x, 4), principal(y, 4)).mean()


@oracle("svcca?dims=4", by="scikit-learn + google/svcca")
def google_svcca_dims(x: Array, y: Array) -> Any:
    return google(principal(x, 4), principal(y, 4))["cca_coef1"].mean()


@oracle(
    "svcca",
    by="repsim",
    inputs=("shared", "relu", "decaying"),
    differs="it whitens before it cuts to 99 % of the variance, so that next to nothing is cut",
)
def repsim_svcca(x: Array, y: Array) -> Any:
    return lib("repsim").svcca([x, y], "pillai")[0, 1]


@oracle(
    "pwcca_ding",
    by="js-d/sim_metric",
    inputs=("shared", "decaying"),
    differs="where x is wider, directions without a correlation, in an arbitrary basis, count in its divisor",
)
@oracle("pwcca_ding", by="js-d/sim_metric", inputs=("unrelated", "near", "relu"))
def ding_pwcca(x: Array, y: Array) -> Any:
    scoring = clone("sim_metric", "dists.scoring")
    _, rho, _, transformed, _ = scoring.cca_decomp(normed(x).T, normed(y).T)
    return scoring.pwcca_dist(normed(x).T, rho, transformed)


@oracle("pwcca_ding", by="repsim", inputs=TALL, reads="both orders", note="it gives the mean over both orders")
def repsim_pwcca(x: Array, y: Array) -> Any:
    return 1 - lib("repsim").pwcca([x, y])[0, 1]


@oracle("pwcca_google", by="google/svcca", inputs=("steep",), differs=INVERTED)
@oracle("pwcca_google", by="google/svcca", inputs=TALL)
def google_pwcca(x: Array, y: Array) -> Any:
    return clone("svcca", "pwcca").compute_pwcca(centred(x).T, centred(y).T)[0]


@oracle(
    "pwcca_google", by="google/svcca", inputs=("near", "relu"), differs="it adds the mean of neuron i to direction i"
)
def google_pwcca_uncentred(x: Array, y: Array) -> Any:
    return clone("svcca", "pwcca").compute_pwcca(x.T, y.T)[0]


@oracle("eigenspace_overlap", by="scipy", inputs=TALL)
def scipy_overlap(x: Array, y: Array) -> Any:
    cosines = np.cos(lib("scipy.linalg").subspace_angles(centred(x), centred(y)))
    return (cosines**2).sum() / max(x.shape[1], y.shape[1])


@oracle("eigenspace_overlap", by="mklabunde/resi", inputs=TALL)
def resi_overlap(x: Array, y: Array) -> Any:
    return resi("eigenspace_overlap").eigenspace_overlap_score(centred(x), centred(y), "nd")


@oracle(
    "eigenspace_overlap",
    by="mklabunde/resi",
    inputs=("near", "relu"),
    differs="rows that are not centred have the mean as one more direction, which both may share",
)
def resi_overlap_uncentred(x: Array, y: Array) -> Any:
    return resi("eigenspace_overlap").eigenspace_overlap_score(x, y, "nd")


@oracle("gulp?ridge={ridge}", by="sgstepaniants/GULP", each=[{"ridge": r} for r in (1.0, 0.01, 0.0)], inputs=TALL)
def gulp(x: Array, y: Array, ridge: float) -> Any:
    return np.sqrt(predictor_dist(x, y, ridge))


@oracle("gulp?ridge={ridge}", by="sgstepaniants/GULP", each=[{"ridge": 1.0}], inputs=TALL, differs="it is the square")
def gulp_squared(x: Array, y: Array, ridge: float) -> Any:
    return predictor_dist(x, y, ridge)


def cancorr(x: Array, y: Array) -> Array:
    """Canonical correlations by statsmodels."""
    found: Array = lib("statsmodels.multivariate.cancorr").CanCorr(x, y).cancorr
    return found


def principal(rows: Array, keep: float) -> Array:
    """The leading principal components by scikit-learn: a share of the variance, or a number of them."""
    found: Array = lib("sklearn.decomposition").PCA(n_components=keep, svd_solver="full").fit_transform(rows)
    return found


def google(x: Array, y: Array) -> Any:
    """What Google's code finds."""
    return clone("svcca", "cca_core").get_cca_similarity(x.T, y.T, verbose=False)


def predictor_dist(x: Array, y: Array, ridge: float) -> Any:
    """GULP by its authors, on rows scaled as in their experiments."""
    a, b = (np.sqrt(len(rows)) * normed(rows).T for rows in (x, y))
    return clone("GULP", "distance_functions").predictor_dist(a, b, lmbda=ridge)
