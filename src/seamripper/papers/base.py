"""Paper, item, finding and claim: what is reproduced, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from seamripper._words import did_you_mean
from seamripper.errors import ExperimentError
from seamripper.experiment import Experiment
from seamripper.figures import Figure, Sheet
from seamripper.papers.cells import Cells

Profile = Literal["quick", "paper"]
Status = Literal["reproduced", "not reproduced", "not decided at this size"]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper as a check: what it says, the rule it is held to, and the figures that decide.

    `beyond` marks a question that the paper does not ask; its status is an answer, and not one of reproduction.
    """

    says: str
    rule: str
    status: str
    figure: str
    beyond: bool = False

    def as_record(self) -> dict[str, Any]:
        """The claim as JSON has it."""
        return dict(vars(self))


@dataclass(frozen=True)
class Finding:
    """What came of an item: its claims, its tables and figures, and where it departs from the paper."""

    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    departs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, with those that come out of the same experiments.

    `experiment` describes the runs for a profile, `read` makes the finding of their results.
    """

    name: str
    covers: tuple[str, ...]
    about: str
    experiment: Callable[[Profile], Experiment] = field(repr=False)
    read: Callable[[Cells, Profile], Finding] = field(repr=False)
    minutes: float
    """Measured: minutes of the quick profile on two cores, in the run of record."""
    times: float
    """About how many times the work of the quick profile the paper's own sizes are, by samples, width and seeds."""

    def seconds(self, profile: Profile) -> float:
        """About how long it takes on two cores."""
        return self.minutes * 60 * (1.0 if profile == "quick" else self.times)

    @property
    def words(self) -> tuple[str, ...]:
        """What it can be called.

        >>> Item("table-c1", ("Table C.1", "Fig. 2b"), "", None, None, 1.0, 1.0).words
        ('table-c1', 'fig-2b')
        """
        return tuple(dict.fromkeys((self.name, *map(_word, self.covers))))


def _word(title: str) -> str:
    """A title as a word: Fig. 2b → fig-2b, Table C.1 → table-c1, Section 4.2 → section-4.2."""
    kind, _, rest = title.lower().replace("§", "section ").partition(" ")
    number = rest.strip()
    if kind.startswith(("fig", "table")) and re.fullmatch(r"[a-z]\.\d\w*", number):
        number = number.replace(".", "")
    return f"{kind.rstrip('.')}-{number.replace(' ', '-')}"


@dataclass(frozen=True)
class Paper:
    """A paper and its items."""

    name: str
    title: str
    items: tuple[Item, ...]

    def chosen(self, word: str) -> tuple[Item, ...]:
        """The items that a word means: one, or all that have a part of the table or figure."""
        found = tuple(item for item in self.items if word in item.words)
        if not found:
            known = list(dict.fromkeys(name for item in self.items for name in item.words))
            raise ExperimentError(f"{self.name} has no {word!r}: {did_you_mean(word, known)}")
        return found


def claims_sheet(claims: Sequence[Claim]) -> Sheet:
    """The claims as a table."""
    rows = tuple((claim.says, claim.status, claim.figure, claim.rule) for claim in claims)
    return Sheet("Claims, restated as checks", ("the paper says", "status", "figure", "rule"), rows)
