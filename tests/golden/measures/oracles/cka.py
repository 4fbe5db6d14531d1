"""CKA: linear in its three forms, and with Gaussian kernels."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from .base import ALL, EVEN, ODD, Array, centred as about_mean, clone, lib, oracle, sim_index, tensor


@oracle("linear_cka", by="ckatorch", each=[{"method": "fro_norm"}, {"method": "hsic"}])
def ckatorch_linear(x: Array, y: Array, method: str) -> Any:
    return lib("ckatorch").cka_base(tensor(x), tensor(y), method=method)


@oracle("linear_cka", by="repsim")
def repsim_linear(x: Array, y: Array) -> Any:
    return lib("repsim").cka([x, y], "linear", "gretton")[0, 1]


@oracle("linear_cka", by="js-d/sim_metric")
def ding(x: Array, y: Array) -> Any:
    return 1 - clone("sim_metric", "dists.scoring").lin_cka_dist(about_mean(x).T, about_mean(y).T)


@oracle("linear_cka", by="similarity-repository-0.0.1")
def tang(x: Array, y: Array) -> Any:
    return sim_index().cka(x @ x.T, y @ y.T)


@oracle("debiased_cka", by="ckatorch")
def ckatorch_debiased(x: Array, y: Array) -> Any:
    return lib("ckatorch").cka_base(tensor(x), tensor(y), unbiased=True)


@oracle("debiased_cka", by="minyoungg/platonic-rep", note="at this size its epsilon of 1e-6 is nothing")
def platonic_debiased(x: Array, y: Array) -> Any:
    return platonic().unbiased_cka(tensor(1e4 * x), tensor(1e4 * y))


@oracle("debiased_cka", by="repsim", differs="its divisor is the biased HSIC, its dividend the unbiased one")
def repsim_debiased(x: Array, y: Array) -> Any:
    return lib("repsim").cka([x, y], "linear", "song")[0, 1]


@oracle("minibatch_cka", by="torch-cka", note="batches of 64, in float64")
def torch_cka(x: Array, y: Array) -> Any:
    cka = lib("torch_cka").CKA(*nothing(2), "x", "y", model1_layers=["0"], model2_layers=["0"])
    cka.compare(batches(x), batches(y))
    return cka.export()["CKA"][0, 0]


@oracle("minibatch_cka", by="pytorch-cka", inputs=("unrelated",), differs="it lifts what is negative to 0")
@oracle(
    "minibatch_cka",
    by="pytorch-cka",
    inputs=tuple(name for name in ALL if name != "unrelated"),
    note="batches of 64, in float64",
)
def pytorch_cka(x: Array, y: Array) -> Any:
    models = [columns(0, x.shape[1]), columns(x.shape[1], None)]
    return lib("cka").compute_cka(*models, batches(np.hstack([x, y])), layers=["out"], progress=False)[0][0, 0]


@oracle("minibatch_cka?batch=50", by="ckatorch", inputs=EVEN)
def ckatorch_batches(x: Array, y: Array) -> Any:
    return lib("ckatorch").cka_batch(*(tensor(rows).reshape(-1, 50, rows.shape[1]) for rows in (x, y)))


@oracle("rbf_cka?sigma={sigma}", by="scikit-learn", each=[{"sigma": 0.5}, {"sigma": 1.0}])
def sklearn_kernels(x: Array, y: Array, sigma: float) -> Any:
    squares = [lib("sklearn.metrics").euclidean_distances(rows, squared=True) for rows in (x, y)]
    kernels = [np.exp(-s / (2 * sigma**2 * np.median(s))) for s in squares]
    k, m = (lib("sklearn.preprocessing").KernelCenterer().fit_transform(kernel) for kernel in kernels)
    return (k * m).sum() / np.linalg.norm(k) / np.linalg.norm(m)


@oracle(
    "rbf_cka?sigma={sigma}",
    by="ckatorch",
    each=[{"sigma": 0.5}],
    inputs=("shared", "decaying"),
    differs="of an even number of distances it takes the lower of the two in the middle for the median",
)
@oracle("rbf_cka?sigma={sigma}", by="ckatorch", each=[{"sigma": 0.5}, {"sigma": 1.0}], inputs=ODD)
def ckatorch_rbf(x: Array, y: Array, sigma: float) -> Any:
    return lib("ckatorch").cka_base(tensor(x), tensor(y), kernel="rbf", threshold=sigma)


@oracle("rbf_cka?debiased=True", by="ckatorch", inputs=ODD)
def ckatorch_rbf_debiased(x: Array, y: Array) -> Any:
    return lib("ckatorch").cka_base(tensor(x), tensor(y), kernel="rbf", threshold=0.5, unbiased=True)


@oracle(
    "rbf_cka?sigma=1.0",
    by="repsim",
    differs="its bandwidth is the median over distinct pairs of rows, without the n distances of 0",
)
def repsim_rbf(x: Array, y: Array) -> Any:
    return lib("repsim").cka([x, y], "rbf", "gretton")[0, 1]


def platonic() -> Any:
    """The metrics of the Platonic Representation paper."""
    for name in ("torchaudio", "torchaudio.functional"):  # it is imported for an edit distance, which is not asked for
        sys.modules.setdefault(name, ModuleType(name))
    return clone("platonic-rep", "metrics").AlignmentMetrics


def batches(rows: Array) -> Any:
    """The rows as a loader has them, 64 at a time."""
    data = lib("torch.utils.data")
    return data.DataLoader(data.TensorDataset(tensor(rows)), batch_size=64)


def nothing(count: int) -> list[Any]:
    """Models that do nothing, with a layer '0'."""
    nn = lib("torch.nn")
    return [nn.Sequential(nn.Identity()) for _ in range(count)]


def columns(start: int, stop: int | None) -> Any:
    """A model that picks columns of its input, with a layer 'out'."""
    nn = lib("torch.nn")

    class Columns(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.out = nn.Identity()

        def forward(self, rows: Any) -> Any:
            return self.out(rows[:, start:stop])

    return Columns()
