"""The rule: from what test queries find to one of four answers, a sentence, and the strongest reason to doubt it.

Queries may search the old index if both conditions hold, each by the 95 % interval over test queries:

1. *own*: they find their own document among the ten nearest in at least 1 − tolerance of all cases;
2. *again*: of the ten documents that a new index would give, they find at most `tolerance` less than the old queries do
   in the old index. So the new queries are not further from a new index than what there is today.

If they hold without a map, the answer is *keep*; if they hold with it, *keep with the map*; if one of them fails with
the map, *embed again*; otherwise *undecided*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from torch import Tensor

from seamripper.estimate import Estimate, over_seeds
from seamripper.mapping.retrieval import Retrieval, share

Answer: TypeAlias = Literal["keep", "keep with the map", "embed again", "undecided"]
RULE = (
    "Keep the index if the queries find their own document among the ten nearest in at least {share:.0%} of all cases, "
    "and if of the ten documents that a new index would give they find at most {loss:.0%} (of ten) less than the old "
    "queries do now. Both by the 95 % interval over test queries; without a map if that holds, else with it."
)
_MANY_TWINS = 0.02


@dataclass(frozen=True)
class Condition:
    """One condition on one set of queries: the figure, the least that it may be, and whether it holds (None: open)."""

    queries: str
    name: Literal["own", "again"]
    figure: Estimate
    least: float

    @property
    def holds(self) -> bool | None:
        """Whether the whole interval lies on one side of the least, and on which."""
        if self.figure.low >= self.least:
            return True
        return False if self.figure.high < self.least else None

    def as_record(self) -> dict[str, Any]:
        """The condition as JSON has it."""
        figure = self.figure.as_record()
        return {"queries": self.queries, "name": self.name, "figure": figure, "least": self.least, "holds": self.holds}


def conditions_of(queries: str, own: Tensor, again: Tensor, tolerance: float) -> tuple[Condition, Condition]:
    """Both conditions on a set of queries, from what each of them finds."""
    gain = over_seeds(again.tolist(), "queries")
    return Condition(queries, "own", share(own), 1 - tolerance), Condition(queries, "again", gain, -tolerance)


def answer_of(checked: Mapping[str, Sequence[Condition]]) -> tuple[Answer, tuple[Condition, ...]]:
    """The answer, and the conditions that it rests on."""
    bare, mapped = tuple(checked.get("no map", ())), tuple(checked["map"])
    if bare and all(condition.holds for condition in bare):
        return "keep", bare
    if all(condition.holds for condition in mapped):
        return "keep with the map", mapped
    return ("embed again" if any(condition.holds is False for condition in mapped) else "undecided"), mapped


def sentence_of(answer: Answer, conditions: Sequence[Condition], label: str) -> str:
    """Why, with the figures."""
    own, again = (condition.figure for condition in conditions)
    by = "without a map" if answer == "keep" else f"with the map ({label})"
    less = "less" if again.value < 0 else "more"
    return (
        f"New queries {by} find their own document among the ten nearest of the old index in {own} of all cases, and "
        f"of ten documents that a new index would give they find {_tenths(again)} {less} than the old queries do now."
    )


def _tenths(gain: Estimate) -> str:
    sign = -1 if gain.value < 0 else 1
    ends = sorted((10 * sign * gain.low, 10 * sign * gain.high))
    return f"{10 * abs(gain.value):.2f} [{ends[0]:.2f}, {ends[1]:.2f}]"


def doubt_of(
    answer: Answer,
    conditions: Sequence[Condition],
    tests: Mapping[str, tuple[Retrieval, Retrieval]],
    record: Mapping[str, Any],
) -> str:
    """The strongest reason to doubt the answer, and what to do about it; `tests` have `own` and `again` by queries."""
    control, chance = tests["shuffled pairs"][0].recall[10], record["chance"]["10"]
    if control.low > 2 * chance:
        return (
            f"A map fitted to shuffled pairs finds {control} where chance is {chance:.3g}: rows repeat, or a few "
            "documents are near to everything. Remove duplicates and try again."
        )
    if answer == "undecided":
        return (
            f"{record['test']:,} test queries are too few: about {_enough(conditions):,} would decide. They are "
            "at most a fifth of the documents."
        )
    mapped = tests["map"][0].recall[10]
    if answer == "embed again" and mapped.low <= chance:
        return "The mapped queries are at chance. Are the rows of both files of the same documents, in the same order?"
    if answer == "embed again":
        ratio = record["fit"] / record["new"]["width"]
        few = f"it was fitted on {ratio:.1f} pairs per column, and more may help" if ratio < 20 else "all are linear"
        return f"Another map might do better: {few}."
    if record["twins"] > _MANY_TWINS * record["test"]:
        return (
            f"{record['twins']} of {record['test']} test documents have a twin in the index, on which the map may have "
            "been fitted. Remove duplicates and try again."
        )
    new = tests["no map" if answer == "keep" else "map"][1].recall[10]
    return (
        f"The queries were documents. Yours may be of another kind: test some that you know the right answers to. "
        f"Embedding again would change {1 - new.value:.0%} of the ten nearest documents, for better or worse."
    )


def _enough(conditions: Sequence[Condition]) -> int:
    """How many queries would decide what is open, if the values stay."""
    counts = [0]
    for condition in conditions:
        figure, n = condition.figure, condition.figure.n or 0
        if condition.holds is None:
            gap = abs(figure.value - condition.least)
            reach = figure.value - figure.low if figure.value > condition.least else figure.high - figure.value
            counts.append(math.ceil(n * (reach / max(gap, 1e-3)) ** 2))
    return max(counts)
