"""seamripper compare: every layer of one model against every layer of another, from one pass."""

from __future__ import annotations

import shutil
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import seamripper as sr
from seamripper.cli.inputs import (
    FOLDER,
    SEED,
    Word,
    WordCommand,
    data_for,
    device_options,
    json_option,
    load_model,
    log_option,
    names,
    registry_of,
    resident_option,
    split_option,
)
from seamripper.cli.logs import chosen_loggers, log_result
from seamripper.cli.output import (
    PIPE_WIDTH,
    print_json,
    print_table,
    print_written,
    progress,
    save_methods,
    save_report,
    say,
)
from seamripper.errors import MeasureError
from seamripper.estimate import LEVEL

if TYPE_CHECKING:
    from seamripper.comparing import Matrix

USUAL = ("linear_cka", "opd", "cca_mean")
"""Alignment of Gram matrices, shape, and what linear maps of either side have in common."""
_SHOWN = 4
"""With more measures than this, a file holds the other tables."""
_REASONS = 3
"""Reasons that are shown below a table; they often differ in no more than a number."""


@click.command("compare", cls=WordCommand)
@click.argument("sender")
@click.argument("receiver")
@click.option("--data", required=True, help="The samples for both: mnist/digit, cifar10, folder:PATH, text:FILE, "
                                            "FILE.py:FUNCTION …")  # fmt: skip
@split_option
@click.option("--stream", is_flag=True,
              help="Read folders, files and your own data as the pass comes to them, and hold nothing of "
                   "them.")  # fmt: skip
@click.option("--n", type=click.IntRange(min=2), help="Use this many samples (default: all).")
@click.option("--seed", type=SEED, default=0, show_default=True,
              help="Seed for drawing the samples, and one row of each.")  # fmt: skip
@click.option("-m", "--measures", type=Word("measures"), multiple=True, default=USUAL, show_default=", ".join(USUAL),
              help="Names (see: seamripper list measures), all, moments, batches, rows, or FILE.py:CLASS. Repeatable, "
                   "or separated by commas. direct_functional and task_functional are not part of all, because they "
                   "stitch the models.")  # fmt: skip
@click.option("--sampling", type=click.Choice(["positions", "flatten", "pool"]), default="positions", show_default=True,
              help="How maps and tokens become rows.")  # fmt: skip
@click.option("--cuts", callback=names,
              help="Cuts of both models, separated by commas; * matches anything (default: blocks).")  # fmt: skip
@click.option("--sender-cuts", callback=names, help="Cuts of the sender, if they differ from --cuts.")
@click.option("--receiver-cuts", callback=names, help="Cuts of the receiver, if they differ from --cuts.")
@click.option("--batch", type=click.IntRange(min=1),
              help="Samples per batch. A batch is multiplied at once and goes to one fold (default: up to "
                   "128).")  # fmt: skip
@click.option("--keep", type=click.IntRange(min=0), default=1000, show_default=True,
              help="Rows to keep for measures that need rows.")  # fmt: skip
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True,
              help="Folds of the samples, for the intervals.")  # fmt: skip
@click.option("--no-interval", is_flag=True, help="Only values, without intervals.")
@click.option("--null", type=click.IntRange(min=0), default=0, metavar="N",
              help="Compare every score with those of N permutations of the samples, for example 200: p-values, and "
                   "scores that are 0 for unrelated models. Keeps all activations in memory.")  # fmt: skip
@click.option("--exact", is_flag=True,
              help="Plain forward passes and float64 products: slower, and scores change in the sixth "
                   "digit.")  # fmt: skip
@click.option("--memory", type=click.FloatRange(min=0, min_open=True), metavar="GB",
              help="How much memory the pass may plan with (default: most of what is free). Sums that do not fit stand "
                   "on disk, in the folder of temporary files (TMPDIR).")  # fmt: skip
@click.option("--matching", type=Word("matchings"), default="task", show_default=True,
              help="How the stitches of task_functional are trained: task with options, for example 'task?epochs=3'. "
                   "By default they start from the direct match.")  # fmt: skip
@click.option("--task-samples", type=click.IntRange(min=2),
              help="Samples per stitch of task_functional (default: all).")  # fmt: skip
@click.option("--out", type=FOLDER,
              help="A folder for comparison.json, the report, and cells that were finished before an "
                   "interruption.")  # fmt: skip
