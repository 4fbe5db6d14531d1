"""seamripper run: carry out a study."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import seamripper as sr
from seamripper.cli.inputs import (
    WordCommand,
    asked_device,
    device_options,
    engine_option,
    json_option,
    log_option,
    quiet_option,
    registry_of,
    retry_option,
    store_option,
    study_argument,
)
from seamripper.cli.logs import chosen_loggers, log_entry
from seamripper.cli.output import announce, duration, print_json, say, standing

if TYPE_CHECKING:
    from seamripper.experiment import Summary
    from seamripper.loggers import Entry

SOME_FAILED = 1


@click.command("run", cls=WordCommand)
@study_argument
@store_option
@engine_option
@device_options
@retry_option
@click.option("--shard", help="I/N: run part I of N, counted from 0, for machines that share the folder.")
@log_option
@quiet_option
@json_option
def command(study: Path, store: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> None:
    """Run what is not done yet of STUDY.toml, on all cores or on a Ray cluster. Stop or kill it and run it again.

    Exit code 1 means that some jobs failed. The others were done; `seamripper status` says why the failed ones failed.
    """
    experiment = sr.Experiment.read(study)
    choices = {name: options[name] for name in ("shard", "retry_failed")}
    choices["engine"] = registry_of("engines").make(options["engine"])
    loggers = chosen_loggers(options["logs"])
    with standing(quiet=quiet or as_json) as watch:
        summary = sr.run(experiment, store, **choices, **asked_device(), announce=announce, watch=watch)
    if as_json:
        print_json(summary.as_record())
    elif not quiet:
        say(_sentence(summary))
    if loggers:
        log_entry(loggers, _entry(summary.store, experiment.name))
    if summary.failed:
        sys.exit(SOME_FAILED)


def _entry(folder: str, name: str) -> Entry:
    """All figures that the store has of the study, with those of earlier runs."""
    from seamripper.experiment import table
    from seamripper.loggers import Entry

    with sr.Store(folder) as store:
        columns, rows = table(store, name)
    return Entry.of_table("run", columns, rows, {"study": name, "store": folder})


def _sentence(summary: Summary) -> str:
    words = [f"{summary.did} jobs done in {duration(summary.seconds)}" if summary.did else "nothing was left to do"]
    if summary.before:
        words.append(f"{summary.before} were done before")
    if summary.elsewhere:
        words.append(f"{summary.elsewhere} were done by another run meanwhile")
    if summary.failed:
        words.append(
            f"{len(summary.failed)} failed (seamripper status {summary.store} says why; --retry-failed runs them again)"
        )
    if summary.blocked:
        words.append(f"{summary.blocked} depend on a job that failed")
    return f"{'; '.join(words)}\nresults: seamripper results {summary.store}"
