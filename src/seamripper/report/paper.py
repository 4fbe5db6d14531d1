"""Figures on paper: the same pictures as PNG, PDF or SVG, by matplotlib."""

from __future__ import annotations

import math
import os
import re
from io import BytesIO
from pathlib import Path
from typing import Any

from seamripper._files import atomic
from seamripper._words import listed, need
from seamripper.errors import FileError
from seamripper.experiment.reading import Reading
from seamripper.report.colours import LINES
from seamripper.report.figures import Figure, Grid, Histogram, Lines, Pictures, Point, Series, Strip, beside
from seamripper.report.story import Story, told

FORMATS = ("png", "pdf", "svg")


def figures(
    folder: str | os.PathLike[str], out: str | os.PathLike[str], *, format: str = "png", experiment: str | None = None
) -> list[Path]:
    """Write every figure of a store's report into the folder `out`, a file each; the paths."""
    if format not in FORMATS:
        raise FileError(f"Expected the format of figures to be {listed(FORMATS, last='or')}, but got {format!r}.")
    need("matplotlib", extra="report", what="Figures on paper")
    return written(told(Reading.open(folder, experiment=experiment)), out, format=format)


def written(story: Story, out: str | os.PathLike[str], *, format: str = "png") -> list[Path]:
    """Write every figure of a story into the folder `out`, a file each; the paths."""
    matplotlib = need("matplotlib", extra="report", what="Figures on paper")
    paths: list[Path] = []
    for number, (section, figure) in enumerate((s, f) for s, f in story.figures if f.kind != "sheet"):
        words = re.sub(r"[^\w.-]+", "-", figure.title)[:60].strip("-")
        path = Path(out) / f"{number + 1:02}-{section}-{words}.{format}"
        buffer = BytesIO()
        # Without a date, and with names that are not drawn by lot: the same figure is the same file.
        dateless = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(format)
        with matplotlib.rc_context({"svg.hashsalt": "seamripper", "svg.fonttype": "none"}):
            drawn(figure).savefig(buffer, format=format, dpi=200, bbox_inches="tight", metadata=dateless)
        with atomic(path) as file:
            file.write(buffer.getvalue())
        paths.append(path)
    return paths


def drawn(figure: Figure) -> Any:
    """A matplotlib figure of it."""
    draw: dict[str, Any] = {
        "lines": _lines,
        "grid": _grid,
        "histogram": _histogram,
        "strip": _strip,
        "pictures": _pictures,
    }
    canvas = need("matplotlib.figure", extra="report", what="A figure").Figure(layout="constrained")
    draw[figure.kind](figure, canvas)
    return canvas


