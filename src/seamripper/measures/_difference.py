"""Difference: a measure that gives each side a figure of its own, and compares the two."""

from __future__ import annotations

import abc
from dataclasses import dataclass

from seamripper.measures.base import Measure
from seamripper.measures.pair import Pair, Side


@dataclass(frozen=True)
class Difference(Measure):
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
