"""Controls as a strip plot around the observed value."""

from __future__ import annotations

from collections import defaultdict

from seamripper.estimate import Estimate
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Strip
from seamripper.report.sections.base import Section, accuracy_of, over

_MOST = 16
"""Plots that are shown; the table has all figures."""


def controls(run: Reading) -> Section | None:
    """For each pair and cut: of its audit, or of the control jobs beside its stitches."""
    figures = list[Strip]()
    for strip in [_of_audit(audit) for audit in run.of("audit")] or _of_jobs(run):
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


def _of_audit(audit: Result) -> Strip:
    groups: dict[str, list[Estimate]] = defaultdict(list)
    for outcome in audit.record["outcomes"]:
        groups[outcome["control"]].append(accuracy_of(outcome))
    own, stitched = groups.pop("sender", []), audit.record["judgement"]["figures"].get("stitched")
    observed = Estimate.from_record(stitched) if stitched else own[0]
    baselines = {"receiver alone": Estimate.from_record(audit.record["outcomes"][0]["result"]["receiver_here"])}
    return Strip(f"{audit.pair} at {audit.cut}", _grouped(groups), observed, "accuracy", baselines)


def _of_jobs(run: Reading) -> list[Strip]:
    stitches: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    beside: dict[tuple[str, str, str], dict[str, list[Estimate]]] = defaultdict(lambda: defaultdict(list))
    for stitch in run.of("stitch"):
        stitches[stitch.pair, stitch.cut, str(stitch.labels["matching"])].append(stitch)
    for control in run.of("control"):
        at = control.pair, control.cut, str(control.labels["matching"])
        beside[at][str(control.labels["control"])] += map(accuracy_of, control.record["outcomes"])
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


def _grouped(groups: dict[str, list[Estimate]]) -> tuple[tuple[str, tuple[Estimate, ...]], ...]:
    return tuple((name, tuple(points)) for name, points in groups.items())