def _lines(figure: Lines, canvas: Any) -> None:
    canvas.set_size_inches(5.5, 3.4)
    axes = canvas.add_subplot()
    at = range(len(figure.places))
    for number, one in enumerate(figure.series):
        values, colour = [point.value for point in one.points], LINES[number % len(LINES)]
        style = {"linestyle": "--"} if one.dashed else {"marker": "o" if len(values) <= 60 else "", "markersize": 4}
        if one.dashed and len(values) == 1:
            # A baseline of the only place there is runs through the whole of it.
            axes.axhline(values[0], color=colour, label=_plain(one.name), **style)
        else:
            axes.plot([k + beside(figure, number) for k in at], values, color=colour, label=_plain(one.name), **style)
        _intervals(axes, one, colour, beside(figure, number))
    every = max(1, len(figure.places) // 8)
    axes.set_xticks(list(at)[::every], [_plain(place) for place in figure.places[::every]], rotation=30, ha="right")
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    if figure.bounds:
        axes.set_ylim(*figure.bounds)
    axes.set_title(_plain(figure.title), fontsize=10)
    axes.legend(fontsize=7, frameon=False)


def _intervals(axes: Any, one: Series, colour: str, shift: float) -> None:
    """The intervals of a line: a band, or of a place that stands alone a bar, or for a baseline a band across."""
    known = [(k, point) for k, point in enumerate(one.points) if point.has_interval]
    if len(known) == 1:
        ((k, point),) = known
        if one.dashed and len(one.points) == 1:
            axes.axhspan(point.low, point.high, color=colour, alpha=0.18, linewidth=0)
        else:
            axes.vlines(k + shift, point.low, point.high, color=colour, linewidth=1.5)
        return
    ends = [p.low for p in one.points], [p.high for p in one.points]
    axes.fill_between(range(len(one.points)), *ends, color=colour, alpha=0.18)


def _grid(figure: Grid, canvas: Any) -> None:
    wide, high = len(figure.columns), len(figure.rows)
    canvas.set_size_inches(1.8 + 0.38 * wide, 1.4 + 0.38 * high)
    axes = canvas.add_subplot()
    values = [[cell.point.value for cell in row] for row in figure.cells]
    colours = "cividis_r" if figure.direction == "distance" else "cividis"
    image = axes.imshow(values, cmap=colours, vmin=figure.scale[0], vmax=figure.scale[1])
    axes.set_xticks(range(wide), [_plain(name) for name in figure.columns], rotation=60, ha="right", fontsize=7)
    axes.set_yticks(range(high), [_plain(name) for name in figure.rows], fontsize=7)
    axes.set_xlabel("receiver", fontsize=8)
    axes.set_ylabel("sender", fontsize=8)
    patch = need("matplotlib.patches", extra="report", what="A figure").Rectangle
    for i, row in enumerate(figure.rows):
        for j, column in enumerate(figure.columns):
            if row == column:
                axes.add_patch(patch((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.5))
            value = values[i][j]
            if wide <= 12 and not math.isnan(value):
                red, green, blue, _ = image.cmap(image.norm(value))
                ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=6, color=ink)
    canvas.colorbar(image, ax=axes, shrink=0.8, label=figure.direction)
    axes.set_title(_plain(figure.title), fontsize=9)


def _histogram(figure: Histogram, canvas: Any) -> None:
    canvas.set_size_inches(5, 3)
    axes = canvas.add_subplot()
    for k, (name, counts) in enumerate(figure.counts.items()):
        axes.stairs(counts, figure.edges, fill=True, alpha=0.5, color=LINES[k % len(LINES)], label=_plain(name))
    axes.set_xlabel(_plain(figure.x))
    axes.set_ylabel("samples")
    axes.set_title(_plain(figure.title), fontsize=9)
    axes.legend(fontsize=8, frameon=False)


def _strip(figure: Strip, canvas: Any) -> None:
    canvas.set_size_inches(5.5, 1.4 + 0.3 * len(figure.groups))
    axes = canvas.add_subplot()
    for k, (_, points) in enumerate(figure.groups):
        label = "controls" if k == 0 else None
        axes.plot(
            [p.value for p in points], [k] * len(points), "o", color=LINES[0], markersize=5, alpha=0.8, label=label
        )
        whiskers = [p for p in points if p.has_interval]
        axes.hlines(
            [k] * len(whiskers), [p.low for p in whiskers], [p.high for p in whiskers], color=LINES[0], alpha=0.5
        )
    _through(axes, figure.observed, color=LINES[1], linewidth=2, label="observed")
    for name, point in figure.baselines.items():
        _through(axes, point, color="grey", linestyle="--", linewidth=1, label=_plain(name))
    axes.set_yticks(range(len(figure.groups)), [_plain(name) for name, _ in figure.groups])
    axes.invert_yaxis()
    axes.set_xlabel(figure.x)
    axes.set_title(_plain(figure.title), fontsize=9)
    axes.legend(fontsize=7, frameon=False)


def _through(axes: Any, point: Point, *, color: str, **style: Any) -> None:
    """A line through all rows, with the band of its interval."""
    axes.axvline(point.value, color=color, **style)
    if point.has_interval:
        axes.axvspan(point.low, point.high, color=color, alpha=0.15, linewidth=0)


def _pictures(figure: Pictures, canvas: Any) -> None:
    image = need("matplotlib.image", extra="report", what="A figure")
    wide = max(len(images) for _, images in figure.rows)
    canvas.set_size_inches(1.2 + 0.75 * wide, 0.4 + 0.95 * len(figure.rows))
    axes = canvas.subplots(len(figure.rows), wide, squeeze=False)
    for row, (name, images) in zip(axes, figure.rows, strict=True):
        for k, place in enumerate(row):
            place.set_axis_off()
            if k < len(images):
                place.imshow(image.imread(BytesIO(images[k].png), format="png"), cmap="gray", vmin=0, vmax=1)
                place.set_title(_plain(images[k].caption), fontsize=5, color=LINES[1] if images[k].apart else "black")
        row[0].text(-0.1, 0.5, _plain(name), ha="right", va="center", fontsize=7, transform=row[0].transAxes)
    canvas.suptitle(_plain(figure.title), fontsize=9)


def _plain(text: str) -> str:
    """Text as it is: matplotlib would read what stands between dollar signs as formulas."""
    return text.replace("$", r"\$")
