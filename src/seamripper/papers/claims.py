"""Claims as rows of data. Their rules, tables, figures and statuses are derived from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate
from seamripper.figures import Lines, Series, Sheet
from seamripper.papers.checks import CHECKS, FAILS, HOLDS, Over, Status, Variants, best, combine, difference, numbers
from seamripper.papers.results import Labels, Range, Results, Select, Units

Names = Mapping[str, Mapping[Any, str] | str]
"""How labels are called in sentences: by value, or by a template such as "radius {:g}"."""
Against = Select | tuple[Select, ...] | float | None
COUNTS = "counts"
"""The check of a claim that is answered by what audits conclude."""
_FIGURES = {"top1": "accuracy", "top5": "top-5 accuracy", "rank_native": "rank without a stitch"}
_HIDDEN = ("kind", "audit")
_CUT = "receiver_cut"


@dataclass(frozen=True)
class Clause:
    """A part of a claim: the cells of `select`, each checked against another value or, if there is none, the bound.

    Of several selections `against`, the one with the higher value counts. With `at_rest` the clause is about so long a
    training, whatever a longer one would do. `profile` is the one that alone runs the cells, if not every one does.
    """

    select: Select
    check: str
    against: Against = None
    bound: float = 0.0
    at_rest: bool = False
    profile: str = ""

    def __post_init__(self) -> None:
        if self.check != COUNTS and self.check not in CHECKS:
            raise ExperimentError(
                f"Expected check to be one of {', '.join((*CHECKS, COUNTS))}, but got {self.check!r}."
            )

    @property
    def beside(self) -> tuple[Select, ...]:
        """The selections that stand against the cells."""
        return (
            (self.against,)
            if isinstance(self.against, Select)
            else self.against
            if isinstance(self.against, tuple)
            else ()
        )

    @property
    def number(self) -> float:
        """The number that stands against the cells, where no selection does."""
        return self.against if isinstance(self.against, (int, float)) else self.bound


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: what it says and where, which values are checked, and over how many of them it must hold.

    `over` is "every", "some" (one or more), "most", a number (so many or more) or "best" (the best seed of all cells).
    `within` reads the cells along one label first: ("some", "receiver_cut") is one cut or more of each of the rest.
    `also` has further clauses. With `depends`, the question is whether the check depends on a variant. `answers` are
    said in place of "reproduced" and "not reproduced". `beyond` marks a question that the paper does not ask.
    """

    says: str
    where: str
    select: Select
    check: str
    against: Against = None
    bound: float = 0.0
    over: Over = "every"
    beyond: bool = False
    within: tuple[Over, str] | None = None
    also: tuple[Clause, ...] = ()
    depends: Variants | None = None
    answers: tuple[str, str] = (HOLDS, FAILS)
    at_rest: bool = False
    profile: str = ""
    ours: bool = True
    """Whether the bound is ours, as the paper gives none."""
    remark: str = ""

    @property
    def sentence(self) -> str:
        """What the paper says, and where."""
        return f"{self.says} ({self.where})" if self.where else self.says

    def clauses(self, profile: str = "") -> tuple[Clause, ...]:
        """The clauses that a profile runs; all of them by default."""
        first = Clause(self.select, self.check, self.against, self.bound, self.at_rest, self.profile)
        return tuple(c for c in (first, *self.also) if not profile or c.profile in ("", profile))

    def variant(self, value: str) -> Claim:
        """The claim itself for one value of what it may depend on."""
        label = self.depends.label if self.depends else ""
        also = tuple(replace(c, select=c.select.with_labels(**{label: value})) for c in self.also)
        return replace(self, select=self.select.with_labels(**{label: value}), also=also, depends=None)


@dataclass(frozen=True)
class DecidedCell:
    """A cell of a claim: its labels, its value, what stands against it, and what came of the check."""

    name: str
    labels: Labels
    value: Estimate
    against: Estimate | float
    status: Status
    words: str

    @property
    def summary(self) -> tuple[str, Status, str]:
        """The cell as `combine` takes it."""
        return self.name, self.status, self.words

    @property
    def row(self) -> tuple[Any, ...]:
        """The cell as a row of a table."""
        number = isinstance(self.against, float)
        against = f"{self.against:g}" if isinstance(self.against, float) else str(self.against.as_share)
        gap = "–" if number else str(difference(self.value, self.against))
        return self.name or "–", str(self.value.as_share), against, gap, self.status


