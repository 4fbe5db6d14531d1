"""seamripper results: the results of a study as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import seamripper as sr
from seamripper.cli.inputs import FILE, json_option, store_argument
from seamripper.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from seamripper.experiment.parts.base import Row

_ROWS = 40
"""Rows that are shown; a file has all of them."""
_JOINED = ("sender_seed", "sender_cut", "receiver_seed", "receiver_cut", "low", "high")
_WORDS = ("key", "sampling", "experiment", "state")
"""Columns that a screen has no room for."""


@click.command("results")
@store_argument
@click.option("--to", "path", type=FILE, help="Write a .csv or .parquet file.")
@click.option("--experiment", help="Only this experiment (default: all in the store).")
@click.option("--figure", "figures", multiple=True, help="Only these figures: top1, agreement … Repeatable.")
@json_option
def command(folder: Path, path: Path | None, experiment: str | None, figures: tuple[str, ...], as_json: bool) -> None:
    """Show the results kept in STORE, one row per figure with its interval and n, or write them to a file.

    In Python: seamripper.experiment.as_pandas(seamripper.Store("runs/study")).
    """
    from seamripper.experiment import export, table

    with sr.Store(folder) as store:
        if path is not None:
            if figures:
                raise click.UsageError(
                    "--figure is for the screen only: a file has every figure, and you can choose among them later."
                )
            n = export(store, path, experiment)
            print_json({"file": str(path), "rows": n}) if as_json else say(f"{n} rows written to {path}")
            return
        columns, rows = table(store, experiment)
    rows = [row for row in rows if not figures or row.get("figure") in figures]
    if as_json:
        print_json({"columns": columns, "rows": rows})
    else:
        _show(folder, rows)


def _show(folder: Path, rows: list[Row]) -> None:
    """What differs between the rows, in a table; what is the same in all, in a line above it."""
    short = [_short(row) for row in rows]
    names = dict.fromkeys(name for row in short for name in row if name not in _WORDS)
    values = {name: {str(row.get(name)) for row in short} for name in names}
    same = [f"{name} {values[name].pop()}" for name in names if len(values[name]) == 1 and len(rows) > 1]
    used = [name for name in names if len(values[name]) > 1 or len(rows) == 1 or name in ("figure", "value")]
    print_table(
        f"{len(rows)} figures of {folder}" + (f" ({', '.join(same)})" if same else ""),
        used,
        [[_cell(row.get(name)) for name in used] for row in short[:_ROWS]],
        left=len(used),
    )
    if len(rows) > _ROWS:
        say(f"and {len(rows) - _ROWS} more: --to results.csv writes all of them, --figure top1 shows fewer")


def _short(row: Row) -> Row:
    """A row with its many columns in fewer: `colour/0@layer1`, `0.95 [0.94, 0.96]`."""
    short = {name: value for name, value in row.items() if name not in _JOINED}
    for role in ("sender", "receiver"):
        if role in row:
            seed, cut = row.get(f"{role}_seed"), row.get(f"{role}_cut")
            short[role] = row[role] + ("" if seed is None else f"/{seed}") + ("" if cut is None else f"@{cut}")
    if row.get("low") is not None or row.get("high") is not None:
        value, low, high = (_cell(row[name]) or "–" for name in ("value", "low", "high"))
        short["value"] = f"{value} [{low}, {high}]"
    order = ("kind", "model", "sender", "receiver")
    return {name: short[name] for name in (*(n for n in order if n in short), *(n for n in short if n not in order))}


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
