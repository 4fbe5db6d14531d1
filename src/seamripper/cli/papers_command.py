"""seamripper papers: what can be reproduced, and what it costs."""

from __future__ import annotations

from typing import Any

import click

from seamripper.cli._parse import json_option
from seamripper.cli._show import print_json, print_table
from seamripper.cli._study import duration


@click.command("papers")
@json_option
def command(as_json: bool) -> None:
    """List the papers that can be reproduced: their tables and figures, and about how long each takes."""
    from seamripper.papers import papers

    if as_json:
        print_json([_record(paper) for paper in papers().values()])
        return
    for paper in papers().values():
        rows = [
            [item.name, ", ".join(item.covers), item.about, *(duration(item.seconds(p)) for p in ("quick", "paper"))]
            for item in paper.items
        ]
        total = [duration(sum(item.seconds(p) for item in paper.items)) for p in ("quick", "paper")]
        rows.append(["all of it", "", "", *total])
        print_table(f"{paper.name}: {paper.title}", ["item", "covers", "what it shows", "quick", "paper"], rows, left=3)
    print("quick: measured on two cores. paper: the authors' sizes, estimated for two cores by the work they are.")
    print("seamripper reproduce PAPER, or PAPER/ITEM; any figure or table above is a word for its item: fig-2b")


def _record(paper: Any) -> dict[str, Any]:
    items = [
        {
            "item": item.name,
            "covers": list(item.covers),
            "about": item.about,
            "seconds": {profile: item.seconds(profile) for profile in ("quick", "paper")},
        }
        for item in paper.items
    ]
    return {"paper": paper.name, "title": paper.title, "items": items}
