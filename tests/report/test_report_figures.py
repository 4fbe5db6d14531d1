"""Figures as values, and drawn: as SVG, as PNG, on paper."""

from __future__ import annotations

import itertools
import math
import struct
import zlib
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from seamripper.errors import FileError
from seamripper.report import svg
from seamripper.report.colours import LINES, ink, shade
from seamripper.report.figures import (
    Cell,
    Figure,
    Grid,
    Histogram,
    Lines,
    Picture,
    Pictures,
    Point,
    Series,
    Sheet,
    Strip,
    alternative,
    as_point,
)
from seamripper.report.paper import drawn, figures
from seamripper.report.png import png

EVIL = "<script>\"'&$x^{"
NAN = Point(math.nan)
LINE = Lines(
    EVIL,
    ("a", "b", EVIL),
    (
        Series(EVIL, (Point(0.5, 0.4, 0.6, 3, unit="stitch seeds"), NAN, Point(0.9, 0.8, 1.0, 3))),
        Series("alone", (Point(0.7, 0.23, 1.0),) * 3, dashed=True),
        Series("never", (NAN, NAN, NAN)),
    ),
    "accuracy",
)
GRID = Grid(
    EVIL,
    ("a", "b"),
    ("a", EVIL),
    ((Cell(Point(0.1, 0.0, 0.2, 9), "0-0-0"), Cell(NAN)), (Cell(Point(0.9)), Cell(Point(1.0)))),
    (0.0, 1.0),
    tags={"measure": "linear_cka"},
)
BINS = Histogram(EVIL, (0.0, 1.0, 2.0), {"native": (3, 1), "stitched": (0, 4)}, "energy")
STRIP = Strip(EVIL, (("self", (Point(0.9), Point(0.9))), (EVIL, (Point(0.1, 0.0, 0.2, 4),))), Point(0.5, 0.4, 0.6, 4), "accuracy", {"alone": Point(0.8, 0.7, 0.9, 4, unit="samples")})  # fmt: skip  # noqa: E501
IMAGE = png(np.arange(12, dtype=np.uint8).reshape(3, 2, 2))
SHOWN = Pictures(EVIL, ((EVIL, (Picture(IMAGE, "one", "an image"), Picture(IMAGE, EVIL, "another", apart=True))),))
DRAWN = {
    "lines": (LINE, svg.lines),
    "grid": (GRID, svg.grid),
    "bins": (BINS, svg.histogram),
    "strip": (STRIP, svg.strip),
}


@pytest.mark.parametrize("name", DRAWN)
def test_svg_is_well_formed_and_escapes_every_name(name: str) -> None:
    figure, draw = DRAWN[name]
    text = draw(figure)  # type: ignore[operator]
    root = ElementTree.fromstring(f"<div>{text}</div>")
    assert "<script" not in text
    image = root.find("svg")
    assert image is not None
    assert image.get("role") == "img"
    assert image.get("aria-label") == alternative(figure)  # type: ignore[arg-type]
    assert "nan" not in text.replace("nandeck", "")


def test_every_mark_tells_its_value_interval_and_n() -> None:
    marks = ElementTree.fromstring(f"<div>{svg.lines(LINE)}</div>").findall("svg/circle")
    told = [mark.get("data-told") for mark in marks]
    assert f"{EVIL}, a: 0.5 [0.4, 0.6], n = 3 stitch seeds" in told
    assert "alone, b: 0.7 [0.23, 1]" in told
    assert len(told) == 5
    cells = list(ElementTree.fromstring(f"<div>{svg.grid(GRID)}</div>").iter("g"))
    assert cells[0].get("data-told") == "a × a: linear_cka 0.1 [0, 0.2], n = 9"
    assert cells[0].get("data-pair") == "0-0-0"
    assert [cell.find("rect").get("class") for cell in cells] == ["cell same", "cell", "cell", "cell"]  # type: ignore[union-attr]


def parsed(text: str) -> tuple[ElementTree.Element, ElementTree.Element]:
    """The figure, and its legend."""
    image, legend = ElementTree.fromstring(f"<div>{text}</div>")
    return image, legend


def test_a_band_is_drawn_where_there_are_intervals_also_of_a_baseline() -> None:
    image, _ = parsed(svg.lines(LINE))
    assert len(image.findall("polygon")) == 2
    assert [line.get("stroke-dasharray") for line in image.findall("polyline")] == [None, "7 5", None]
    whole = Lines("one", ("a",), (Series("alone", (Point(0.5, 0.23, 1.0),), dashed=True),), "accuracy")
    image, _ = parsed(svg.lines(whole))
    (band,) = image.findall("polygon")
    ends = [tuple(map(float, corner.split(","))) for corner in band.get("points", "").split()]
    assert max(x for x, _ in ends) - min(x for x, _ in ends) > 500, "through the whole of the picture"
    (line,) = image.findall("polyline")
    assert len(line.get("points", "").split()) == 2


def test_the_baseline_of_a_strip_has_its_interval_and_tells_it() -> None:
    image, legend = parsed(svg.strip(STRIP))
    (band,) = [box for box in image.findall("rect[@class='band']") if "alone" in box.get("data-told", "")]
    (line,) = image.findall("line[@class='base']")
    left, wide = float(band.get("x", "")), float(band.get("width", ""))
    assert left < float(line.get("x1", "")) < left + wide
    assert band.get("data-told") == line.get("data-told") == "alone: 0.8 [0.7, 0.9], n = 4 samples"
    assert "alone 0.8 [0.7, 0.9], n = 4 samples" in alternative(STRIP)
    assert [entry.find("svg/line").get("class") for entry in legend] == ["observed", "whisker", "base"]  # type: ignore[union-attr]


