"""Difference: what changed between two checkpoints of one architecture, layer by layer, and whether it matters."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from seamripper._doors import require_path
from seamripper._files import write_json
from seamripper._frames import Row
from seamripper._notebook import card, line, one_line, table
from seamripper._words import word_list
from seamripper.cards import WithMethods
from seamripper.comparing.methods import difference_method, difference_sentences
from seamripper.errors import FileError
from seamripper.estimate import Estimate
from seamripper.matching import Functional

FILE = "diff.json"
"""The file in a folder that holds the difference."""
_SHOWN = 4
"""Names that a sentence lists."""


@dataclass(frozen=True)
class LayerDifference:
    """The relative error ‖h_changed − h_base‖ / ‖h_base‖ of one layer over the samples.

    `complete` says that all that comes later is computed from this value alone. `note` says why there is no number.
    """

    name: str
    error: Estimate
    complete: bool = False
    note: str = ""

    def within(self, tolerance: float) -> bool:
        """Whether the error is known to be within the tolerance: the upper end of its interval is."""
        return self.error.has_interval and self.error.high <= tolerance

    def as_record(self) -> dict[str, Any]:
        """The layer as JSON has it."""
        return {"name": self.name, **self.error.as_record(), "complete": self.complete, "note": self.note}


@dataclass(frozen=True)
class CutDifference:
    """What else is known at a cut: CKA with its null, and what the base makes of the changed model's activations.

    In `spliced` the base's tail is given the changed model's activations as they are; in `stitched`, through the stitch
    that direct matching finds. What only `spliced` loses, a linear map can undo. Both are scored on samples that the
    stitch was not fitted on. `failed` says why something is missing.
    """

    name: str
    error: Estimate
    cka: Estimate | None = None
    spliced: Functional | None = None
    stitched: Functional | None = None
    failed: tuple[str, ...] = ()

    def as_record(self) -> dict[str, Any]:
        """The cut as JSON has it."""
        parts = {name: getattr(self, name) for name in ("error", "cka", "spliced", "stitched")}
        return {"name": self.name, **{k: v and v.as_record() for k, v in parts.items()}, "failed": list(self.failed)}


@dataclass(frozen=True)
class Difference(WithMethods):
    """Two checkpoints of one architecture, beside each other: `layers` and `cuts` in the order in which the base runs.

    `answers` has agreement, KL(base ‖ changed) and accuracies: the base is its receiver. `tolerance` is the relative
    error up to which a layer counts as the same, and `rounding` what the base's own rounding explains. `unaligned` has
    the layers that only one of the two has, with reasons; `no_answers` says why there are no `answers`.
    """

    kind: ClassVar[str] = "diff"
    axes: ClassVar[tuple[str, ...]] = ("place", "figure")
    layers: tuple[LayerDifference, ...]
    cuts: tuple[CutDifference, ...]
    answers: Functional | None
    tolerance: float
    rounding: float
    unaligned: Mapping[str, str]
    record: Mapping[str, Any]
    no_answers: str = ""

    @property
    def _start(self) -> int:
        """The number of the first layer behind the last value, passed by all, that is the same but for rounding."""
        same = (k + 1 for k, layer in enumerate(self.layers) if layer.complete and layer.within(self.rounding))
        return max(same, default=0)

    @property
    def first(self) -> LayerDifference | None:
        """The first layer that diverges; None if no layer does.

        A layer diverges if its error is not within the tolerance, and no later value is the same but for rounding
        through which all that comes after must pass: of what was different before such a value, nothing is left.
        """
        return next((layer for layer in self.layers[self._start :] if not layer.within(self.tolerance)), None)

    @property
    def same(self) -> bool:
        """Whether no layer diverges."""
        return self.first is None

    @property
    def undone(self) -> tuple[LayerDifference, ...]:
        """Layers that differ although a later value is the same: they were fused, say, or their outputs permuted."""
        return tuple(layer for layer in self.layers[: self._start] if not layer.within(self.tolerance))

    def __repr__(self) -> str:
        return one_line(f"Difference({self.verdict})")

    @property
    def verdict(self) -> str:
        """Which layer diverged first, and by how much, in a sentence."""
        n, layers = self.record["n"], f"{len(self.layers)} layers"
        if self.first is None:
            return f"No layer diverges: all {layers} are the same within {self.tolerance:.2g}, on {n:,} samples."
        size = self.first.note or f"relative error {brief(self.first.error)}"
        return f"{self.first.name} is the first of {layers} to diverge: {size}, tolerance {self.tolerance:.2g}."

    @property
    def consequence(self) -> str:
        """Whether it matters for the answers, in a sentence or two."""
        answers = self.answers
        if answers is None:
            return f"Nothing can be said about the answers: {self.no_answers}"
        flips = answers.n - round(answers.agreement.value * answers.n)
        kl = "" if answers.kl is None else f", KL {brief(answers.kl)} nats"
        text = f"{flips} of {answers.n:,} answers change (agreement {answers.agreement}{kl})."
        if answers.unreadable is not None:
            return f"{text} Accuracy is unreadable: the base is at chance on the labels of {answers.data}."
        value, low, high = (-end for end in (answers.penalty.value, answers.penalty.high, answers.penalty.low))
        change = f"by {value + 0.0:+.3f} [{low + 0.0:+.3f}, {high + 0.0:+.3f}]"
        return f"{text} Accuracy changes {change}, from {answers.receiver_here.value:.3f} to {answers.top1.value:.3f}."

    @property
    def doubt(self) -> str:
        """The strongest reason to doubt the verdict."""
        first, unaligned = self.first, list(self.unaligned)
        if unaligned:
            more = f" and {len(unaligned) - _SHOWN} more" if len(unaligned) > _SHOWN else ""
            return f"Not aligned, and so not compared: {word_list(unaligned[:_SHOWN])}{more}."
        if first is not None and first.error.low <= self.tolerance:
            return (
                f"The interval of {first.name} contains the tolerance: {self.record['n']:,} samples do not decide "
                "whether it diverges. It counts as diverged until more samples show that it does not."
            )
        if self.undone:
            names = word_list([layer.name for layer in self.undone[:_SHOWN]])
            return f"Different, though nothing of it is left later on: {names}. Layers that were fused look like this."
        if first is None:
            return "Only what these samples reach is seen: a layer may differ on other inputs."
        return (
            "The first layer that differs need not be the one that matters: at each cut, see what the base makes of "
            "the changed activations. Other inputs may show an earlier layer."
        )

    def rows(self) -> list[Row]:
        """The relative error of every layer; at each cut CKA, and what the base makes of it; at last the answers."""
        rows: list[Row] = [
            {"place": layer.name, "figure": "relative error", **layer.error.as_row(), "note": layer.note or None}
            for layer in self.layers
        ]
        for cut in self.cuts:
            if cut.cka is not None:
                rows.append({"place": cut.name, "figure": "linear_cka", **cut.cka.as_row()})
            for name, joined in (("spliced", cut.spliced), ("stitched", cut.stitched)):
                rows += [_row_at(row, cut.name, f"{name} ") for row in (joined.rows() if joined else ())]
        return rows + [_row_at(row, "answers") for row in (self.answers.rows() if self.answers else ())]

    def method(self) -> dict[str, Any]:
        """All that decides the figures."""
        return difference_method(self.record, self.tolerance)

    def sentences(self) -> list[str]:
        """How the difference was made."""
        return difference_sentences(self.record)

    def figure_sentences(self) -> dict[str, str]:
        """What the relative error is."""
        return {"relative error": "The relative error is ‖changed − base‖ / ‖base‖ over all samples."}

    def as_record(self) -> dict[str, Any]:
        """The difference as JSON has it."""
        return {
            "kind": self.kind,
            "same": self.same,
            "first": self.first and self.first.name,
            "verdict": self.verdict,
            "consequence": self.consequence,
            "doubt": self.doubt,
            "tolerance": self.tolerance,
            "rounding": self.rounding,
            "answers": self.answers and self.answers.as_record(),
            "cuts": [cut.as_record() for cut in self.cuts],
            "layers": [layer.as_record() for layer in self.layers],
            "undone": [layer.name for layer in self.undone],
            "unaligned": dict(self.unaligned),
            "record": dict(self.record),
        }

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write `diff.json` into the folder, whole or not at all."""
        path = Path(require_path(folder, "folder", error=FileError)) / FILE
        write_json(path, self.as_record())
        return path

    def _repr_html_(self) -> str:
        rows = [(cut.name, brief(cut.error), "–" if cut.cka is None else str(cut.cka)) for cut in self.cuts]
        parts = [line(self.consequence), table(("cut", "relative error", "CKA"), rows), line(self.doubt, faint=True)]
        return card(self.verdict, *parts)


def _row_at(row: Row, place: str, before: str = "") -> Row:
    return {"place": place, **row, "figure": f"{before}{row['figure']}"}


def brief(estimate: Estimate) -> str:
    """Value and interval in three digits each, however small.

    >>> brief(Estimate(0.000312, 0.0003, 0.00033)), brief(Estimate(math.inf))
    ('0.000312 [0.0003, 0.00033]', '∞')
    """
    if not math.isfinite(estimate.value):
        return "–" if math.isnan(estimate.value) else "∞"
    interval = f" [{estimate.low:.3g}, {estimate.high:.3g}]" if estimate.has_interval else ""
    return f"{estimate.value:.3g}{interval}"
