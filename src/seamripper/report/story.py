"""The story of a run: the question, the verdict, what it rests on, what speaks against it, and all the rest."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.experiment.reading import Reading
from seamripper.figures import Figure
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


def story_of(run: Reading) -> Story:
    """The story of a run, without the sections that have nothing to say."""
    sections = (make(run) for make in SECTIONS)
    about = str(run.description.get("about") or "")
    return Story(run.name, about, headline(run), tuple(section for section in sections if section is not None))
