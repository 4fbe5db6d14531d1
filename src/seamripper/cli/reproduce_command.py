"""seamripper reproduce: a paper's tables and figures, run here, beside its own numbers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seamripper.cli._parse import json_option
from seamripper.cli._show import print_json
from seamripper.cli._study import duration, engine_of, standing, store_option, terminable, with_engine

if TYPE_CHECKING:
    from seamripper.papers import ItemReport

SOME_FAILED = 1


@click.command("reproduce")
@click.argument("word", metavar="PAPER[/ITEM]")
@click.option("--profile", type=click.Choice(["quick", "paper"]), default="quick", show_default=True,
              help="quick: two cores, minutes. paper: the authors' sizes.")  # fmt: skip
@store_option
@with_engine
@click.option("--docs", type=click.Path(path_type=Path, dir_okay=False),
              help="Also write it as Markdown to this file, figures beside it (needs matplotlib).")  # fmt: skip
@click.option("--measured", type=click.Path(path_type=Path, dir_okay=False),
              help="Also write to this JSON file how long each item took: `seamripper papers` reads it.")  # fmt: skip
@click.option("--retry-failed", is_flag=True, help="Do jobs again that have failed before.")
@click.option("--quiet", is_flag=True, help="Say nothing but what goes wrong.")
@json_option
def command(
    word: str,
    profile: Any,
    store: Path | None,
    engine_name: str,
    address: str | None,
    workers: int | None,
    docs: Path | None,
    measured: Path | None,
    retry_failed: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Reproduce a paper, or one of its tables and figures. Stop it, kill it, run it again: it goes on.

    Each item ends in the paper's claims, restated as checks: reproduced, not reproduced, or not decided at this size.
    Exit code 1 says that some jobs failed, not that a claim did.
    """
    from seamripper.papers import choose, reproduce
    from seamripper.papers.page import save, save_docs, save_measured
    from seamripper.papers.reproduce import Listener

    paper, items = choose(word)
    engine = engine_of(engine_name, address, workers)
    silent = quiet or as_json

    def announce(line: str) -> None:
        click.echo(f"seamripper: {line}", err=True)

    with terminable(), standing(quiet=silent) as watch:
        listener = Listener(announce, watch, *(() if silent else (_print_report,)))
        reproduction = reproduce(
            paper, items, profile=profile, store=store, engine=engine, retry_failed=retry_failed, listener=listener
        )
    paths = save(reproduction)
    if docs is not None:
        save_docs(reproduction, docs)
    if measured is not None:
        save_measured(reproduction, measured)
    if as_json:
        print_json({**reproduction.as_record(), "files": [str(path) for path in paths]})
    elif not quiet:
        counts = ", ".join(f"{n} {status}" for status, n in reproduction.counts.items())
        print(f"\n{paper.title}: {counts or 'no claim could be decided'}; {duration(reproduction.seconds)}")
        print(f"report: {paths[0]}\ntext: {paths[1]}")
    if any(report.trouble for report in reproduction.reports):
        sys.exit(SOME_FAILED)


def _print_report(report: ItemReport) -> None:
    """An item's claims, one line each, as soon as it ends."""
    item = report.item
    print(f"\n{item.name} ({', '.join(item.covers)}), {report.jobs} jobs, {duration(report.seconds)}")
    if report.trouble:
        print(f"  {'some jobs failed' if report.reading else 'could not be read'}: {report.trouble}")
    for claim in report.claims:
        print(f"  {claim.status}: {claim.says}\n      {claim.figure}")
