"""compare: every measure between all cuts of two models, from one pass over the data for both."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._doors import require, require_function, require_path, several
from seamripper._progress import Progress, Watcher, nobody
from seamripper.activations.collect import require_finite
from seamripper.cut.frozen import seal
from seamripper.cut.many import Heads, heads
from seamripper.cut.split import as_model
from seamripper.cut.values import first_of
from seamripper.data.padding import padded_length, tokens_that_count, trim
from seamripper.data.paired import require_samples
from seamripper.data.samples import Samples, batches_in
from seamripper.errors import CutError, FileError, LeakError, MeasureError, ModelError
from seamripper.measures._footprint import available
from seamripper.measures._order import order_of
from seamripper.measures._side_by_side import Tally, in_lanes, side_by_side
from seamripper.measures.base import Measure
from seamripper.measures.choosing import asked_for
from seamripper.measures.comparison import Comparison, Matrix
from seamripper.measures.functional import FunctionalMatrices, Stitching
from seamripper.measures.pair import Pair
from seamripper.measures.rule import SLICE, Rule, as_rule
from seamripper.measures.score import Score, reason, score
from seamripper.measures.sums import Plan, Sums, source
from seamripper.models.model import Model
from seamripper.models.running import versions

_STITCHING = Stitching()
_LANES = 2
"""More would take as many times the memory, and networks use some threads well."""


def compare(
    sender: nn.Module | Model | str,
    receiver: nn.Module | Model | str,
    samples: Samples,
    *,
    measures: Sequence[str | Measure] | str | Measure = ("linear_cka",),
    sender_cuts: Sequence[str] | str | None = None,
    receiver_cuts: Sequence[str] | str | None = None,
    rule: Rule | str | None = None,
    stitching: Stitching = _STITCHING,
    folder: str | os.PathLike[str] | None = None,
    announce: Callable[[str], None] = lambda _: None,
    watch: Watcher = nobody,
) -> Comparison:
    """Every measure between the cuts of two models (by default behind each block), from one pass over the samples.

    `direct_functional` and `task_functional` among the measures fill matrices by stitching, with a stitch from the
    moments of the pass, and with one trained as `stitching` says; `all` does not stand for them. With a `folder` their
    finished cells are kept there, and are not computed again. `announce` is told the planned footprint before the pass;
    one that would not fit is refused. Tokens that are padding make no rows (see `seamripper.data.padding`).
    """
    prepared = Prepared.of(
        sender,
        receiver,
        samples,
        measures=measures,
        sender_cuts=sender_cuts,
        receiver_cuts=receiver_cuts,
        rule=rule,
        stitching=stitching,
        folder=folder,
        announce=announce,
        watch=watch,
    )
    plan = prepared.plan
    size = f"{len(plan.senders)} × {len(plan.receivers)}"
    batches = batches_in(len(samples), plan.rule.batch)
    footprint = plan.footprint.in_lanes(lanes_of(prepared.a, prepared.b, plan, batches))
    announce(f"memory for {size} cuts, whatever the number of samples: {footprint}")
    footprint.require(available())
    seconds: dict[str, float] = {}
    sums = Sums(plan)
    with _timed("pass", seconds):
        prepared.add_to(sums)
    return prepared.finished(sums, seconds)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A comparison before its pass. The pass may be made in parts, which are merged: see `add_to`."""

    a: Heads
    b: Heads
    samples: Samples
    asked: tuple[Measure, ...]
    functional: FunctionalMatrices
    plan: Plan
    folder: str | os.PathLike[str] | None
    watch: Watcher

    @classmethod
    def of(
        cls,
        sender: nn.Module | Model | str,
        receiver: nn.Module | Model | str,
        samples: Samples,
        *,
        measures: Sequence[str | Measure] | str | Measure = ("linear_cka",),
        sender_cuts: Sequence[str] | str | None = None,
        receiver_cuts: Sequence[str] | str | None = None,
        rule: Rule | str | None = None,
        stitching: Stitching = _STITCHING,
        folder: str | os.PathLike[str] | None = None,
        announce: Callable[[str], None] = lambda _: None,
        watch: Watcher = nobody,
    ) -> Prepared:
        """Cut both models and plan the pass; what the arguments mean, `compare` says."""
        _require_given((sender, receiver), samples, stitching, folder, announce, watch)
        rule = as_rule(rule, len(samples))
        asked, words = asked_for(measures)
        samples = trim(samples)
        a, b = (
            _heads(model, names, samples, role, optimise=rule.optimise)
            for role, model, names in (("sender", sender, sender_cuts), ("receiver", receiver, receiver_cuts))
        )
        if sender is receiver and a.cuts == b.cuts:
            b = a
        functional = FunctionalMatrices(words, a, b, samples, rule, stitching, folder, announce=announce, watch=watch)
        plan = Plan.of(a.cuts, b.cuts, asked, rule, moments=functional.needs_moments, padded=padded_length(samples))
        return cls(a, b, samples, tuple(asked), functional, plan, folder, watch)

    def add_to(self, sums: Sums, *, part: int = 0, parts: int = 1) -> None:
        """The pass, or one of its parts: so many whole batches of the order in which it takes the samples."""
        rule = self.plan.rule
        order = order_of(self.samples.ids, seed=rule.seed)
        batches = batches_in(len(order), rule.batch)
        if not 0 <= part < parts <= batches:
            raise MeasureError(
                f"Expected part {part} to be one of {parts}, and no more parts than the {batches} batches of "
                f"{rule.batch} that the {len(order)} samples make."
            )
        first, last = batches * part // parts, batches * (part + 1) // parts
        mine = order[first * rule.batch : last * rule.batch]
        with seal(self._models):
            accumulate(sums, self.a, self.b, self.samples, order=mine, first=first, watch=self.watch)

    @property
    def _models(self) -> dict[str, nn.Module]:
        return {"sender": self.a.model.module, "receiver": self.b.model.module}

    def finished(self, sums: Sums, seconds: dict[str, float] | None = None) -> Comparison:
        """The comparison that the sums of all parts come to."""
        a, b, samples, plan, functional = self.a, self.b, self.samples, self.plan, self.functional
        seconds = {} if seconds is None else seconds
        with _timed("measures", seconds):
            sums.settle()
            matrices = scored(sums, self.asked, self.watch)
        names = tuple(c.name for c in a.cuts), tuple(c.name for c in b.cuts)
        if self.folder is not None and functional.words and matrices:
            # Before the stitching, which takes long: what is there is not lost with it.
            Comparison(*names, matrices, _record(a, b, samples, plan, sums)).save(self.folder)
        with _timed("functional", seconds), seal(self._models if functional.words else {}):
            matrices |= functional.filled(sums.moments)
        record = _record(a, b, samples, plan, sums) | functional.as_record() | {"seconds": seconds}
        return Comparison(*names, matrices, record)


