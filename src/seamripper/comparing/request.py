"""Request: what is to be compared, and how."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

from torch import nn

from seamripper._doors import require, require_function, require_path
from seamripper._progress import Watcher, nobody
from seamripper.comparing.rule import Rule, Stitching
from seamripper.data.paired import require_samples
from seamripper.data.samples import Samples
from seamripper.errors import FileError, MeasureError, ModelError
from seamripper.measures.base import FUNCTIONAL, Measure, chosen, measures
from seamripper.models.model import Model


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of `compare`, which are listed here and nowhere else; what they mean, `compare` says."""

    sender: nn.Module | Model | str
    receiver: nn.Module | Model | str
    samples: Samples
    _: KW_ONLY
    measures: Sequence[str | Measure] | str | Measure = ("linear_cka",)
    sender_cuts: Sequence[str] | str | None = None
    receiver_cuts: Sequence[str] | str | None = None
    rule: Rule | str | None = None
    stitching: Stitching = Stitching()
    folder: str | os.PathLike[str] | None = None
    announce: Callable[[str], None] = lambda _: None
    watch: Watcher = nobody

    def __post_init__(self) -> None:
        for role, model in (("sender", self.sender), ("receiver", self.receiver)):
            whole = f"compare takes whole models, and cuts by name: compare({role}.model, …)."
            advice = whole if hasattr(model, "model") else ""
            require(model, (Model, nn.Module, str), role, error=ModelError, advice=advice)
        require_samples(self.samples, "samples")
        require(self.stitching, Stitching, "stitching", error=MeasureError)
        if self.folder is not None:
            require_path(self.folder, "folder", error=FileError)
        require_function(self.announce, "announce", error=MeasureError)
        require_function(self.watch, "watch", error=MeasureError)


def requested_measures(
    asked: Sequence[str | Measure] | str | Measure,
) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    """What was asked for, each once: measures, and by their names those matrices that are filled by stitching.

    >>> requested_measures(["linear_cka,direct_functional", "linear_cka"])
    ((LinearCKA(),), ('direct_functional',))
    """
    words = measures.several(asked)
    functional = tuple(dict.fromkeys(word for word in words if isinstance(word, str) and word in FUNCTIONAL))
    return chosen([word for word in words if word not in functional]), functional
