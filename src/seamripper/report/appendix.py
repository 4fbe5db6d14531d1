"""What every report ends with: all figures in a table that can be sorted, what failed, and where they come from."""

from __future__ import annotations

import shlex
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.experiment.results import rows_of
from seamripper.figures import Section, Sheet

_ROWS = 2000
"""How many rows the table shows."""


def all_figures(run: Reading) -> Section | None:
    """Every figure with value, interval and n, and every job that failed; None where there is neither."""
    done = [result for result in run.results if result.state == "done"]
    # What a study is about first; how its networks were trained last.
    rows = [row for result in sorted(done, key=lambda result: result.kind == "train") for row in _figure_rows(result)]
    failed = [
        (result.kind, _words(result), f"{result.record['error']}: {result.record['message']}")
        for result in run.results
        if result.state == "failed"
    ]
    if not rows and not failed:
        return None
    columns = ("kind", "what", "cut", "measure", "figure", "value", "low", "high", "n", "of", "status")
    more = f" The first {_ROWS:,} of {len(rows):,}; `seamripper results` has all." if len(rows) > _ROWS else ""
    caption = f"Click on a column to sort by it.{more}"
    figures = [Sheet(_several(len(rows), "figure"), columns, tuple(rows[:_ROWS]), caption)]
    if failed:
        figures.append(Sheet(f"{_several(len(failed), 'job')} failed", ("kind", "what", "error"), tuple(failed)))
    return Section("table", "All figures", "Every figure with its 95 % interval, n, and what n counts.", tuple(figures))


def _several(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _figure_rows(result: Result) -> Iterator[tuple[Any, ...]]:
    for row in rows_of(result.kind, result.record, result.key):
        cut = row.get("sender_cut") and f"{row['sender_cut']} × {row['receiver_cut']}"
        place = cut or (result.cut if "receiver_cut" in result.labels else "")
        own = filter(None, (row.get(name) for name in ("measure", "audit", "matching", "detector")))
        measure = next(own, None) or result.labels.get("control") or ""
        figures = (row.get(name) for name in ("figure", "value", "low", "high", "n"))
        yield result.kind, _words(result), place, measure, *figures, row.get("unit", ""), row.get("status") or ""


def _words(result: Result) -> str:
    labels = result.labels
    if "sender" in labels:
        noise = [f"{name} {labels[name]}" for name in ("radius", "classes") if name in labels]
        rest = [str(labels[name]) for name in ("matching", "freeze") if name in labels]
        seed = f"seed {labels['seed']}" if labels.get("seed") is not None else ""
        return ", ".join(filter(None, (result.pair, *noise, *rest, seed)))
    return ", ".join(f"{name} {value}" for name, value in labels.items() if value is not None)


def provenance(run: Reading) -> Section:
    """Who made this, with what, when and how: runs, versions, data and seeds."""
    runs = [record for record in run.standing["runs"] if record["experiment"] == run.name]
    versions, data, seeds = (defaultdict[str, set[Any]](set) for _ in range(3))
    for record in runs:
        for package, version in {"python": record["python"], **record["packages"]}.items():
            versions[package].add(version)
    for content in run.contents.values():
        for role in ("fit", "test", "own", "conflict", "data"):
            if content.get(role):
                data[content[role]].add(role)
    names = _data_names(run)
    for result in run.results:
        for name, what in (("sender_seed", "senders"), ("receiver_seed", "receivers"), ("seed", result.kind)):
            if isinstance(result.labels.get(name), int):
                seeds[what].add(result.labels[name])
    figures = (
        Sheet("Runs", ("started", "took", "host", "engine", "jobs", "git", "command"), tuple(map(_run_row, runs))),
        Sheet("Versions", ("package", "version"), tuple(sorted(_lists(versions)))),
        Sheet(
            "Data", ("name", "as", "fingerprint"), tuple((names.get(key, "?"), how, key) for key, how in _lists(data))
        ),
        Sheet("Seeds", ("of", "seeds"), tuple(_lists(seeds))),
    )
    text = f"The store {run.folder.name}: {len(run.results)} of {run.asked} results that were asked for are there."
    return Section("provenance", "Provenance", text, tuple(sheet for sheet in figures if sheet.rows))


def _data_names(run: Reading) -> dict[str, str]:
    """What each set of samples is called, by its fingerprint: as its records say, else as the study calls it."""
    names = dict[str, str]()
    for result in run.results:
        content, called = run.contents.get(result.key, {}), result.labels.get("data")
        for role in ("fit", "test", "data") if called else ():
            if content.get(role):
                names.setdefault(content[role], str(called))
    for result in run.results:
        record = result.record.get("record")
        sets = record.get("data") if isinstance(record, Mapping) else None
        for samples in [sets] if sets and "fingerprint" in sets else (sets or {}).values():
            names[samples["fingerprint"]] = samples["name"]
    return names


def _lists(sets: dict[str, set[Any]]) -> Iterator[tuple[str, str]]:
    for name, values in sets.items():
        yield name, ", ".join(map(str, sorted(values)))


def _run_row(record: dict[str, Any]) -> tuple[Any, ...]:
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record["started"]))
    if record["alive"]:
        took = "under way"
    else:
        took = "was killed" if record["ended"] is None else f"{record['ended'] - record['started']:.0f} s"
    git = (record.get("git") or "–")[:13]
    return started, took, record["host"], record["engine"], record["did"], git, shlex.join(record["command"])
