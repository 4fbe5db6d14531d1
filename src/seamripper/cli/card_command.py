"""seamripper card: how a number was made, and the same number made again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from seamripper.cli.inputs import OutputPath, json_option
from seamripper.cli.output import print_json, print_written

OTHER = 1
"""The exit code if the number comes out otherwise."""


@click.command("card")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("labels", nargs=-1, metavar="[LABEL]...")
@click.option("--remake", "again", is_flag=True, help="Make the number again from the card, and compare.")
@click.option("--out", type=OutputPath(".json"), help="Write the card to this file (.json).")
@json_option
def command(file: Path, labels: tuple[str, ...], again: bool, out: Path | None, as_json: bool) -> None:
    """Say how a number was made: one paragraph, or JSON from which it can be made again.

    FILE is a card, a methods.json, or the folder of `compare`, `diff` or `map --out`. LABELS name the number there.

    \b
    seamripper card run/ linear_cka layer1 layer2
    seamripper card migration/ map own Recall@10 --out card.json
    seamripper card card.json --remake

    With --remake the exit code is 0 if the number comes out again, 1 if not, 2 if it cannot be made.
    """
    from seamripper.cards import FILE, Card, Methods, holds

    path = file / FILE if file.is_dir() else file
    if holds(path) == "card":
        if labels:
            raise click.UsageError(f"{path} is the card of one number, so there is nothing for {labels[0]!r} to name.")
        card = Card.load(path)
    else:
        card = Methods.load(path).card(*labels)
    if out is not None:
        card.save(out)
    remade = None
    if again:
        from seamripper.remaking import remake

        remade = remake(card)
    if as_json:
        more = {} if remade is None else {"remade": {"same": remade.same, "row": dict(remade.row)}}
        print_json({**card.as_record(), **more, "file": out and str(out)})
    else:
        print(card.text)
        if remade is not None:
            print(remade)
        print_written(out)
    if remade is not None and not remade.same:
        sys.exit(OTHER)
