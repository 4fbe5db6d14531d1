"""The fast detector: distances to the receiver's own activations of other samples, and a two-sample classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from seamripper.audits._detector import Detector
from seamripper.audits._detector_peers import peer_scores
from seamripper.audits._ood_distances import Reference
from seamripper.audits._ood_figures import Scores
from seamripper.audits._ood_rows import pooled_rows
from seamripper.audits._two_sample import told_apart
from seamripper.cut.split import Split
from seamripper.data.padding import tokens_that_count
from seamripper.data.samples import Samples


class FastDetector(Detector):
    """Three scores on pooled rows: `classifier`, `mahalanobis` and `knn`; with `peers` those of pytorch-ood as well.

    The classifier is given both distances beside the rows, as it is linear: noise and shrinkage about the mean move no
    column's mean, but they move the distances.
    """

    headline: ClassVar[str] = "classifier"

    def __init__(
        self, receiver: Split, samples: Samples, *, folds: int, l2: float, k: int, peers: bool, seed: int
    ) -> None:
        self.cut, self.folds, self.l2, self.k, self.seed = receiver.cut, folds, l2, k, seed
        self.labels, self.peers = samples.labels, peers
        # Texts are no square of patches behind a CLS token, even where they happen to be as long as one.
        self.cls = isinstance(samples.inputs, Tensor)
        view = receiver.model.present(samples)
        with torch.no_grad():
            batches = (inputs for inputs, _ in view.batches(256))
            rows = torch.cat([self.seen(receiver.head(inputs), tokens_that_count(inputs)) for inputs in batches])
        self.reference = Reference.of(rows, samples.labels)

    @property
    def about(self) -> Mapping[str, Any]:
        """The sizes, and how far the covariance was shrunk."""
        rows = self.reference.rows
        return {
            "columns": rows.shape[1],
            "reference": rows.shape[0],
            "shrinkage": self.reference.shrinkage,
            "k": self.k,
            "folds": self.folds,
            "l2": self.l2,
        }

    def seen(self, activations: Tensor, mask: Tensor | None = None) -> Tensor:
        """Means over positions, and deviations over them."""
        return pooled_rows(activations, self.cut, mask, cls=self.cls)

    def scores(self, native: Tensor, stitched: Tensor) -> dict[str, Scores]:
        """The classifier's score, and both distances."""
        kinds = (native, stitched)
        distances = {
            "mahalanobis": [self.reference.mahalanobis(rows) for rows in kinds],
            "knn": [self.reference.nearest(rows, self.k) for rows in kinds],
        }
        # As logarithms, so that a few samples far out do not set the scale for all the others.
        given = [
            torch.cat([rows, *(each[i].log1p()[:, None] for each in distances.values())], 1)
            for i, rows in enumerate(kinds)
        ]
        told = told_apart(given[0], given[1], folds=self.folds, l2=self.l2, seed=self.seed)
        ours = {"classifier": told, **{name: Scores(a.numpy(), b.numpy()) for name, (a, b) in distances.items()}}
        if not self.peers:
            return ours
        standard = [self.reference.standard(rows) for rows in kinds]
        return ours | peer_scores(self.reference.rows, self.labels, standard[0], standard[1])
