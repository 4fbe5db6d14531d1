"""How audits look: the controls, the sets on which cues disagree, the verdicts, the judgement; a folder's measures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import seamripper as sr
from seamripper.cli.output import print_table, print_verdict, say

if TYPE_CHECKING:
    from seamripper.controls import Outcome

_OF_A_SET = ("weight", "stability", "control", "kept", "nothing", "agreement", "accuracy")


def show_audited(audited: sr.Audited) -> None:
    """All of an audit, the judgement first."""
    from seamripper.experiment.parts.audit_judgements import setting

    _show_judgement(audited)
    say()
    record = audited.record
    title = " → ".join(f"{record[role]['source']}@{record[role]['cut']['name']}" for role in ("sender", "receiver"))
    columns = ["control", "in the sender's place", "what is known about it", "seeds", "accuracy", "agreement"]
    print_table(f"{title}; means [95 % interval]", columns, _control_rows(audited), left=4)
    if "conflict" in audited.verdicts:
        _show_sets(audited.verdicts["conflict"])
    if "mixing" in audited.verdicts:
        _show_looks(audited.verdicts["mixing"])
    for line in setting(record):
        say(line)
    for verdict in audited.verdicts.values():
        say(f"\n{verdict.audit}: {verdict.question} {verdict.answer.capitalize()}.\n  {verdict.sentence}")
    if audited.skipped:
        say("\nNot done:")
    for name, why in audited.skipped.items():
        say(f"  {name}: {why}")


def _control_rows(audited: sr.Audited) -> list[list[str]]:
    from seamripper.estimate import mean_over
    from seamripper.figures import KNOWN

    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in audited.outcomes:
        groups.setdefault((outcome.control, outcome.label), []).append(outcome)
    rows = []
    for (name, label), outcomes in groups.items():
        means = [mean_over([getattr(o.result, figure) for o in outcomes]).as_share for figure in ("top1", "agreement")]
        known = KNOWN.get(str(outcomes[0].known), "")
        words = ["the sender", "itself", "to be judged"] if name == "sender" else [name, label, known]
        rows.append([*words, ", ".join(str(o.seed) for o in outcomes), *map(str, means)])
    return rows


def _show_sets(verdict: sr.Verdict) -> None:
    sets, control, decided_by = (verdict.figures[key] for key in ("sets", "control", "decided_by"))
    columns = ("weight", "stability", f"κ of {control}", "kept", "by random sender", "agreement", "accuracy")
    rows = [
        [name, "decided" if name == decided_by else "", *(_figure(figures[key]) for key in _OF_A_SET)]
        for name, figures in sets.items()
    ]
    title = "Where the cues disagree: agreement with the receiver, weighted by how stable receiver and control are"
    print_table(title, ["set", "", *columns], rows, left=2)
    _show_skipped(verdict.figures["skipped"])


def _show_looks(verdict: sr.Verdict) -> None:
    from seamripper.audits.listening import as_text

    figures = verdict.figures
    columns = [
        *("pairs", "receiver follows it", "stitched follows it"),
        *("departure", f"of {figures['control']}", "excess", "of a different sender"),
    ]
    keys = ("departure", "control", "excess", "different")
    rows = [
        [
            *(name, "decided" if name == figures["decided_by"] else "", str(look["pairs"])),
            *(_figure(look["follows"][who]) for who in ("receiver", "stitched")),
            *(_figure(look[key]) for key in keys),
        ]
        for name, look in figures["looks"].items()
    ]
    title = "Where two inputs are mixed: the share of the answer that the receiver does not name, where it is sure"
    print_table(title, ["mixture", "", *columns], rows, left=2)
    for line in as_text(figures):
        say(line)
    _show_skipped(figures["skipped"])


def _show_judgement(audited: sr.Audited) -> None:
    from seamripper.experiment.parts.audit_judgements import FIGURES, conclusion_of, sorted_figures

    judgement = audited.judgement
    print_verdict(judgement.conclusion.upper(), conclusion_of(judgement.conclusion).tone)
    say(judgement.reason)
    say("Based on:")
    for name in sorted_figures(judgement.figures):
        say(f"  {FIGURES.get(name, name)}: {_figure(judgement.figures[name])}")
    say(f"What would change this: {judgement.experiment}")


def _figure(figure: Any) -> str:
    if isinstance(figure, float):
        return "–" if math.isnan(figure) else f"{figure:.3f}"
    return str(figure)


def show_identified(title: str, verdicts: Mapping[str, sr.Verdict], skipped: Mapping[str, str]) -> None:
    """Whether each measure of a comparison finds the layer that corresponds."""
    columns = ["measure", "share identified [95 % interval]", "chance", "p", "mean rank"]
    rows = [
        [
            label,
            str(verdict.observed),
            f"{verdict.controls['chance'][0].value:.3f}",
            "–" if verdict.p is None else f"{verdict.p:.2g}",
            f"{verdict.figures['mean_rank']:.2f}",
        ]
        for label, verdict in verdicts.items()
    ]
    print_table(title, columns, rows)
    layers = next(iter(verdicts.values())).figures["layers"]
    say(f"{layers} layers, rows and columns counted; the intervals treat layers as independent, which they are not")
    _show_skipped(skipped)


def _show_skipped(reasons: Mapping[str, str]) -> None:
    for name, why in reasons.items():
        say(f"– {name}: {why}")
