"""Outlook: why a claim stays open, and what would decide it at which cost, derived from the numbers of its cells."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seamripper.papers.cells import DecidedCell
from seamripper.papers.checks import OPEN

MOST = 1000
"""If so many seeds would not do, the gap is about zero, and no number of them is named."""


@dataclass(frozen=True)
class Outlook:
    """Why a claim stays open, and what would decide it, if anything: so many seeds in place of those of `now`."""

    cause: str
    remedy: str
    now: int = 1
    seeds: int | None = None
    """How many would decide it; None if nobody knows, or if seeds are not what it lacks."""
    decidable: bool = True

    def sentence(self, minutes: float | None = None) -> str:
        """Cause, remedy and cost, if all jobs of the item take so many minutes; None if nobody has measured them.

        >>> Outlook("Too few seeds", "12 in place of 3 would decide it", 3, 12).sentence(5)
        'Too few seeds: 12 in place of 3 would decide it (at least 15.0 more minutes).'
        """
        cost = "cost unknown"
        if minutes and self.seeds:
            # Jobs for each seed grow as the seeds do; jobs for every pair of seeds, and new networks, take more.
            more = minutes * (self.seeds - self.now) / self.now
            cost = f"at least {more:,.{0 if more >= 100 else 1}f} more minutes"
        return f"{self.cause}: {self.remedy}" + (f" ({cost})." if self.decidable else ".")


def outlook_of(cells: Sequence[DecidedCell], decide: Callable[[Sequence[DecidedCell]], str]) -> Outlook:
    """The outlook of a claim that its cells leave open; `decide` says what comes of all cells together.

    The number of seeds is the smallest with which Student's interval, at the deviation of now, is narrow enough.
    """
    undecided = [cell for cell in cells if cell.status == OPEN]
    now = min((cell.seeds for cell in undecided if cell.seeds > 1), default=1)

    def is_decided(n: int) -> bool:
        return decide([cell.with_seeds(n) for cell in cells]) != OPEN

    if is_decided(MOST):
        seeds = bisect_left(range(MOST), True, lo=now, key=is_decided)
        remedy = f"{seeds} in place of {now} would decide it, if values and deviations stay"
        return Outlook("Too few seeds, whose interval is too wide for the gap", remedy, now, seeds)
    rest = [cell for cell in undecided if cell.with_seeds(MOST).status == OPEN] or list(cells)
    if learning := [cell for cell in rest if cell.learning]:
        cause = f"Training was not at rest, so that figures are lower bounds{_places(learning)}"
        return Outlook(cause, "a longer training would decide it, and seeds alone would not", now)
    if single := [cell for cell in rest if cell.seeds == 1]:
        cause = f"One seed has no interval over seeds{_places(single)}"
        return Outlook(cause, "several seeds would decide it, nobody knows how many", now)
    cause = f"The gap to what would decide it is about zero{_places(rest)}"
    return Outlook(cause, f"no number of seeds up to {MOST:,} would decide it", now, decidable=False)


def _places(cells: Sequence[DecidedCell]) -> str:
    """Which cells it is about: the first by name, and how many more."""
    more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
    return f" ({cells[0].name}{more})" if cells[0].name else ""
