"""Request, Rule and Stitching: what is to be compared, and how."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from torch import nn

from seamripper._doors import require, require_function, require_path, require_whole
from seamripper._options import accepts, read_options, split_options
from seamripper._progress import Watcher, nobody
from seamripper.data.samples import Samples
from seamripper.data.stream import Stream
from seamripper.data.yours import as_data
from seamripper.errors import FileError, MeasureError, ModelError
from seamripper.matching import Task
from seamripper.measures.base import FUNCTIONAL, Measure, choose_measures, measures
from seamripper.measures.null import require_permutations
from seamripper.measures.pair import FOLDS
from seamripper.measures.score import Sampling
from seamripper.models.model import Model

KEEP = 1000
"""How many rows are kept for the measures that need them, unless the caller says otherwise."""

BATCH = 128
"""Samples that are multiplied at once, and go to one fold."""

SLICE = 32
"""Samples that a network is shown at once: on most machines it is fastest while its activations fit the cache."""


@dataclass(frozen=True)
class Rule:
    """How a comparison is made: one rule for every cell of every matrix, and part of the result.

    `products` are made in float32 and added up in float64, which is twice as fast and moves scores in the seventh
    digit; or in float64 throughout.
    """

    sampling: Sampling = "positions"
    batch: int = BATCH
    folds: int = FOLDS
    keep: int = KEEP
    interval: bool = True
    optimise: bool = True
    products: Literal["float32", "float64"] = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sampling not in ("positions", "flatten", "pool"):
            raise MeasureError(f"Expected a sampling of 'positions', 'flatten' or 'pool', but got {self.sampling!r}.")
        if self.products not in ("float32", "float64"):
            raise MeasureError(f"Expected products in 'float32' or 'float64', but got {self.products!r}.")
        for name, least in (("batch", 1), ("folds", 2), ("keep", 0)):
            require_whole(getattr(self, name), name, least=least, error=MeasureError)
        for name in ("interval", "optimise"):
            require(getattr(self, name), bool, name, error=MeasureError)
        require_whole(self.seed, "seed", least=0, most=2**32 - 1, error=MeasureError)


@dataclass(frozen=True)
class Stitching:
    """How the stitches of `task_functional` are trained, and on how many of the samples that are not held out."""

    task: Task = Task(init="direct")
    samples: int | None = None

    def __post_init__(self) -> None:
        require(self.task, Task, "task of a stitching", error=MeasureError)
        if self.samples is not None and (not accepts(int, self.samples) or self.samples < 2):
            raise MeasureError(f"Expected at least 2 samples to train a stitch on, but got {self.samples}.")


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of `compare`, which are listed here and nowhere else; what they mean, `compare` says."""

    sender: nn.Module | Model | str
    receiver: nn.Module | Model | str
    samples: Samples | Stream
    _: KW_ONLY
    measures: Sequence[str | Measure] | str | Measure = ("linear_cka",)
    sender_cuts: Sequence[str] | str | None = None
    receiver_cuts: Sequence[str] | str | None = None
    rule: Rule | str | None = None
    null: int = 0
    stitching: Stitching = Stitching()
    folder: str | os.PathLike[str] | None = None
    memory: float | None = None
    announce: Callable[[str], None] = lambda _: None
    watch: Watcher = nobody

    def __post_init__(self) -> None:
        for role, model in (("sender", self.sender), ("receiver", self.receiver)):
            whole = f"compare takes whole models, and cuts by name: compare({role}.model, …)."
            advice = whole if hasattr(model, "model") else ""
            require(model, (Model, nn.Module, str), role, error=ModelError, advice=advice)
        object.__setattr__(self, "samples", as_data(self.samples, "samples"))
        require_permutations(self.null)
        require(self.stitching, Stitching, "stitching", error=MeasureError)
        if self.memory is not None and (not accepts(float, self.memory) or not self.memory > 0):
            raise MeasureError(
                f"Expected memory to be a number of bytes above 0, such as 6e9, but got {self.memory!r}."
            )
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
    return choose_measures([word for word in words if word not in functional]), functional


def as_rule(rule: Rule | str | None, n: int | None) -> Rule:
    """The rule, or the one for n samples that a word means: a sampling, with other options if there are any.

    If n is None, their number is not known.

    >>> as_rule("pool?folds=10", 400)
    Rule(sampling='pool', batch=20, folds=10, ...)
    """
    if isinstance(rule, Rule):
        return rule
    if rule is None:
        return Rule(batch=batch_for(n))
    require(rule, (Rule, str), "rule", error=MeasureError)
    sampling, written = split_options(rule, error=MeasureError)
    options = read_options(written, Rule, "rule", error=MeasureError)
    return Rule(**{"sampling": sampling, "batch": batch_for(n, max(options.get("folds", FOLDS), 1)), **options})


def batch_for(n: int | None, folds: int = FOLDS) -> int:
    """The batch for n samples: large, but each fold gets two of them at least; large if their number is not known.

    >>> batch_for(10_000), batch_for(500), batch_for(20)
    (128, 50, 4)
    """
    return BATCH if n is None else min(BATCH, max(4, n // (2 * folds)))
