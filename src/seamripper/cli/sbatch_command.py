"""seamripper sbatch: the script of a Slurm job array."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import seamripper as sr
from seamripper._files import write_text
from seamripper.cli.inputs import FILE, json_option, store_option, study_argument
from seamripper.cli.output import print_json, say


@click.command("sbatch")
@study_argument
@click.option("--shards", type=click.IntRange(min=1), required=True,
              help="Number of tasks in the array; each runs one part of the study.")  # fmt: skip
@store_option
@click.option("--time", type=click.IntRange(min=1), default=60, show_default=True, help="Minutes per task.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
              help="Options of sbatch: partition=cpu, mem=8GB, cpus_per_task=4, account=… Repeatable.")  # fmt: skip
@click.option("--out", type=FILE, help="The script (default: STUDY.sbatch).")
@json_option
def command(study: Path, shards: int, store: Path | None, out: Path | None, as_json: bool, **slurm: Any) -> None:
    """Write a script for `sbatch` that runs STUDY.toml as a job array, for clusters that offer nothing else.

    The tasks share one store: `seamripper status STORE` shows their progress at any time.
    """
    from seamripper.experiment import store_of
    from seamripper.experiment.shard import sbatch

    folder = (store or store_of(sr.Experiment.read(study))).resolve()
    for setting in slurm.pop("settings"):
        name, equals, value = setting.partition("=")
        if not (equals and name.isidentifier() and value):
            raise click.UsageError(f"Expected --set NAME=VALUE, but got {setting!r}.")
        slurm[name] = int(value) if value.isdecimal() else value
    logs = folder.with_name(f"{folder.name}-logs")
    text = sbatch(str(study.resolve()), shards, folder=logs, store=str(folder), **slurm)
    logs.mkdir(parents=True, exist_ok=True)  # Slurm itself makes none, and its tasks would end without a word.
    path = out or study.with_suffix(".sbatch")
    write_text(path, text)
    if as_json:
        print_json({"file": str(path), "shards": shards, "store": str(folder)})
        return
    say(f"written to {path}; now: sbatch {path}\nprogress: seamripper status {folder}")
