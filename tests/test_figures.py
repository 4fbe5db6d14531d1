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

from seamripper.estimate import Estimate, over_seeds
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
    numbers_of,
    plot,
    png,
    scene,
    standalone,
    twins,
)
from seamripper.figures.colours import KINDS, LINES, ROLES, hue, ink, shade
from seamripper.figures.marks import NARROW, WIDE, label

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
    assert image.get("role") == ("group" if name == "grid" else "img"), "what can be reached is in no image"
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
    marks = parsed(fragment(LINE))[0].findall("circle")
    told = [mark.get("data-told") for mark in marks if mark.get("data-told")]
    assert f"{EVIL}, a: 0.5 [0.4, 0.6], n = 3 stitch seeds" in told
    assert "alone, b: 0.7 [0.23, 1]" in told
    assert len(told) == 5
    cells = list(ElementTree.fromstring(f"<div>{fragment(GRID)}</div>").iter("g"))
    assert cells[0].get("data-told") == "a × a: linear_cka 0.1 [0, 0.2], n = 9"
    assert cells[0].get("data-pair") == "0-0-0"
    assert [cell.find("rect").get("class") for cell in cells] == ["same", "cell", "cell", "cell"]  # type: ignore[union-attr]


def parsed(text: str) -> tuple[ElementTree.Element, ElementTree.Element]:
    """The figure as it is in a wide place, and its legend: lines have that in a narrow place alone."""
    image, *_, legend = ElementTree.fromstring(f"<div>{text}</div>")
    return image, legend


def seeds(*values: float) -> Estimate:
    return over_seeds({f"seed {k}": value for k, value in enumerate(values)})


def test_seeds_are_dots_and_intervals_stand_beside_each_other_and_no_band_is_drawn() -> None:
    few = (Series("a", (seeds(0.5, 0.7), seeds(0.6, 0.9))), Series("b", (seeds(0.5, 0.6), seeds(0.7, 0.8))))
    alone = Series("alone", (Estimate(0.7, 0.2, 0.9), Estimate(0.8, 0.7, 0.9)), dashed=True)
    marks = scene(Lines("t", ("x", "y"), (*few, alone), "accuracy")).marks
    assert {mark.role for mark in marks}.isdisjoint({"band"})
    assert "a, x: seed 1 0.7" in [mark.hover for mark in marks if mark.role == "unit"]
    assert len([mark for mark in marks if mark.role == "unit"]) == 8
    bars = [mark.points for mark in marks if mark.role == "whisker"]
    assert len(bars) == 6, "a baseline has its interval, too"
    assert len({x for (x, _), _ in bars}) == 6, "no interval hides another"
    many = scene(Lines("t", ("x", "y"), (Series("a", (seeds(*range(40)),) * 2),), "accuracy")).marks
    assert [mark for mark in many if mark.role == "unit"] == [], "of many units the interval says enough"


def test_lines_are_named_at_their_ends_where_there_is_room_and_names_do_not_overlap() -> None:
    series = tuple(Series(f"line {k}", (Estimate(0.1), Estimate(0.9 + 0.001 * k))) for k in range(6))
    wide, narrow = (scene(Lines("t", ("x", "y"), series, "accuracy"), width) for width in (WIDE, NARROW))
    heights = sorted(mark.points[0][1] for mark in wide.marks if mark.text.startswith("line "))
    assert len(heights) == 6
    assert all(b - a > 12 for a, b in itertools.pairwise(heights))
    assert wide.legend == ()
    assert [name for name, _ in narrow.legend] == [one.name for one in series]
    for drawn in (wide, narrow):
        ends = [x for mark in drawn.marks for x, _ in mark.points]
        assert 0 <= min(ends) < max(ends) <= drawn.width


def test_one_place_alone_is_a_dot_plot() -> None:
    lines = (
        Series("a", (seeds(0.5, 0.7),), colour="#123456"),
        Series("alone", (Estimate(0.8, 0.7, 0.9),), dashed=True),
    )
    marks = scene(Lines("t", ("layer2",), lines, "accuracy")).marks
    assert "accuracy, cut layer2" in [mark.text for mark in marks]
    assert {mark.colour for mark in marks if mark.role in ("dot", "unit")} == {"#123456"}
    assert [mark.hover for mark in marks if mark.role == "band"] == ["alone: 0.8 [0.7, 0.9]"]
    assert not [mark for mark in marks if mark.shape == "polyline"]


def test_twins_share_their_axis() -> None:
    low, high = (Lines("t", ("x", "y"), (Series("a", (Estimate(v), Estimate(v + 1))),), "rank") for v in (1.0, 50.0))
    assert {figure.bounds for figure in twins([low, high])} == {(0.0, 53.5)}
    falling = [curves("loss", {"a": [top, top / 100, top / 1000]}) for top in (1.0, 50.0)]
    assert all(0 < figure.bounds[0] < figure.bounds[1] for figure in twins(falling) if figure.bounds), "on a log scale"
    strips = [Strip("t", (("a", (Estimate(v),)),), None, "rank") for v in (1.0, 50.0)]
    assert len({figure.bounds for figure in twins(strips)}) == 1
    bins = [Histogram("t", edges, {"a": (1,)}, "energy") for edges in ((0.0, 1.0), (-3.0, 5.0))]
    assert {figure.bounds for figure in twins(bins)} == {(-3.0, 5.0)}


