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
    from seamripper.papers.reproduce import Outcome

SOME_FAILED = 1


@click.command("reproduce")
@click.argument("word", metavar="PAPER[/ITEM]")
@click.option("--profile", type=click.Choice(["quick", "paper"]), default="quick", show_default=True,
              help="quick: two cores, minutes. paper: the authors' sizes.")  # fmt: skip
@store_option
@with_engine
@click.option("--docs", type=click.Path(path_type=Path, dir_okay=False),
              help="Also write it as Markdown to this file, figures beside it (needs matplotlib).")  # fmt: skip
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
    retry_failed: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Reproduce a paper, or one of its tables and figures. Stop it, kill it, run it again: it goes on.

    Each item ends in the paper's claims, restated as checks: reproduced, not reproduced, or not decided at this size.
    Exit code 1 says that some jobs failed, not that a claim did.
    """
    from seamripper.papers import chosen, reproduce
    from seamripper.papers.page import save, save_docs

    paper, items = chosen(word)
    engine = engine_of(engine_name, address, workers)
    silent = quiet or as_json

    def announce(line: str) -> None:
        click.echo(f"seamripper: {line}", err=True)

    with terminable(), standing(quiet=silent) as watch:
        found = reproduce(
            paper,
            items,
            profile=profile,
            store=store,
            engine=engine,
            retry_failed=retry_failed,
            announce=announce,
            watch=lambda item: watch,
            told=(lambda outcome: None) if silent else _tell,
        )
    paths = save(found)
    if docs is not None:
        save_docs(found, docs)
    if as_json:
        print_json({**found.as_record(), "files": [str(path) for path in paths]})
    elif not quiet:
        counts = ", ".join(f"{n} {status}" for status, n in found.counts.items())
        print(f"\n{paper.title}: {counts or 'no claim could be decided'}; {duration(found.seconds)}")
        print(f"report: {paths[0]}\ntext: {paths[1]}")
    if any(outcome.trouble for outcome in found.outcomes):
        sys.exit(SOME_FAILED)


def _tell(outcome: Outcome) -> None:
    """An item's claims, a line each, as soon as it ends."""
    item = outcome.item
    print(f"\n{item.name} ({', '.join(item.covers)}), {outcome.jobs} jobs, {duration(outcome.seconds)}")
    if outcome.trouble:
        print(f"  {'some jobs failed' if outcome.finding else 'could not be read'}: {outcome.trouble}")
    for claim in outcome.finding.claims if outcome.finding else ():
        print(f"  {claim.status}: {claim.says}\n      {claim.figure}")
