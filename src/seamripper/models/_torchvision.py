"""torchvision and timm, imported only when asked for, and repaired where torch and torchvision do not fit.

torchvision's wheel is linked against CUDA. Beside a CPU build of torch its compiled part cannot load, and its
import stops at two operators that this part would have defined. We define their signatures and import again:
models, transforms and data sets then work, and so does timm; detection operators and `torchvision.io` do not.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from types import ModuleType

import torch

from seamripper._words import need

_SYMPTOM = re.compile(r"operator torchvision::q?nms does not exist")
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_kept: list[torch.library.Library] = []
"""The library that holds the two signatures: they go when it is collected."""


class TorchvisionRepairWarning(UserWarning):
    """The installed torchvision was repaired in memory; its compiled operators are missing."""


def import_torchvision() -> ModuleType:
    """torchvision, repaired if it needs to be, with a warning the first time."""
    try:
        return need("torchvision", extra="vision", what="A torchvision model")
    except RuntimeError as e:
        if _kept or not _SYMPTOM.search(str(e)):
            raise
    _repair()
    warnings.warn(
        "The compiled part of torchvision could not be loaded beside this build of torch, so it goes on "
        "without it: models and transforms work, detection operators and torchvision.io do not. "
        "To be rid of this, install builds of torch and torchvision that belong together.",
        TorchvisionRepairWarning,
        stacklevel=2,
    )
    return importlib.import_module("torchvision")


def import_timm() -> ModuleType:
    """timm, after torchvision, whose broken import would break it."""
    import_torchvision()
    return need("timm", extra="vision", what="A timm model")


def _repair() -> None:
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for name in ("nms", "qnms"):
        library.define(name + _SCHEMA)  # type: ignore[no-untyped-call]
    _kept.append(library)
    for name in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