@dataclass(frozen=True)
class DecidedClaim:
    """A claim with its rule in words, its status, and the cells and numbers that decided it."""

    claim: Claim
    rule: str
    status: str
    figure: str
    cells: tuple[DecidedCell, ...] = field(default=(), repr=False)
    names: Names = field(default_factory=dict, repr=False)

    @property
    def says(self) -> str:
        """What the paper says, and where."""
        return self.claim.sentence

    @property
    def beyond(self) -> bool:
        """Whether the paper does not ask this."""
        return self.claim.beyond

    def as_record(self) -> dict[str, Any]:
        """The claim as JSON has it."""
        names = ("says", "rule", "status", "figure", "beyond")
        return {name: getattr(self, name) for name in names}

    @property
    def sheet(self) -> Sheet:
        """The cells as a table."""
        columns = ("cell", "value", "against", "difference", "status")
        return Sheet(self.says, columns, tuple(cell.row for cell in self.cells), self.rule)

    @property
    def lines(self) -> Lines | None:
        """The cells as lines over cuts; None if they are at fewer than two."""
        cuts = list(dict.fromkeys(cell.labels[_CUT] for cell in self.cells if cell.labels.get(_CUT) is not None))
        if len(cuts) < 2:
            return None
        series: dict[tuple[str, bool], dict[Any, Estimate]] = {}
        for cell in self.cells:
            name = cell.name.rpartition(" at ")[0] or figure_name(self.claim.select)
            series.setdefault((name, False), {})[cell.labels.get(_CUT)] = cell.value.as_share
            if isinstance(cell.against, Estimate):
                series.setdefault((f"{name}: against", True), {})[cell.labels.get(_CUT)] = cell.against.as_share
        places = tuple(label_name(self.names, _CUT, cut) for cut in cuts)
        points = {key: tuple(by_cut.get(cut, Estimate(math.nan)) for cut in cuts) for key, by_cut in series.items()}
        drawn = tuple(Series(name, values, dashed=dashed) for (name, dashed), values in points.items())
        return Lines(self.says, places, drawn, figure_name(self.claim.select), caption=self.rule)


def decide(claim: Claim, results: Results, names: Names, profile: str = "") -> DecidedClaim | None:
    """What comes of a claim in these results; None if this profile runs none of its cells."""
    if not claim.clauses(profile):
        return None
    rule = rule_of(claim, names, profile)
    if claim.check == COUNTS:
        return _counted(claim, results, names, rule)
    if claim.depends is not None:
        ways = [_cells(claim.variant(value), results, names, profile) for value in claim.depends.values]
        status, words = claim.depends.compare(*([cell.summary for cell in cells] for cells in ways))
        return DecidedClaim(claim, rule, status, words, tuple(itertools.chain(*ways)), names)
    cells = _cells(claim, results, names, profile)
    if claim.over == "best":
        status, words = best([cell.value for cell in cells], claim.bound)
    elif claim.within is None:
        status, words = combine([cell.summary for cell in cells], claim.over)
    else:
        status, words = combine(list(_groups(cells, claim.within, names)), claim.over)
    answer = dict(zip((HOLDS, FAILS), claim.answers, strict=True)).get(status, status)
    return DecidedClaim(claim, rule, answer, words, tuple(cells), names)


def _cells(claim: Claim, results: Results, names: Names, profile: str) -> list[DecidedCell]:
    clauses = claim.clauses(profile)
    all_labels = [labels for clause in clauses for labels in clause.select.cells()]
    cells = []
    for clause in clauses:
        for labels in clause.select.cells():
            value, against = read_cell(clause, labels, results)
            check = CHECKS[clause.check]
            # Where the bound is what a value is compared with, it is no slack beside that.
            slack = clause.bound if clause.beside or check.of_seeds else 0.0
            status = check.decide(value if check.of_seeds else difference(value, against), slack)
            words = numbers(value, against, of_seeds=check.of_seeds)
            cells.append(DecidedCell(cell_name(labels, all_labels, names), labels, value, against, status, words))
    return cells


def read_cell(clause: Clause, labels: Labels, results: Results) -> tuple[Estimate, Estimate | float]:
    """The value of a cell, and what stands against it."""
    value = results.of(clause.select.figures, labels)
    others = [
        results.of(s.figures or clause.select.figures, s.beside(labels, clause.select.axes)) for s in clause.beside
    ]
    if clause.at_rest:
        value, others = replace(value, lower_bound=False), [replace(x, lower_bound=False) for x in others]
    return value, max(others, key=lambda estimate: estimate.value) if others else float(clause.number)


