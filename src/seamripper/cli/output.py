"""What users see: tables, JSON, reports, durations, and progress with the time left."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn
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
    """A table; the first `left` columns are words, the others figures. Columns without names get no header.

    What does not fit into the terminal's width without a broken word is set as several tables, each with the first
    column.
    """
    # Not the table's own title, which would be broken, within words, at the table's width.
    print_bold(title)
    console = _console()
    fewest = [_widest(column, rows, i, words=True) for i, column in enumerate(columns)]
    for numbers in _tables(fewest, console.width):
        whole = {i: _widest(columns[i], rows, i) for i in numbers}
        widths = _widths({i: fewest[i] for i in numbers}, whole, console.width)
        table = Table(header_style="bold", show_header=any(columns))
        for i in numbers:
            justify: Literal["left", "right"] = "left" if i < left else "right"
            table.add_column(columns[i], justify=justify, overflow="fold", width=widths[i])
        for row in rows:
            table.add_row(*(row[i] for i in numbers))
        console.print(table)


_BESIDE = 3
"""What a column needs beside its words: a line and two spaces."""


def _widest(column: str, rows: Sequence[Sequence[str]], i: int, *, words: bool = False) -> int:
    """The cells that a column's longest text takes, or its longest word."""
    texts = (part for text in (column, *(row[i] for row in rows)) for part in text.split(None if words else "\n"))
    return max(map(cell_len, texts), default=0)


def _tables(fewest: Sequence[int], width: int) -> list[list[int]]:
    """The numbers of the columns that stand together, so that no word has to be broken; the first is in every table.

    >>> _tables([5, 9, 9, 9], 80), _tables([5, 9, 9, 9], 33)
    ([[0, 1, 2, 3]], [[0, 1, 2], [0, 3]])
    """
    tables = [[0]]
    for i in range(1, len(fewest)):
        needed = 1 + sum(fewest[k] + _BESIDE for k in (*tables[-1], i))
        if needed > width and len(tables[-1]) > 1:
            tables.append([0])
        tables[-1].append(i)
    return tables


def _widths(fewest: Mapping[int, int], whole: Mapping[int, int], width: int) -> dict[int, int | None]:
    """The width of each column where they do not fit as they are: the longest texts are broken first, between words.

    >>> _widths({0: 4, 1: 6}, {0: 10, 1: 40}, 40)
    {0: 10, 1: 23}
    """
    room = width - 1 - _BESIDE * len(whole)
    if sum(whole.values()) <= room or sum(fewest.values()) > room:
        return dict.fromkeys(whole)
    widths = dict(whole)
    while sum(widths.values()) > room:
        widths[max(widths, key=lambda i: (widths[i] > fewest[i], widths[i]))] -= 1
    return dict(widths)


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
        left = time_left(now, begun)
        return ", ".join([f"{now.task}: {now.done}/{now.total}", *([left] if left else []), *_figures(now)])

    return describe


def time_left(now: Progress, begun: dict[str, tuple[float, int]]) -> str:
    """How long a task still takes, as far as that is known: as it says itself, or at its pace so far."""
    moment = time.monotonic()
    start, first = begun.setdefault(now.task, (moment, now.done))
    if now.done >= now.total:
        begun.pop(now.task)
        return ""
    if now.left is not None:
        return f"about {_roughly(now.left)} left"
    if now.done > first:
        return f"about {_roughly((moment - start) / (now.done - first) * (now.total - now.done))} left"
    return ""


def _bar() -> Bar:
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}  {task.fields[figures]}"))
    return Bar(TextColumn("{task.description}"), *columns, console=Console(stderr=True), transient=True)


def _bar_watcher(bar: Bar) -> Watcher:
    tasks, begun = dict[str, Any](), dict[str, tuple[float, int]]()

    def watch(now: Progress) -> None:
        if now.task not in tasks:
            tasks[now.task] = bar.add_task(now.task, total=now.total, left="", figures="")
        left, figures = time_left(now, begun), "  ".join(_figures(now))
        bar.update(tasks[now.task], completed=now.done, total=now.total, left=left, figures=figures)
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
    """An estimate of a duration, no finer than it is: seconds up to ten, tens up to two minutes, minutes from there on.

    >>> _roughly(0.2), _roughly(4), _roughly(73), _roughly(386), _roughly(7300)
    ('1 s', '4 s', '1 min 20 s', '7 min', '2 h 2 min')
    """
    step = 1 if seconds <= 10 else 10 if seconds <= 120 else 60
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
