"""All figures in a table that can be sorted, and what failed."""

from __future__ import annotations

from typing import Any

from seamripper.experiment.results import rows_of
from seamripper.report.figures import Figure, Sheet
from seamripper.report.reading import Reading, Result
from seamripper.report.sections.base import Section

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
    columns = ("kind", "what", "cut", "measure", "figure", "value", "low", "high", "n", "status")
    more = f" The first {_MOST:,} of {len(rows):,}; `seamripper results` has all." if len(rows) > _MOST else ""
    figures: list[Figure] = [
        Sheet(f"{len(rows):,} figures", columns, tuple(rows[:_MOST]), f"Click on a column to sort by it.{more}")
    ]
    if failed:
        figures.append(Sheet(f"{len(failed)} jobs failed", ("kind", "what", "error"), tuple(failed)))
    return Section("table", "All figures", "Every figure with its 95 % interval and n.", tuple(figures))


def _rows(one: Result) -> list[tuple[Any, ...]]:
    found = []
    for row in rows_of(one.kind, one.record, one.key):
        cut = row.get("sender_cut") and f"{row['sender_cut']} × {row['receiver_cut']}"
        place = cut or (one.cut if "receiver_cut" in one.labels else "")
        measure = row.get("measure") or row.get("audit") or one.labels.get("control") or ""
        figures = (row.get("figure"), row.get("value"), row.get("low"), row.get("high"), row.get("n"))
        found.append((one.kind, _words(one), place, measure, *figures, row.get("status") or ""))
    return found


def _words(one: Result) -> str:
    labels = one.labels
    if "sender" in labels:
        noise = [f"{name} {labels[name]}" for name in ("radius", "classes") if name in labels]
        rest = [str(labels[name]) for name in ("matching", "freeze") if name in labels]
        seed = f"seed {labels['seed']}" if labels.get("seed") is not None else ""
        return ", ".join(filter(None, (one.pair, *noise, *rest, seed)))
    return ", ".join(f"{name} {value}" for name, value in labels.items() if value is not None)
