"""The fast detector: distances to the receiver's own activations of other samples, and a two-sample classifier."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seamripper._devices import to_memory
from seamripper._progress import Watcher, nobody
from seamripper._words import need
from seamripper.activations.sampling import counting, mean_token
from seamripper.audits.detectors.base import BATCH, Detector, DistributionOptions
from seamripper.audits.detectors.scores import Scores
from seamripper.controls.logistic import logistic_answers
from seamripper.cut.place import Cut
from seamripper.cut.split import Split
from seamripper.data.padding import tokens_that_count
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError
from seamripper.models.libraries import import_torchvision


class FastDetector(Detector):
    """Three scores on pooled rows: `classifier`, `mahalanobis` and `knn`; with `peers` those of pytorch-ood as well.

    The classifier is linear, so it is given both distances beside the rows: noise and shrinkage about the mean change
    no column's mean, but they change the distances.
    """

    headline, who = "classifier", "A two-sample classifier"

    def __init__(
        self, options: DistributionOptions, receiver: Split, samples: Samples, watch: Watcher = nobody
    ) -> None:
        self.options, self.cut, self.labels = options, receiver.cut, samples.labels_by_sample
        # Texts are not a square of patches behind a CLS token, even where they happen to be as long as one.
        self.cls = isinstance(samples.inputs, Tensor)
        view = receiver.model.present(samples)
        with torch.no_grad():
            batches = (inputs for inputs, _ in view.batches(BATCH))
            rows = [self.features(to_memory(receiver.head(x)), tokens_that_count(to_memory(x))) for x in batches]
        self.reference = Reference.of(torch.cat(rows), self.labels)

    @property
    def about(self) -> Mapping[str, Any]:
        """The sizes, and how far the covariance was shrunk."""
        (n, columns), options = self.reference.rows.shape, self.options
        sizes = {"columns": columns, "reference": n, "shrinkage": self.reference.shrinkage}
        return {**sizes, "k": options.k, "folds": options.folds, "l2": options.l2}

    def features(self, activations: Tensor, mask: Tensor | None = None) -> Tensor:
        """Means and deviations over positions."""
        return pooled_rows(activations, self.cut, mask, cls=self.cls)

    def scores(self, native: Tensor, stitched: Tensor) -> dict[str, Scores]:
        """The classifier's score, and both distances."""
        reference, options = self.reference, self.options
        distances = {
            "mahalanobis": (reference.mahalanobis(native), reference.mahalanobis(stitched)),
            "knn": (reference.nearest(native, options.k), reference.nearest(stitched, options.k)),
        }
        # As logarithms, so that a few samples far out do not set the scale for all the others.
        rows = [
            torch.cat([kind, *(pair[i].log1p()[:, None] for pair in distances.values())], 1)
            for i, kind in enumerate((native, stitched))
        ]
        classifier = two_sample_scores(rows[0], rows[1], folds=options.folds, l2=options.l2, seed=options.seed)
        scores = {"classifier": classifier}
        scores |= {name: Scores(a.numpy(), b.numpy()) for name, (a, b) in distances.items()}
        if options.peers:
            standard = reference.standard(native), reference.standard(stitched)
            scores |= peer_scores(reference.rows, self.labels, *standard)
        return scores


def pooled_rows(activations: Tensor, cut: Cut, mask: Tensor | None = None, *, cls: bool = True) -> Tensor:
    """One float64 row per sample: each unit's mean over positions, then its standard deviation over them.

    The deviations show a change of texture that leaves the means alone. A token before the others (CLS) is kept as
    well, as a mean over all would drown it, unless `cls` is false. Vectors are rows already. Only tokens count that the
    mask (n, tokens) leaves.

    >>> maps = torch.tensor([[[[1.0, 3.0]], [[2.0, 2.0]]]])
    >>> pooled_rows(maps, Cut("relu", (2, 1, 2), "nchw"))
    tensor([[2., 2., 1., 0.]], dtype=torch.float64)
    """
    if cut.layout == "nd":
        return activations.double()
    mask = counting(activations, cut.layout, mask, repr(cut.name))
    tokens = activations.flatten(2).mT.double() if cut.layout == "nchw" else activations.double()
    if mask is None:
        deviations, means = torch.std_mean(tokens, dim=1, correction=0)
    else:
        means = mean_token(tokens, mask)
        deviations = mean_token((tokens - means[:, None]).square(), mask).sqrt()
    parts = [means]
    if tokens.shape[1] > 1:
        parts.append(deviations)
    if cls and cut.layout == "ntd" and cut.prefix == 1:
        parts.append(tokens[:, 0])
    return torch.cat(parts, 1)


