"""seamripper report: a study as one HTML file, and its figures on paper."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from seamripper.cli.inputs import FOLDER, OutputPath, json_option, store_argument
from seamripper.cli.output import announce, print_json, say

INCOMPLETE = 1


@click.command("report")
@store_argument
@click.option("--out", type=OutputPath(".html"), help="The file (default: report.html in STORE).")
@click.option("--figures", "folder_out", type=FOLDER,
              help="Write the figures into this folder too, one file each.")  # fmt: skip
@click.option("--format", "format_", type=click.Choice(["png", "pdf", "svg"]), default="png", show_default=True,
              help="Format of the figures.")  # fmt: skip
@click.option("--experiment", help="The experiment to report on (default: the one that was run last).")
@json_option
def command(
    folder: Path, out: Path | None, folder_out: Path | None, format_: str, experiment: str | None, as_json: bool
) -> None:
    """Write the report of the study kept in STORE: one HTML file that opens offline and is safe to mail.

    Exit code 1 means that tensors of the store are missing or damaged, so that whatever is drawn from them is missing.
    """
    from seamripper.experiment.reading import Reading
    from seamripper.report import figures, report

    reading = Reading.open(folder, experiment=experiment)
    path = report(reading, out)
    files = [] if folder_out is None else figures(reading, folder_out, format=format_)
    if as_json:
        sizes = {"report": str(path), "bytes": path.stat().st_size, "figures": [str(file) for file in files]}
        print_json({**sizes, "incomplete": reading.incomplete})
    else:
        say(f"the report: {path} ({path.stat().st_size / 1e6:.1f} MB)")
        if folder_out is not None:
            say(f"{len(files)} figures written to {folder_out}")
        if reading.incomplete:
            announce(f"The report is incomplete: {reading.incomplete}")
    if reading.incomplete:
        sys.exit(INCOMPLETE)
