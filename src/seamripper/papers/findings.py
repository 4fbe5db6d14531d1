"""Findings: the sentences that a paper's page begins with, each worded as the claims that support it came out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate
from seamripper.papers.checks import FAILS, HOLDS
from seamripper.papers.claims import Claim
from seamripper.papers.decisions import DecidedClaim
from seamripper.papers.results import Results, Select


@dataclass(frozen=True)
class Finding:
    """A sentence that its claims support, in three wordings: if all of them hold, if one fails, and otherwise.

    `claims` are how the sentences of the claims begin. A wording may name numbers, as in "{task:.2f} at layer 3"; each
    is of an item, by its name, and a selection of one cell. It is written with its interval.
    """

    holds: str
    fails: str
    open: str
    claims: tuple[str, ...]
    numbers: Mapping[str, tuple[str, Select]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.claims or isinstance(self.claims, str):
            raise ExperimentError(
                f"Expected claims of the finding {self.holds!r} to be a tuple of how the sentences of its claims "
                f"begin, but got {self.claims!r}."
            )
        texts = (self.holds, self.fails, self.open)
        names = [name for text in texts for _, name, _, _ in Formatter().parse(text) if name is not None]
        wrong = [name for name in names if name not in self.numbers]
        wrong += [name for name, (_, select) in self.numbers.items() if select.axes]
        if wrong:
            raise ExperimentError(
                f"Expected every number that the finding {self.holds!r} names to be an item and a Select of one cell, "
                f"but {wrong[0]!r} is none. Add it to `numbers`, with no label that is a tuple."
            )

    def is_about(self, claim: Claim) -> bool:
        """Whether a claim is one of those that support it."""
        return claim.says.startswith(self.claims)

    def sentence(self, claims: Sequence[DecidedClaim], results: Mapping[str, Results]) -> str:
        """The sentence, and what its claims came to; `results` are those of each item, by name."""
        decided = {start: claim for start in self.claims for claim in claims if claim.claim.says.startswith(start)}
        lost = [start for start in self.claims if start not in decided]
        if lost:
            return f"Not known here, as the results do not tell: “{lost[0]}”."
        outcomes = {claim.outcome for claim in decided.values()}
        text = self.fails if FAILS in outcomes else self.holds if outcomes == {HOLDS} else self.open
        rests = "; ".join(f"{claim.claim.where or start}: {claim.status}" for start, claim in decided.items())
        return f"{text.format(**dict(self._numbers(results)))} ({rests})"

    def _numbers(self, results: Mapping[str, Results]) -> Iterator[tuple[str, _Number]]:
        for name, (item, select) in self.numbers.items():
            (cell,) = select.cells()
            yield name, _Number(results[item].find(select.figures, cell) if item in results else None)


@dataclass(frozen=True)
class _Number:
    """A number that is written with its interval, in the format that is asked for."""

    estimate: Estimate | None

    def __format__(self, spec: str) -> str:
        if self.estimate is None:
            return "(not measured)"
        shown, spec = self.estimate.as_share, spec or ".3f"
        ends = f" [{shown.low:{spec}}, {shown.high:{spec}}]" if shown.has_interval else ""
        return f"{shown.value:{spec}}{ends}"
