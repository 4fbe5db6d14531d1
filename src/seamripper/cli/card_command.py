"""seamripper card: how a number was made, and the same number made again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import seamripper as sr
from seamripper.cli.inputs import FOLDER, OutputPath, json_option
from seamripper.cli.output import print_json, print_written

if TYPE_CHECKING:
    from seamripper.cards import Card

OTHER = 1
"""The exit code if the number comes out otherwise."""


@click.command("card")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("labels", nargs=-1, metavar="[LABEL]...")
@click.option("--remake", "again", is_flag=True, help="Make the number again from the card, and compare.")
@click.option("--trust", is_flag=True, help="With --remake: run code of files that the card names (FILE.py:NAME).")
@click.option("--store", type=FOLDER, help="With --remake: where the results are that a rating or a claim is "
                                           "read from. Without it they are made again.")  # fmt: skip
@click.option("--out", type=OutputPath(".json"), help="Write the card to this file (.json).")
@json_option
def command(file: Path, labels: tuple[str, ...], out: Path | None, as_json: bool, **options: Any) -> None:
    """Say how a number was made: one paragraph, or JSON from which it can be made again.

    FILE is a card, a methods.json, or a folder: that of `--out`, or the store of a study, a benchmark or a paper.
    LABELS name the number there, each by how it begins: in a study, the key of its job first, which `seamripper
    results --json` shows; of a benchmark, `league` first; of a paper, the item.

    \b
    seamripper card run/ linear_cka layer1 layer2
    seamripper card migration/ map own Recall@10 --out card.json
    seamripper card runs/study 1f0c5d2e top1
    seamripper card runs/zoo-bench league identification 'share between' all linear_cka
    seamripper card card.json --remake

    With --remake the exit code is 0 if the number comes out again, 1 if not, 2 if it cannot be made.
    """
    card = _card(file, labels)
    if out is not None:
        card.save(out)
    remade = None
    if options["again"]:
        from seamripper.remaking import remake

        given = {} if options["store"] is None else {"store": options["store"]}
        remade = remake(card, trust=options["trust"], **given)
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


def _card(file: Path, labels: tuple[str, ...]) -> Card:
    """The card in a file, or that of the number which the labels name in a folder."""
    from seamripper.cards import FILE, PART, Card, Methods, holds

    part = file / PART.format(labels[0]) if labels else file
    if file.is_dir() and part.is_file():
        return Methods.load(part).card(*labels[1:])
    path = file / FILE if file.is_dir() else file
    if file.is_dir() and not path.is_file():
        from seamripper.experiment.methods import job_methods

        with sr.Store(file) as store:
            return job_methods(store, labels[0] if labels else "").card(*labels[1:])
    if holds(path) == "methods":
        return Methods.load(path).card(*labels)
    if labels:
        raise click.UsageError(f"{path} is the card of one number, so there is nothing for {labels[0]!r} to name.")
    return Card.load(path)