_LEAST_SCALE = 0.01
_LEAST_SHRINKAGE = 1e-6
_ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Reference:
    """Native rows (n, d) of samples that are not scored, with their classes.

    Columns are brought to mean 0 and deviation 1. A column that hardly varies natively, such as a unit that is never
    active, is divided by a hundredth of the root mean square deviation of all columns: a change there is strange, but
    not infinitely so.
    """

    rows: Tensor
    centre: Tensor
    scale: Tensor
    centres: Tensor
    """One row per class that occurs."""
    factor: Tensor
    """Lower triangular L with L Lᵀ = the shrunk covariance within classes."""
    shrinkage: float

    @classmethod
    def of(cls, rows: Tensor, labels: Tensor) -> Reference:
        """The reference made from these rows."""
        deviation, centre = torch.std_mean(rows, dim=0, correction=0)
        typical = deviation.square().mean().sqrt()
        if not bool(typical > 0):
            raise InapplicableError("The receiver's own activations at the cut are the same for every sample.")
        scale = deviation.clamp_min(_LEAST_SCALE * float(typical))
        rows = (rows - centre) / scale
        classes, own = torch.unique(labels, return_inverse=True)
        centres = torch.stack([rows[own == i].mean(0) for i in range(len(classes))])
        covariance, shrinkage = shrunk_covariance(rows - centres[own])
        return cls(rows, centre, scale, centres, torch.linalg.cholesky(covariance), shrinkage)

    def mahalanobis(self, rows: Tensor) -> Tensor:
        """minₖ √((x − μₖ)ᵀ Σ⁻¹ (x − μₖ)) over the classes' means μₖ, with one Σ for all (Lee et al. 2018).

        >>> square = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]], dtype=torch.float64)
        >>> Reference.of(square, torch.zeros(4)).mahalanobis(torch.tensor([[1.0, 4.0]], dtype=torch.float64))
        tensor([3.], dtype=torch.float64)
        """
        return torch.cdist(self._whiten(self.standard(rows)), self._whiten(self.centres)).min(1).values

    def nearest(self, rows: Tensor, k: int) -> Tensor:
        """The Euclidean distance to the k-th nearest of the reference rows (Sun et al. 2022).

        They scale rows to unit length first. That is left out here, as it would hide a change of size.

        >>> line = torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
        >>> Reference.of(line, torch.zeros(2)).nearest(torch.tensor([[4.0]], dtype=torch.float64), 2)
        tensor([5.], dtype=torch.float64)
        """
        if k > len(self.rows):
            raise InapplicableError(
                f"The distance to the k-th nearest sample needs k other samples or more, but k = {k} and there are "
                f"{len(self.rows)}. Give more samples to fit on, or a smaller k."
            )
        blocks = self.standard(rows).split(_ROWS_AT_ONCE)  # type: ignore[no-untyped-call]
        return torch.cat([torch.cdist(block, self.rows).kthvalue(k, dim=1).values for block in blocks])

    def standard(self, rows: Tensor) -> Tensor:
        """Rows with their columns centred and scaled as those of the reference were."""
        return (rows - self.centre) / self.scale

    def _whiten(self, rows: Tensor) -> Tensor:
        whitened: Tensor = torch.linalg.solve_triangular(self.factor, rows.T, upper=False)
        return whitened.T


