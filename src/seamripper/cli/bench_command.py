"""seamripper bench: rate measures by tests on a set of networks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seamripper.cli.inputs import (
    FOLDER,
    Word,
    WordCommand,
    asked_device,
    device_options,
    engine_option,
    json_option,
    quiet_option,
    registry_of,
)
from seamripper.cli.output import announce, duration, print_json, print_table, say, standing

if TYPE_CHECKING:
    from seamripper.benchmark import Forecast, League

SOME_FAILED = 1


@click.command("bench", cls=WordCommand)
@click.option("--models", type=click.Path(path_type=Path), required=True, metavar="ZOO.toml",
              help="The networks: see docs/bench.md.")  # fmt: skip
@click.option("--measures", type=Word("measures"), default="all", show_default=True,
              help="Names with commas between them, or FILE.py:CLASS. structural: every structural measure. "
                   "functional: direct_functional, task_functional. audits: conflict, mixing, rule (in the test "
                   "shortcut). all: all of these; audits take longest.")  # fmt: skip
@click.option("--tests", type=Word("tests"), default="all", show_default=True,
              help="identification, sensitivity, specificity, shortcut, or FILE.py:CLASS. See: seamripper list "
                   "tests.")  # fmt: skip
@click.option("--sampling", type=click.Choice(["positions", "flatten", "pool", "balogh2025"]), default="positions",
              show_default=True, help="How activations become rows, for every structural measure. balogh2025: by "
                                      "measure and shapes, as in the code of that paper.")  # fmt: skip
@click.option("--store", type=FOLDER, help="Where results are kept (default: runs/NAME-bench).")
@engine_option
@device_options
@click.option("--out", type=FOLDER, help="Where the page and the tables are written (default: the store).")
@quiet_option
@json_option
def command(models: Path, out: Path | None, quiet: bool, as_json: bool, **options: Any) -> None:
    """Put measures of similarity to tests on the networks of ZOO.toml, and rank them. Stop it and run it again.

    It first says about how long that takes on one worker.

    Every rating comes with an interval over training seeds and a permutation p-value, adjusted for the number of
    measures. Exit code 1 means that some jobs failed.
    """
    from seamripper.benchmark import bench, forecast
    from seamripper.benchmark.page import save

    options["engine"] = registry_of("engines").make(options["engine"])
    if not (quiet or as_json):
        _print_forecast(
            forecast(models, **{name: options[name] for name in ("measures", "tests", "sampling", "store")})
        )
    with standing(quiet=quiet or as_json) as watch:
        league = bench(models, **options, **asked_device(), announce=announce, watch=watch)
    paths = save(league, out)
    if as_json:
        print_json({**league.as_record(), "files": [str(path) for path in paths.values()]})
    elif not quiet:
        _print_league(league)
        say(f"page: {paths['league.html']}\ntable: {paths['league.csv']}")
    if league.trouble:
        sys.exit(SOME_FAILED)


def _print_forecast(forecast: Forecast) -> None:
    """About how long it takes, test by test; nothing if all of it is done."""
    if not any(forecast.seconds.values()):
        return
    tests = ", ".join(f"{test} {duration(seconds)}" for test, seconds in forecast.seconds.items())
    guess = f"; a guess for {', '.join(forecast.guessed)}: no such job was timed here yet" if forecast.guessed else ""
    say(f"about {duration(sum(forecast.seconds.values()))} of work for one worker ({tests}){guess}")


def _print_league(league: League) -> None:
    """The league with a line per measure, how to read it, and what it took."""
    names = (f"{test}\n{statistic}" for test, statistic in league.columns)
    columns = ["", "measure", *names, "mean\nrank", f"rated by\nof {league.counted}"]
    rows = [
        [
            "–" if place is None else str(place),
            measure,
            *(_cell(league, column, measure) for column in league.columns),
            "–" if place is None else f"{league.mean_ranks[measure]:.1f}",
            str(league.counts[measure]),
        ]
        for place, measure in league.places
    ]
    print_table(f"{league.name}: {len(rows)} measures", columns, rows, left=2)
    say(league.caption)
    for test, sentences in league.figure_sentences().items():
        say(f"{test}: {sentences}")
    for sentence in league.cost_sentences():
        say(sentence)
    for measure, why in league.unrated.items():
        say(f"{measure} has no rating: {why}")


def _cell(league: League, column: tuple[str, str], measure: str) -> str:
    """A rating in two short lines: value and mark, then the interval."""
    rating = league.overall.get((column, measure))
    if rating is None:
        return "–"
    estimate = rating.estimate.as_share
    ends = f"\n{estimate.low:.2f}…{estimate.high:.2f}" if estimate.has_interval else ""
    return f"{estimate.value:.3f}{'*' if rating.is_marked else ' '}{ends}"
