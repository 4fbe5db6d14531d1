"""seamripper swap: may the front of a new model be put under the head of an old one?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import seamripper as sr
from seamripper.cli.inputs import (
    FOLDER,
    SEED,
    data_for,
    device_options,
    json_option,
    load_model,
    log_option,
    names,
    resident_option,
)
from seamripper.cli.logs import chosen_loggers, log_result
from seamripper.cli.output import print_json, print_table, print_verdict, progress, save_methods, say

if TYPE_CHECKING:
    from seamripper.swapping import SwapVerdict

EXIT = {"swap": 0, "do not swap": 1, "other reason": 1, "not shown": 3, "reason unknown": 3}
"""The exit code of each answer."""
_FLIPS, _TRIALS = 5, 8
"""Flips and stitches that the screen shows."""


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
              help="A folder for the joined network (safetensors, .pt2, .onnx), all figures and a page.")  # fmt: skip
@log_option
@device_options
@resident_option
@json_option
def command(old: str, new: str, data: str, out: Path | None, as_json: bool, **options: Any) -> None:
    """May the front of NEW be put under the head of OLD, joined by a stitch?

    OLD and NEW are models, as `seamripper cuts` takes them; OLD answers with scores of classes.

    \b
    seamripper swap old.safetensors new.safetensors --data cifar10 --tolerance 0.01 --out swap/

    \b
    Exit code 0: no more than the tolerance is lost, and the audit says that the reason is the right one
                 (with --no-audit, the tolerance alone decides).
              1: more is lost; or the audit says that the new front uses different information.
              3: not shown: too few test samples, or an audit that could not tell the reason.
              2: something is wrong with what was given.
    """
    from seamripper.swapping import swap
    from seamripper.swapping.page import save

    loggers = chosen_loggers(options["logs"])
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
    if out is not None:
        save_methods(out, verdict)
    if as_json:
        files = {"report": report and str(report), "exports": [export.as_record() for export in exports]}
        print_json({**verdict.as_record(), **files})
    else:
        for export in exports:
            say(str(export))
        if report is not None:
            say(f"report: {report}")
    log_result(loggers, "swap", verdict, report)
    if EXIT[verdict.answer]:
        sys.exit(EXIT[verdict.answer])


def _show(verdict: SwapVerdict) -> None:
    """One screen: the answer, what was tried, which answers flip, the samples needed, the cost, and the doubt."""
    from seamripper.swapping.page import COST_COLUMNS, cost_rows
    from seamripper.swapping.verdict import ANSWERS

    record = verdict.record
    tone = {0: "good", 1: "bad", 3: "open"}[EXIT[verdict.answer]]
    print_verdict(f"{ANSWERS[verdict.answer]}. {verdict.sentence}", tone)
    say(f"Joined: {verdict.joint}.")
    sizes = f"stitches fitted on {record['fitted']:,} samples, chosen on {record['choice']:,} others"
    title = f"{record['data']['fit']['name']}: {sizes}"
    tried = sorted(verdict.trials, key=lambda trial: (trial is not verdict.chosen, trial.loss.penalty.value))
    rows = [
        [trial.pair, trial.label, str(trial.loss.penalty), "chosen" if trial is verdict.chosen else ""]
        for trial in tried[:_TRIALS]
    ]
    print_table(title, ["new, up to → old, from … on", "matching", "loss on the samples that choose", ""], rows, left=2)
    if len(tried) > _TRIALS:
        say(f"  … and {len(tried) - _TRIALS} more: --json or --out")
    say(f"Flips: {verdict.consequence}")
    for flip in verdict.flips[:_FLIPS]:
        say(f"  sample {flip.id}: {flip.old} → {flip.new} (label {flip.label})")
    if len(verdict.flips) > _FLIPS:
        say(f"  … and {len(verdict.flips) - _FLIPS:,} more: --json or --out")
    points = "; ".join(f"{point.n:,}: {point.loss.penalty}" for point in verdict.curve.points)
    say(f"Samples: {verdict.curve.sentence} Loss by samples to fit on: {points}")
    costs = [list(row) for row in cost_rows(verdict.costs)]
    print_table("Cost (time: the median of 7 runs [the fastest, the slowest])", COST_COLUMNS, costs)
    say(f"Reason: {verdict.reason}")
    say(f"Doubt: {verdict.doubt}")
