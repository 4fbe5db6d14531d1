"""Figures as values, and drawn: as SVG, as PNG, on paper."""

from __future__ import annotations

import itertools
import math
import struct
import zlib
from io import BytesIO
from xml.etree import ElementTree

import matplotlib.colors
import numpy as np
import pytest

from seamripper.estimate import Estimate
from seamripper.figures import (
    Figure,
    Grid,
    Histogram,
    Lines,
    Picture,
    Pictures,
    Series,
    Sheet,
    Strip,
    Words,
    curves,
    describe,
    document,
    fragment,
    plot,
    png,
    scene,
    standalone,
)
from seamripper.figures.colours import LINES, ROLES, ink, shade
from seamripper.figures.scene import label

EVIL = "<script>\"'&$x^{"
NAN = Estimate(math.nan)
LINE = Lines(
    EVIL,
    ("a", "b", EVIL),
    (
        Series(EVIL, (Estimate(0.5, 0.4, 0.6, 3, unit="stitch seeds"), NAN, Estimate(0.9, 0.8, 1.0, 3))),
        Series("alone", (Estimate(0.7, 0.23, 1.0),) * 3, dashed=True),
        Series("never", (NAN, NAN, NAN)),
    ),
    "accuracy",
)
GRID = Grid(
    EVIL,
    ("a", "b"),
    ("a", EVIL),
    ((Estimate(0.1, 0.0, 0.2, 9), NAN), (Estimate(0.9), Estimate(1.0))),
    (0.0, 1.0),
    tags={"measure": "linear_cka"},
    key="0",
)
BINS = Histogram(EVIL, (0.0, 1.0, 2.0), {"native": (3, 1), "stitched": (0, 4)}, "energy")
STRIP = Strip(EVIL, (("self", (Estimate(0.9), Estimate(0.9))), (EVIL, (Estimate(0.1, 0.0, 0.2, 4),))), Estimate(0.5, 0.4, 0.6, 4), "accuracy", {"alone": Estimate(0.8, 0.7, 0.9, 4, unit="samples")})  # fmt: skip  # noqa: E501
IMAGE = png(np.arange(12, dtype=np.uint8).reshape(3, 2, 2))
SHOWN = Pictures(EVIL, ((EVIL, (Picture(IMAGE, "one", "an image"), Picture(IMAGE, EVIL, "another", apart=True))),))
NOTHING = Words(EVIL, f"There is nothing to draw: {EVIL}")
DRAWN = {"lines": LINE, "grid": GRID, "bins": BINS, "strip": STRIP, "pictures": SHOWN, "words": NOTHING}


@pytest.mark.parametrize("name", DRAWN)
def test_svg_is_well_formed_and_escapes_every_name(name: str) -> None:
    figure = DRAWN[name]
    text = fragment(figure)
    image = ElementTree.fromstring(f"<div>{text}</div>").find("svg")
    assert image is not None
    assert "<script" not in text + document(figure)
    assert image.get("role") == "img"
    assert image.get("aria-label") == describe(figure)
    assert "nan" not in text
    alone = ElementTree.fromstring(document(figure).encode())
    assert alone.tag == "{http://www.w3.org/2000/svg}svg"
    assert EVIL in "".join(alone.itertext()), "its title stands in it"


