"""seamripper map: can an index of old embeddings be kept for queries of a new encoder?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import seamripper as sr
from seamripper._progress import Watcher
from seamripper.cli.inputs import (
    FOLDER,
    SEED,
    WordCommand,
    data_for,
    device_options,
    json_option,
    log_option,
    model_at,
    split_for,
    split_option,
)
from seamripper.cli.logs import chosen_loggers, log_result
from seamripper.cli.output import print_json, print_table, print_verdict, progress, save_methods, say

if TYPE_CHECKING:
    from seamripper.mapping import IndexVerdict

EXIT = {"keep": 0, "keep with the map": 0, "embed again": 1, "undecided": 3}
"""The exit code of each answer."""


@click.command("map", cls=WordCommand)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--data", help="With MODEL@CUT for OLD and NEW: the samples that both embed.")
@split_option
@click.option("--n", type=click.IntRange(min=1), help="With --data: use this many samples (default: all).")
@click.option("--metric", type=click.Choice(["cosine", "euclidean"]), default="cosine", show_default=True,
              help="By what the index is searched.")  # fmt: skip
@click.option("--tolerance", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True,
              help="The share of results that may be lost.")  # fmt: skip
@click.option("--queries", type=click.IntRange(min=10), default=1000, show_default=True,
              help="Documents to test on, and as many to choose the map on; at most a fifth of all.")  # fmt: skip
@click.option("--seed", type=SEED, default=0, show_default=True, help="Draws these documents.")
@click.option("--out", type=FOLDER, help="Write the map (.safetensors, .npy), all figures and a page into this folder.")
@log_option
@device_options
@json_option
def command(
    old: str,
    new: str,
    data: str | None,
    split_name: str,
    n: int | None,
    out: Path | None,
    as_json: bool,
    logs: tuple[str, ...],
    **choices: Any,
) -> None:
    """Can the index of OLD embeddings be kept, if queries are embedded by the NEW encoder?

    OLD and NEW are .npy files (n, d) of the same documents in the same order; or, with --data, two encoders as
    MODEL@CUT, whose tokens or maps are averaged. Queries by NEW are mapped into OLD's space, to search OLD's index.

    \b
    seamripper map old.npy new.npy --out migration/
    seamripper map a.safetensors@layer3 b.safetensors@layer3 --data cifar10

    Exit code: 0 if the index can be kept, as it is or with the map; 1 if it must be embedded again; 3 if there are too
    few queries to decide; 2 if something is wrong with what was given.
    """
    from seamripper.mapping import map_embeddings
    from seamripper.mapping.page import save

    if data is None and n is not None:
        raise click.UsageError("--n is for encoders: give --data as well, or leave it out.")
    loggers = chosen_loggers(logs)
    with progress(quiet=as_json) as watch:
        pair = (old, new) if data is None else _activations(old, new, data, split_name, n, watch)
        verdict = map_embeddings(*pair, **choices, watch=watch)
    if not as_json:
        _show(verdict)
    report = None if out is None else save(verdict, out)
    if out is not None:
        save_methods(out, verdict)
    if as_json:
        print_json({**verdict.as_record(), "report": report and str(report)})
    elif report is not None:
        say(f"map and report: {report.parent}")
    log_result(loggers, "map", verdict, report)
    if EXIT[verdict.answer]:
        sys.exit(EXIT[verdict.answer])


def _activations(
    old: str, new: str, data: str, split_name: str, n: int | None, watch: Watcher
) -> tuple[sr.Activations, sr.Activations]:
    """What both encoders make of the same samples."""
    from seamripper.mapping import encode

    (first, there), (second, here) = model_at(old, "old encoder"), model_at(new, "new encoder")
    samples = sr.load_data(data_for(data, first, second), split_name, n=n)
    halves = split_for(samples, first, there, "old encoder"), split_for(samples, second, here, "new encoder")
    return encode(halves[0], samples, watch), encode(halves[1], samples, watch)


def _show(verdict: IndexVerdict) -> None:
    """One screen: the verdict, the figures, and the maps that were tried."""
    from seamripper.mapping.page import QUERIES, figure_rows, rule_words

    record, tests = verdict.record, list(verdict.tests.values())
    tones = {"keep": "good", "keep with the map": "good", "embed again": "bad", "undecided": "open"}
    print_verdict(verdict.answer.upper(), tones[verdict.answer])
    say(verdict.sentence)
    say()
    title = (
        f"{record['new']['name']} → {record['old']['name']}: {record['documents']:,} documents, maps fitted on "
        f"{record['fit']:,}, chosen on {record['choice']:,}, tested on {record['test']:,}; {record['metric']}"
    )
    print_table(title, ["in the old index", *(QUERIES[test.name] for test in tests)], figure_rows(tests))
    tried = [f"{c.label} {c.recall.value:.3f}" for c in verdict.candidates]
    say(f"maps, by Recall@10 of the old query's results on the queries that choose: {', '.join(tried)}")
    say(f"chance for its own document: Recall@10 {record['chance']['10']:.2g}")
    say(f"Rule: {rule_words(verdict)}")
    say(f"Strongest reason to doubt: {verdict.doubt}")
