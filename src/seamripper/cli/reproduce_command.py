"""seamripper reproduce: a paper's tables and figures, run here, beside its own numbers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seamripper.cli.inputs import (
    FILE,
    WordCommand,
    asked_device,
    device_options,
    engine_option,
    json_option,
    quiet_option,
    registry_of,
    retry_option,
    store_option,
)
from seamripper.cli.output import announce, duration, print_json, say, standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seamripper.papers import Item, ItemReport, Paper

SOME_FAILED = 1


@click.command("reproduce", cls=WordCommand)
@click.argument("word", metavar="PAPER[/ITEM]")
@click.option("--profile", type=click.Choice(["quick", "night", "paper"]), default="quick", show_default=True,
              help="quick: minutes on two cores. night: more seeds and images. paper: the authors' sizes.")  # fmt: skip
@store_option
@engine_option
@device_options
@click.option("--docs", type=FILE,
              help="Also write a Markdown page to this file, figures beside it (needs matplotlib).")  # fmt: skip
@click.option("--measured", type=FILE,
              help="Also write to this JSON file how long each item took: `seamripper papers` reads it.")  # fmt: skip
@retry_option
@quiet_option
@json_option
def command(word: str, docs: Path | None, measured: Path | None, quiet: bool, as_json: bool, **options: Any) -> None:
    """Reproduce a paper, or one of its tables and figures. Stop or kill it and run it again: it continues.

    Each item ends with the paper's claims, restated as checks: reproduced, not reproduced, not decided at this size,
    or not testable here. Exit code 1 means that some jobs failed, not that a claim failed.
    """
    from seamripper.papers import choose, reproduce
    from seamripper.papers.page import save, save_docs, save_measured
    from seamripper.papers.reproduce import Listener

    paper, items = choose(word)
    options["engine"] = registry_of("engines").make(options["engine"])
    silent = quiet or as_json
    if not silent and options["profile"] != "quick":
        _print_plan(paper, items, options["profile"])
    with standing(quiet=silent) as watch:
        listener = Listener(announce, watch, *(() if silent else (_print_report,)))
        reproduction = reproduce(paper, items, **options, **asked_device(), listener=listener)
    paths = save(reproduction)
    if docs is not None:
        save_docs(reproduction, docs)
    if measured is not None:
        save_measured(reproduction, measured)
    if as_json:
        print_json({**reproduction.as_record(), "files": [str(path) for path in paths]})
    elif not quiet:
        counts = ", ".join(f"{n} {status}" for status, n in reproduction.counts.items())
        say(f"\n{paper.title}: {counts or 'no claim could be decided'}; {duration(reproduction.seconds)}")
        say(f"report: {paths[0]}\ntext: {paths[1]}")
    if any(report.trouble for report in reproduction.reports):
        sys.exit(SOME_FAILED)


def _print_plan(paper: Paper, items: Sequence[Item], profile: str) -> None:
    """What a profile will cost, item by item, before anything is run."""
    times = {item.name: paper.seconds(item, profile) for item in items}
    known = [seconds for seconds in times.values() if seconds is not None]
    words = ", ".join(f"{name} {'unknown' if s is None else duration(s)}" for name, s in times.items())
    whole = f"about {duration(sum(known))} on two cores, estimated from the quick profile's minutes: " if known else ""
    say(f"{paper.name}, profile {profile}: {whole}{words}.")


def _print_report(report: ItemReport) -> None:
    """An item's claims, one line each, as soon as it ends."""
    item = report.item
    say(f"\n{item.name} ({', '.join(item.covers)}): {report.cost}")
    if report.trouble:
        say(f"  {'some jobs failed' if report.reading else 'could not be read'}: {report.trouble}")
    for claim in report.claims:
        say(f"  {claim.status}: {claim.says}\n      {claim.figure}")
        if notes := claim.notes(report.minutes):
            say(f"      {notes}")
