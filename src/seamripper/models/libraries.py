"""What torchvision and timm have in common as sources of models, and how they are imported.

They are imported only when asked for. torchvision's wheel is linked against CUDA. Beside a CPU build of torch its
compiled part cannot load, and its import stops at two operators that this part would have defined. We define their
signatures and import again: models, transforms and data sets then work, and so does timm; detection operators and
`torchvision.io` do not.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import torch

from seamripper._words import need
from seamripper.errors import ModelError
from seamripper.models.running import use_seed
from seamripper.models.source import OpenSource

_SYMPTOM = re.compile(r"operator torchvision::q?nms does not exist")
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_signatures: list[torch.library.Library] = []
"""The library that holds the two signatures: they go when it is collected."""


class TorchvisionRepairWarning(UserWarning):
    """The installed torchvision was repaired in memory; its compiled operators are missing."""


def import_torchvision() -> ModuleType:
    """torchvision, repaired in memory if its compiled part does not load, with a warning the first time.

    Call it before anything else imports torchvision (timm, torchmetrics, vision models of transformers), and they work,
    too. Where torchvision is whole, this is a plain import.
    """
    try:
        return need("torchvision", extra="vision", what="A torchvision model")
    except RuntimeError as e:
        if _signatures or not _SYMPTOM.search(str(e)):
            raise
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for name in ("nms", "qnms"):
        library.define(name + _SCHEMA)  # type: ignore[no-untyped-call]
    _signatures.append(library)
    for name in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
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


@dataclass(frozen=True)
class Library(OpenSource):
    """Models of a library, untrained or with their published weights; options are passed on to it."""

    buildable, takes_path = True, "never"
    pretrained: bool = False

    @contextlib.contextmanager
    def building(self) -> Iterator[None]:
        """Within, the network is drawn from the seed, and whatever goes wrong becomes a sentence."""
        try:
            with use_seed(self.seed):
                yield
        except Exception as e:
            raise ModelError(f"{self.name} could not build {self.label!r}: {e}") from e

    @contextlib.contextmanager
    def fetching(self) -> Iterator[None]:
        """Within, published weights are fetched."""
        try:
            with use_seed(self.seed):
                yield
        except Exception as e:
            first = (str(e).splitlines() or [""])[0]
            raise ModelError(
                f"The weights of {self.label!r} could not be fetched ({type(e).__name__}: {first}). Is there a "
                "connection? If you have them as a file, leave out pretrained and give weights=FILE."
            ) from e

    def has_published_weights(self, classes: int | None, published: int | None) -> bool:
        """Whether the network has them; weights in a file that have the published classes are taken for them."""
        return self.pretrained or (self.weights is not None and classes == published)
