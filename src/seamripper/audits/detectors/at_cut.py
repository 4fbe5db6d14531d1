"""DetectorAtCut: a detector for one cut, what it is worth there, and how strange stitched activations look to it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from seamripper.audits.detectors.base import Detector, StitchedReader
from seamripper.audits.detectors.scores import Array, Scores, common_bins
from seamripper.cut.split import Split
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import AuditError
from seamripper.estimate import Estimate
from seamripper.matching.match import Match


class DetectorAtCut:
    """A detector for one cut of a receiver, made from other samples than the `test` samples that it scores.

    How far it is to be believed is measured on the test samples, too: see `native` and `auxiliary`. `outliers` are
    auxiliary inputs that it was not made from; None if there are none.
    """

    def __init__(
        self, detector: Detector, receiver: Split, test: Samples, outliers: Samples | None, *, seed: int
    ) -> None:
        self.detector, self.test, self.seed = detector, test, seed
        self._reader = StitchedReader(receiver, detector, Paired.of(test), seed=seed)
        self._outliers = None if outliers is None else self._reader.features(outliers)

    @property
    def about(self) -> Mapping[str, Any]:
        """How it was made, for a record."""
        return self.detector.about

    @functools.cached_property
    def native(self) -> Estimate:
        """AUROC of native activations against native ones of other samples, half of the test samples each: 0.5."""
        rows, labels = self._reader.native, self.test.labels_by_sample
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(self.seed))
        # In pairs of one class, as classes have scores of their own: halves with other classes would differ by chance.
        order = order[labels[order].argsort(stable=True)][: len(rows) // 2 * 2]
        return self._scores(rows[order[::2]], rows[order[1::2]]).estimate(seed=self.seed)

    @functools.cached_property
    def auxiliary(self) -> Estimate | None:
        """AUROC of the receiver's activations of auxiliary inputs against native ones; None without any."""
        scores = self._auxiliary_scores
        return None if scores is None else scores.estimate(seed=self.seed)

    def scores(self, match: Match, test: Samples | Paired) -> Scores:
        """The scores of native and stitched activations of the detector's samples, which `test` has among others."""
        pair = Paired.of(test)
        pair = pair.take(torch.isin(pair.ids, self.test.ids))
        if not torch.equal(pair.ids, self.test.ids):
            raise AuditError(
                f"Expected the {len(self.test)} samples of {self.test.name} that the detector keeps native activations "
                f"of, but {pair.name} has {len(pair)} of them, or in another order."
            )
        return self._reader.scores(match, pair)[self.detector.headline]

    def auroc(self, scores: Scores) -> Estimate:
        """How well the detector tells the two kinds apart, with an interval over samples."""
        return scores.estimate(seed=self.seed)

    def histograms(self, stitched: Sequence[Scores]) -> dict[str, Any]:
        """Counts of scores in 40 bins that are common to native, auxiliary and all stitched activations.

        Only of a detector without folds, whose scores are all on one scale.
        """
        auxiliary = self._auxiliary_scores
        kinds: list[Array] = [self._reader.native.numpy()]
        kinds += [] if auxiliary is None else [auxiliary.stitched]
        edges, counts = common_bins([*kinds, *(scores.stitched for scores in stitched)])
        return {
            "edges": edges,
            "native": counts[0],
            "auxiliary": None if auxiliary is None else counts[1],
            "stitched": counts[len(kinds) :],
        }

    @functools.cached_property
    def _auxiliary_scores(self) -> Scores | None:
        if self._outliers is None:
            return None
        # A data set of the user's own may have fewer.
        n = min(len(self._outliers), len(self._reader.native))
        return self._scores(self._reader.native[:n], self._outliers[:n])

    def _scores(self, native: Tensor, other: Tensor) -> Scores:
        return self.detector.scores(native, other)[self.detector.headline]
