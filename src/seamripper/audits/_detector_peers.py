"""Scores of the library pytorch-ood beside ours, on the same rows."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import torch
from torch import Tensor

from seamripper._words import need
from seamripper.audits._ood_figures import Scores
from seamripper.models._torchvision import import_torchvision

_PEERS: dict[str, dict[str, Any]] = {"Mahalanobis": {}, "RMD": {}, "GMM": {}, "KNN": {"k": 10}}
"""Its detectors that need nothing but rows, with options."""


def peer_scores(rows: Tensor, labels: Tensor, native: Tensor, stitched: Tensor) -> dict[str, Scores]:
    """Scores of native and stitched rows by pytorch-ood's detectors, made from reference rows with their labels.

    Mahalanobis (Lee et al. 2018, not shrunk), RMD (relative Mahalanobis, Ren et al. 2021), GMM (a Gaussian a class) and
    KNN (Sun et al. 2022, on rows of unit length).
    """
    import_peers()
    detectors = importlib.import_module("pytorch_ood.detector")
    # They ask for classes 0 … C − 1 that all occur.
    _, classes = torch.unique(labels, return_inverse=True)
    found = {}
    for name, options in _PEERS.items():
        detector = getattr(detectors, name)(None, **options).fit_features(rows.float(), classes)
        scores = [detector.predict_features(kind.float()).double().numpy() for kind in (native, stitched)]
        found[f"pytorch_ood.{name}"] = Scores(scores[0], scores[1])
    return found


def import_peers() -> Any:
    """pytorch-ood, after torchvision, whose broken import would break it."""
    # Whoever has neither is told of the extra that brings both.
    if importlib.util.find_spec("pytorch_ood") is not None:
        import_torchvision()
    return need("pytorch_ood", extra="ood", what="A score of pytorch-ood")
