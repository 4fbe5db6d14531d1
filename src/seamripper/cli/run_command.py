"""seamripper run: carry out a study."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

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
@click.option("--shard", help="I/N: the I-th of N parts, from 0, without a ledger; then: seamripper collect STORE.")
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
    from seamripper.experiment.shard import parse_shard, run_shard

    if shard is not None and retry_failed:
        raise click.UsageError("--retry-failed is for runs with a ledger: collect the shards first, then run.")
    experiment = Experiment.read(study)
    engine = engine_of(engine_name, address, workers)

    def announce(line: str) -> None:
        click.echo(f"seamripper: {line}", err=True)

    with terminable(), standing(quiet=quiet or as_json) as watch:
        if shard is None:
            found = run(experiment, store, engine=engine, retry_failed=retry_failed, announce=announce, watch=watch)
        else:
            part = parse_shard(shard)
            found = run_shard(experiment, part, store, engine=engine, announce=announce, watch=watch)
    if as_json:
        print_json(found.as_record())
    elif not quiet:
        print(_sentence(found))
    if found.failed:
        sys.exit(SOME_FAILED)


def _sentence(found: Summary) -> str:
    words = [f"{found.did} jobs done in {duration(found.seconds)}" if found.did else "nothing was left to do"]
    if found.before:
        words.append(f"{found.before} were done before")
    if found.elsewhere:
        words.append(f"{found.elsewhere} by another run meanwhile")
    if found.failed:
        words.append(f"{len(found.failed)} failed (seamripper status {found.store} tells why; --retry-failed)")
    if found.blocked:
        words.append(f"{found.blocked} need one that failed")
    return f"{'; '.join(words)}\nresults: seamripper results {found.store}"
