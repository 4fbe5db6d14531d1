"""What a measure is: a similarity index whose claims are declared as data, so that each of them can be tested."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from seamripper.errors import MeasureError
from seamripper.measures.pair import Pair, Side
from seamripper.registry import Choice, Registry

Transformation = Literal["translation", "scaling", "orthogonal", "permutation", "invertible"]
TRANSFORMATIONS: tuple[Transformation, ...] = ("translation", "scaling", "orthogonal", "permutation", "invertible")
"""What may be done to one side: x + c, a·x (a > 0), x Q, x with its columns permuted, x M with M invertible."""

SHAPE = frozenset[Transformation]({"translation", "scaling", "orthogonal", "permutation"})
"""What a measure of shape does not see; many are invariant to just these."""

DIRECT, TASK = "direct_functional", "task_functional"
FUNCTIONAL: dict[str, str] = {
    DIRECT: "Relative accuracy of the two networks joined by least squares, on samples that were not used to fit.",
    TASK: "Relative accuracy of the two networks joined by a stitch trained on the task, starting from the direct one.",
}
"""The matrices that `compare` fills by stitching the models, with a line on each: no measure may have their names."""

_LARGEST = 10**8
"""Numbers in a product of two sides that cannot be turned to fewer columns; a flattened map has 65,536 columns."""


@dataclass(frozen=True)
class Claims:
    """What a measure claims of itself. It claims as well *not* to be symmetric, or invariant, where it does not say so.

    `invariant_to` is about the sender's side x; `receiver_invariant_to` about y, where that differs. `needs` is what
    the measure is computed from: `moments` or sums over `batches`, which one pass accumulates, or `rows`, which must be
    kept. A measure that `spans` compares subspaces: it refuses n ≤ columns + 1, where any two would agree. Without
    `varying`, a constant side is no problem to it. Without `paired`, it does not depend on which sample is which.
    """

    direction: Literal["similarity", "distance"]
    symmetric: bool
    range: tuple[float, float]
    self_score: float
    invariant_to: frozenset[Transformation]
    receiver_invariant_to: frozenset[Transformation] | None = None
    needs: Literal["moments", "batches", "rows"] = "moments"
    same_width: bool = False
    spans: bool = False
    varying: bool = True
    paired: bool = True
    fewest: int = 4
    """The fewest rows that it is defined for."""

    @property
    def turns(self) -> bool:
        """Whether both sides may be rotated without a change."""
        other = self.invariant_to if self.receiver_invariant_to is None else self.receiver_invariant_to
        return "orthogonal" in self.invariant_to and "orthogonal" in other


@dataclass(frozen=True)
class Measure(Choice):
    """A similarity index. Leaves are frozen dataclasses with a `name`, the `paper` it is from, and their options."""

    what, error = "measure", MeasureError
    paper: ClassVar[str]

    @property
    @abc.abstractmethod
    def claims(self) -> Claims:
        """What it claims of itself, with these options."""

    @abc.abstractmethod
    def of(self, pair: Pair) -> float:
        """The value for a pair that fits."""

    def sides(self, pair: Pair) -> tuple[float, float] | None:
        """For a difference of two figures: the figures of x and of y."""
        return None

    def by_fold(self, pair: Pair) -> tuple[float, ...] | None:
        """For a measure that is fitted on other folds than it is scored on: its value on each of them."""
        return None

    @classmethod
    def variants(cls) -> tuple[Measure, ...]:
        """What `all` stands for: the measure as it is by default, or every variant that goes by a name of its own."""
        return (cls(),)

    def value(self, pair: Pair) -> float:
        """The value, or an error that says why there is none."""
        self._require(pair)
        if self.claims.turns and pair.x.rows is not None and pair.y.rows is not None:
            pair = pair.compact
        # A user's own may come as numpy's or torch's, which no file could keep.
        value = float(self.of(pair))
        if not math.isfinite(value):
            raise MeasureError(f"{self.label} has no finite value on these {pair.n} rows (it came out as {value}).")
        return value

    def _require(self, pair: Pair) -> None:
        claims = self.claims
        if pair.n < claims.fewest:
            raise MeasureError(f"{self.label} needs at least {claims.fewest} samples, but got {pair.n}.")
        if claims.needs == "batches" and not pair.whole:
            return
        p, q = pair.x.width, pair.y.width
        if claims.same_width and p != q:
            raise MeasureError(
                f"{self.label} compares representations of one width, but these have {p} and {q} columns. "
                "Use a measure that is free of width, such as 'linear_cka'."
            )
        # Centred rows have one direction less than there are of them.
        if claims.spans and pair.n <= max(p, q) + 1:
            raise MeasureError(
                f"{self.label} needs more samples than columns, or it would find any two representations the same: "
                f"got {pair.n} for widths {p} and {q}. Give at least {max(p, q) + 2}, or use a sampling with fewer "
                "columns ('pool')."
            )
        if pair.x.rows is not None and claims.needs == "moments" and not claims.turns and p * q > _LARGEST:
            raise MeasureError(
                f"{self.label} compares columns with columns, and {p} × {q} of them would take {8e-9 * p * q:.0f} GB. "
                "Use a sampling with fewer columns: 'positions' or 'pool'."
            )
        if claims.needs == "rows":
            pair.x.matrix, pair.y.matrix  # noqa: B018  (raises if they were not kept)
        for name, side in (("sender", pair.x), ("receiver", pair.y)) if claims.varying else ():
            if constant(side):
                raise MeasureError(f"{self.label} is not defined here: the {name}'s activations are constant.")


measures: Registry[Measure] = Registry(
    Measure,
    "seamripper.measures",
    what="measure",
    error=MeasureError,
    elsewhere={
        word: f"{word!r} stitches the models themselves: `seamripper compare` fills it, and nothing else."
        for word in FUNCTIONAL
    },
)
"""Every measure by name. `measures.make("svcca?dims=20")` makes one; `mine.py:MyMeasure` makes one of a user's file."""


