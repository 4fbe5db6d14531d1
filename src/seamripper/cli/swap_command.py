"""seamripper swap: may the front of a new model be put under the head of an old one?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import seamripper as sr
from seamripper.cli.inputs import FOLDER, SEED, data_for, device_options, json_option, load_model, names
from seamripper.cli.output import print_json, print_table, print_verdict, progress, say

if TYPE_CHECKING:
    from seamripper.swapping import SwapVerdict

NOT = 1
"""The exit code if the two must not be swapped, or are not shown to be."""
_FLIPS = 5
"""Flips that the screen shows."""


@click.command("swap")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--data", required=True,
              help="Stitches are fitted and chosen on its train split, and tested on its test split.")  # fmt: skip
@click.option("--tolerance", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.01, show_default=True,
              help="The share of the samples that may be lost.")  # fmt: skip
@click.option("--n", type=click.IntRange(min=2), default=2500, show_default=True,
              help="Train samples: four fifths to fit on, a fifth to choose on.")  # fmt: skip
@click.option("--n-test", type=click.IntRange(min=2), help="Test samples (default: all).")
@click.option("--old-cuts", callback=names,
              help="Cuts of OLD to try, separated by commas; * matches anything (default: the last ones).")  # fmt: skip
@click.option("--new-cuts", callback=names, help="The same of NEW.")
@click.option("--audit/--no-audit", default=True, show_default=True, help="Ask whether it works for the right reason.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Draws the samples that choose.")
@click.option("--out", type=FOLDER,
              help="A folder for the joined network (safetensors, .pt2, .onnx), swap.json and swap.html.")  # fmt: skip
@device_options
@json_option
def command(old: str, new: str, data: str, out: Path | None, as_json: bool, **options: Any) -> None:
    """May the front of NEW be put under the head of OLD, joined by a stitch?

    OLD and NEW are models, as `seamripper cuts` takes them; OLD answers with scores of classes.

    \b
    seamripper swap old.safetensors new.safetensors --data cifar10 --tolerance 0.01 --out swap/

    Exit code: 0 if they may be swapped within the tolerance; 1 if not, or if that is not shown; 2 if something is wrong
    with what was given.
    """
    from seamripper.swapping import swap
    from seamripper.swapping.page import save

    models = load_model(old), load_model(new)
    data = data_for(data, *models)
    fit = sr.load_data(data, "train", n=options["n"], seed=options["seed"])
    test = sr.load_data(data, "test", n=options["n_test"], seed=options["seed"])
    request = {name: options[name] for name in ("tolerance", "old_cuts", "new_cuts", "audit", "seed")}
    with progress(quiet=as_json) as watch:
        verdict = swap(*models, fit, test, **request, watch=watch)
    if not as_json:
        # Before the files, so that a full disk does not take the figures along.
        _show(verdict)
    report, exports = (None, ()) if out is None else save(verdict, out)
    if as_json:
        files = {"report": report and str(report), "exports": [export.as_record() for export in exports]}
        print_json({**verdict.as_record(), **files})
    else:
        for export in exports:
            say(str(export))
        if report is not None:
            say(f"report: {report}")
    if verdict.answer != "swap":
        sys.exit(NOT)


def _show(verdict: SwapVerdict) -> None:
    """One screen: the answer, what was tried, which answers flip, the samples needed, the cost, and the doubt."""
    from seamripper.swapping.page import COST_COLUMNS, cost_rows
    from seamripper.swapping.verdict import ANSWERS

    record = verdict.record
    tones = {"swap": "good", "do not swap": "bad", "not shown": "open"}
    print_verdict(f"{ANSWERS[verdict.answer]}. {verdict.sentence}", tones[verdict.answer])
    say(f"Joined: {verdict.joint}.")
    sizes = f"stitches fitted on {record['fitted']:,} samples, chosen on {record['choice']:,} others"
    title = f"{record['data']['fit']}: {sizes}"
    rows = [
        [trial.pair, trial.label, str(trial.loss.penalty), "chosen" if trial is verdict.chosen else ""]
        for trial in verdict.trials
    ]
    print_table(title, ["new, up to → old, from … on", "matching", "loss on the samples that choose", ""], rows, left=2)
    say(f"Flips: {verdict.consequence}")
    for flip in verdict.flips[:_FLIPS]:
        say(f"  sample {flip.id}: {flip.old} → {flip.new} (label {flip.label})")
    if len(verdict.flips) > _FLIPS:
        say(f"  … and {len(verdict.flips) - _FLIPS:,} more: --json or --out")
    say(f"Samples: {verdict.curve.sentence}")
    print_table("Cost", COST_COLUMNS, [list(row) for row in cost_rows(verdict.costs)])
    say(f"Reason: {verdict.reason}")
    say(f"Doubt: {verdict.doubt}")
