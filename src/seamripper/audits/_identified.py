"""Layers found by their scores: how often the best score of a row or column is the right layer's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_EXACT = 7
"""Up to so many layers every matching of them is counted; 7! = 5040."""
_DRAWS = 10_000

Grid = NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """For a matrix of similarities, larger is nearer: what its rows and columns name as the right layer.

    `rows[i]` is the layer that row i names, −1 if a tie leaves it open; `columns[j]` likewise. `ranks` are the places
    of the right layer in each row and then each column, ties against it; `distances` tell how far off the named layer
    is, the farthest of those that tie.

    >>> found = Found.of(np.array([[0.9, 0.2, 0.1], [0.8, 0.7, 0.2], [0.1, 0.6, 0.6]]))
    >>> found.rows, found.columns, found.hits
    ((0, 0, -1), (0, 1, 2), (1, 3))
    >>> found.ranks, found.distances
    ((1, 2, 2, 1, 1, 1), (0, 1, 1, 0, 0, 0))
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    ranks: tuple[int, ...]
    distances: tuple[int, ...]

    @classmethod
    def of(cls, similarities: Grid) -> Found:
        """What these similarities name; a cell that is NaN is nobody's best."""
        ways = [(line, i) for grid in (similarities, similarities.T) for i, line in enumerate(grid)]
        named = [_named(line) for line, _ in ways]
        ranks = tuple(_rank(line, i) for line, i in ways)
        distances = tuple(max(abs(j - i) for j in _best(line)) for line, i in ways)
        k = len(similarities)
        return cls(tuple(named[:k]), tuple(named[k:]), ranks, distances)

    @property
    def hits(self) -> tuple[int, int]:
        """How many rows, and how many columns, name the right layer."""
        return tuple(sum(i == j for i, j in enumerate(each)) for each in (self.rows, self.columns))  # type: ignore[return-value]

    def p(self, *, seed: int = 0) -> float:
        """How often a random matching of the layers is named by as many rows and columns as the true one is.

        One-sided. Exact for up to seven layers, by 10,000 draws for more: (1 + as good) / (1 + draws).

        >>> Found.of(np.eye(4)).p() == 1 / math.factorial(4)
        True
        """
        k = len(self.rows)
        votes = np.zeros((k, k), dtype=np.int64)
        for i in range(k):
            if self.rows[i] >= 0:
                votes[i, self.rows[i]] += 1
            if self.columns[i] >= 0:
                votes[self.columns[i], i] += 1
        observed = sum(self.hits)
        if k <= _EXACT:
            orders = np.array(list(itertools.permutations(range(k))))
            return float((votes[np.arange(k), orders].sum(1) >= observed).mean())
        generator = np.random.default_rng(seed)
        orders = generator.permuted(np.tile(np.arange(k), (_DRAWS, 1)), axis=1)
        as_good = int((votes[np.arange(k), orders].sum(1) >= observed).sum())
        return (1 + as_good) / (1 + _DRAWS)


def _best(line: Grid) -> Sequence[int]:
    """The places that have the line's largest value; all of them if there is none."""
    if np.isnan(line).all():
        return range(len(line))
    return [int(j) for j in np.flatnonzero(line == np.nanmax(line))]


def _named(line: Grid) -> int:
    best = _best(line)
    return best[0] if len(best) == 1 else -1


def _rank(line: Grid, i: int) -> int:
    """The place of the i-th value, ties against it; a value that is missing comes last."""
    if math.isnan(line[i]):
        return len(line)
    return int((line >= line[i]).sum())
