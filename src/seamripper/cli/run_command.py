"""seamripper run: carry out a study."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seamripper.cli._parse import json_option
from seamripper.cli._show import print_json
from seamripper.cli._study import (
    duration,
    engine_of,
    standing,
    store_option,
    study_argument,
    terminable,
    with_engine,
)

if TYPE_CHECKING:
    from seamripper.experiment import Summary

SOME_FAILED = 1


@click.command("run")
@study_argument
@store_option
@with_engine
@click.option("--retry-failed", is_flag=True, help="Do jobs again that have failed before.")
@click.option("--shard", help="I/N: the I-th of N parts, from 0, for machines that share the folder.")
@click.option("--quiet", is_flag=True, help="Say nothing but what goes wrong.")
@json_option
def command(
    study: Path,
    store: Path | None,
    engine_name: str,
    address: str | None,
    workers: int | None,
    retry_failed: bool,
    shard: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run STUDY.toml: what is not done yet, on all cores or on a Ray cluster. Stop it, kill it, run it again.

    Exit code 1 says that some jobs failed; the others were done, and `seamripper status` tells why they did.
    """
    from seamripper.experiment import Experiment, run

    experiment = Experiment.read(study)
    engine = engine_of(engine_name, address, workers)

    def announce(line: str) -> None:
        click.echo(f"seamripper: {line}", err=True)

    choices: dict[str, Any] = {"engine": engine, "shard": shard, "retry_failed": retry_failed}
    with terminable(), standing(quiet=quiet or as_json) as watch:
        summary = run(experiment, store, **choices, announce=announce, watch=watch)
    if as_json:
        print_json(summary.as_record())
    elif not quiet:
        print(_sentence(summary))
    if summary.failed:
        sys.exit(SOME_FAILED)


def _sentence(summary: Summary) -> str:
    words = [f"{summary.did} jobs done in {duration(summary.seconds)}" if summary.did else "nothing was left to do"]
    if summary.before:
        words.append(f"{summary.before} were done before")
    if summary.elsewhere:
        words.append(f"{summary.elsewhere} by another run meanwhile")
    if summary.failed:
        words.append(f"{len(summary.failed)} failed (seamripper status {summary.store} tells why; --retry-failed)")
    if summary.blocked:
        words.append(f"{summary.blocked} need one that failed")
    return f"{'; '.join(words)}\nresults: seamripper results {summary.store}"
