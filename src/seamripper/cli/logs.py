"""--log: the figures of a command, in the tools that a team keeps its runs in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seamripper.cli.inputs import registry_of
from seamripper.cli.output import announce

if TYPE_CHECKING:
    from seamripper.cards import WithMethods
    from seamripper.loggers import Entry, Logger


def chosen_loggers(words: Sequence[str]) -> list[Logger]:
    """The loggers of these words, each able to work: a missing library is found out before hours of work."""
    if not words:
        return []
    chosen: list[Logger] = registry_of("loggers").many(words)
    for logger in chosen:
        logger.require()
    return chosen


def log_result(loggers: Sequence[Logger], command: str, result: WithMethods, *files: Path | None) -> None:
    """Hand a result, and the files that it was written to, to each logger."""
    if loggers:
        from seamripper.loggers import Entry

        log_entry(loggers, Entry.of(command, result, files))


def log_entry(loggers: Sequence[Logger], entry: Entry) -> None:
    """Hand an entry to each logger, and say where it is."""
    for logger in loggers:
        announce(f"{logger.name}: {logger.log(entry)}")
