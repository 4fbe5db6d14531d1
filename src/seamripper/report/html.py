"""A run as one HTML file: it opens offline, requests nothing, and no name in it can run as a script."""

from __future__ import annotations

import base64
import functools
import math
import os
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from seamripper._files import write_text
from seamripper.experiment.reading import Reading
from seamripper.figures import Answer, Sheet, describe, fragment, numbers_of, style
from seamripper.report.story import Story, reading_of, story_of

FILE = "report.html"


def report(
    run: Reading | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    experiment: str | None = None,
) -> Path:
    """Write the report of a store or of a reading of it; by default as report.html in its folder. Where it is.

    Afterwards `incomplete` of the reading says which of its tensors could not be read.
    """
    run = reading_of(run, experiment)
    path = run.folder / FILE if out is None else Path(out)
    text = page(run)
    write_text(path, text)
    return path


def page(run: Reading | str | os.PathLike[str], *, experiment: str | None = None) -> str:
    """The report of a store or of a reading of it, as text."""
    run = reading_of(run, experiment)
    story = story_of(run)
    # After the story: which tensors are damaged is known only once they have been read.
    return lay_out(story, f"by seamripper from {len(run.results)} of {run.asked} results", incomplete=run.incomplete)


def lay_out(story: Story, made: str, *, incomplete: str | None = None) -> str:
    """A story as a page; `made` says what it was made from, and `incomplete` what is missing in it."""
    css, script = Markup(f"{style()}\n{asset('report.css')}"), Markup(asset("report.js"))
    details = {key: value for section in story.sections for key, value in section.details.items()}
    anchors = _anchors(story)
    drawn = {anchors[id(figure)]: figure for _, figure in story.figures if figure.kind not in ("sheet", "pictures")}
    data = {"details": details, "tables": {anchor: numbers_of(figure) for anchor, figure in drawn.items()}}
    facts = {"story": story, "made": made, "incomplete": incomplete, "data": data}
    return template("report.html").render(**facts, anchor=lambda f: anchors[id(f)], style=css, script=script)


def _anchors(story: Story) -> dict[int, str]:
    """What the address of each figure ends with, by the figure's id: its section and title, and a number if need be."""
    anchors, used = dict[int, str](), Counter[str]()
    for section, figure in story.figures:
        words = re.sub(r"[^a-z0-9]+", "-", figure.title.lower()).strip("-")[:60]
        anchor = f"{section}-{words}"
        used[anchor] += 1
        anchors[id(figure)] = anchor if used[anchor] == 1 else f"{anchor}-{used[anchor]}"
    return anchors


@functools.cache
def template(name: str) -> Template:
    """A template of ours. Whatever its file is called, everything that is not marked as safe is escaped."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(
        draw=lambda figure: Markup(fragment(figure)),
        describe=describe,
        data_url=_data_url,
        answer=_answer,
        has_sentences=_has_sentences,
    )
    return environment.from_string(asset(name))


@functools.cache
def asset(name: str) -> str:
    """A template, style or script of ours, as text."""
    return (files("seamripper.report") / "templates" / name).read_text(encoding="utf-8")


_FEW, _SENTENCE = 40, 80
"""Rows of a table that can be read one below the other; letters of a value that is a sentence."""


def _has_sentences(sheet: Sheet) -> bool:
    """Whether a table is short and has sentences in it: on a telephone each of its rows is a card."""
    words = (value for row in sheet.rows for value in row if isinstance(value, str))
    return len(sheet.rows) <= _FEW and any(len(word) > _SENTENCE for word in words)


def _data_url(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _answer(value: Any) -> str:
    """A value of a table, marked if it is an answer with a tone; whatever is not, the template escapes."""
    if isinstance(value, Answer):
        return Markup('<span class="answer {}">{}</span>').format(value.tone, value)
    return cell(value)


def cell(value: Any) -> str:
    """A value of a table: four digits of a number, nothing for nothing."""
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return "no number" if math.isnan(value) else f"{'−' if value < 0 else ''}∞"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
