"""The story of a run, from the top down: question, verdict, what it rests on, what speaks against it, all else."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.experiment.reading import Reading
from seamripper.report.figures import Figure
from seamripper.report.sections import SECTIONS
from seamripper.report.sections.base import Section
from seamripper.report.verdict import Headline, headline


@dataclass(frozen=True)
class Story:
    """What a page tells."""

    title: str
    about: str
    first: Headline
    sections: tuple[Section, ...]

    @property
    def figures(self) -> list[tuple[str, Figure]]:
        """Every figure, with the name of its section."""
        return [(section.name, figure) for section in self.sections for figure in section.figures]


def told(run: Reading) -> Story:
    """The story of a run; a section that has nothing to tell is left out."""
    found = (make(run) for make in SECTIONS)
    about = str(run.description.get("about") or "")
    return Story(run.name, about, headline(run), tuple(one for one in found if one is not None))
