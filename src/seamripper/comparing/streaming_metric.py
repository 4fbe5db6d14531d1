"""streaming_metric: a `StreamingScore` as a `torchmetrics.Metric`, for MetricCollection, Lightning and many processes.

torchmetrics is imported when the first one is made.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch
from torch import Tensor

from seamripper._words import need
from seamripper.cards import Card
from seamripper.comparing.streaming import StreamingScore
from seamripper.errors import MissingExtraError
from seamripper.estimate import Estimate
from seamripper.measures.base import Measure
from seamripper.models.libraries import import_torchvision


def streaming_metric(measure: Measure | str, *, sampling: Any = None, sources: Any = None, **options: Any) -> Any:
    """The measure as a `torchmetrics.Metric`: `compute` gives the value, `estimate` also the interval.

    `card` says how it was made; `sources` say there what the activations are of (see `StreamingScore`).

    `options` are torchmetrics' own (`dist_sync_on_step`, `process_group` …). Metrics of different measures that are
    shown the same activations have the same state, so that a MetricCollection adds it up once for all of them.
    """
    return metric_class()(measure, sampling=sampling, sources=sources, **options)


@functools.cache
def metric_class() -> type[Any]:
    """The class itself, under a name by which pickle finds it again (`StreamingMetric` of this module)."""
    with contextlib.suppress(MissingExtraError):
        # torchmetrics imports it where it is installed, and would fail on one whose compiled part cannot load.
        import_torchvision()
    torchmetrics = need("torchmetrics", extra="metrics", what="A score as a torchmetrics.Metric")

    class StreamingMetric(torchmetrics.Metric):  # type: ignore[name-defined, misc]
        """A score that torchmetrics adds up, synchronises between processes, resets and merges."""

        is_differentiable = False
        full_state_update = True

        def __init__(
            self, measure: Measure | str, *, sampling: Any = None, sources: Any = None, **options: Any
        ) -> None:
            super().__init__(**options)
            self.score = StreamingScore(measure, sampling=sampling, sources=sources)
            self.__dict__["higher_is_better"] = self.score.higher_is_better
            # torchmetrics sees the sums as a list with one tensor of bytes, made when it asks: no cast can harm them.
            self.add_state("packed", default=[], dist_reduce_fx=None)

        @property
        def packed(self) -> list[Tensor]:
            """The state as torchmetrics has it; after a synchronisation there is one tensor per process."""
            return [self.score.packed()] if self.score.n else []

        @packed.setter
        def packed(self, parts: list[Tensor]) -> None:
            self.score.reset()
            for part in parts:
                self.score.merge_packed(part)

        def update(self, x: Tensor, y: Tensor, mask: Tensor | None = None) -> None:
            """Take in activations on the same samples (see `StreamingScore.update`)."""
            self.score.update(x, y, mask)

        def compute(self) -> Tensor:
            """The value of all samples so far."""
            return torch.tensor(self.score.compute().value, dtype=torch.float64, device=self.device)

        def estimate(self) -> Estimate:
            """The score with its interval; in several processes, of this one's samples."""
            return self.score.compute()

        def card(self) -> Card:
            """How the score was made; in several processes, that of this one's samples."""
            return self.score.card()

        def merge_state(self, incoming_state: Any) -> None:
            """Take in the state of another metric, as if its samples came after these."""
            given = incoming_state if isinstance(incoming_state, dict) else incoming_state.metric_state
            for part in given["packed"]:
                self.score.merge_packed(part)
            self._computed = None

        def reset(self) -> None:
            """Forget all samples."""
            super().reset()
            self.score.reset()

    StreamingMetric.__module__, StreamingMetric.__qualname__ = __name__, "StreamingMetric"
    return StreamingMetric


def __getattr__(name: str) -> Any:
    if name == "StreamingMetric":
        return metric_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