def shrunk_covariance(rows: Tensor) -> tuple[Tensor, float]:
    """(1 − ρ) S + ρ (tr S / d) I with the optimal ρ of Ledoit & Wolf 2004; and that ρ.

    S is the covariance of rows with mean 0. With fewer rows than columns S has no inverse, but this matrix has one.

    >>> covariance, rho = shrunk_covariance(torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
    >>> covariance, rho
    (tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]]), 1.0)
    """
    n, d = rows.shape
    covariance = rows.T @ rows / n
    target = torch.eye(d, dtype=rows.dtype) * covariance.trace() / d
    distance = float((covariance - target).square().sum())
    error = (float(rows.square().sum(1).square().sum()) / n - float(covariance.square().sum())) / n
    # Not below: rows that lie exactly in a plane would leave a covariance without an inverse.
    shrinkage = max(min(error / distance, 1.0), _LEAST_SHRINKAGE) if distance > 0 else 1.0
    return (1 - shrinkage) * covariance + shrinkage * target, shrinkage


def two_sample_scores(native: Tensor, stitched: Tensor, *, folds: int = 5, l2: float = 0.01, seed: int = 0) -> Scores:
    """Scores x·w + b of rows (n, d), each by a logistic regression that saw neither version of that sample.

    Lopez-Paz & Oquab 2017, with folds by sample: row i of both belongs to one input, and the two are always in one
    fold. A regression minimises mean log(1 + exp(−y (x·w + b))) + l2/2 ‖w‖² with y = ±1; its rows are standardised over
    both kinds together.

    >>> rows = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> two_sample_scores(rows, rows).auroc, two_sample_scores(rows, rows + 9).auroc
    (0.5, 1.0)
    """
    n = len(native)
    rows, kinds = torch.cat([native, stitched]), (torch.arange(2 * n) >= n).long()
    parts = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tensor_split(folds)
    logits = rows.new_empty(2 * n)
    for part in parts:
        tested = torch.zeros(2 * n, dtype=torch.bool)
        tested[part] = tested[part + n] = True
        # Twice the penalty, as it is shared by the weights of two classes, w/2 and −w/2.
        answers = logistic_answers(rows[~tested], kinds[~tested], rows[tested], classes=2, l2=2 * l2)
        logits[tested] = answers[:, 1] - answers[:, 0]
    scores = logits.numpy()
    return Scores(scores[:n], scores[n:], tuple(np.sort(part.numpy()) for part in parts))


_PEERS: dict[str, dict[str, Any]] = {"Mahalanobis": {}, "RMD": {}, "GMM": {}, "KNN": {"k": 10}}
"""Those detectors of pytorch-ood that need rows only, with options."""


def peer_scores(rows: Tensor, labels: Tensor, native: Tensor, stitched: Tensor) -> dict[str, Scores]:
    """Scores of native and stitched rows by pytorch-ood's detectors, made from reference rows with their labels.

    Mahalanobis (Lee et al. 2018, not shrunk), RMD (relative Mahalanobis, Ren et al. 2021), GMM (one Gaussian per
    class) and KNN (Sun et al. 2022, on rows of unit length).
    """
    import_peers()
    detectors = importlib.import_module("pytorch_ood.detector")
    # They expect classes 0 … C − 1 that all occur.
    _, classes = torch.unique(labels, return_inverse=True)
    peers = {}
    for name, options in _PEERS.items():
        detector = getattr(detectors, name)(None, **options).fit_features(rows.float(), classes)
        scores = [detector.predict_features(kind.float()).double().numpy() for kind in (native, stitched)]
        peers[f"pytorch_ood.{name}"] = Scores(scores[0], scores[1])
    return peers


def import_peers() -> Any:
    """pytorch-ood, after torchvision, whose broken import would break it."""
    # Without either, the message names the extra that brings both.
    if importlib.util.find_spec("pytorch_ood") is not None:
        import_torchvision()
    return need("pytorch_ood", extra="ood", what="A score of pytorch-ood")
