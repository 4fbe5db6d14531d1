"""seamripper store: check or tidy the store of a study."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from seamripper.cli.inputs import json_option, store_argument
from seamripper.cli.output import print_json, progress, say

PROBLEMS = 1


@click.group("store")
def command() -> None:
    """Check or tidy the store of a study. Both can be interrupted and run again."""


@command.command("check")
@store_argument
@click.option("--mend", is_flag=True, help="Set damaged data aside, so that the next run computes it again.")
@json_option
def check_command(folder: Path, mend: bool, as_json: bool) -> None:
    """Check every result and every tensor of STORE. Exit code 1 means that something is wrong."""
    from seamripper.experiment.upkeep import check

    with progress(quiet=as_json) as watch:
        report = check(folder, mend=mend, watch=watch)
    if as_json:
        print_json({**vars(report), "problems": list(report.problems)})
    else:
        say(f"{report.results} results and {report.tensors} tensors ({report.bytes / 1e6:.1f} MB) were checked")
        say("\n".join(report.problems) or "nothing is damaged")
    if report.problems:
        sys.exit(PROBLEMS)


@command.command("gc")
@store_argument
@json_option
def gc_command(folder: Path, as_json: bool) -> None:
    """Remove files that nothing in STORE refers to: unused tensors, drafts, finished work, and what was set aside."""
    from seamripper.experiment.upkeep import gc

    with progress(quiet=as_json) as watch:
        report = gc(folder, watch=watch)
    if as_json:
        print_json(vars(report))
    else:
        say(f"{report.files} files removed, {report.bytes / 1e6:.1f} MB")
