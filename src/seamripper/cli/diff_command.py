"""seamripper diff: two checkpoints of one architecture: which layer diverged first, and does it matter?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import seamripper as sr
from seamripper.cli.inputs import (
    FOLDER,
    SEED,
    WordCommand,
    data_for,
    device_options,
    json_option,
    load_model,
    log_option,
    names,
    resident_option,
    split_option,
)
from seamripper.cli.logs import chosen_loggers, log_result
from seamripper.cli.output import print_json, print_table, print_verdict, print_written, progress, save_methods, say

if TYPE_CHECKING:
    from seamripper.comparing import CutDifference, Difference

DIVERGED = 1
"""The exit code if a layer diverges beyond the tolerance."""
_COLUMNS = ("cut", "relative error", "CKA", "spliced", "stitched")


@click.command("diff", cls=WordCommand)
@click.argument("base")
@click.argument("changed")
@click.option("--data", required=True, help="The samples for both: mnist/digit, cifar10, folder:PATH …")
@split_option
@click.option("--n", type=click.IntRange(min=2), help="Use this many samples (default: all).")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed for drawing the samples.")
@click.option("--tolerance", type=click.FloatRange(min=0),
              help="The relative error up to which a layer counts as the same, for example 0.01 (default: what "
                   "rounding explains in the coarser precision of the two).")  # fmt: skip
@click.option("--cuts", callback=names,
              help="Cuts of BASE, separated by commas; * matches anything (default: blocks).")  # fmt: skip
@click.option("--null", type=click.IntRange(min=0), default=200, show_default=True, metavar="N",
              help="Compare CKA with that of N permutations of the samples.")  # fmt: skip
@click.option("--out", type=FOLDER, help="A folder for diff.json and the page diff.html.")
@log_option
@device_options
@resident_option
@json_option
def command(base: str, changed: str, data: str, out: Path | None, as_json: bool, **options: Any) -> None:
    """Compare CHANGED (fine-tuned, quantised, pruned, converted) with BASE, layer by layer.

    The exit code is 0 if no layer diverges beyond the tolerance, 1 if one does, 2 if the input is wrong.

    Example: seamripper diff model.safetensors quantise.py:int8 --data mnist/digit --tolerance 0.05 --out run/
    """
    from seamripper.comparing import diff
    from seamripper.report.difference import save_page

    loggers = chosen_loggers(options["logs"])
    models = load_model(base), load_model(changed)
    samples = sr.load_data(data_for(data, *models), options["split_name"], n=options["n"], seed=options["seed"])
    request = {name: options[name] for name in ("cuts", "tolerance", "null")}
    with progress(quiet=as_json) as watch:
        difference = diff(*models, samples, **request, watch=watch)
    if not as_json:
        # Before the files, so that a full disk does not take the figures along.
        _show(difference)
    file, page = None, None
    if out is not None:
        file, page = difference.save(out), save_page(difference, out)
        save_methods(out, difference)
    if as_json:
        print_json({**difference.as_record(), "file": file and str(file), "report": page and str(page)})
    else:
        print_written(file, page)
    log_result(loggers, "diff", difference, file, page)
    if not difference.same:
        sys.exit(DIVERGED)


def _show(difference: Difference) -> None:
    """One screen: the verdict, what it means for the answers, the cuts, and the doubt."""
    from seamripper.comparing.difference import brief

    record = difference.record
    print_verdict(difference.verdict, "good" if difference.same else "bad")
    say(difference.consequence)
    title = f"{record['base']['source']} → {record['changed']['source']}, {record['n']:,} samples of "
    title += f"{record['data']['name']}; agreement and KL on {record['held_out']:,}"
    rows = [[cut.name, brief(cut.error), *_cka(cut), *_answers(cut)] for cut in difference.cuts]
    print_table(title, _COLUMNS, rows)
    say("CKA | calibrated, which is 0 where unrelated models score as well")
    say("agreement | KL in nats, with the base: of CHANGED's front and BASE's back, as they are, and with a stitch")
    for cut in difference.cuts:
        for reason in cut.failed:
            say(f"– at {cut.name}: {reason}")
    say(f"Doubt: {difference.doubt}")


def _cka(cut: CutDifference) -> list[str]:
    if cut.cka is None:
        return ["–"]
    return [f"{cut.cka.value:.3f} | " + ("–" if cut.cka.null is None else f"{cut.cka.null.calibrated:.3f}")]


def _answers(cut: CutDifference) -> list[str]:
    """Agreement and KL; their intervals are in the JSON and on the page."""
    return [
        "–" if result is None or result.kl is None else f"{result.agreement.value:.3f} | {result.kl.value:.2g}"
        for result in (cut.spliced, cut.stitched)
    ]
