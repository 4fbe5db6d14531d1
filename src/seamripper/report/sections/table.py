"""All figures in a table that can be sorted, and what failed."""

from __future__ import annotations

from typing import Any

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.experiment.results import rows_of
from seamripper.figures import Figure, Sheet
from seamripper.report.sections.base import Section

_MOST = 2000


def table(run: Reading) -> Section | None:
    """Every figure with value, interval and n."""
    rows = [row for result in run.results if result.state == "done" for row in _rows(result)]
    failed = [
        (result.kind, _words(result), f"{result.record['error']}: {result.record['message']}")
        for result in run.results
        if result.state == "failed"
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


def _rows(result: Result) -> list[tuple[Any, ...]]:
    rows = []
    for row in rows_of(result.kind, result.record, result.key):
        cut = row.get("sender_cut") and f"{row['sender_cut']} × {row['receiver_cut']}"
        place = cut or (result.cut if "receiver_cut" in result.labels else "")
        measure = row.get("measure") or row.get("audit") or result.labels.get("control") or ""
        figures = (row.get(name) for name in ("figure", "value", "low", "high", "n"))
        rows.append(
            (result.kind, _words(result), place, measure, *figures, row.get("unit", ""), row.get("status") or "")
        )
    return rows


def _words(result: Result) -> str:
    labels = result.labels
    if "sender" in labels:
        noise = [f"{name} {labels[name]}" for name in ("radius", "classes") if name in labels]
        rest = [str(labels[name]) for name in ("matching", "freeze") if name in labels]
        seed = f"seed {labels['seed']}" if labels.get("seed") is not None else ""
        return ", ".join(filter(None, (result.pair, *noise, *rest, seed)))
    return ", ".join(f"{name} {value}" for name, value in labels.items() if value is not None)
