"""Figures and tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from seamripper.figures import Figure, Grid, Lines, Sheet, describe
from seamripper.report.html import cell


def figure_lines(figure: Figure, files: Mapping[str, str]) -> Iterator[str]:
    """A figure: its title, its picture if there is a file of it, its numbers as a table, and its caption."""
    yield from (f"**{figure.title}**", "")
    if figure.title in files:
        yield from (f"![{describe(figure)}]({files[figure.title]})", "")
    if isinstance(figure, Sheet):
        yield from table_lines(figure.columns, figure.rows)
    elif isinstance(figure, Lines):
        rows = [(series.name, *map(str, series.points)) for series in figure.series]
        yield from table_lines((figure.y, *figure.places), rows)
    elif isinstance(figure, Grid):
        cells = [(name, *map(str, row)) for name, row in zip(figure.rows, figure.cells, strict=True)]
        yield from table_lines((" \\ ".join(figure.axes), *figure.columns), cells)
    if figure.caption:
        yield from (figure.caption, "")


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A table, and an empty line behind it.

    >>> list(table_lines(("a|b", "n"), [("<x>", 0.5)]))
    ['| a\\\\|b | n |', '|---|---|', '| &lt;x> | 0.5 |', '']
    """
    yield f"| {' | '.join(map(_escape, columns))} |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield f"| {' | '.join(_escape(cell(value)) for value in row)} |"
    yield ""


def _escape(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
