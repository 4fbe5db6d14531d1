"""Rules: what a claim is held to, in a sentence that is derived from its row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from seamripper.papers.checks import CHECKS, FAILS, HOLDS, Looks, Over
from seamripper.papers.claims import COUNTS, Claim, Clause, Gate
from seamripper.papers.results import Labels, Range, Select, Several

Names = Mapping[str, Mapping[Any, str] | str]
"""How labels are called in sentences: by value, or by a template such as "radius {:g}"."""
CUT = "receiver_cut"
_FIGURES = {"top1": "accuracy", "top5": "top-5 accuracy", "rank_native": "rank without a stitch"}
_HIDDEN = ("kind", "audit")


def label_name(names: Names, label: str, value: Any) -> str:
    """How a value of a label is called.

    >>> label_name({"receiver_cut": {"maxpool": "Block 1"}, "radius": "radius {:g}"}, "radius", 1.0)
    'radius 1'
    """
    if isinstance(value, Several):
        return value.called or _list([label_name(names, label, member) for member in value.values])
    known = names.get(label, {})
    return known.format(value) if isinstance(known, str) else known.get(value, str(value))


def cell_name(labels: Labels, others: Sequence[Labels], names: Names) -> str:
    """What tells a cell from the others of its claim: "Colour at Block 1"."""
    keys = [key for key in labels if key not in _HIDDEN and any(labels[key] != o.get(key, labels[key]) for o in others)]
    words = ", ".join(label_name(names, key, labels[key]) for key in keys if key != CUT and labels[key] is not None)
    cut = label_name(names, CUT, labels[CUT]) if CUT in keys else ""
    return f"{words} at {cut}" if words and cut else words or cut


def figure_name(select: Select) -> str:
    """How a figure is called in sentences and on axes."""
    figure = select.figures[0]
    return select.called or _FIGURES.get(figure, figure.replace("_", " "))


def rule_of(claim: Claim, names: Names, profile: str = "") -> str:
    """The rule that a claim is held to, in a sentence.

    >>> select = Select("top1", receiver_cut=("layer1", "layer2", "layer3"), receiver="digit")
    >>> rule_of(Claim("It works", "Fig. 1", select, "at least", bound=0.9), {})
    'Accuracy into digit is at least 0.9 (ours) at each of 3 cuts (95 % interval; to fail, corrected for 3 looks).'
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
        interval = (
            f" (95 % interval{_correction(claim, profile)})" if claim.over != "best" and claim.check != "varies" else ""
        )
    gates = "".join(f" Testable if {gate.says}: {_gate_rule(gate, names)}." for gate in claim.gates)
    remark = f" {claim.remark}" if claim.remark else ""
    return f"{rule[0].upper()}{rule[1:]}{interval}.{gates}{remark}"


def looks_of(claim: Claim, cells: Sequence[Labels]) -> list[Looks]:
    """How many looks each cell of a claim is corrected for, by over how many of them the claim must hold."""
    if claim.over == "best":
        return [Looks()] * len(cells)
    if claim.within is None:
        return [Looks.of(claim.over, len(cells))] * len(cells)
    over, along = claim.within
    groups = [tuple((key, value) for key, value in labels.items() if key != along) for labels in cells]
    outer = Looks.of(claim.over, len(dict.fromkeys(groups)))
    return [outer.within(Looks.of(over, groups.count(group))) for group in groups]


def _correction(claim: Claim, profile: str) -> str:
    """For how many looks intervals are corrected: at every cell a claim may fail, or at some cell it may hold."""
    looks = looks_of(claim, [labels for clause in claim.clauses(profile) for labels in clause.select.cells()])
    most = {"hold": max(each.holding for each in looks), "fail": max(each.failing for each in looks)}
    words = [f"; to {verb}, corrected for {n} looks" for verb, n in most.items() if n > 1]
    return "".join(words) if claim.check != "varies" else ""


def _gate_rule(gate: Gate, names: Names) -> str:
    (clause,) = gate.claim.clauses()
    return _clause_rule(clause, gate.claim, names)


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
    subject, over = _subject(clause.select, names), _over_words(clause, claim, names)
    return f"{way}{subject}{phrase}{over}{_common_labels(labels, names)}"


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
    words = [_label_words(key, value, names) for key, value in changes]
    return f"{subject} {'with ' if words and changes[0][0] != 'freeze' else ''}{_list(words)}".strip()


def _label_words(key: str, value: Any, names: Names) -> str:
    """A label and its value, or values, in words."""
    word = _list([label_name(names, key, member) for member in (value if isinstance(value, tuple) else (value,))])
    own = (
        isinstance(names.get(key), str) or key == "freeze" or (key in names and key not in ("sender", "receiver", CUT))
    )
    return word if own else f"{_noun(key, names)} {word}"


def _common_labels(labels: Labels, names: Names) -> str:
    """The labels that all cells have in common and that nothing else names, in words."""
    rest = {k: v for k, v in labels.items() if k not in (*_HIDDEN, "sender", "receiver", "freeze") and v is not None}
    plain = {key: v for key, v in rest.items() if not isinstance(v, (tuple, frozenset, Several))}
    cut = f" at {label_name(names, CUT, plain.pop(CUT))}" if CUT in plain else ""
    return cut + (f", with {_list([_label_words(key, value, names) for key, value in plain.items()])}" if plain else "")


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
    word = " at" if key == CUT else " for"
    if len(values) == 1 or (over == "every" and len(values) <= (2 if key == CUT else 4)):
        each = " each of" if len(values) > 1 else ""
        return f"{word}{each} {_list([label_name(names, key, value) for value in values])}"
    amount = {"every": "each", "most": "more than half", "some": "one or more"}.get(str(over), f"{over} or more")
    return f"{word} {amount} of {len(values)} {_noun(key, names)}s"


def _noun(label: str, names: Names) -> str:
    """How a label is called: by the names' own noun for it, if they have one."""
    nouns = names.get("noun", {})
    plain = "cut" if label == CUT else label.replace("_", " ")
    return plain if isinstance(nouns, str) else nouns.get(label, plain)


def _list(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