def _require_given(
    models: tuple[object, object], samples: object, stitching: object, folder: object, announce: object, watch: object
) -> None:
    for role, model in zip(("sender", "receiver"), models, strict=True):
        whole = f"compare takes whole models, and cuts by name: compare({role}.model, …)."
        advice = whole if hasattr(model, "model") else ""
        require(model, (Model, nn.Module, str), role, error=ModelError, advice=advice)
    require_samples(samples, "samples")
    require(stitching, Stitching, "stitching", error=MeasureError)
    if folder is not None:
        require_path(folder, "folder", error=FileError)
    require_function(announce, "announce", error=MeasureError)
    require_function(watch, "watch", error=MeasureError)


@contextlib.contextmanager
def _timed(stage: str, seconds: dict[str, float]) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - begun


def accumulate(
    sums: Sums,
    a: Heads,
    b: Heads,
    samples: Samples,
    *,
    order: Tensor | None = None,
    first: int = 0,
    watch: Watcher = nobody,
) -> None:
    """Run both models over the samples, batch by batch, and add up.

    A machine that shares the work takes a part of the `order`, and `first` is the number of its first batch. Fused
    networks are run in lanes side by side (see `lanes_of`), each over a stretch of the order with sums of its own,
    which `Sums.settle` merges.
    """
    rule = sums.plan.rule
    if not sums.plan.adds:
        return
    shown = a.model.present(samples), b.model.present(samples)
    order = order_of(samples.ids, seed=rule.seed) if order is None else order
    batches = torch.split(order, rule.batch)
    lanes = lanes_of(a, b, sums.plan, len(batches))
    ends = [len(batches) * k // lanes for k in range(lanes + 1)]
    tally = Tally(watch, "the pass", len(batches))

    def lane(k: int) -> None:
        for number in range(ends[k], ends[k + 1]):
            _add_batch(sums.lane(k), (a, b), shown, batches[number], fold=(first + number) % rule.folds)
            tally.count()

    in_lanes(lane, lanes, tally)


def _add_batch(
    sums: Sums, models: tuple[Heads, Heads], shown: tuple[Samples, Samples], batch: Tensor, *, fold: int
) -> None:
    (a, b), (ours, theirs) = models, shown
    for few in torch.split(batch, SLICE):
        inputs, ids = ours.batch(few), ours.ids[few]
        sent = a(inputs)
        # A model compared with itself runs once.
        received = sent if a is b else b(inputs if theirs is ours else theirs.batch(few))
        for half, values in ((a, sent),) if a is b else ((a, sent), (b, received)):
            for cut, rows in zip(half.cuts, values, strict=True):
                require_finite(rows, cut.name, ids)
        sums.add(sent, received, ids, fold=fold, mask=tokens_that_count(inputs))


def lanes_of(a: Heads, b: Heads, plan: Plan, batches: int) -> int:
    """In how many lanes a pass is made: two where there are two threads, and room for twice the sums.

    A lane computes by itself, so that threads wait for each other once a pass and not at every layer. The plain way of
    running a network (by hooks) is not made for two at a time.
    """
    if not (a.way.startswith("fused") and b.way.startswith("fused")):
        return 1
    lanes, room = min(_LANES, torch.get_num_threads(), batches), available()
    while lanes > 1 and room is not None and plan.footprint.in_lanes(lanes).total > room:
        lanes -= 1
    return max(lanes, 1)


def _heads(
    model: nn.Module | Model | str, given: Sequence[str] | str | None, samples: Samples, role: str, *, optimise: bool
) -> Heads:
    names = None if given is None else several(given, str, f"{role}_cuts", error=CutError)
    known = as_model(model)
    trial = known.present(samples).batch(slice(0, SLICE))
    try:
        return heads(known, names, first_of(trial, 2), optimise=optimise, trial=trial)
    except LeakError as e:
        raise LeakError(f"The {role}: {e}", around=e.around) from e
    except CutError as e:
        raise CutError(f"The {role}: {e}") from e


def scored(sums: Sums, measures: Sequence[Measure], watch: Watcher = nobody) -> dict[str, Matrix]:
    """Every measure's matrix. What measures share of a pair, and pairs of a side, is computed once and then let go.

    Pairs are measured side by side, so a measure may be asked from several threads at once.
    """
    if not measures:
        return {}
    high, wide = len(sums.plan.senders), len(sums.plan.receivers)
    found: dict[tuple[int, int], list[Score | str]] = {}
    sums.settle()
    with side_by_side() as workers:
        # Grid by grid, as a sender has one side for all the receivers of a grid.
        for j in sorted(range(wide), key=lambda j: sums.plan.receivers[j].grid):
            for i, scores in enumerate(workers.map(functools.partial(_of_pair, sums, measures, j), range(high))):
                found[i, j] = scores
                watch(Progress("measures", len(found) * len(measures), high * wide * len(measures)))
            sums.forget(j)
    return {
        m.label: _matrix(sums.plan, m, {at: scores[k] for at, scores in found.items()}) for k, m in enumerate(measures)
    }


def _of_pair(sums: Sums, measures: Sequence[Measure], j: int, i: int) -> list[Score | str]:
    """Every measure's score for sender i and receiver j, or why it has none."""
    rule, pairs, scores = sums.plan.rule, dict[str, Pair](), list[Score | str]()
    for measure in measures:
        try:
            kind = source(measure, rule.sampling)
            if kind not in pairs:
                pairs[kind] = sums.pair(kind, i, j)
            scores.append(score(measure, pairs[kind], sampling=rule.sampling, interval=rule.interval))
        except Exception as e:
            # Also what a user's own measure raises: after a long pass, the other measures are worth having.
            scores.append(reason(measure, e))
    return scores


def _matrix(plan: Plan, measure: Measure, found: dict[tuple[int, int], Score | str]) -> Matrix:
    high, wide = range(len(plan.senders)), range(len(plan.receivers))
    cells = tuple(tuple(s if isinstance(s := found[i, j], Score) else None for j in wide) for i in high)
    failed = {
        f"{plan.senders[i].cut.name} × {plan.receivers[j].cut.name}": why
        for (i, j), why in found.items()
        if isinstance(why, str)
    }
    return Matrix(measure.label, measure.claims.direction, cells, failed)


def _record(a: Heads, b: Heads, samples: Samples, plan: Plan, sums: Sums) -> dict[str, Any]:
    return {
        "sender": _model_record(a),
        "receiver": _model_record(b),
        "data": {"name": samples.name, "fingerprint": samples.fingerprint, "source": samples.source},
        "n": len(samples),
        "rule": asdict(plan.rule),
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