def choose_measures(choices: Iterable[Measure | str] | Measure | str) -> tuple[Measure, ...]:
    """The measures that these words mean, each once; commas separate several.

    `all` is every measure in every variant that has a name of its own; `moments`, `batches` and `rows` are those of
    them that are computed from moments, from sums over minibatches, and from kept rows. None stands for the
    functional matrices, which need the models.

    >>> [measure.label for measure in choose_measures("linear_cka,linear_cka")]
    ['linear_cka']
    """
    groups = {need: partial(_variants, need) for need in ("all", "moments", "batches", "rows")}
    return tuple(measures.many(choices, groups))


def _variants(need: str) -> list[Measure]:
    """Every measure in every variant that has a name of its own, or those that are computed from what is needed."""
    variants = [variant for cls in measures.values() for variant in cls.variants()]
    return [measure for measure in variants if need in ("all", measure.claims.needs)]


@dataclass(frozen=True)
class SideDifference(Measure):
    """|f(x) − f(y)|. It says that the sides differ in f; that they agree in f does not make them alike."""

    @abc.abstractmethod
    def figure(self, side: Side, *, name: str) -> float:
        """f of one side; `name` is what an error calls it."""

    def sides(self, pair: Pair) -> tuple[float, float]:
        """f(x) and f(y)."""
        return self.figure(pair.x, name="sender"), self.figure(pair.y, name="receiver")

    def of(self, pair: Pair) -> float:
        """|f(x) − f(y)|."""
        x, y = self.sides(pair)
        return abs(x - y)


def constant(side: Side) -> bool:
    """Whether the rows vary by no more than their rounding.

    >>> import torch
    >>> constant(Side.of(torch.full((9, 2), 0.1)))
    True
    """
    return side.total <= 4 * side.noise
