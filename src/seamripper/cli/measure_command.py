"""seamripper measure: similarity indices of stored activations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from seamripper.cli._parse import json_option
from seamripper.cli._show import print_json, print_table
from seamripper.errors import MeasureError

if TYPE_CHECKING:
    from seamripper.comparing import Pairing
    from seamripper.estimate import Estimate
    from seamripper.measures import Measure

USUAL = ("linear_cka", "debiased_cka", "opd", "regression_r2", "mutual_knn")
"""One of each kind: alignment of Gram matrices, biased and not; shape; what a linear map finds; neighbours."""


@click.command("measure")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("-m", "--measures", "words", multiple=True, default=USUAL, show_default=", ".join(USUAL),
              help="A name, with options svcca?dims=20; FILE.py:CLASS; moments, rows, all. Repeatable.")  # fmt: skip
@click.option("--sampling", type=click.Choice(["positions", "flatten", "pool"]), help="How maps or tokens become rows.")
@json_option
def command(
    a: Path, b: Path, words: tuple[str, ...], sampling: Literal["positions", "flatten", "pool"] | None, as_json: bool
) -> None:
    """Measure how similar the activations in A and B are: of the same samples, in the same order.

    A (the sender) and B (the receiver) are files of `seamripper activations`, or .npy files: rows (n, d), tokens
    (n, t, d) or maps (n, c, h, w). The last two need --sampling.
    """
    from seamripper.activations import Activations
    from seamripper.comparing import pair_activations
    from seamripper.measures import choose_measures

    asked = choose_measures(words)
    both = pair_activations(Activations.load(a), Activations.load(b), sampling=sampling, names=(str(a), str(b)))
    scored = [(measure, _scored(measure, both)) for measure in asked]
    if all(isinstance(found, str) for _, found in scored):
        raise MeasureError(" ".join(dict.fromkeys(str(found) for _, found in scored)))
    if as_json:
        print_json([_record(measure, found, both.sampling) for measure, found in scored])
        return
    rows = [
        [measure.label, f"{found.value:.4f}", _interval(found), f"{found.n:,}"]
        for measure, found in scored
        if not isinstance(found, str)
    ]
    print_table(f"{a} and {b}, sampling: {both.sampling}", ["measure", "value", "95 % interval", "n"], rows)
    for _, found in scored:
        if isinstance(found, str):
            print(found)


def _scored(measure: Measure, both: Pairing) -> Estimate | str:
    """The score, or why there is none."""
    from seamripper.measures import reason, score

    try:
        return score(measure, both.pair(measure), sampling=both.sampling)
    except Exception as e:
        return reason(measure, e)


def _record(measure: Measure, found: Estimate | str, sampling: str) -> dict[str, Any]:
    if not isinstance(found, str):
        return found.as_record()
    none = {"value": None, "n": None, "sampling": sampling, "interval": None, "direction": measure.claims.direction}
    return {"measure": measure.label, **none, "reason": found}


def _interval(found: Estimate) -> str:
    return "–" if not found.has_interval else f"[{found.low:.4f}, {found.high:.4f}]"
