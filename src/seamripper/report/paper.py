"""The figures of a report as files: PNG and PDF through matplotlib, or SVG."""

from __future__ import annotations

import os
import re
from io import BytesIO
from pathlib import Path

from seamripper._files import atomic
from seamripper._words import need, word_list
from seamripper.errors import FileError
from seamripper.experiment.reading import Reading
from seamripper.figures import Figure, document, plot
from seamripper.report.story import Story, reading_of, story_of

FORMATS = ("png", "pdf", "svg")


def figures(
    run: Reading | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str = "png",
    experiment: str | None = None,
) -> list[Path]:
    """Write every figure of the report of a store, or of a reading of it, into the folder `out`; return the paths."""
    if format not in FORMATS:
        raise FileError(f"Expected the format of figures to be {word_list(FORMATS, last='or')}, but got {format!r}.")
    if format != "svg":
        need("matplotlib", extra="report", what=f"A figure as {format.upper()}")
    return write_figures(story_of(reading_of(run, experiment)), out, format=format)


def write_figures(story: Story, out: str | os.PathLike[str], *, format: str = "png") -> list[Path]:
    """Write every figure of a story into the folder `out`, one file each; return the paths."""
    paths: list[Path] = []
    for number, (section, figure) in enumerate((s, f) for s, f in story.figures if f.kind != "sheet"):
        words = re.sub(r"[^\w.-]+", "-", figure.title)[:60].strip("-")
        path = Path(out) / f"{number + 1:02}-{section}-{words}.{format}"
        with atomic(path) as file:
            file.write(_bytes(figure, format))
        paths.append(path)
    return paths


def _bytes(figure: Figure, format: str) -> bytes:
    if format == "svg":
        return document(figure).encode()
    buffer = BytesIO()
    # Without a date: the same figure is the same file.
    plot(figure).savefig(buffer, format=format, dpi=200, metadata={"CreationDate": None} if format == "pdf" else None)
    return buffer.getvalue()
