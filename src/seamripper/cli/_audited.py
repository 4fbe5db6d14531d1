"""How an audited comparison looks: the controls, the sets on which cues disagree, the verdicts, the judgement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seamripper.cli._show import print_bold, print_table

if TYPE_CHECKING:
    from seamripper.audits import Audited, Verdict
    from seamripper.controls import Outcome

_KNOWN = {
    "same": "the same information",
    "nothing": "has learnt nothing",
    "broken": "pairing broken: must fail",
    "probe": "no stitch at all",
}
_OF_A_SET = ("weight", "stability", "control", "kept", "nothing", "agreement", "accuracy")


def show_audited(found: Audited) -> None:
    """All of it, the judgement last."""
    from seamripper.experiment.parts.audit import setting

    record = found.record
    title = " → ".join(f"{record[role]['source']}@{record[role]['cut']['name']}" for role in ("sender", "receiver"))
    columns = ["control", "in the sender's place", "what is known of it", "seeds", "accuracy", "agreement"]
    print_table(f"{title}; means [95 % interval]", columns, _control_rows(found), left=4)
    if "conflict" in found.verdicts:
        _show_sets(found.verdicts["conflict"])
    for line in setting(record):
        print(line)
    for verdict in found.verdicts.values():
        print(f"\n{verdict.audit}: {verdict.question} {verdict.answer.capitalize()}.\n  {verdict.sentence}")
    if found.skipped:
        print("\nNot done:")
    for name, why in found.skipped.items():
        print(f"  {name}: {why}")
    _show_judgement(found)


def _control_rows(found: Audited) -> list[list[str]]:
    from seamripper.estimate import mean_over

    groups: dict[tuple[str, str], list[Outcome]] = {}
    for one in found.outcomes:
        groups.setdefault((one.control, one.label), []).append(one)
    rows = []
    for (name, label), each in groups.items():
        means = [mean_over([getattr(o.result, figure) for o in each]).as_share for figure in ("top1", "agreement")]
        seeds = ", ".join(str(o.seed) for o in each)
        shown = (
            ["the sender", "itself", "to be judged"] if name == "sender" else [name, label, _KNOWN[str(each[0].known)]]
        )
        rows.append([*shown, seeds, *map(str, means)])
    return rows


def _show_sets(verdict: Verdict) -> None:
    sets, control = verdict.figures["sets"], verdict.figures["control"]
    figures = ("weight", "stability", f"κ of {control}", "kept", "by nothing learnt", "agreement", "accuracy")
    rows = [
        [
            name,
            "decided" if name == verdict.figures["decided_by"] else "",
            *(_shown(told[key]) for key in _OF_A_SET),
        ]
        for name, told in sets.items()
    ]
    title = "Where the cues disagree: agreement with the receiver, weighed by how stable receiver and control are"
    print_table(title, ["set", "", *figures], rows, left=2)
    for name, why in verdict.figures["skipped"].items():
        print(f"– {name}: {why}")


def _show_judgement(found: Audited) -> None:
    judgement = found.judgement
    print()
    print_bold(judgement.conclusion.upper())
    print(judgement.reason)
    print("It rests on:")
    for line in figure_lines(judgement.figures):
        print(f"  {line}")
    print(f"What would change this: {judgement.experiment}")


def figure_lines(figures: Mapping[str, Any]) -> Sequence[str]:
    """The figures of a judgement, a line each."""
    from seamripper.experiment.parts.audit import FIGURES, sorted_figures

    return [f"{FIGURES.get(name, name)}: {_shown(figures[name])}" for name in sorted_figures(figures)]


def _shown(figure: Any) -> str:
    if isinstance(figure, float):
        return "–" if math.isnan(figure) else f"{figure:.3f}"
    return str(figure)
