"""seamripper plan: what a study would run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from seamripper.cli._parse import json_option
from seamripper.cli._show import print_json, print_table
from seamripper.cli._study import duration, engine_of, store_option, study_argument, with_engine

if TYPE_CHECKING:
    from seamripper.experiment import Plan


@click.command("plan")
@study_argument
@store_option
@with_engine
@json_option
def command(
    study: Path, store: Path | None, engine_name: str, address: str | None, workers: int | None, as_json: bool
) -> None:
    """Say what STUDY.toml would run: jobs by kind, about how long they take, and what is done already."""
    from seamripper.experiment import Experiment, Store, plan, store_of
    from seamripper.experiment.engines import Terms

    experiment = Experiment.read(study)
    folder = store or store_of(experiment)
    if folder.is_dir() and any(folder.iterdir()):
        with Store(folder) as there:
            planned = plan(experiment, there)
    else:
        planned = plan(experiment)
    engine = engine_of(engine_name, address, workers)
    if experiment.resources.gpus:
        # What cannot be had is found here, and not by waiting for it.
        engine.require(Terms(str(folder), experiment.threads, experiment.resources.gpus))
    for sentence in planned.damage:
        click.echo(f"seamripper: {sentence}", err=True)
    if as_json:
        print_json({**planned.as_record(), "store": str(folder)})
        return
    _show(planned, folder)


def _show(planned: Plan, folder: Path) -> None:
    counts = planned.counts()
    columns = ["kind of job", "jobs", "done", "failed", "blocked", "to run"]
    rows = [[kind, *(str(counts[kind][name]) for name in columns[1:])] for kind in counts]
    rows.append(["all", *(str(sum(counts[kind][name] for kind in counts)) for name in columns[1:])])
    print_table(f"{planned.experiment.name}, kept in {folder}", columns, rows)
    if not planned.needed:
        print(
            "nothing to run" + (": some have failed, try --retry-failed" if planned.failed else ": all of it is done")
        )
        return
    guess = (
        f"; a guess for {', '.join(planned.guessed)}, as none was timed yet" if planned.guessed else ", as timed here"
    )
    print(f"about {duration(planned.seconds)} of work for one worker{guess}")
    helpers = sum(counts[kind]["jobs"] for kind in ("activations", "pass") if kind in counts)
    if helpers:
        print(
            f"{helpers} of the jobs do once what others share (activations, parts of a pass); they are let go of after"
        )
