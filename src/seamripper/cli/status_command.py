"""seamripper status: how a study stands."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

import seamripper as sr
from seamripper.cli.inputs import json_option, store_argument
from seamripper.cli.output import duration, print_json, print_table, say


@click.command("status")
@store_argument
@click.option("--tracebacks", is_flag=True, help="Show the tracebacks of failed jobs.")
@json_option
def command(folder: Path, tracebacks: bool, as_json: bool) -> None:
    """Show how far the studies in STORE are: what is done, running or failed (and why), and in which runs."""
    from seamripper.experiment.reading import status

    with sr.Store(folder) as store:
        standing = status(store)
    if as_json:
        print_json(standing)
        return
    columns = ["experiment", "jobs asked for", "done", "failed", "running", "left"]
    rows = [[row["name"], *(str(row[key]) for key in ("goals", "done", "failed", "running", "left"))]
            for row in standing["experiments"]]  # fmt: skip
    print_table(str(folder), columns, rows)
    for failure in standing["failures"]:
        say(f"failed: {failure['job']}: {failure['error']}: {failure['message']}")
        if tracebacks:
            print(failure["traceback"])
    for run in standing["runs"][-3:]:
        say(_sentence(run))
    for sentence in standing["damage"]:
        say(sentence)


def _sentence(run: dict[str, Any]) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run["started"]))
    ended = "running" if run["alive"] else "was killed" if run["ended"] is None else "ended"
    took = "" if run["ended"] is None else f" after {duration(run['ended'] - run['started'])}"
    return f"run of {when} on {run['host']}, engine {run['engine']}: {ended}{took}; {run['did']} jobs"