@pytest.mark.parametrize("name", DRAWN)
def test_page_and_paper_draw_the_same_marks(name: str) -> None:
    """Every mark of the scene is in the SVG and in the matplotlib figure, at the same place and in the same colour."""
    marks = standalone(scene(DRAWN[name])).marks
    root = ElementTree.fromstring(document(DRAWN[name]).encode())
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    (axes,) = plot(DRAWN[name]).axes
    labels = sum(bool(mark.text) for mark in marks if mark.shape == "rect")
    shapes = ("line", "polyline", "rect", "circle", "polygon", "text", "image")
    by_shape = {shape: [mark for mark in marks if mark.shape == shape] for shape in shapes}
    for shape, each in by_shape.items():
        assert tags.count(shape) == len(each) + (labels if shape == "text" else 0), shape
    lines = [mark for mark in marks if mark.shape in ("line", "polyline")]
    assert [tuple(zip(*line.get_data(), strict=True)) for line in axes.lines] == [mark.points for mark in lines]
    texts = [mark if mark.shape == "text" else label(mark) for mark in marks if mark.text]
    assert [text.get_position() for text in axes.texts] == [mark.points[0] for mark in texts]
    assert [text.get_text() for text in axes.texts] == [mark.text for mark in texts]
    assert len(axes.patches) == sum(len(by_shape[shape]) for shape in ("rect", "circle", "polygon"))
    for patch, mark in zip(axes.patches, (m for m in marks if m.shape in ("rect", "circle", "polygon")), strict=True):
        if mark.colour.startswith("#"):
            assert matplotlib.colors.to_hex(patch.get_facecolor()) == mark.colour
    assert len(axes.images) == len(by_shape["image"])


def test_every_role_has_a_look() -> None:
    used = {mark.role for figure in DRAWN.values() for mark in standalone(scene(figure)).marks}
    assert used <= set(ROLES)
    assert len(used) > 12


def test_every_mark_tells_its_value_interval_and_n() -> None:
    marks = ElementTree.fromstring(f"<div>{fragment(LINE)}</div>").findall("svg/circle")
    told = [mark.get("data-told") for mark in marks]
    assert f"{EVIL}, a: 0.5 [0.4, 0.6], n = 3 stitch seeds" in told
    assert "alone, b: 0.7 [0.23, 1]" in told
    assert len(told) == 5
    cells = list(ElementTree.fromstring(f"<div>{fragment(GRID)}</div>").iter("g"))
    assert cells[0].get("data-told") == "a × a: linear_cka 0.1 [0, 0.2], n = 9"
    assert cells[0].get("data-pair") == "0-0-0"
    assert [cell.find("rect").get("class") for cell in cells] == ["same", "cell", "cell", "cell"]  # type: ignore[union-attr]


def parsed(text: str) -> tuple[ElementTree.Element, ElementTree.Element]:
    """The figure, and its legend."""
    image, legend = ElementTree.fromstring(f"<div>{text}</div>")
    return image, legend


def test_a_band_is_drawn_where_there_are_intervals_also_of_a_baseline() -> None:
    image, _ = parsed(fragment(LINE))
    assert len(image.findall("polygon")) == 2
    assert [line.get("stroke-dasharray") for line in image.findall("polyline")] == [None, "7 5"]
    whole = Lines("one", ("a",), (Series("alone", (Estimate(0.5, 0.23, 1.0),), dashed=True),), "accuracy")
    image, _ = parsed(fragment(whole))
    (band,) = image.findall("polygon")
    ends = [tuple(map(float, corner.split(","))) for corner in band.get("points", "").split()]
    assert max(x for x, _ in ends) - min(x for x, _ in ends) > 500, "through the whole of the picture"
    (line,) = image.findall("polyline")
    assert len(line.get("points", "").split()) == 2


def test_the_baseline_of_a_strip_has_its_interval_and_tells_it() -> None:
    image, legend = parsed(fragment(STRIP))
    (band,) = [box for box in image.findall("rect[@class='band']") if "alone" in box.get("data-told", "")]
    (line,) = image.findall("line[@class='base']")
    left, wide = float(band.get("x", "")), float(band.get("width", ""))
    assert left < float(line.get("x1", "")) < left + wide
    assert band.get("data-told") == line.get("data-told") == "alone: 0.8 [0.7, 0.9], n = 4 samples"
    assert "alone 0.8 [0.7, 0.9], n = 4 samples" in describe(STRIP)
    assert [entry.find("svg/line").get("class") for entry in legend] == ["observed", "whisker", "base"]  # type: ignore[union-attr]