def test_colours_do_not_run_out_and_controls_have_none_of_them() -> None:
    colours = [hue(k) for k in range(100)]
    assert len(set(colours)) == 100
    assert tuple(colours[: len(LINES)]) == LINES
    assert not set(KINDS.values()) & set(colours)


def test_a_strip_says_what_is_known_of_its_rows() -> None:
    groups = (("self", (Estimate(0.9),)), ("random_sender", (Estimate(0.2),)))
    kinds, colours = {"self": "the same", "random_sender": "nothing"}, {"self": "ink", "": "#123456"}
    drawn = scene(Strip("t", groups, Estimate(0.5), "accuracy", kinds=kinds, colours=colours))
    assert [mark.text for mark in drawn.marks if mark.role == "kind"] == ["the same", "nothing"]
    assert [name for name, _ in drawn.legend] == ["observed", "the same", "nothing"]
    assert [mark.colour for mark in drawn.marks if mark.role == "observed"] == ["#123456"]
    image, _ = parsed(fragment(Strip("t", groups, None, "accuracy", kinds=kinds, colours=colours)) + "<ul/>")
    assert "fill:var(--ink)" in [dot.get("style") for dot in image.findall("circle")], "a colour of the page's ground"


def test_a_matrix_has_titles_of_its_axes_one_tab_stop_and_digits_that_fit() -> None:
    texts = [mark.text for mark in scene(GRID).marks]
    assert {"sender's cuts", "receiver's cuts"} <= set(texts)
    cells = list(ElementTree.fromstring(fragment(GRID)).iter("g"))
    assert [cell.get("tabindex") for cell in cells] == ["0", "-1", "-1", "-1"]
    names = tuple(f"block {k}" for k in range(30))
    rows = tuple(tuple(Estimate(value) for value in (0.25, -1234.5, *[0.5] * 28)) for _ in names)
    drawn = [mark for mark in scene(Grid("t", names, names, rows, (0.0, 1.0))).marks if mark.role in ("cell", "same")]
    assert [mark.text for mark in drawn[:3]] == [".25", "", ".50"], "a cell of 24 pixels has room for three signs"
    wide = Grid("t", ("a",), ("b", "c"), ((Estimate(0.25), Estimate(-1234.5)),), (0.0, 1.0))
    assert [mark.text for mark in scene(wide).marks if mark.role == "cell"] == [".25", ""]


def test_maps_of_listening_speak_of_following_and_frame_nothing() -> None:
    grid = Grid("t", ("1", "2"), ("1", "2"), ((Estimate(0.1), Estimate(0.2)),) * 2, (0.0, 1.0), "share")
    assert "1, ignored → followed" in [mark.text for mark in scene(grid).marks]
    assert not [mark for mark in scene(grid).marks if mark.role == "same"]


def test_no_text_is_smaller_than_11_pixels() -> None:
    assert min(role.font for role in ROLES.values() if role.font) >= 11
    for name, figure in DRAWN.items():
        for width in (WIDE, NARROW):
            assert not scene(figure, width).fits or scene(figure, width).width == width, name


def test_the_numbers_of_a_figure_are_a_table() -> None:
    columns, rows = numbers_of(Lines("t", ("x",), (Series("a", (seeds(0.5, 0.7),)),), "accuracy"))
    assert columns == ("line", "cut", "unit", "value", "low", "high", "n")
    assert [row[2:4] for row in rows] == [("mean", 0.6), ("seed 0", 0.5), ("seed 1", 0.7)]
    assert numbers_of(GRID)[1][1] == ("a", EVIL, None, None, None, None)
    assert numbers_of(BINS) == (("from", "to", "native", "stitched"), [(0.0, 1.0, 3, 0), (1.0, 2.0, 1, 4)])
    assert [row[0] for row in numbers_of(STRIP)[1]] == ["observed", "self", "self", EVIL, "alone"]


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
    lines = [mark.find("svg/line[@class='series']") for mark in legend]
    assert [line.get("stroke-dasharray") for line in lines] == [None, "7 5", None]  # type: ignore[union-attr]
    assert [line.get("stroke") for line in lines[:2]] == [line.get("stroke") for line in image.findall("polyline")]  # type: ignore[union-attr]
    assert [len(mark.findall("svg/circle")) for mark in legend] == [1, 1, 1]
    assert [len(mark.findall("svg/line[@class='whisker']")) for mark in legend] == [1, 1, 0]
    _, legend = parsed(fragment(BINS))
    assert [len(mark.findall("svg/rect[@class='bin']")) for mark in legend] == [1] * len(BINS.counts)


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