def _groups(cells: Sequence[DecidedCell], within: tuple[Over, str], names: Names) -> Iterator[tuple[str, Status, str]]:
    """The cells along one label, combined: one for each value of the other labels."""
    over, along = within
    rest = [{key: value for key, value in cell.labels.items() if key != along} for cell in cells]
    groups: dict[str, list[tuple[str, Status, str]]] = {}
    for cell, labels in zip(cells, rest, strict=True):
        inner = label_name(names, along, cell.labels[along])
        groups.setdefault(cell_name(labels, rest, names), []).append((inner, cell.status, cell.words))
    for name, group in groups.items():
        yield (name, *combine(group, over))


def _counted(claim: Claim, results: Results, names: Names, rule: str) -> DecidedClaim:
    """How often audits conclude what, with the values of the cells beside."""
    (clause,) = claim.clauses()
    (audits,) = clause.beside
    labels = {**clause.select.labels, _CUT: None, **audits.labels, "figure": audits.figures[0]}
    counts = results.counts("status", labels)
    values = [
        (label_name(names, _CUT, cell[_CUT]), results.of(clause.select.figures, cell)) for cell in clause.select.cells()
    ]
    words = ", ".join(f"{place} {value.value:.2f}" for place, value in values)
    status = ", ".join(f"{answer} ({n})" for answer, n in counts.most_common())
    return DecidedClaim(claim, rule, status, f"{figure_name(clause.select)}: {words}", (), names)


# ---- names and rules


def label_name(names: Names, label: str, value: Any) -> str:
    """How a value of a label is called.

    >>> label_name({"receiver_cut": {"maxpool": "Block 1"}, "radius": "radius {:g}"}, "radius", 1.0)
    'radius 1'
    """
    if isinstance(value, (Units, Range)):
        return value.called or _listed([label_name(names, label, each) for each in value.values])
    known = names.get(label, {})
    return known.format(value) if isinstance(known, str) else known.get(value, str(value))


def cell_name(labels: Labels, others: Sequence[Labels], names: Names) -> str:
    """What tells a cell from the others of its claim: "Colour at Block 1"."""
    keys = [key for key in labels if key not in _HIDDEN and any(labels[key] != o.get(key, labels[key]) for o in others)]
    words = ", ".join(label_name(names, key, labels[key]) for key in keys if key != _CUT and labels[key] is not None)
    cut = label_name(names, _CUT, labels[_CUT]) if _CUT in keys else ""
    return f"{words} at {cut}" if words and cut else words or cut


def figure_name(select: Select) -> str:
    """How a figure is called in sentences and on axes."""
    figure = select.figures[0]
    return select.called or _FIGURES.get(figure, figure.replace("_", " "))


def rule_of(claim: Claim, names: Names, profile: str = "") -> str:
    """The rule that a claim is held to, in a sentence.

    >>> select = Select("top1", receiver_cut=("layer1", "layer2", "layer3"), receiver="digit")
    >>> rule_of(Claim("It works", "Fig. 1", select, "at least", bound=0.9), {})
    'Accuracy into digit is at least 0.9 (ours) at each of 3 cuts (95 % interval).'
    """
    sentences = [_clause_rule(clause, claim, names) for clause in claim.clauses(profile)]
    rule = "; and ".join(sentences)
    if claim.depends is not None:
        first, second = claim.depends.names
        rule = f"It does where this holds {first} and fails {second}: {rule}"
    if claim.answers != (HOLDS, FAILS):
        rule = f"The answer is “{claim.answers[0]}” where {rule}"
    if claim.check == COUNTS:
        rule, interval = f"What the audits conclude, by {rule}", ""
    else:
        looks = sum(1 for clause in claim.clauses(profile) for _ in clause.select.cells())
        corrected = f", not corrected for {looks} looks" if claim.over == "some" else ""
        interval = f" (95 % interval{corrected})" if claim.over != "best" and claim.check != "varies" else ""
    remark = f" {claim.remark}" if claim.remark else ""
    return f"{rule[0].upper()}{rule[1:]}{interval}.{remark}"


def _clause_rule(clause: Clause, claim: Claim, names: Names) -> str:
    labels, phrase = clause.select.labels, ""
    if clause.check != COUNTS:
        check = CHECKS[clause.check]
        ours = " (ours)" if claim.ours else ""
        against = " and ".join(_against_name(s, clause, names) for s in clause.beside) or f"{clause.number:g}{ours}"
        against = f"the higher of {against}" if len(clause.beside) > 1 else against
        with_slack = clause.bound and clause.beside and check.bound_phrase
        template = check.bound_phrase if with_slack else check.phrase
        phrase = " " + template.format(against=against, bound=f"{clause.bound:g}{ours}")
    # What a claim may depend on is told apart in its own words.
    freeze = labels.get("freeze") if claim.depends is None else None
    way = f"{label_name(names, 'freeze', freeze)}, " if isinstance(freeze, str) else ""
    return f"{way}{_subject(clause.select, names)}{phrase}{_over_words(clause, claim, names)}{_fixed(labels, names)}"


