"""Contestants: the measures that are rated, each with the word that asks for it and the rule that makes rows for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seamripper._words import word_list
from seamripper.errors import MeasureError
from seamripper.measures import Measure, choose_measures, measures
from seamripper.measures.base import DIRECT, FUNCTIONAL, TASK

Kind = Literal["structural", "functional", "audit"]
MATCHINGS = {DIRECT: "direct", TASK: "task"}
"""The matching behind each functional measure."""
CONFLICT, MIXING, RULE = "conflict", "mixing", "rule"
AUDITS = (CONFLICT, MIXING, RULE)
"""What an audit can be rated by: its agreement where cues disagree, how far a network departs on mixtures,
and the conclusion of its rule."""
SAMPLINGS = ("positions", "flatten", "pool")
_STRUCTURAL = "all"
"""The word for every structural measure among `choose_measures`, which knows no other kind."""
GROUPS = {"structural": (_STRUCTURAL,), "functional": tuple(FUNCTIONAL), "audits": AUDITS}
GROUPS |= {"all": tuple(word for words in GROUPS.values() for word in words)}
"""Words that stand for several contestants."""
BALOGH = "balogh2025"
"""The rule in the code of Balogh & Jelasity 2025, which depends on the measure and on the shapes."""
_AUTHORS = {"linear_cka": ("flatten",), "direct_structural": ("positions",)}
_BY_SHAPE = ("positions", "pool")


@dataclass(frozen=True)
class Contestant:
    """A measure that is rated: `word` asks a study for it, and `label` is what the rows of its results call it.

    `samplings` has one rule, or two: the first where both shapes are equal, the second where they are not.
    """

    label: str
    word: str
    direction: Literal["similarity", "distance"] = "similarity"
    kind: Kind = "structural"
    samplings: tuple[str, ...] = ("positions",)

    def similarity(self, value: float) -> float:
        """A score as a similarity: of a distance, the negative. Only the order matters."""
        return value if self.direction == "similarity" else -value

    def sampling(self, *, same_shape: bool) -> str:
        """The sampling of a cell."""
        return self.samplings[0 if same_shape else -1]


def choose(words: Iterable[str | Measure] | str | Measure, *, sampling: str = "positions") -> tuple[Contestant, ...]:
    """The contestants that words name, each once: measures, `direct_functional`, `task_functional`, audits, and groups.

    `structural` is every structural measure, `functional` both functional ones, `audits` every way to read an audit,
    and `all` is all of these.

    >>> [contestant.label for contestant in choose("linear_cka,functional")]
    ['linear_cka', 'direct_functional', 'task_functional']
    """
    if sampling not in (*SAMPLINGS, BALOGH):
        known = word_list((*SAMPLINGS, BALOGH), last="or")
        raise MeasureError(f"Expected a sampling of {known}, but got {sampling!r}.")
    given = [word for choice in measures.several(words) for word in GROUPS.get(str(choice), (choice,))]
    # All at once: two classes of one name are refused, as nobody could tell their results apart.
    choose_measures([word for word in given if word not in FUNCTIONAL and word not in AUDITS])
    chosen: dict[str, Contestant] = {}
    for word in given:
        chosen |= {contestant.label: contestant for contestant in _contestants(word, sampling)}
    return tuple(chosen.values())


def _contestants(word: str | Measure, sampling: str) -> Iterator[Contestant]:
    if isinstance(word, str) and word in FUNCTIONAL:
        yield Contestant(word, word, kind="functional")
        return
    if isinstance(word, str) and word in AUDITS:
        yield Contestant(word, word, kind="audit")
        return
    for measure in choose_measures([word]):
        rules = _AUTHORS.get(measure.name, _BY_SHAPE) if sampling == BALOGH else (sampling,)
        yield Contestant(measure.label, _study_word(word, measure), measure.claims.direction, "structural", rules)


def _study_word(word: str | Measure, measure: Measure) -> str:
    """The word by which a study, wherever its file is, asks for the measure."""
    if isinstance(word, str) and ".py:" in word.partition("?")[0]:
        head, mark, options = word.partition("?")
        file, _, cls = head.rpartition(":")
        return f"{Path(file).expanduser().resolve()}:{cls}{mark}{options}"
    if measures.get(measure.name) is not type(measure):
        raise MeasureError(
            f"The measure {measure.label!r} runs in other processes, which must find its class: give it as "
            "'FILE.py:CLASS'."
        )
    return measure.label


def choose_rows(
    rows: Sequence[Mapping[str, Any]],
    contestants: Sequence[Contestant],
    shapes: Mapping[tuple[str, str], tuple[int, ...]],
) -> list[Mapping[str, Any]]:
    """The rows without those whose sampling is not the one for their measure and cell.

    `shapes` are those of one sample, by model and cut.
    """
    by_label = {contestant.label: contestant for contestant in contestants if contestant.kind == "structural"}
    chosen = []
    for row in rows:
        contestant = by_label.get(str(row.get("measure"))) if row.get("kind") == "compare" else None
        if contestant is not None and row.get("sampling") is not None:
            ends = [shapes[row[role], row[f"{role}_cut"]] for role in ("sender", "receiver")]
            if row["sampling"] != contestant.sampling(same_shape=ends[0] == ends[1]):
                continue
        chosen.append(row)
    return chosen
