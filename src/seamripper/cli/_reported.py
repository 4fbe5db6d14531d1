"""One audit, one comparison or the demo as an HTML report: kept in a store, as a study's results are, and told of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seamripper.experiment.single import Single


def reported(folder: Path, name: str, results: Sequence[Single], *, started: float, about: str = "") -> Path:
    """Keep the results in the folder as those of the experiment `name`, and write its report; where that is."""
    from seamripper.experiment.single import keep
    from seamripper.report import report

    keep(folder, name, results, started=started, about=about)
    return report(folder, experiment=name)


def print_report(path: Path | None) -> None:
    """Say where the report is, if there is one."""
    if path is not None:
        print(f"report: {path}")
