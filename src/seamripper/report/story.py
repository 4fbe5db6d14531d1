"""The story of a run: the question, the verdict, what it rests on, what speaks against it, and all the rest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from seamripper.errors import StoreError
from seamripper.experiment import parts
from seamripper.experiment.reading import Reading
from seamripper.figures import Figure, Section
from seamripper.report.appendix import all_figures, provenance
from seamripper.report.methods import methods
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


def reading_of(run: Reading | str | os.PathLike[str], experiment: str | None) -> Reading:
    """A reading as it is, or that of a store's experiment: by default of the one that was run last."""
    return run if isinstance(run, Reading) else Reading.open(run, experiment=experiment)


def story_of(run: Reading) -> Story:
    """The story of a run: the sections of its parts in the order of their places, then table, methods, provenance."""
    sections = sorted(_part_sections(run), key=lambda section: section.place)
    table = all_figures(run)
    about = str(run.description.get("about") or "")
    appendix = (*([table] if table else []), methods(run), provenance(run))
    return Story(run.name, about, headline(run), (*sections, *appendix))


def _part_sections(run: Reading) -> Iterator[Section]:
    for name, part in parts.items():
        try:
            yield from part.sections(run)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
            raise StoreError(
                f"The part {name!r} cannot report on its results: {type(e).__name__}: {e}. `seamripper results` has "
                "their figures; `seamripper store check --mend` withdraws records that are damaged."
            ) from e
