"""How results look: tables, progress with the time left, JSON."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn
from rich.table import Table

from seamripper._progress import Progress, Watcher

_PLAIN_EVERY = 5.0
"""Seconds between two lines of progress where no terminal is looking."""


def print_json(value: Any) -> None:
    """One JSON object on standard output."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """A table; the first `left` columns are words, the others figures. Columns without names get no header."""
    table = Table(header_style="bold", show_header=any(columns))
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    # Not the table's own title, which would be broken, within words, at the table's width.
    print_bold(title)
    _console().print(table)


def print_bold(line: str) -> None:
    """A line that stands out on a terminal."""
    _console().print(line, style="bold", soft_wrap=True)


def _console() -> Console:
    # Wide enough for a pipe or a file, where rich would otherwise fold every table to 80 columns.
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False, markup=False)


@contextlib.contextmanager
def progress(*, quiet: bool = False) -> Iterator[Watcher]:
    """A watcher that draws a bar for each task on a terminal, or writes a plain line now and then elsewhere."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar() as bar:
            yield _drawn(bar)
    else:
        yield _plain()


def _bar() -> Bar:
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
        console=Console(stderr=True),
        transient=True,
    )


def _drawn(bar: Bar) -> Watcher:
    tasks: dict[str, Any] = {}

    def watch(now: Progress) -> None:
        if now.task not in tasks:
            tasks[now.task] = bar.add_task(now.task, total=now.total, figures="")
        bar.update(tasks[now.task], completed=now.done, total=now.total, figures="  ".join(_figures(now)))
        if now.done >= now.total:
            # Removed, so that the same task can begin anew.
            bar.remove_task(tasks.pop(now.task))

    return watch


def _plain() -> Watcher:
    begun: dict[str, tuple[float, int]] = {}
    said = time.monotonic()

    def watch(now: Progress) -> None:
        nonlocal said
        moment = time.monotonic()
        start, first = begun.setdefault(now.task, (moment, now.done))
        if now.done >= now.total:
            begun.pop(now.task)
        if moment - said < _PLAIN_EVERY:
            return
        said = moment
        words = [f"{now.task}: {now.done}/{now.total}"]
        if now.done > first:
            words.append(f"{(moment - start) / (now.done - first) * (now.total - now.done):.0f} s left")
        print(", ".join([*words, *_figures(now)]), file=sys.stderr)

    return watch


def _figures(now: Progress) -> list[str]:
    return [f"{name} {value:.4g}" for name, value in now.figures.items()]
