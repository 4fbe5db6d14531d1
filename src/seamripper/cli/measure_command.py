"""seamripper measure: similarity indices of stored activations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import seamripper as sr
from seamripper.cli.inputs import Word, WordCommand, json_option, log_option, methods_option
from seamripper.cli.logs import chosen_loggers, log_result
from seamripper.cli.output import print_json, print_table, say

USUAL = ("linear_cka", "debiased_cka", "opd", "regression_r2", "mutual_knn")
"""One of each kind: alignment of Gram matrices, biased and not; shape; what a linear map finds; neighbours."""


@click.command("measure", cls=WordCommand)
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("-m", "--measures", "words", type=Word("measures"), multiple=True, default=USUAL,
              show_default=", ".join(USUAL),
              help="A name, with or without options (svcca?dims=20); FILE.py:CLASS; moments, rows or all. "
                   "Repeatable.")  # fmt: skip
@click.option("--sampling", type=click.Choice(["positions", "flatten", "pool"]), help="How maps or tokens become rows.")
@click.option("--null", type=click.IntRange(min=0), default=0, metavar="N",
              help="Compare every score with those of N permutations of the samples, for example 200.")  # fmt: skip
@methods_option
@log_option
@json_option
def command(
    a: Path,
    b: Path,
    words: tuple[str, ...],
    methods: Path | None,
    logs: tuple[str, ...],
    as_json: bool,
    **choices: Any,
) -> None:
    """Measure how similar the activations in A and B are. Both must be of the same samples, in the same order.

    A (the sender) and B (the receiver) are files of `seamripper activations`, or .npy files: rows (n, d), tokens
    (n, t, d) or maps (n, c, h, w). The last two need --sampling.
    """
    from seamripper.comparing import measure_files
    from seamripper.measures import choose_measures

    loggers, measures, null = chosen_loggers(logs), choose_measures(words), choices["null"]
    measured = measure_files(a, b, measures=measures, **choices)
    scores, reasons = measured.scores, measured.reasons
    if methods is not None:
        measured.methods().save(methods)
    log_result(loggers, "measure", measured, methods)
    if as_json:
        print_json([
            {**scores[m.label].as_record(), "difference": _is_difference(scores[m.label])} if m.label in scores else
            {"measure": m.label, "value": None, "n": None, "sampling": measured.record["sampling"], "interval": None,
             "direction": m.claims.direction, "reason": reasons[m.label]}
            for m in measures
        ])  # fmt: skip
        return
    rows = [
        [label, _kind(score), f"{score.value:.4f}", _interval(score), f"{score.n:,}", *(_null(score) if null else ())]
        for label, score in scores.items()
    ]
    columns = ["measure", "kind", "value", "95 % interval", "n", *(["p", "calibrated"] if null else [])]
    print_table(f"{a} and {b}, sampling: {measured.record['sampling']}", columns, rows, left=2)
    if any(map(_is_difference, scores.values())):
        say("A difference of 0 says that both sides have the same figure, not that they are alike.")
    for why in reasons.values():
        say(why)


def _is_difference(score: sr.Estimate) -> bool:
    return "sides" in score.rule


def _kind(score: sr.Estimate) -> str:
    """Whether more is more alike, or less; of a difference, the figures that it is of."""
    if _is_difference(score):
        sender, receiver = score.rule["sides"]
        return f"difference of {sender:.4g} and {receiver:.4g}"
    better = "higher" if score.rule["direction"] == "similarity" else "lower"
    return f"{score.rule['direction']}: {better} is more alike"


def _interval(score: sr.Estimate) -> str:
    return f"[{score.low:.4f}, {score.high:.4f}]" if score.has_interval else "–"


def _null(score: sr.Estimate) -> list[str]:
    return ["–", "–"] if score.null is None else [f"{score.null.p:.4f}", f"{score.null.calibrated:.4f}"]
