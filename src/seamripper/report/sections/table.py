"""All figures in a table that can be sorted, and what failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.experiment.results import rows_of
from seamripper.report.figures import Figure, Sheet
from seamripper.report.sections.base import Section, audited_point, samples_of

_MOST = 2000


def table(run: Reading) -> Section | None:
    """Every figure with value, interval and n."""
    rows = [row for one in run.results if one.state == "done" for row in _rows(one)]
    failed = [
        (one.kind, _words(one), f"{one.record['error']}: {one.record['message']}")
        for one in run.results
        if one.state == "failed"
    ]
    if not rows and not failed:
        return None
    columns = ("kind", "what", "cut", "measure", "figure", "value", "low", "high", "n", "of", "status")
    more = f" The first {_MOST:,} of {len(rows):,}; `seamripper results` has all." if len(rows) > _MOST else ""
    figures: list[Figure] = [
        Sheet(_several(len(rows), "figure"), columns, tuple(rows[:_MOST]), f"Click on a column to sort by it.{more}")
    ]
    if failed:
        figures.append(Sheet(f"{_several(len(failed), 'job')} failed", ("kind", "what", "error"), tuple(failed)))
    return Section("table", "All figures", "Every figure with its 95 % interval, n, and what n counts.", tuple(figures))


def _several(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _rows(one: Result) -> list[tuple[Any, ...]]:
    found = []
    for row in rows_of(one.kind, one.record, one.key):
        cut = row.get("sender_cut") and f"{row['sender_cut']} × {row['receiver_cut']}"
        place = cut or (one.cut if "receiver_cut" in one.labels else "")
        measure = row.get("measure") or row.get("audit") or one.labels.get("control") or ""
        figures = (row.get("figure"), row.get("value"), row.get("low"), row.get("high"), *_counted(one, row))
        found.append((one.kind, _words(one), place, measure, *figures, row.get("status") or ""))
    return found


def _counted(one: Result, row: Mapping[str, Any]) -> tuple[int | None, str]:
    """n, and what it counts."""
    n = row.get("n")
    if n is None or one.kind == "call":
        return n, ""
    if one.kind == "compare":
        return n, "held-out samples" if row["measure"] in one.record["record"].get("functional", {}) else "rows"
    if one.kind != "audit":
        return n, "images" if one.kind == "pictures" else "samples"
    if row["audit"] == "identification":
        return n, "layers"
    verdict = one.record["verdicts"].get(row["audit"])
    samples = one.record["outcomes"][0]["result"]["n"] if verdict is None else samples_of(verdict, one.record)
    point = audited_point(one.record, {"value": 0.0, "interval": None, "n": n}, samples)
    return point.n, point.unit


def _words(one: Result) -> str:
    labels = one.labels
    if "sender" in labels:
        noise = [f"{name} {labels[name]}" for name in ("radius", "classes") if name in labels]
        rest = [str(labels[name]) for name in ("matching", "freeze") if name in labels]
        seed = f"seed {labels['seed']}" if labels.get("seed") is not None else ""
        return ", ".join(filter(None, (one.pair, *noise, *rest, seed)))
    return ", ".join(f"{name} {value}" for name, value in labels.items() if value is not None)
