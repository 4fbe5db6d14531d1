"""seamripper plan: what a study would run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import seamripper as sr
from seamripper.cli.inputs import WordCommand, engine_option, json_option, registry_of, store_option, study_argument
from seamripper.cli.output import announce, duration, print_json, print_table, say

if TYPE_CHECKING:
    from seamripper.experiment import Plan


@click.command("plan", cls=WordCommand)
@study_argument
@store_option
@engine_option
@json_option
def command(study: Path, store: Path | None, engine: str, as_json: bool) -> None:
    """Show what STUDY.toml would run: jobs by kind, roughly how long they take, and what is already done."""
    from seamripper.experiment import store_of
    from seamripper.experiment.engines import Terms

    experiment = sr.Experiment.read(study)
    folder = store or store_of(experiment)
    if folder.is_dir() and any(folder.iterdir()):
        with sr.Store(folder) as there:
            planned = sr.plan(experiment, there)
    else:
        planned = sr.plan(experiment)
    runs_on = registry_of("engines").make(engine)
    if experiment.resources.gpus:
        # What cannot be had is found here, and not by waiting for it.
        runs_on.require(Terms.on(None, str(folder), experiment.threads, experiment.resources.gpus))
    for sentence in planned.damage:
        announce(sentence)
    if as_json:
        print_json({**planned.as_record(), "store": str(folder)})
    else:
        _show(planned, folder)


def _show(planned: Plan, folder: Path) -> None:
    counts = planned.counts()
    columns = ["kind of job", "jobs", "done", "failed", "blocked", "to run"]
    rows = [[kind, *(str(counts[kind][name]) for name in columns[1:])] for kind in counts]
    rows.append(["all", *(str(sum(counts[kind][name] for kind in counts)) for name in columns[1:])])
    print_table(f"{planned.experiment.name}, kept in {folder}", columns, rows)
    if not planned.needed:
        say("nothing to run" + (": some have failed, try --retry-failed" if planned.failed else ": all of it is done"))
        return
    guess = (
        f"; a guess for {', '.join(planned.guessed)}, because no such job was timed yet"
        if planned.guessed
        else ", judged by the jobs timed here"
    )
    say(f"about {duration(planned.seconds)} of work for one worker{guess}")
    helpers = sum(counts[kind]["jobs"] for kind in ("activations", "pass") if kind in counts)
    if helpers:
        say(
            f"{helpers} of the jobs compute what others share (activations, parts of a pass); their files are removed "
            "afterwards"
        )
