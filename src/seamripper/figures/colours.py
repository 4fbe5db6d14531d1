"""Colours that the colour-blind can tell apart, on light and on dark ground, and how each role looks."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito 2008, without black and yellow, which vanish on one ground or the other."""
KINDS = {"same": "ink", "nothing": "faint", "broken": "#8c6d31", "probe": "#7f7f7f"}
"""The colours of controls, by what is known of them: none that a model has."""
KNOWN = {
    "same": "the same information",
    "nothing": "has learnt nothing",
    "broken": "pairing broken: must fail",
    "probe": "no stitch at all",
}
"""What is known of a control, in words."""


def hue(number: int) -> str:
    """The colour of the model, or the line, of this number: those of `LINES` first, then others without end.

    >>> hue(0), len({hue(number) for number in range(200)})
    ('#0072b2', 200)
    """
    if number < len(LINES):
        return LINES[number]
    # Steps of the golden ratio never meet, and three tones tell neighbours apart.
    parts = colorsys.hls_to_rgb(0.618034 * number % 1, (0.42, 0.55, 0.48)[number % 3], (0.75, 0.45, 0.6)[number % 3])
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


_CIVIDIS = (
    (0, 34, 78), (8, 51, 112), (53, 69, 108), (79, 87, 108), (102, 105, 112), (125, 124, 120), (148, 142, 119),
    (174, 163, 113), (200, 184, 102), (229, 207, 82), (254, 232, 56),
)  # fmt: skip
"""Cividis (Nuñez, Anderton and Renslow 2018) at eleven places, between which it is nearly straight."""


def shade(value: float, scale: tuple[float, float], *, reverse: bool = False) -> str:
    """The colour of a value on a scale, dark to bright; a value beyond an end has the colour of that end.

    >>> shade(0.0, (0, 1)), shade(1.0, (0, 1)), shade(2.0, (0, 2), reverse=True)
    ('#00224e', '#fee838', '#00224e')
    """
    low, high = scale
    share = 0.5 if high == low else min(1.0, max(0.0, (value - low) / (high - low)))
    place = (1 - share if reverse else share) * (len(_CIVIDIS) - 1)
    k = min(int(place), len(_CIVIDIS) - 2)
    mixed = (a + (b - a) * (place - k) for a, b in zip(_CIVIDIS[k], _CIVIDIS[k + 1], strict=True))
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def ink(colour: str) -> str:
    """Black or white, whichever can be read on a colour (WCAG's relative luminance).

    >>> ink("#00224e"), ink("#fee838")
    ('#ffffff', '#000000')
    """
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    bright = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if bright > 0.179 else "#ffffff"


@dataclass(frozen=True)
class Role:
    """How the marks of a role look. `edge` and `fill` are colours of the ground: ink, faint, rule or ground."""

    width: float = 0.0
    opacity: float | None = None
    edge: str = ""
    fill: str = ""
    dash: bool = False
    radius: float = 0.0
    font: int = 0


ROLES = {
    "title": Role(font=12, fill="ink"),
    "axis": Role(font=12, fill="faint"),
    "tick": Role(font=11, fill="ink"),
    "kind": Role(font=11, fill="faint"),
    "value": Role(font=11),
    "rule": Role(width=1, edge="rule"),
    "series": Role(width=2),
    "leader": Role(width=1, opacity=0.6),
    "whisker": Role(width=1.5, opacity=0.6),
    "unit": Role(opacity=0.55, radius=2.5),
    "observed": Role(width=3),
    "base": Role(width=1, edge="faint", dash=True),
    "band": Role(opacity=0.18),
    "bin": Role(opacity=0.55),
    "dot": Role(width=1, edge="ground", radius=4.5),
    "small": Role(width=1, edge="ground", radius=3),
    "cell": Role(width=0.5, edge="rule"),
    "same": Role(width=2, edge="ink"),
    "scale": Role(),
    "image": Role(),
}
"""What marks are in a figure, and how that looks on the page, in a notebook and on paper."""

GROUND = {"ink": "#1b1d1f", "faint": "#5c6066", "rule": "#d9dadb", "ground": "#ffffff"}
"""The colours of a light ground; a page has its own."""
