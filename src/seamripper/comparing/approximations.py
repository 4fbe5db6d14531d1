"""A representation beside its own low-rank approximations, as measures and stitches see them.

To approximate is a linear map, x ↦ mean + P (x − mean), so the moments of an approximation follow from those of the
representation: no rank needs a pass over the rows of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from seamripper._doors import require
from seamripper._words import word_list
from seamripper.activations import Activations, PrincipalDirections, Sampling, require_finite, rows_of
from seamripper.comparing.pairing import Pairing, drawn_rows
from seamripper.cut.fast import fast
from seamripper.cut.frozen import seal
from seamripper.cut.halves import Tail
from seamripper.cut.split import Split
from seamripper.errors import DataError, MeasureError
from seamripper.estimate import Estimate
from seamripper.matching.moments import Moments
from seamripper.matching.solve import least_squares
from seamripper.measures.base import DIRECT, Measure
from seamripper.measures.memo import once
from seamripper.measures.pair import FOLDS, FoldMoments, Pair, Side, grain_of
from seamripper.measures.score import rule_of
from seamripper.models.targets import require_classes
from seamripper.paired_estimate import paired_estimate
from seamripper.stitches.linear import apply_map

Role = Literal["sender", "receiver"]
_BATCH = 256


@dataclass(frozen=True, eq=False)
class Representation:
    """Activations as rows of one sampling, with the principal directions in which they are approximated.

    The `directions` were found in the activations of other samples. Samples are dealt to folds as in
    `pair_activations`, and what needs rows is taken over one position of each sample.
    """

    activations: Activations
    directions: PrincipalDirections
    sampling: Sampling

    def __post_init__(self) -> None:
        require(self.activations, Activations, "activations", error=MeasureError, advice="`collect` makes them.")
        require(self.directions, PrincipalDirections, "directions", error=MeasureError)
        if self.sampling not in get_args(Sampling):
            words = word_list(get_args(Sampling), last="or")
            raise MeasureError(f"Expected a sampling of {words}, but got {self.sampling!r}.")
        if self.activations.cut.width != self.directions.width:
            raise MeasureError(
                f"Expected directions of the {self.activations.cut.width} columns of {self.activations.cut}, but got "
                f"some of {self.directions.width}. Find them at the same cut."
            )

    def approximation(self, rank: int) -> Approximation:
        """The approximation of this rank, beside the representation."""
        self.directions.leading(rank)
        return Approximation(self, rank)

    @property
    def is_flattened(self) -> bool:
        """Whether a row holds several positions, and is wider than the directions."""
        return self.sampling == "flatten" and self.activations.cut.layout != "nd"

    @once
    def every(self) -> Side:
        """All rows, by the moments of their folds."""
        values, layout, mask = self.activations.values, self.activations.cut.layout, self.activations.counting_tokens()
        grain, folds = grain_of([values]), []
        for fold in range(min(FOLDS, len(values))):
            part = slice(fold, None, FOLDS)
            rows = rows_of(values[part], layout, self.sampling, None if mask is None else mask[part])
            side = Side.of(rows, name="activations", grain=grain)
            folds.append(FoldMoments(side.n, side.mean, side.s))
        return Side(grain, tuple(folds))

    @once
    def single(self) -> Side:
        """One row per sample."""
        if self.sampling == "positions" and self.activations.cut.layout != "nd":
            return Side.of(drawn_rows(self.activations))
        values, mask = self.activations.values, self.activations.mask
        return Side.of(rows_of(values, self.activations.cut.layout, self.sampling, mask))


@dataclass(frozen=True, eq=False)
class Approximation:
    """A low-rank approximation as one side of a pair, and the representation that it approximates as the other."""

    of: Representation
    rank: int

    def pair(self, measure: Measure, *, role: Role = "sender") -> Pair:
        """The pair for this measure, in which the approximation has the `role`.

        To a measure that does not see how this side is turned or moved, it is given in `rank` columns.
        """
        if measure.claims.needs != "moments" or self.of.is_flattened:
            pair = self._by_rows
        else:
            pair = self._in_few_columns if _may_be_turned(measure, role) else self._in_all_columns
        pair = pair if role == "sender" else pair.swapped
        return Pairing(pair, pair, self.of.sampling).pair(measure)

    @once
    def _by_rows(self) -> Pair:
        full, directions = self.of.single, self.of.directions
        if self.of.is_flattened:
            approximation = directions.approximate(self.of.activations, self.rank)
            rows = approximation.values.flatten(1)
        else:
            rows = directions.approximate_rows(full.matrix, self.rank)
        return Pair(Side.of(rows, fold_of=full.fold_of, grain=full.grain), full)

    @once
    def _in_few_columns(self) -> Pair:
        """The coordinates in the leading directions, whose inner products are those of the approximated rows."""
        full, leading, mean = self.of.every, self.of.directions.leading(self.rank), self.of.directions.mean
        crosses = tuple(leading.T @ fold.s for fold in full.blocks)
        folds = [
            FoldMoments(fold.n, (fold.mean - mean) @ leading, cross @ leading)
            for fold, cross in zip(full.blocks, crosses, strict=True)
        ]
        return Pair(Side(full.grain, tuple(folds)), full, crosses)

    @once
    def _in_all_columns(self) -> Pair:
        few, leading, mean = self._in_few_columns, self.of.directions.leading(self.rank), self.of.directions.mean
        folds = [FoldMoments(b.n, mean + leading @ b.mean, leading @ b.s @ leading.T) for b in few.x.blocks]
        return Pair(Side(few.x.grain, tuple(folds)), few.y, tuple(leading @ cross for cross in few.crosses))


def _may_be_turned(measure: Measure, role: Role) -> bool:
    """Whether the side with this role may be turned and moved, and have fewer columns than the other."""
    claims = measure.claims
    invariant_to = claims.invariant_to
    if role == "receiver" and claims.receiver_invariant_to is not None:
        invariant_to = claims.receiver_invariant_to
    return {"orthogonal", "translation"} <= invariant_to and not claims.same_width


def direct_functional(
    half: Split, activations: Activations, directions: PrincipalDirections, ranks: Iterable[int], *, native: Tensor
) -> dict[int, Estimate]:
    """Relative accuracy, by rank, of a network whose activations are approximated and mapped back by direct matching.

    The `activations` are the network's own at the cut of `half`; `native` are its answers to the same samples. The
    directions were found in activations of other samples, and the map is fitted on those.
    """
    if len(native) != len(activations):
        raise DataError(f"Expected the network's answers to {len(activations)} samples, but got {len(native)}.")
    labels = activations.labels
    require_classes(labels, native, str(activations.made_from.get("data", "the samples")))
    baseline = np.asarray((native.argmax(1) == labels).numpy())
    if not baseline.any():
        raise MeasureError(
            f"The network gets none of the {len(activations)} samples right, so no accuracy can be given relative to "
            "its own. Choose data that it was trained for."
        )
    tail, scores = fast(half).tail, {}
    with torch.no_grad(), seal({"network": half.model.module}):
        for rank in ranks:
            answers = _answers(tail, activations, *direct_map(directions, rank, dtype=activations.values.dtype))
            right = np.asarray((answers.argmax(1) == labels).numpy())
            relative = paired_estimate(right, baseline, lambda mine, theirs: mine / theirs)
            rule = rule_of(DIRECT, "positions", "similarity", (float(right.mean()), float(baseline.mean())))
            scores[rank] = replace(relative, rule=rule)
    return scores


def direct_map(directions: PrincipalDirections, rank: int, *, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The weight and bias that approximate activations and map the result back by direct matching.

    What is fitted is least squares from approximated activations to approximated activations, on the rows that the
    directions were found in; what comes in is approximated first (Balogh & Jelasity 2025, section 5.1).
    """
    leading, mean = directions.leading(rank), directions.mean
    moments = Moments(directions.width, directions.width)
    moments.n, moments.mean_x, moments.mean_y, moments.grain = directions.n, mean, mean, torch.finfo(dtype).eps
    moments.sxx = moments.sxy = (leading * directions.spread[:rank]) @ leading.T
    moments.syy = float(directions.spread[:rank].sum())
    fitted = least_squares(moments)
    weight = fitted.weight @ leading @ leading.T
    bias = fitted.bias + fitted.weight @ mean - weight @ mean
    return weight.to(dtype), bias.to(dtype)


def _answers(tail: Tail, activations: Activations, weight: Tensor, bias: Tensor) -> Tensor:
    """What the back of the network answers to mapped activations."""
    parts = []
    for start in range(0, len(activations), _BATCH):
        rows = slice(start, start + _BATCH)
        mapped = apply_map(activations.values[rows], weight, bias, layout=activations.cut.layout)
        parts.append(tail(mapped, activations.beside(rows)))
    answers = torch.cat(parts)
    require_finite(answers, "the end of the stitched network", activations.ids)
    return answers
