"""seamripper compare: every layer of one model against every layer of another, from one pass."""

from __future__ import annotations

import shutil
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seamripper.cli._parse import SEED, data_for, json_option
from seamripper.cli._reported import print_report, reported
from seamripper.cli._show import print_json, print_table, progress
from seamripper.errors import MeasureError

if TYPE_CHECKING:
    from seamripper.comparing import Comparison, Matrix

USUAL = ("linear_cka", "opd", "cca_mean")
"""Alignment of Gram matrices, shape, and what linear maps of either side have in common."""

_SHOWN = 4
"""With more measures than this, a file holds the other tables."""
_REASONS = 3
"""Reasons that are shown below a table; they often differ in no more than a number."""
_PIPE = 160
"""Columns of a table where no terminal is looking."""


def _words(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [word.strip() for word in value.split(",")]


@click.command("compare")
@click.argument("sender")
@click.argument("receiver")
@click.option("--data", "data_name", required=True, help="The samples for both: mnist/digit, cifar10, folder:PATH …")
@click.option("--split", "split_name", type=click.Choice(["train", "test"]), default="test", show_default=True)
@click.option("--n", type=click.IntRange(min=2), help="So many samples (default: all).")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Draws the samples, and one row of each.")
@click.option("-m", "--measures", "words", multiple=True, default=USUAL, show_default=", ".join(USUAL),
              help="See: seamripper list measures. Or all, moments, batches, rows; FILE.py:CLASS. Commas, or repeated. "
                   "Not in all, as they stitch the models: direct_functional, task_functional.")  # fmt: skip
@click.option("--sampling", type=click.Choice(["positions", "flatten", "pool"]), default="positions", show_default=True,
              help="How maps and tokens become rows.")  # fmt: skip
@click.option("--cuts", callback=_words, help="Of both models, with commas; * stands for anything (default: blocks).")
@click.option("--sender-cuts", callback=_words, help="Of the sender, if not those of --cuts.")
@click.option("--receiver-cuts", callback=_words, help="Of the receiver, if not those of --cuts.")
@click.option("--batch", type=click.IntRange(min=1),
              help="Samples that are multiplied at once, and go to one fold (default: up to 128).")  # fmt: skip
@click.option(
    "--keep", type=click.IntRange(min=0), default=1000, show_default=True, help="Rows kept for measures of rows."
)
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Of samples, for intervals.")
@click.option("--no-interval", is_flag=True, help="Values alone.")
@click.option("--exact", is_flag=True, help="Plain forward passes and float64 products: slower, the sixth digit moves.")
@click.option("--task-samples", type=click.IntRange(min=2), help="task_functional: samples a stitch (default: all).")
@click.option("--task-epochs", type=click.IntRange(min=0), default=10, show_default=True, help="task_functional.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False),
              help="A folder for comparison.json, the report, and cells that were finished before a stop.")  # fmt: skip
@json_option
def command(sender: str, receiver: str, out: Path | None, as_json: bool, **options: Any) -> None:
    """Compare every cut of SENDER with every cut of RECEIVER, by many measures, in one pass over the data.

    Example: seamripper compare a.safetensors b.safetensors --data cifar10 --measures all --out run/
    """
    from seamripper.comparing import compare
    from seamripper.data import load_data
    from seamripper.experiment.single import comparison_result
    from seamripper.models import load

    started = time.time()
    models = load(sender), load(receiver)
    data_name = data_for(options["data_name"], *models)
    samples = load_data(data_name, options["split_name"], n=options["n"], seed=options["seed"])
    both = options["cuts"]
    with progress(quiet=as_json) as watch:
        found = compare(
            *models,
            samples,
            measures=options["words"],
            sender_cuts=options["sender_cuts"] or both,
            receiver_cuts=options["receiver_cuts"] or both,
            **_how(options, len(samples)),
            folder=out,
            announce=lambda line: click.echo(line, err=as_json),
            watch=watch,
        )
    _require_scores(found)
    # Functional matrices first: there are two of them at most, and they take the longest.
    shown = sorted(found.matrices, key=lambda name: name not in found.record.get("functional", {}))
    shown = shown if out is None else shown[:_SHOWN]
    if not as_json:
        # Before the file, so that a full disk does not take the figures along.
        _show(found, shown)
    path, report = None, None
    if out is not None:
        path = found.save(out)
        report = reported(out, "compare", [comparison_result(found)], started=started)
    if as_json:
        print_json({**found.as_record(), "file": path and str(path), "report": report and str(report)})
    elif path is not None:
        all_of = f"all {len(found.matrices)} matrices " if len(found.matrices) > len(shown) else ""
        print(f"{all_of}written to {path}")
        print_report(report)


def _how(options: dict[str, Any], n: int) -> dict[str, Any]:
    from seamripper.comparing import Rule, Stitching, batch_for
    from seamripper.matching import Task
    from seamripper.models import Training

    rule = Rule(
        sampling=options["sampling"],
        batch=options["batch"] or batch_for(n, options["folds"]),
        folds=options["folds"],
        keep=options["keep"],
        interval=not options["no_interval"],
        seed=options["seed"],
        optimise=not options["exact"],
        products="float64" if options["exact"] else "float32",
    )
    task = Task(Training(epochs=options["task_epochs"]), init="direct")
    return {"rule": rule, "stitching": Stitching(task, options["task_samples"])}


def _require_scores(found: Comparison) -> None:
    """Where no measure has any score, the reasons are all that there is to tell."""
    if any(score is not None for matrix in found.matrices.values() for row in matrix.scores for score in row):
        return
    reasons = dict.fromkeys(reason for matrix in found.matrices.values() for reason in matrix.failed.values())
    more = f" And {len(reasons) - 3} more such." if len(reasons) > 3 else ""
    raise MeasureError(f"There is no score at all. {' '.join(list(reasons)[:3])}{more}")


def _show(found: Comparison, names: list[str]) -> None:
    record = found.record
    n, rule = f"{record['n']:,} samples of {record['data']['name']}", record["rule"]
    print(f"sender {record['sender']['source']}, receiver {record['receiver']['source']}")
    for name in names:
        matrix = found[name]
        made = f"{n}, sampling {rule['sampling']}{_rows(matrix, record['n'])}, {rule['folds']} folds"
        if name in record.get("functional", {}):
            parts = record["functional"]
            fitted = min(parts["fitted"], parts[name].get("samples") or parts["fitted"])
            made = f"stitched on {fitted:,} samples of {record['data']['name']}, "
            made += f"scored on {parts['held_out']:,} others, the last of {rule['folds']} folds"
        _show_matrix(f"{name}, a {matrix.direction}: {made}", found, matrix)


def _rows(matrix: Matrix, samples: int) -> str:
    """How many rows a measure is of, where that is not the number of samples: positions are more, kept ones fewer."""
    counts = sorted({score.n for row in matrix.scores for score in row if score is not None and score.n is not None})
    if counts in ([], [samples]):
        return ""
    return f", {counts[0]:,} rows" if len(counts) == 1 else f", {counts[0]:,} to {counts[-1]:,} rows"


def _show_matrix(title: str, found: Comparison, matrix: Matrix) -> None:
    """A table, with the reasons below it why some of its cells are empty."""
    names = [f"{k} {name}" for k, name in enumerate(found.receivers, 1)]
    corner = "sender ↓ receiver →"
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE
    fits = sum(max(len(name), 5) + 3 for name in (corner, *found.receivers)) < width
    columns = found.receivers if fits else [str(k) for k in range(1, len(names) + 1)]
    rows = [
        [name, *("–" if score is None else _digits(score.value) for score in row)]
        for name, row in zip(found.senders, matrix.scores, strict=True)
    ]
    print_table(title, [corner, *columns], rows)
    if not fits:
        print(f"receiver: {', '.join(names)}")
    cells: dict[str, list[str]] = defaultdict(list)
    for cell, reason in matrix.failed.items():
        cells[reason].append(cell)
    for reason, those in list(cells.items())[:_REASONS]:
        more = f" and {len(those) - 1} more" if len(those) > 1 else ""
        print(f"– at {those[0]}{more}: {reason}")
    rest = sum(len(those) for those in list(cells.values())[_REASONS:])
    if rest:
        print(f"– at {rest} more for reasons of their own, which --json and --out have")


def _digits(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"
