"""compare: every measure between all cuts of two models, from one pass over the data for both."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from torch import nn

from seamripper._doors import several
from seamripper._request import with_arguments_of
from seamripper.comparing.accumulate import accumulate, lanes_of
from seamripper.comparing.comparison import Comparison
from seamripper.comparing.functional import FunctionalMatrices
from seamripper.comparing.memory import available
from seamripper.comparing.null import with_nulls
from seamripper.comparing.order import order_of
from seamripper.comparing.request import SLICE, Request, as_rule, requested_measures
from seamripper.comparing.sums import PassPlan, Sums
from seamripper.comparing.values import score_matrices
from seamripper.cut.frozen import seal
from seamripper.cut.many import Heads, heads
from seamripper.cut.split import as_model
from seamripper.cut.values import first_of
from seamripper.data.padding import mask_length, padded_length, trim
from seamripper.data.samples import Samples, batches_in
from seamripper.data.stream import Stream, data_record, head_of, number_of
from seamripper.errors import CutError, LeakError, MeasureError
from seamripper.estimate import LEVEL
from seamripper.measures.base import Measure
from seamripper.models.model import Model
from seamripper.models.running import versions

_TRIED, _FEWEST = 1 << 20, 8
"""So many values of inputs are shown to both networks before the pass, and no fewer inputs than these."""


@with_arguments_of(Request)
def compare(request: Request) -> Comparison:
    """Every measure between the cuts of two models (by default behind each block), from one pass over the samples.

    The measures `direct_functional` and `task_functional` fill their matrices by stitching: the first with a stitch
    from the moments of the pass, the second with one trained as `stitching` says. `all` does not include them. With a
    `folder`, their finished cells are kept there and are not computed again. With a `null` of so many permutations,
    every score of a measure, and the best of each matrix, has its p-value and its calibrated score (see
    `seamripper.measures.null`): the activations are then kept, and no network runs again. `announce` is called with the
    planned memory before the pass. `memory` is how many bytes it may plan with, by default most of what is free: sums
    that do not fit stand on disk, and a pass that would not fit so either is refused. Tokens that are padding make no
    rows (see `seamripper.data.padding`). `samples` may be any data (see `seamripper.data.yours`): what is not in memory
    is read as it is passed over, once, and held nowhere. Only stitching and a null take it into memory first.
    """
    prepared = PreparedPass.of(request)
    prepared.require_memory(request.announce)
    seconds: dict[str, float] = {}
    sums = Sums(prepared.plan)
    with _stopwatch("pass", seconds):
        prepared.add_to(sums)
    return prepared.comparison(sums, seconds)


@dataclass(frozen=True, eq=False)
class PreparedPass:
    """A comparison before its pass. The pass may be made in parts, which are merged: see `add_to`."""

    request: Request
    a: Heads
    b: Heads
    measures: tuple[Measure, ...]
    functional: FunctionalMatrices
    plan: PassPlan

    @classmethod
    def of(cls, request: Request) -> PreparedPass:
        """Cut both models and plan the pass."""
        measures, words = requested_measures(request.measures)
        samples = request.samples
        if isinstance(samples, Stream) and (words or request.null):
            samples = samples.load()
        samples = samples if isinstance(samples, Stream) else trim(samples)
        request = replace(request, samples=samples)
        n = number_of(samples)
        rule = as_rule(request.rule, n)
        few = head_of(samples, SLICE)
        # Large inputs are tried a few at a time: the trial keeps what a network shows at every layer.
        few = few.first(max(_FEWEST, min(SLICE, _TRIED // math.prod(few.shape))))
        a = _heads(request.sender, request.sender_cuts, few, "sender", optimise=rule.optimise)
        b = _heads(request.receiver, request.receiver_cuts, few, "receiver", optimise=rule.optimise)
        if request.sender is request.receiver and a.cuts == b.cuts:
            b = a
        functional = FunctionalMatrices(words, a, b, request, rule)
        plan = PassPlan.of(
            a.cuts,
            b.cuts,
            measures,
            rule,
            moments=functional.needs_moments,
            padded=padded_length(samples) if isinstance(samples, Samples) else mask_length(few),
        )
        if request.null:
            plan = plan.with_null(request.null, n or 0)
        room = available() if request.memory is None else int(request.memory)
        # Beside another device the sums are there, and not in main memory.
        here = all(half.model.device.type == "cpu" for half in (a, b))
        plan = plan.within(room) if here else replace(plan, room=room)
        return cls(request, a, b, measures, functional, plan)

    def require_memory(self, announce: Callable[[str], None] = lambda _: None) -> None:
        """Announce what the pass will take in memory, and refuse one that would not fit."""
        plan, samples = self.plan, self.request.samples
        batches = batches_in(len(samples), plan.rule.batch) if isinstance(samples, Samples) else 1
        footprint = plan.footprint.in_lanes(lanes_of(self.a, self.b, plan, batches))
        size = f"{len(plan.senders)} × {len(plan.receivers)}"
        depends = f"for {number_of(samples):,} samples" if plan.null else "whatever the number of samples"
        announce(f"memory for {size} cuts, {depends}: {footprint}")
        footprint.require(plan.room)

    def add_to(self, sums: Sums, *, part: int = 0, parts: int = 1) -> None:
        """The pass, or one of its parts: so many whole batches of the order in which it takes the samples."""
        rule, samples = self.plan.rule, self.request.samples
        if isinstance(samples, Stream):
            if parts > 1:
                raise MeasureError("A stream is read in one pass, and cannot be divided: take it into memory first.")
            with seal(self._models):
                accumulate(sums, self.a, self.b, samples, watch=self.request.watch)
            return
        order = order_of(samples.ids, seed=rule.seed)
        batches = batches_in(len(order), rule.batch)
        if not 0 <= part < parts <= batches:
            raise MeasureError(
                f"Expected part {part} to be one of {parts}, and no more parts than the {batches} batches of "
                f"{rule.batch} that the {len(order)} samples make."
            )
        first, last = batches * part // parts, batches * (part + 1) // parts
        mine = order[first * rule.batch : last * rule.batch]
        with seal(self._models):
            accumulate(sums, self.a, self.b, samples, order=mine, first=first, watch=self.request.watch)

    @property
    def _models(self) -> dict[str, nn.Module]:
        return {"sender": self.a.model.module, "receiver": self.b.model.module}

    def comparison(self, sums: Sums, seconds: dict[str, float] | None = None) -> Comparison:
        """The comparison that the sums of all parts come to."""
        functional, folder = self.functional, self.request.folder
        seconds = {} if seconds is None else seconds
        with _stopwatch("measures", seconds):
            matrices = score_matrices(sums, self.measures, self.request.watch)
        if self.plan.null:
            with _stopwatch("null", seconds):
                matrices = with_nulls(matrices, sums, self.measures, self.request.watch)
        names = tuple(c.name for c in self.a.cuts), tuple(c.name for c in self.b.cuts)
        if folder is not None and functional.words and matrices:
            # Before the stitching, which takes long: what is there is not lost with it.
            Comparison(*names, matrices, self._record(sums)).save(folder)
        with _stopwatch("functional", seconds), seal(self._models if functional.words else {}):
            matrices |= functional.matrices(sums.moments)
        record = self._record(sums) | functional.as_record() | {"seconds": seconds}
        return Comparison(*names, matrices, record)

    def _record(self, sums: Sums) -> dict[str, Any]:
        samples, plan = self.request.samples, self.plan
        return {
            "sender": _model_record(self.a),
            "receiver": _model_record(self.b),
            "data": data_record(samples),
            "n": len(samples) if isinstance(samples, Samples) else sums.n,
            "padded": plan.padded is not None,
            "rule": asdict(plan.rule),
            **({"null": {"permutations": plan.null, "level": LEVEL}} if plan.null else {}),
            "dtype": f"activations {sums.dtype}, products {plan.rule.products}, sums float64",
            "ranks": sums.ranks(),
            "memory": plan.footprint.total,
            "versions": versions(),
        }


def _model_record(half: Heads) -> dict[str, Any]:
    return {
        "source": half.model.source,
        "fingerprint": half.fingerprint,
        "cuts": [cut.as_record() for cut in half.cuts],
        "forward": half.way,
    }


def _heads(
    model: nn.Module | Model | str, cuts: Sequence[str] | str | None, samples: Samples, role: str, *, optimise: bool
) -> Heads:
    names = None if cuts is None else several(cuts, str, f"{role}_cuts", error=CutError)
    known = as_model(model)
    trial = known.present(samples).batch(slice(None))
    try:
        return heads(known, names, first_of(trial, 2), optimise=optimise, trial=trial)
    except LeakError as e:
        raise LeakError(f"The {role}: {e}", around=e.around) from e
    except CutError as e:
        raise CutError(f"The {role}: {e}") from e


@contextlib.contextmanager
def _stopwatch(stage: str, seconds: dict[str, float]) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start
