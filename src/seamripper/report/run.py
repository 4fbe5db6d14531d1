"""Run: what an experiment has found, for a notebook."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from seamripper.errors import StoreError
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.experiment.results import as_pandas
from seamripper.experiment.store import Store
from seamripper.figures import plot
from seamripper.report.html import template
from seamripper.report.story import Story, story_of


@dataclass(frozen=True, eq=False)
class Run:
    """An experiment of a store and its results so far: `Run.open("runs/study")` displays itself in a notebook."""

    reading: Reading = field(repr=False)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, experiment: str | None = None) -> Run:
        """Read an experiment of a store; without a name, the one that was run last."""
        return cls(Reading.open(folder, experiment=experiment))

    def __repr__(self) -> str:
        return f"Run({str(self.reading.folder)!r}, {self.reading.name!r}: {len(self.results)} of {self.reading.asked})"

    @property
    def results(self) -> tuple[Result, ...]:
        """Every result that is there, in the order in which the experiment asks for them."""
        return self.reading.results

    @property
    def story(self) -> Story:
        """What the report tells: the first screen, and the sections with their figures."""
        return story_of(self.reading)

    def table(self) -> Any:
        """Every figure as a pandas DataFrame."""
        with Store(self.reading.folder) as store:
            return as_pandas(store, self.reading.name)

    def _repr_html_(self) -> str:
        """The first screen of the report."""
        return template("card.html").render(run=self.reading, story=self.story)

    def plot(self) -> Any:
        """The first figure of the report, as a matplotlib figure."""
        figures = [figure for _, figure in self.story.figures if figure.kind != "sheet"]
        if not figures:
            raise StoreError(f"{self.reading.name} has nothing to draw yet.")
        return plot(figures[0])
