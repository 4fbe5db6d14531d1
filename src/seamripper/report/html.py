"""A run as one HTML file: it opens offline, requests nothing, and no name in it can run as a script."""

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
from seamripper.figures import Figure, describe, fragment, style
from seamripper.report.story import Story, story_of

FILE = "report.html"


def report(
    folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, experiment: str | None = None
) -> Path:
    """Write the report of a store; by default as report.html in its folder. The path that was written."""
    return write(Reading.open(folder, experiment=experiment), out)


def write(run: Reading, out: str | os.PathLike[str] | None = None) -> Path:
    """Write the report of a run. Afterwards `run.damage` says which of its tensors could not be read."""
    path = run.folder / FILE if out is None else Path(out)
    text = page_of(run)
    with atomic(path) as file:
        file.write(text.encode())
    return path


def page(folder: str | os.PathLike[str], *, experiment: str | None = None) -> str:
    """The report of a store, as text."""
    return page_of(Reading.open(folder, experiment=experiment))


def page_of(run: Reading) -> str:
    """The report of a run, as text."""
    story = story_of(run)
    # After the story: which tensors are damaged is known only once they have been read.
    return lay_out(story, f"from {len(run.results)} of {run.asked} results", incomplete=run.incomplete)


def lay_out(story: Story, made: str, *, incomplete: str | None = None) -> str:
    """A story as a page; `made` says what it was made from, and `incomplete` what is missing in it."""
    css, script = Markup(f"{style()}\n{_file('report.css')}"), Markup(_file("report.js"))
    details = {key: value for section in story.sections for key, value in section.details.items()}
    facts = {"story": story, "made": made, "incomplete": incomplete, "details": details}
    return str(_template("report.html").render(**facts, style=css, script=script))


def card(run: Reading) -> str:
    """The first screen alone, for a notebook."""
    return str(_template("card.html").render(run=run, story=story_of(run)))


@functools.cache
def _template(name: str) -> Any:
    # Whatever the file is called: everything that is not marked as safe is escaped.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(draw=draw, describe=describe, data_url=data_url, cell=cell)
    return environment.from_string(_file(name))


@functools.cache
def _file(name: str) -> str:
    return (files("seamripper.report") / "templates" / name).read_text(encoding="utf-8")


def draw(figure: Figure) -> Markup:
    """A figure as SVG, in which every name is escaped."""
    return Markup(fragment(figure))


def data_url(data: bytes) -> str:
    """A PNG as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def cell(value: Any) -> str:
    """A value of a table: four digits of a number, nothing for nothing."""
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return "no number" if math.isnan(value) else f"{'−' if value < 0 else ''}∞"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
