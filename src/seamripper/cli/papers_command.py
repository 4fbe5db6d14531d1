"""seamripper papers: what can be reproduced, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from seamripper.cli.inputs import json_option
from seamripper.cli.output import duration, print_json, print_table, say

if TYPE_CHECKING:
    from seamripper.papers import Item, Paper


@click.command("papers")
@json_option
def command(as_json: bool) -> None:
    """List the papers that can be reproduced: their tables and figures, and about how long each takes."""
    from seamripper.papers import PROFILES, papers

    if as_json:
        print_json([_record(paper) for paper in papers.values()])
        return
    for paper in papers.values():
        rows = [[item.name, ", ".join(item.covers), item.about, *_durations(paper, (item,))] for item in paper.items]
        rows.append(["all of it", "", "", *_durations(paper, paper.items)])
        print_table(f"{paper.name}: {paper.title}", ["item", "covers", "what it shows", *PROFILES], rows, left=3)
    for name, reason in papers.broken.items():
        click.echo(f"{name} cannot be used: {reason}", err=True)
    say("quick: measured on two cores. night, paper (the authors' sizes): estimated for them by the amount of work.")
    say("seamripper reproduce PAPER, or PAPER/ITEM; an item can also be named by any of its figures or tables: fig-2b")


def _durations(paper: Paper, items: tuple[Item, ...]) -> list[str]:
    """How long items take in each profile; a dash where it was never measured."""
    from seamripper.papers import PROFILES

    times = [[paper.seconds(item, profile) for item in items] for profile in PROFILES]
    return ["–" if None in column else duration(sum(x for x in column if x is not None)) for column in times]


def _record(paper: Paper) -> dict[str, Any]:
    from seamripper.papers import PROFILES

    items = [
        {
            "item": item.name,
            "covers": list(item.covers),
            "about": item.about,
            "seconds": {profile: paper.seconds(item, profile) for profile in PROFILES},
        }
        for item in paper.items
    ]
    return {"paper": paper.name, "title": paper.title, "items": items}
