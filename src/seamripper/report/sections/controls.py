"""Controls as a strip plot around the observed value."""

from __future__ import annotations

from collections import defaultdict

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.report.figures import Point, Strip, as_point
from seamripper.report.sections.base import Section, audited_point, over

_MOST = 16
"""Plots that are shown; the table has all figures."""


def controls(run: Reading) -> Section | None:
    """For each pair and cut: of its audit, or of the control jobs beside its stitches."""
    figures = list[Strip]()
    for strip in [_of_audit(one) for one in run.of("audit")] or _of_jobs(run):
        # Audits that differ in the conflict alone have the same controls.
        figures += [strip] if strip not in figures else []
    if not figures:
        return None
    more = f" The first {_MOST} of {len(figures)} are shown." if len(figures) > _MOST else ""
    text = (
        "The same comparison with counterparts whose answer is known. If a sender that has learnt nothing does as "
        f"well, the accuracy is no evidence of similarity.{more}"
    )
    return Section("controls", "Beside the controls", text, tuple(figures[:_MOST]))


def _of_audit(one: Result) -> Strip:
    groups: dict[str, list[Point]] = defaultdict(list)
    for outcome in one.record["outcomes"]:
        note = f"{outcome['label']}, seed {outcome['seed']}"
        groups[outcome["control"]].append(as_point(outcome["result"]["top1"], note, unit="samples"))
    own = groups.pop("sender", [])
    stitched, first = one.record["judgement"]["figures"].get("stitched"), one.record["outcomes"][0]["result"]
    observed = audited_point(one.record, stitched, first["n"]) if stitched else own[0]
    baselines = {"receiver alone": as_point(first["receiver_here"], unit="samples")}
    return Strip(f"{one.pair} at {one.cut}", _grouped(groups), observed, "accuracy", baselines)


def _of_jobs(run: Reading) -> list[Strip]:
    stitches: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    beside: dict[tuple[str, str, str], dict[str, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for one in run.of("stitch"):
        stitches[one.pair, one.cut, str(one.labels["matching"])].append(one)
    for one in run.of("control"):
        at = one.pair, one.cut, str(one.labels["matching"])
        for outcome in one.record["outcomes"]:
            note = f"{outcome['label']}, seed {outcome['seed']}"
            beside[at][str(one.labels["control"])].append(as_point(outcome["result"]["top1"], note, unit="samples"))
    return [
        Strip(
            f"{pair} at {cut}, {matching}",
            _grouped(beside[pair, cut, matching]),
            over(stitches[pair, cut, matching], "top1"),
            "accuracy",
            {"receiver alone": over(stitches[pair, cut, matching], "receiver_here")},
        )
        for pair, cut, matching in stitches
        if beside[pair, cut, matching]
    ]


def _grouped(groups: dict[str, list[Point]]) -> tuple[tuple[str, tuple[Point, ...]], ...]:
    return tuple((name, tuple(points)) for name, points in groups.items())