@log_option
@device_options
@resident_option
@json_option
def command(sender: str, receiver: str, out: Path | None, as_json: bool, **options: Any) -> None:
    """Compare every cut of SENDER with every cut of RECEIVER, by many measures, in one pass over the data.

    Example: seamripper compare a.safetensors b.safetensors --data cifar10 --measures all --out run/
    """
    from seamripper.data.stream import number_of
    from seamripper.experiment.single import comparison_result

    started, loggers = time.time(), chosen_loggers(options["logs"])
    models = load_model(sender), load_model(receiver)
    data = data_for(options["data"], *models)
    if options["stream"] and options["n"]:
        raise click.UsageError("A stream gives all samples: leave out --n or --stream.")
    drawn = {"stream": True} if options["stream"] else {"n": options["n"]}
    samples = sr.load_data(data, options["split_name"], seed=options["seed"], **drawn)
    with progress(quiet=as_json) as watch:
        comparison = sr.compare(
            *models,
            samples,
            **_request(options, number_of(samples)),
            folder=out,
            memory=None if options["memory"] is None else 1e9 * options["memory"],
            announce=lambda line: click.echo(line, err=as_json),
            watch=watch,
        )
    _require_scores(comparison)
    # Functional matrices first: there are two of them at most, and they take the longest.
    labels = sorted(comparison.matrices, key=lambda label: label not in comparison.record.get("functional", {}))
    labels = labels if out is None else labels[:_SHOWN]
    if not as_json:
        # Before the file, so that a full disk does not take the figures along.
        _show(comparison, labels)
    path, report = None, None
    if out is not None:
        path = comparison.save(out)
        save_methods(out, comparison)
        report = save_report(out, "compare", [comparison_result(comparison)], started=started)
    if as_json:
        print_json({**comparison.as_record(), "file": path and str(path), "report": report and str(report)})
    else:
        total = len(comparison.matrices)
        print_written(path, report, f"all {total} matrices " if total > len(labels) else "")
    log_result(loggers, "compare", comparison, path, report)


def _request(options: dict[str, Any], n: int | None) -> dict[str, Any]:
    """What `compare` is asked for."""
    from seamripper.comparing import Rule, Stitching, batch_for

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
    matchings, word = registry_of("matchings"), options["matching"]
    usual = word.partition("?")[0] == "task"
    task = matchings.vary(Stitching().task, word) if usual else matchings.make(word)
    return {
        "measures": options["measures"],
        "sender_cuts": options["sender_cuts"] or options["cuts"],
        "receiver_cuts": options["receiver_cuts"] or options["cuts"],
        "rule": rule,
        "null": options["null"],
        "stitching": Stitching(task, options["task_samples"]),
    }


def _require_scores(comparison: sr.Comparison) -> None:
    """Where no measure has any score, the reasons are all that there is to tell."""
    matrices = comparison.matrices.values()
    if any(score is not None for matrix in matrices for row in matrix.scores for score in row):
        return
    reasons = dict.fromkeys(reason for matrix in matrices for reason in matrix.failed.values())
    more = f" And {len(reasons) - 3} more such reasons." if len(reasons) > 3 else ""
    raise MeasureError(f"No measure has a score. {' '.join(list(reasons)[:3])}{more}")


def _show(comparison: sr.Comparison, labels: list[str]) -> None:
    record, functional = comparison.record, comparison.record.get("functional", {})
    data, rule = record["data"]["name"], record["rule"]
    say(f"sender {record['sender']['source']}, receiver {record['receiver']['source']}")
    for label in labels:
        matrix = comparison[label]
        made = f"{record['n']:,} samples of {data}, sampling {rule['sampling']}{_rows(matrix, record['n'])}, "
        made += f"{rule['folds']} folds"
        if label in functional:
            fitted = min(functional["fitted"], functional[label].get("samples") or functional["fitted"])
            made = f"stitched on {fitted:,} samples of {data}, scored on {functional['held_out']:,} others, "
            made += f"the last of {rule['folds']} folds"
        _show_matrix(f"{label}, a {matrix.direction}: {made}", comparison, matrix)


def _rows(matrix: Matrix, samples: int) -> str:
    """How many rows a measure is of, where that is not the number of samples: positions are more, kept ones fewer."""
    counts = sorted({score.n for row in matrix.scores for score in row if score is not None and score.n is not None})
    if counts in ([], [samples]):
        return ""
    return f", {counts[0]:,} rows" if len(counts) == 1 else f", {counts[0]:,} to {counts[-1]:,} rows"


def _show_matrix(title: str, comparison: sr.Comparison, matrix: Matrix) -> None:
    """A table, with the reasons below it why some of its cells are empty."""
    receivers = comparison.receivers
    corner = "sender ↓ receiver →"
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    least = 5 if matrix.null is None else 14
    fits = sum(max(len(name), least) + 3 for name in (corner, *receivers)) < width
    columns = receivers if fits else [str(k) for k in range(1, len(receivers) + 1)]
    rows = [[name, *map(_cell, row)] for name, row in zip(comparison.senders, matrix.scores, strict=True)]
    print_table(title, [corner, *columns], rows)
    if matrix.null is not None:
        say(f"score | calibrated, which is 0 where unrelated models score as well; * p ≤ {LEVEL:g}")
    if matrix.null_text:
        say(matrix.null_text)
    if not fits:
        say(f"receiver: {', '.join(f'{k} {name}' for k, name in enumerate(receivers, 1))}")
    cells: dict[str, list[str]] = defaultdict(list)
    for cell, reason in matrix.failed.items():
        cells[reason].append(cell)
    for reason, places in list(cells.items())[:_REASONS]:
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        say(f"– at {places[0]}{more}: {reason}")
    rest = sum(len(names) for names in list(cells.values())[_REASONS:])
    if rest:
        say(f"– at {rest} more, for other reasons: see --json or --out")


def _cell(score: sr.Estimate | None) -> str:
    """A score as a table has it, with what it is worth beside those of permuted samples, if that is known."""
    if score is None:
        return "–"
    null = score.null
    return digits(score.value) + ("" if null is None else f" | {null.calibrated:.3f}{'*' if null.p <= LEVEL else ' '}")


def digits(value: float) -> str:
    """A score as a table has it: with three decimals, or three digits if it is large."""
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"
