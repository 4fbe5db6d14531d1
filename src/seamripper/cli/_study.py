"""What the commands about studies share: options, the choice of an engine, and how a run shows its progress."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from seamripper.experiment import Engine, Standing

_PLAIN_EVERY = 5.0
"""Seconds between two lines where no terminal is looking."""
_SHOWN = 8
"""Running jobs that are shown by name."""

study_argument = click.argument("study", type=click.Path(path_type=Path), metavar="STUDY.toml")
store_argument = click.argument("folder", type=click.Path(path_type=Path), metavar="STORE")
store_option = click.option(
    "--store", type=click.Path(path_type=Path, file_okay=False), help="Where results are kept (default: runs/NAME)."
)
engine_options = (
    click.option(
        "--engine",
        "engine_name",
        default="local",
        show_default=True,
        help="local?workers=2, ray?address=HOST:PORT … See: seamripper list engines.",
    ),
    click.option("--address", help="Of a Ray cluster (default: RAY_ADDRESS, or Ray on this machine)."),
    click.option(
        "--workers", type=click.IntRange(min=1), help="Jobs side by side (default: as many as there is room)."
    ),
)


def with_engine(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of an engine to a command."""
    for option in reversed(engine_options):
        command = option(command)
    return command


def engine_of(word: str, address: str | None, workers: int | None) -> Engine:
    """The engine that was asked for; `--address` and `--workers` are short for options of its word."""
    from seamripper.experiment.engines import engines

    given = {"address": address, "workers": workers}
    return engines.make(word, **{name: value for name, value in given.items() if value is not None})


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(0.4), duration(75), duration(7260)
    ('less than a second', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 1:
        return "less than a second"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextlib.contextmanager
def standing(*, quiet: bool) -> Iterator[Callable[[Standing], None]]:
    """A watcher that shows how a run stands: drawn on a terminal, plain lines elsewhere, nothing if quiet."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with Live(console=Console(stderr=True), transient=True, refresh_per_second=5) as live:
            yield lambda now: live.update(_bar(now))
    else:
        yield _lines()


def _bar(now: Standing) -> Group:
    bar = ProgressBar(total=max(now.total, 1), completed=now.ended, width=40)
    row = Table.grid(padding=(0, 2))
    row.add_row(bar, *_words(now))
    names = [Text(f"  {name}", style="dim") for name in now.running[:_SHOWN]]
    return Group(row, *names)


def _words(now: Standing) -> list[str]:
    words = [f"{now.done}/{now.total} done", f"{len(now.running)} running"]
    if now.elsewhere:
        words.append(f"{now.elsewhere} by another run")
    words.append(f"{now.failed} failed")
    if now.blocked:
        words.append(f"{now.blocked} wait for a failed one")
    if now.left is not None:
        words.append(f"about {duration(now.left)} left")
    return words


def _lines() -> Callable[[Standing], None]:
    last = time.monotonic()

    def watch(now: Standing) -> None:
        nonlocal last
        if time.monotonic() - last >= _PLAIN_EVERY:
            last = time.monotonic()
            print(f"jobs: {', '.join(_words(now))}", file=sys.stderr, flush=True)

    return watch


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Within, a batch system's warning before its time limit stops the run as Ctrl-C does: claims are given back."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = {sign: signal.signal(sign, stop) for sign in (signal.SIGTERM, signal.SIGUSR2)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
