"""Sums: what a pass over the data adds up for the measures between all cuts of two models, and the plan for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from seamripper._devices import to_memory
from seamripper.comparing.forms import Batch, RowForm, forms
from seamripper.comparing.memory import Footprint, plan_memory, slice_for
from seamripper.comparing.moments import CutMoments
from seamripper.comparing.request import Rule
from seamripper.comparing.sample_rows import SampleRows
from seamripper.comparing.shelf import Shelf
from seamripper.cut.place import Cut
from seamripper.errors import MeasureError
from seamripper.measures.base import Measure
from seamripper.measures.pair import Pair
from seamripper.measures.score import Sampling
from seamripper.stitches.grids import Grid


@dataclass(frozen=True)
class PassPlan:
    """What a pass adds up for these cuts, measures and rule, and what that takes in memory."""

    senders: tuple[RowForm, ...]
    receivers: tuple[RowForm, ...]
    rule: Rule
    moments: bool
    batches: bool
    keep: int
    footprint: Footprint = field(compare=False)
    padded: int | None = None
    """How many tokens the samples have, where some of them are padding."""
    null: int = 0
    """With how many permutations of the samples scores are compared; for these, all activations are kept."""
    room: int | None = field(default=None, compare=False)
    """Bytes of memory that the pass may take; None if that is not known."""

    @property
    def on_disk(self) -> bool:
        """Whether the sums stand on disk."""
        return self.footprint.disk > 0

    @property
    def slice(self) -> int:
        """How many samples both networks are shown at once."""
        return slice_for([form.shown for form in (*self.senders, *self.receivers)])

    def within(self, room: int | None) -> PassPlan:
        """The plan for so much memory: with its sums on disk if it does not fit otherwise, and fits so."""
        spilled = self.footprint.on_disk(self.rule.folds)
        spills = room is not None and self.moments and spilled.total <= room < self.footprint.total
        return replace(self, room=room, footprint=spilled if spills else self.footprint)

    @property
    def adds(self) -> bool:
        """Whether there is anything to add up; trained stitches, say, need nothing of a pass."""
        return self.moments or self.batches or self.keep > 0

    @classmethod
    def of(
        cls,
        senders: Sequence[Cut],
        receivers: Sequence[Cut],
        measures: Sequence[Measure],
        rule: Rule,
        *,
        moments: bool = False,
        padded: int | None = None,
    ) -> PassPlan:
        """The plan for these cuts; with `moments`, these are added up even if no measure needs them."""
        x, y = forms(senders, receivers, rule.sampling, padded=padded)
        needs = {source(m, rule.sampling) for m in measures}
        if "batches" in needs and rule.batch < 4:
            raise MeasureError(f"Minibatches need 4 samples or more, but the rule's batch is {rule.batch}.")
        moments, keep = moments or "moments" in needs, rule.keep if "rows" in needs else 0
        width = 4 if rule.products == "float32" else 8
        footprint = plan_memory(x, y, batch=rule.batch, folds=rule.folds, moments=moments, keep=keep, width=width)
        return cls(x, y, rule, moments, "batches" in needs, keep, footprint, padded)

    def with_null(self, permutations: int, samples: int) -> PassPlan:
        """The plan with a null, for which the activations of all samples are kept."""
        if self.padded is not None and self.rule.sampling == "positions":
            raise MeasureError(
                "A null permutes samples, and by 'positions' these have different numbers of rows, as some of their "
                "tokens are padding. Use the sampling 'pool'."
            )
        return replace(
            self, null=permutations, footprint=self.footprint.with_null(self.senders, self.receivers, samples)
        )


def source(measure: Measure, sampling: Sampling) -> str:
    """What a measure is computed from: a map flattened has too many columns for moments, so there it is from rows."""
    needs = measure.claims.needs
    return "rows" if sampling == "flatten" and needs == "moments" else needs


class Sums:
    """What a pass adds up. Two halves of the data added up apart and merged are the same as one pass over both."""

    def __init__(self, plan: PassPlan, *, known: tuple[Sums, Tensor] | None = None) -> None:
        """Sums of a pass; or those of a `known` one with the receiver's samples in an order (see `in_order`)."""
        self.plan = plan
        folds, (x, y) = plan.rule.folds, (plan.senders, plan.receivers)
        self.moments: CutMoments | None = None
        if plan.moments:
            products = getattr(torch, plan.rule.products)
            moments = None if known is None else known[0].moments
            shelf = Shelf() if plan.on_disk else None
            self.moments = CutMoments(
                x, y, folds=folds, batch=plan.rule.batch, products=products, known=moments, shelf=shelf
            )
        batch = plan.rule.batch if plan.batches else None
        rows = None if known is None else (known[0].sample_rows, known[1])
        self.sample_rows: SampleRows = SampleRows(
            x, y, keep=plan.keep, folds=folds, batch=batch, seed=plan.rule.seed, known=rows
        )
        self.kept: list[Batch] = []
        """The maps of all samples, where the plan has a null."""
        self.n = 0
        self.dtype = "float32"
        self._lanes: list[Sums] = []

    def lane(self, k: int) -> Sums:
        """The sums of lane k of a pass: these for the first, others for the rest, until `settle` merges them."""
        while len(self._lanes) < k:
            self._lanes.append(Sums(self.plan))
        return self if k == 0 else self._lanes[k - 1]

    def add(self, batch: Batch) -> None:
        """Add the activations of some samples at every cut."""
        self.dtype = str(batch.sent[0].dtype).removeprefix("torch.")
        x = [form.maps(values, batch.mask) for form, values in zip(self.plan.senders, batch.sent, strict=True)]
        y = [form.maps(values, batch.mask) for form, values in zip(self.plan.receivers, batch.received, strict=True)]
        self.n += len(batch.ids)
        # An average has left padding out already; by positions a token that does not count makes no row.
        mask = batch.mask if self.plan.rule.sampling == "positions" else None
        maps = Batch(x, y, batch.ids, batch.fold, mask)
        if self.plan.null:
            self.kept.append(replace(maps, sent=[to_memory(m) for m in x], received=[to_memory(m) for m in y]))
        self._add_maps(maps)

    def _add_maps(self, maps: Batch) -> None:
        if self.moments is not None:
            self.moments.add(maps)
        self.sample_rows.add(maps)

    @property
    def fold_of(self) -> Tensor:
        """The fold of each kept sample."""
        return torch.tensor([batch.fold for batch in self.kept for _ in batch.ids], dtype=torch.long)

    def in_order(self, order: Tensor) -> Sums:
        """What the pass would have added up with the receiver's samples in this order, none moved to another fold.

        The networks do not run again, and all that is about one side alone stays that of these sums: only products of
        the two sides are new, and the receiver's rows.
        """
        sums, start = Sums(replace(self.plan, null=0), known=(self, order)), 0
        for batch in self.kept:
            numbers = order[start : start + len(batch.ids)]
            received = [maps[numbers] for maps in self._received]
            sums._add_maps(Batch(batch.sent, received, batch.ids, batch.fold))
            start += len(batch.ids)
        sums.settle()
        return sums

    @cached_property
    def _received(self) -> list[Tensor]:
        """The kept maps of each receiver."""
        return [torch.cat([batch.received[j] for batch in self.kept]) for j in range(len(self.plan.receivers))]

    def merge(self, other: Sums) -> None:
        """Take in what was added up over the samples that come after these."""
        if self.plan != other.plan:
            raise MeasureError(
                "Sums can be merged only if they were made by one plan: the same cuts, measures and rule."
            )
        self.settle()
        other.settle()
        self.n += other.n
        if self.moments is not None and other.moments is not None:
            self.moments.merge(other.moments)
        self.sample_rows.merge(other.sample_rows)
        self.kept += other.kept

    def as_tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All of it as tensors and a record of JSON, from which `Sums.of_tensors` makes it again, elsewhere."""
        self.settle()
        tensors, record = self.sample_rows.as_tensors()
        if self.moments is not None:
            more, counts = self.moments.as_tensors()
            tensors, record = tensors | more, record | counts
        return tensors, {**record, "n": self.n, "dtype": self.dtype}

    @classmethod
    def of_tensors(cls, plan: PassPlan, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> Sums:
        """What `as_tensors` wrote down of sums by this plan."""
        sums = cls(plan)
        sums.n, sums.dtype = int(record["n"]), str(record["dtype"])
        sums.sample_rows.take_tensors(tensors, record)
        if sums.moments is not None:
            sums.moments.take_tensors(tensors, record)
        return sums

    def settle(self) -> None:
        """Merge the lanes, and add up what waits for a full batch: pairs measured side by side find nothing to do."""
        lanes, self._lanes = self._lanes, []
        for lane in lanes:
            self.merge(lane)
        if self.moments is not None:
            self.moments.settle()
        self.sample_rows.settle()

    def pair(self, kind: str, i: int, j: int) -> Pair:
        """Sender i and receiver j as a measure of this kind (see `source`) sees them."""
        if self._lanes:
            self.settle()
        a, b = self.plan.senders[i], self.plan.receivers[j]
        if self.plan.padded is not None and a.grid != b.grid:
            raise MeasureError(
                f"{a.cut.name!r} and {b.cut.name!r} have no positions in common: one has tokens, of which some are "
                "padding, and the other a vector. Use the sampling 'pool'."
            )
        if kind == "rows":
            return self.sample_rows.pair(i, j)
        if kind == "batches":
            return self.sample_rows.minibatch_pair(i, j)
        assert self.moments is not None
        return self.moments.pair(i, j)

    def forget(self, j: int) -> None:
        """Let go of the sides of other receivers, and of those on grids that receiver j does not have."""
        if self.moments is not None:
            self.moments.forget(j)
        self.sample_rows.forget(j)

    def ranks(self) -> dict[str, list[int | None]] | None:
        """The rank of each cut's rows, the sender's on its own grid if a receiver has one like it."""
        if self.moments is None:
            return None
        plan, sums = self.plan, self.moments
        grids = {form.grid for form in plan.receivers}
        own = [form.grid if form.grid in grids else min(grids) for form in plan.senders]
        # Padding cannot be left out of tokens that are brought to another grid.
        known = [plan.padded is None or form.grid in grids for form in plan.senders]
        return {
            "sender": [_rank(sums, "x", i, grid) if known[i] else None for i, grid in enumerate(own)],
            "receiver": [_rank(sums, "y", j, form.grid) for j, form in enumerate(plan.receivers)],
        }


def _rank(sums: CutMoments, which: str, k: int, grid: Grid) -> int | None:
    """The rank of one side; None if its sums are not fit to have one."""
    try:
        return sums.side(which, k, grid).rank
    except (MeasureError, RuntimeError):
        return None
