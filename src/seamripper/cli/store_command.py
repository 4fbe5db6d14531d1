"""seamripper store: check, tidy or repair the store of a study."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from seamripper.cli._parse import json_option
from seamripper.cli._show import print_json, progress
from seamripper.cli._study import store_argument

PROBLEMS = 1


@click.group("store")
def command() -> None:
    """Check, tidy or repair the store of a study. Each can be interrupted and done again."""


@command.command("check")
@store_argument
@click.option(
    "--mend",
    is_flag=True,
    help="Set damaged tensors aside for the next run to compute anew, read altered results from the journals again, "
    "and write results that no journal has to one.",
)
@json_option
def check_command(folder: Path, mend: bool, as_json: bool) -> None:
    """Look at every page, result, line and tensor of STORE. Exit code 1 says that something is wrong."""
    from seamripper.experiment.upkeep import check

    with progress(quiet=as_json) as watch:
        found = check(folder, mend=mend, watch=watch)
    if as_json:
        print_json({**vars(found), "problems": list(found.problems)})
    else:
        print(f"{found.results} results and {found.tensors} tensors ({found.bytes / 1e6:.1f} MB) were looked at")
        print("\n".join(found.problems) or "all of it is whole")
    if found.problems:
        sys.exit(PROBLEMS)


@command.command("gc")
@store_argument
@json_option
def gc_command(folder: Path, as_json: bool) -> None:
    """Remove from STORE what nothing refers to: unused tensors, drafts, finished work, what was set aside."""
    from seamripper.experiment.upkeep import gc

    with progress(quiet=as_json) as watch:
        found = gc(folder, watch=watch)
    if as_json:
        print_json(vars(found))
    else:
        print(f"{found.files} files removed, {found.bytes / 1e6:.1f} MB")


@command.command("repair")
@store_argument
@json_option
def repair_command(folder: Path, as_json: bool) -> None:
    """Make the ledger of STORE anew from its journals, with the damaged one set aside."""
    from seamripper.experiment.upkeep import repair

    n = repair(folder, lambda line: click.echo(f"seamripper: {line}", err=True))
    if as_json:
        print_json({"results": n})
    else:
        print(f"the ledger was made anew with {n} results; the old one is in {folder / 'damaged'}")
