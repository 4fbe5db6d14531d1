"""A run as one HTML file: it opens offline, asks nobody for anything, and names of others cannot run in it."""

from __future__ import annotations

import base64
import functools
import math
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from seamripper._files import atomic
from seamripper.experiment.reading import Reading
from seamripper.report.figures import Figure, Grid, Histogram, Lines, Strip, alternative
from seamripper.report.story import Story, told
from seamripper.report.svg import grid, histogram, lines, scale_bar, strip

FILE = "report.html"


def report(
    folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, experiment: str | None = None
) -> Path:
    """Write the report of a store; by default as report.html in its folder. The path that was written."""
    return written(Reading.open(folder, experiment=experiment), out)


def written(run: Reading, out: str | os.PathLike[str] | None = None) -> Path:
    """Write the report of a run; what could not be read of its tensors is then in `run.damage`."""
    path = run.folder / FILE if out is None else Path(out)
    text = rendered(run)
    with atomic(path) as file:
        file.write(text.encode())
    return path


def page(folder: str | os.PathLike[str], *, experiment: str | None = None) -> str:
    """The report of a store, as text."""
    return rendered(Reading.open(folder, experiment=experiment))


def rendered(run: Reading) -> str:
    """The report of a run, as text."""
    story = told(run)
    # After the story: only whoever has read the tensors knows which of them are damaged.
    return laid_out(story, f"from {len(run.results)} of {run.asked} results", incomplete=run.incomplete)


def laid_out(story: Story, made: str, *, incomplete: str | None = None) -> str:
    """A story as a page; `made` says what it was made from, and `incomplete` what is missing in it."""
    style, script = (Markup(_file(name)) for name in ("report.css", "report.js"))
    details = {key: value for section in story.sections for key, value in section.details.items()}
    facts = {"story": story, "made": made, "incomplete": incomplete, "details": details}
    return str(_template("report.html").render(**facts, style=style, script=script))


def card(run: Reading) -> str:
    """The first screen alone, for a notebook."""
    return str(_template("card.html").render(run=run, story=told(run)))


@functools.cache
def _template(name: str) -> Any:
    # Whatever the file is called: everything that is not marked as safe is escaped.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(
        drawn=drawn, alternative=alternative, data_url=data_url, scale_bar=_scale_bar, shown=shown
    )
    return environment.from_string(_file(name))


@functools.cache
def _file(name: str) -> str:
    return (files("seamripper.report") / "templates" / name).read_text(encoding="utf-8")


def drawn(figure: Figure) -> Markup:
    """A figure as SVG. `svg` escapes every name itself."""
    if isinstance(figure, Lines):
        return Markup(lines(figure))
    if isinstance(figure, Grid):
        return Markup(grid(figure))
    if isinstance(figure, Histogram):
        return Markup(histogram(figure))
    assert isinstance(figure, Strip)
    return Markup(strip(figure))


def _scale_bar(figure: Grid) -> Markup:
    return Markup(scale_bar(figure.scale, figure.direction))


def data_url(data: bytes) -> str:
    """A PNG as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def shown(value: Any) -> str:
    """A value of a table: four digits of a number, nothing for nothing."""
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return "no number" if math.isnan(value) else f"{'−' if value < 0 else ''}∞"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