def test_every_legend_has_the_marks_that_are_drawn() -> None:
    image, legend = parsed(fragment(LINE))
    lines = [mark.find("svg/line") for mark in legend]
    assert [line.get("stroke-dasharray") for line in lines] == [None, "7 5", None]  # type: ignore[union-attr]
    assert [line.get("stroke") for line in lines[:2]] == [line.get("stroke") for line in image.findall("polyline")]  # type: ignore[union-attr]
    assert [len(mark.findall("svg/circle")) for mark in legend] == [1, 1, 1]
    assert [len(mark.findall("svg/rect[@class='band']")) for mark in legend] == [1, 1, 0]
    _, legend = parsed(fragment(BINS))
    assert [len(mark.findall("svg/rect[@class='bin']")) for mark in legend] == [1] * len(BINS.counts)


def test_series_at_one_place_alone_do_not_hide_each_other() -> None:
    pair = Lines("one", ("a",), tuple(Series(name, (Estimate(0.5, 0.4, 0.6),)) for name in "ab"), "accuracy")
    image, legend = parsed(fragment(pair))
    first, second = (float(dot.get("cx", "")) for dot in image.findall("circle"))
    assert second - first > 20
    assert len(image.findall("line[@class='bar']")) == 2, "their intervals are bars"
    assert [len(mark.findall("svg/line")) for mark in legend] == [1, 1], "a bar, and no line that is not drawn"


@pytest.mark.parametrize("figure", [*DRAWN.values(), Sheet("t", ("a",), ((1,),))])
def test_every_figure_has_words(figure: Figure) -> None:
    assert describe(figure).startswith(figure.title)
    assert len(describe(figure)) > len(figure.title) + 10


def test_words_say_what_is_seen() -> None:
    assert "from 0.1 at a × a to 1 at b × " in describe(GRID)
    assert f"{EVIL}: 0.5 [0.4, 0.6] at a to 0.9 [0.8, 1] at {EVIL}" in describe(LINE)
    assert "never: no value" in describe(LINE)
    assert "native about 0.75, stitched about 1.5" in describe(BINS)
    assert "Observed 0.5 [0.4, 0.6], n = 4; self 0.9" in describe(STRIP)


def test_long_curves_are_drawn_by_means_and_wide_ones_on_a_log_scale() -> None:
    falling = curves("loss", {"a": [10.0**-k for k in range(4)], "b": [1.0, math.nan]})
    assert falling.log
    assert falling.places == ("1", "2", "3", "4")
    heights = [mark.points[0][1] for mark in scene(falling).marks if mark.shape == "circle"]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1]), "powers of ten are evenly spaced"
    long = curves("loss", {"a": [1.0] * 1000})
    assert not long.log
    assert len(long.places) == len(long.series[0].points) == 50
    assert long.series[0].points[0].describe() == "1 (mean of 20 steps)"


def test_long_names_of_places_are_turned_and_make_room() -> None:
    series = (Series("a", (Estimate(0.5),) * 8),)
    short, long = (
        scene(Lines("t", names, series, "y")) for names in (tuple("abcdefgh"), ("a.long.name.of.a.layer",) * 8)
    )
    turns = {mark.turn for mark in long.marks if mark.text.startswith("a.long")}
    assert turns == {-25}
    assert long.height > short.height + 50


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


@pytest.mark.parametrize("figure", DRAWN.values())
@pytest.mark.parametrize("format", ["png", "pdf"])
def test_every_figure_can_be_drawn_on_paper(figure: Figure, format: str) -> None:
    buffer = BytesIO()
    plot(figure).savefig(buffer, format=format)
    start = {"png": b"\x89PNG", "pdf": b"%PDF"}[format]
    assert buffer.getvalue().startswith(start)
    assert len(buffer.getvalue()) > 2000