def test_baselines_on_paper_have_their_intervals() -> None:
    (axes,) = drawn(STRIP).axes
    grey = [patch for patch in axes.patches if patch.get_facecolor()[:3] == (0.5019607843137255,) * 3]
    assert [(round(box.get_x(), 3), round(box.get_width(), 3)) for box in grey] == [(0.7, 0.2)]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["controls", "observed", "alone"]
    (axes,) = drawn(LINE).axes
    assert len(axes.collections) == 3
    low, high = axes.collections[1].get_datalim(axes.transData).intervaly
    assert (low, high) == pytest.approx((0.23, 1.0))


def test_every_legend_has_the_marks_that_are_drawn() -> None:
    image, legend = parsed(svg.lines(LINE))
    lines = [mark.find("svg/line") for mark in legend]
    assert [line.get("stroke-dasharray") for line in lines] == [None, "7 5", None]  # type: ignore[union-attr]
    assert [line.get("stroke") for line in lines] == [line.get("stroke") for line in image.findall("polyline")]  # type: ignore[union-attr]
    assert [len(mark.findall("svg/circle")) for mark in legend] == [1, 1, 1]
    assert [len(mark.findall("svg/rect[@class='band']")) for mark in legend] == [1, 1, 0]
    _, legend = parsed(svg.histogram(BINS))
    assert [len(mark.findall("svg/rect[@class='bin']")) for mark in legend] == [1] * len(BINS.counts)


def test_series_at_one_place_alone_do_not_hide_each_other() -> None:
    pair = Lines("one", ("a",), tuple(Series(name, (Point(0.5, 0.4, 0.6),)) for name in "ab"), "accuracy")
    image, legend = parsed(svg.lines(pair))
    first, second = (float(dot.get("cx", "")) for dot in image.findall("circle"))
    assert second - first > 20
    assert len(image.findall("line[@stroke-width='1.5']")) == 2, "their intervals are bars"
    assert [len(mark.findall("svg/line")) for mark in legend] == [1, 1], "a bar, and no line that is not drawn"


@pytest.mark.parametrize("figure", [LINE, GRID, BINS, STRIP, SHOWN, Sheet("t", ("a",), ((1,),))])
def test_every_figure_has_words(figure: Figure) -> None:
    assert alternative(figure).startswith(figure.title)
    assert len(alternative(figure)) > len(figure.title) + 10


def test_words_say_what_is_seen() -> None:
    assert "from 0.1 at a × a to 1 at b × " in alternative(GRID)
    assert f"{EVIL}: 0.5 [0.4, 0.6] at a to 0.9 [0.8, 1] at {EVIL}" in alternative(LINE)
    assert "never: no value" in alternative(LINE)
    assert "native about 0.75, stitched about 1.5" in alternative(BINS)
    assert "Observed 0.5 [0.4, 0.6], n = 4; self 0.9" in alternative(STRIP)


def test_a_point_of_a_record() -> None:
    known = as_point({"value": 0.5, "interval": [0.4, 0.6], "n": 7}, "note", unit="samples")
    assert known.told == "0.5 [0.4, 0.6], n = 7 samples (note)"
    assert as_point({"value": None, "interval": [None, None], "n": 7}, unit="samples").told == "no value"
    assert as_point(None, unit="samples").told == "no value"


def test_colours_go_from_dark_to_bright_and_can_be_read_on() -> None:
    bright = [sum(int(shade(k / 20, (0, 1))[i : i + 2], 16) for i in (1, 3, 5)) for k in range(21)]
    assert all(b >= a - 30 for a, b in itertools.pairwise(bright))
    assert shade(0.2, (0, 1)) == shade(0.8, (0, 1), reverse=True)
    assert shade(-5, (0, 1)) == shade(0, (0, 1))
    assert shade(3, (2, 2))
    assert len(set(LINES)) == len(LINES)
    for k in range(21):
        colour = shade(k / 20, (0, 1))
        assert contrast(colour, ink(colour)) >= 4.5, colour


def contrast(a: str, b: str) -> float:
    """WCAG's contrast of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_png_holds_its_pixels(channels: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (channels, 5, 7), dtype=np.uint8)
    data = png(image)
    assert struct.unpack(">II", data[16:24]) == (7, 5)
    start = data.index(b"IDAT") + 4
    raw = zlib.decompress(data[start : start + struct.unpack(">I", data[start - 8 : start - 4])[0]])
    rows = np.frombuffer(raw, np.uint8).reshape(5, 1 + 7 * channels)[:, 1:]
    assert np.array_equal(rows.reshape(5, 7, channels), image.transpose(1, 2, 0))
    import matplotlib.image

    read = matplotlib.image.imread(BytesIO(data), format="png")
    assert np.allclose(read.reshape(5, 7, -1)[..., :channels] * 255, image.transpose(1, 2, 0))


@pytest.mark.parametrize("figure", [LINE, GRID, BINS, STRIP, SHOWN])
@pytest.mark.parametrize("format", ["png", "pdf", "svg"])
def test_every_figure_can_be_drawn_on_paper(figure: Figure, format: str) -> None:
    buffer = BytesIO()
    drawn(figure).savefig(buffer, format=format)
    start = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[format]
    assert buffer.getvalue().startswith(start)
    assert len(buffer.getvalue()) > 2000


def test_figures_of_a_study_are_written_a_file_each(study: Path, tmp_path: Path) -> None:
    written = figures(study, tmp_path / "figs", format="pdf")
    assert len(written) >= 12
    assert all(path.read_bytes().startswith(b"%PDF") for path in written)
    again = figures(study, tmp_path / "again", format="pdf")
    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in again]
    with pytest.raises(FileError, match="'png', 'pdf' or 'svg', but got 'jpg'"):
        figures(study, tmp_path, format="jpg")