def _subject(select: Select, names: Names) -> str:
    """What is checked, of which pair: "accuracy of Colour stitched into Digit"."""
    if select.called:
        return select.called
    subject, (sender, receiver) = figure_name(select), (select.labels.get(key) for key in ("sender", "receiver"))
    for key, value in select.labels.items():
        if isinstance(value, Range):
            subject = f"the range of {subject} over {len(value.values)} {_noun(key, names)}s"
    first = "" if sender is None or isinstance(sender, tuple) else f" of {label_name(names, 'sender', sender)}"
    into = "" if receiver is None or isinstance(receiver, tuple) else f" into {label_name(names, 'receiver', receiver)}"
    return f"{subject}{first}{' stitched' if first and into else ''}{into}"


def _against_name(against: Select, clause: Clause, names: Names) -> str:
    if against.called:
        return against.called
    figures = against.figures or clause.select.figures
    subject = "that" if figures == clause.select.figures else f"the {figure_name(Select(*figures))}"
    changes = [(key, value) for key, value in against.labels.items() if key not in _HIDDEN and value is not None]
    words = [_worded(key, value, names) for key, value in changes]
    return f"{subject} {'with ' if words and changes[0][0] != 'freeze' else ''}{_listed(words)}".strip()


def _worded(key: str, value: Any, names: Names) -> str:
    """A label and its value, or values, in words."""
    word = _listed([label_name(names, key, each) for each in (value if isinstance(value, tuple) else (value,))])
    own = (
        isinstance(names.get(key), str) or key == "freeze" or (key in names and key not in ("sender", "receiver", _CUT))
    )
    return word if own else f"{_noun(key, names)} {word}"


def _fixed(labels: Labels, names: Names) -> str:
    """The labels that all cells have in common and that nothing else names, in words."""
    rest = {k: v for k, v in labels.items() if k not in (*_HIDDEN, "sender", "receiver", "freeze") and v is not None}
    plain = {key: v for key, v in rest.items() if not isinstance(v, (tuple, frozenset, Range, Units))}
    cut = f" at {label_name(names, _CUT, plain.pop(_CUT))}" if _CUT in plain else ""
    return cut + (f", with {_listed([_worded(key, value, names) for key, value in plain.items()])}" if plain else "")


def _over_words(clause: Clause, claim: Claim, names: Names) -> str:
    """Over how many cells a clause must hold, in words."""
    axes, over = dict(clause.select.axes), claim.over
    if claim.within is not None and claim.within[1] in axes:
        values = axes.pop(claim.within[1])
        inner = _several(claim.within[1], values, claim.within[0], names)
        return inner + "".join(_several(key, each, over, names) for key, each in axes.items())
    cells = math.prod(map(len, axes.values()))
    if over in ("every", "most") or cells == 1:
        return "".join(_several(key, values, over, names) for key, values in reversed(axes.items()))
    counts = " × ".join(f"{len(values)} {_noun(key, names)}s" for key, values in axes.items())
    if over == "best":
        return f" for the best seed of {counts}"
    return f" at {'one' if over == 'some' else over} or more of {counts}"


def _several(key: str, values: tuple[Any, ...], over: Over, names: Names) -> str:
    word = " at" if key == _CUT else " for"
    if len(values) == 1 or (over == "every" and len(values) <= (2 if key == _CUT else 4)):
        each = " each of" if len(values) > 1 else ""
        return f"{word}{each} {_listed([label_name(names, key, value) for value in values])}"
    amount = {"every": "each", "most": "more than half", "some": "one or more"}.get(str(over), f"{over} or more")
    return f"{word} {amount} of {len(values)} {_noun(key, names)}s"


def _noun(label: str, names: Names) -> str:
    """How a label is called: by the names' own noun for it, if they have one."""
    nouns = names.get("noun", {})
    plain = "cut" if label == _CUT else label.replace("_", " ")
    return plain if isinstance(nouns, str) else nouns.get(label, plain)


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def claims_sheet(claims: Sequence[DecidedClaim]) -> Sheet:
    """The claims as a table."""
    rows = tuple((claim.says, claim.status, claim.figure, claim.rule) for claim in claims)
    return Sheet("Claims, restated as checks", ("the paper says", "status", "figure", "rule"), rows)
