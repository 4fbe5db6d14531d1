"""What users see: tables, JSON, reports, durations, and progress with the time left."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from seamripper._progress import Progress, Watcher

if TYPE_CHECKING:
    from seamripper.cards import WithMethods
    from seamripper.experiment import Standing
    from seamripper.experiment.single import Single

T = TypeVar("T")
PLAIN_EVERY = 5.0
"""Seconds between two lines of progress where no terminal is looking."""
PIPE_WIDTH = 160
"""Columns where no terminal is looking: rich would otherwise fold every table to 80."""
_TABLE_WIDTH = 110
"""Columns that a table of names, facts and sentences needs."""
_RUNNING = 8
"""Running jobs that are shown by name."""


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


def print_entries(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Names, facts and a sentence each: as a table, or one below the other where a table would break words."""
    if _console().width >= _TABLE_WIDTH:
        print_table(title, columns, rows, left=len(columns))
        return
    print_bold(title)
    for name, *facts, about in rows:
        known = ", ".join(f"{column} {fact}" for column, fact in zip(columns[1:], facts, strict=False))
        say(f"{name} ({known})" if known else name, style="bold")
        say(f"    {about}")


def print_bold(line: str) -> None:
    """A line that stands out on a terminal."""
    say(line, style="bold")


_STYLES = {"good": "bold green", "bad": "bold red", "open": "bold yellow", "none": "bold"}


def print_verdict(answer: str, tone: str) -> None:
    """A verdict, in the colour of its tone (see `seamripper.figures.Answer`) on a terminal that shows colours."""
    say(answer, style=_STYLES[tone])


def say(text: str = "", *, style: str = "") -> None:
    """Sentences, wrapped between words at the terminal's width; where no terminal is looking, lines stay whole."""
    console = _console()
    for line in text.splitlines() or [""]:
        indent = " " * (len(line) - len(line.lstrip()))
        wrapped = textwrap.wrap(
            line, console.width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        for part in (wrapped or [""]) if sys.stdout.isatty() else [line]:
            # Rich leaves colours out where NO_COLOR is set, or nobody would see them.
            console.print(part, style=style, soft_wrap=True)


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, markup=False)


def print_written(file: Path | None, report: Path | None = None, what: str = "") -> None:
    """Say where results were written, and where their report is, if they were."""
    if file is not None:
        print(f"{what}written to {file}")
    if report is not None:
        print(f"report: {report}")


def announce(line: str) -> None:
    """Say something that is no result, on standard error."""
    click.echo(f"seamripper: {line}", err=True)


def save_report(folder: Path, name: str, results: Sequence[Single], *, started: float, about: str = "") -> Path:
    """Keep results in a store at `folder`, as those of the experiment `name`, and write its report; where that is."""
    from seamripper.experiment.single import keep
    from seamripper.report import report

    keep(folder, name, results, started=started, about=about)
    return report(folder, experiment=name)


def save_methods(folder: Path, result: WithMethods) -> None:
    """Write how the numbers of a result were made into the folder; `seamripper card` reads it."""
    from seamripper.cards import FILE

    result.methods().save(folder / FILE)


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(0.4), duration(75), duration(7260)
    ('less than a second', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 1:
        return "less than a second"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


# ---- progress


@contextlib.contextmanager
def progress(*, quiet: bool = False) -> Iterator[Watcher]:
    """A watcher that draws a bar for each task on a terminal, or writes a plain line now and then elsewhere."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar() as bar:
            yield _bar_watcher(bar)
    else:
        yield _line_watcher(_task_line({}))


@contextlib.contextmanager
def standing(*, quiet: bool) -> Iterator[Callable[[Standing], None]]:
    """A watcher that shows how a run stands: drawn on a terminal, plain lines elsewhere, nothing if quiet.

    Within, a batch system's warning before its time limit stops the run as Ctrl-C does: claims are given back.
    """
    with terminable():
        if quiet:
            yield lambda _: None
        elif sys.stderr.isatty():
            with Live(console=Console(stderr=True), transient=True, refresh_per_second=5) as live:
                yield lambda now: live.update(_standing_bar(now))
        else:
            yield _line_watcher(lambda now: f"jobs: {', '.join(_standing_words(now))}")


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Within, SIGTERM and SIGUSR2 are Ctrl-C."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = {sign: signal.signal(sign, stop) for sign in (signal.SIGTERM, signal.SIGUSR2)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _line_watcher(describe: Callable[[T], str]) -> Callable[[T], None]:
    """Writes what `describe` says to standard error, at most every few seconds."""
    last = time.monotonic()

    def watch(now: T) -> None:
        nonlocal last
        line = describe(now)
        # What long work will cost is told before it begins.
        begins = isinstance(now, Progress) and now.left is not None and now.done == 0
        if begins or time.monotonic() - last >= PLAIN_EVERY:
            last = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    return watch


def _task_line(begun: dict[str, tuple[float, int]]) -> Callable[[Progress], str]:
    """Describes a task, with the time that is left; `begun` remembers when each began, and with how much done."""

    def describe(now: Progress) -> str:
        moment = time.monotonic()
        start, first = begun.setdefault(now.task, (moment, now.done))
        if now.done >= now.total:
            begun.pop(now.task)
        words = [f"{now.task}: {now.done}/{now.total}"]
        if now.left is not None:
            words.append(f"about {duration(now.left)} left")
        elif now.done > first:
            words.append(f"{(moment - start) / (now.done - first) * (now.total - now.done):.0f} s left")
        return ", ".join([*words, *_figures(now)])

    return describe


def _bar() -> Bar:
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[figures]}"))
    return Bar(TextColumn("{task.description}"), *columns, console=Console(stderr=True), transient=True)


def _bar_watcher(bar: Bar) -> Watcher:
    tasks: dict[str, Any] = {}

    def watch(now: Progress) -> None:
        if now.task not in tasks:
            tasks[now.task] = bar.add_task(now.task, total=now.total, figures="")
        known = [] if now.left is None else [f"about {duration(now.left)} left"]
        bar.update(tasks[now.task], completed=now.done, total=now.total, figures="  ".join([*known, *_figures(now)]))
        if now.done >= now.total:
            # Removed, so that the same task can begin anew.
            bar.remove_task(tasks.pop(now.task))

    return watch


def _figures(now: Progress) -> list[str]:
    return [f"{name} {value:.4g}" for name, value in now.figures.items()]


def _standing_bar(now: Standing) -> Group:
    row = Table.grid(padding=(0, 2))
    row.add_row(ProgressBar(total=1, completed=now.share, width=40), *_standing_words(now))
    return Group(row, *(Text(f"  {name}", style="dim") for name in now.running[:_RUNNING]))


def _roughly(seconds: float) -> str:
    """An estimate of a duration, no finer than it is: 10 seconds up to two minutes, minutes from there on.

    >>> _roughly(4), _roughly(73), _roughly(386), _roughly(7300)
    ('10 s', '1 min 20 s', '7 min', '2 h 2 min')
    """
    step = 10 if seconds <= 120 else 60
    return duration(step * max(1, math.ceil(seconds / step))).removesuffix(" 0 s")


def _standing_words(now: Standing) -> list[str]:
    words = [f"{now.done}/{now.total} done", f"{len(now.running)} running"]
    if now.elsewhere:
        words.append(f"{now.elsewhere} by another run")
    words.append(f"{now.failed} failed")
    if now.blocked:
        words.append(f"{now.blocked} wait for a failed one")
    if now.left is not None:
        words.append(f"about {_roughly(now.left)} left")
    return words
