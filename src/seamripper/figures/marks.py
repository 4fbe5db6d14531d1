"""What scenes are made of: primitive marks, axes with their ticks, and text that keeps within its room."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from seamripper.figures.colours import ink

WIDE, NARROW, HIGH = 540, 340, 320
"""The pixels of a figure in a wide place, on a telephone, and from top to bottom."""
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 12, 52
LETTER = 6.6
"""The width of a letter."""
_LABEL = 22
"""Letters of a name that fit below an axis."""
Shape = Literal["line", "polyline", "polygon", "rect", "circle", "text", "image"]
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Mark:
    """A primitive shape. `points` are its corners: of a rectangle two, of a circle or a text its place."""

    shape: Shape
    points: Points
    role: str
    """What it is in the figure: see `colours.ROLES`, which says how that looks."""
    colour: str = ""
    """A colour, or the name of one in `colours.GROUND`, or nothing for that of the role."""
    hover: str = ""
    """The sentence for whoever points at it."""
    text: str = ""
    """Of a text, and within a rectangle."""
    key: str = ""
    """What a click on it opens."""
    anchor: Literal["start", "middle", "end"] = "start"
    turn: float = 0.0
    """Degrees by which a text is turned, clockwise."""
    dashed: bool = False
    png: bytes = field(default=b"", repr=False)


class Axis:
    """Numbers from low to high, at places from first to last."""

    def __init__(self, low: float, high: float, first: float, last: float, *, log: bool = False) -> None:
        self.low, self.high = low, high if high > low else low + 1
        self.first, self.last, self.log = first, last, log

    def at(self, value: float) -> float:
        """The place of a value; one beyond an end is a bit beyond it."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, low))
        return self.first + (self.last - self.first) * min(1.05, max(-0.05, (value - low) / (high - low)))

    def ticks(self) -> list[float]:
        """Round numbers, about five of them; on a log scale powers of ten."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            ticks = [k * 10.0**power for power in powers for k in ((1,) if len(powers) > 4 else (1, 3))]
            return [tick for tick in ticks if self.low <= tick <= self.high]
        raw = (self.high - self.low) / (5 if abs(self.last - self.first) > 200 else 3)
        power = 10.0 ** math.floor(math.log10(raw))
        step = min((1, 2, 5, 10), key=lambda k: abs(k * power - raw)) * power
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def y_axis(y: Axis, name: str, last: float) -> Iterator[Mark]:
    """Rules as far as `last`, their numbers, and what they are."""
    for value in y.ticks():
        at = y.at(value)
        yield Mark("line", ((LEFT, at), (last, at)), "rule")
        yield Mark("text", ((LEFT - 6, at + 4),), "tick", text=f"{value:g}", anchor="end")
    yield Mark("text", ((12, HIGH / 2 - 20),), "axis", text=name, anchor="middle", turn=-90)


def x_axis(x: Axis, name: str, *, top: float = TOP + 8, bottom: float = HIGH - BOTTOM) -> Iterator[Mark]:
    """Rules from top to bottom, their numbers, and what they are."""
    for value in x.ticks():
        at = x.at(value)
        yield Mark("line", ((at, top), (at, bottom)), "rule")
        yield Mark("text", ((at, bottom + 14),), "tick", text=f"{value:g}", anchor="middle")
    # Within the picture, however long the words are.
    middle = max((x.first + x.last) / 2, LETTER * len(name) / 2)
    yield Mark("text", ((middle, bottom + 30),), "axis", text=name, anchor="middle")


def places(names: Sequence[str], x: Axis, wide: float) -> tuple[list[Mark], float]:
    """The names below an axis, and how much lower it must end for them: long ones are turned."""
    every = max(1, len(names) // 8)
    ticks = [(x.at(k), short(name)) for k, name in enumerate(names) if k % every == 0]
    longest = max((len(name) for _, name in ticks), default=0)
    if len(ticks) < 2 or LETTER * longest <= (x.last - x.first) / (len(ticks) - 1):
        place = HIGH - BOTTOM + 16
        # Within the picture, also at its edge.
        inside = [(min(at, wide - LETTER * len(name) / 2), name) for at, name in ticks]
        return [Mark("text", ((at, place),), "tick", text=name, anchor="middle") for at, name in inside], 0.0
    place = HIGH - BOTTOM + 12
    marks = [Mark("text", ((at + 4, place),), "tick", text=name, anchor="end", turn=-25) for at, name in ticks]
    return marks, 0.42 * LETTER * longest


def room(names: Sequence[str]) -> float:
    """The pixels that names take beside an axis."""
    return 14 + LETTER * max((min(len(name), _LABEL) for name in names), default=4)


def short(name: str, longest: float = _LABEL) -> str:
    """A name, or its beginning if it is long."""
    return name if len(name) <= longest else f"{name[: int(longest) - 1]}…"


def text_lines(text: str, x: float, y: float, *, role: str, width: float = WIDE) -> Iterator[Mark]:
    """A text in five lines at most; a title begins at its place, any other text has it for its middle."""
    anchor: Literal["start", "middle"] = "start" if role == "title" else "middle"
    for k, line in enumerate(textwrap.wrap(text, int(width / LETTER))[:5]):
        yield Mark("text", ((x, y + 16 * k),), role, text=line, anchor=anchor)


def label(mark: Mark) -> Mark:
    """The text within a rectangle, as a mark."""
    (x, y), (a, b) = mark.points
    return Mark("text", (((x + a) / 2, (y + b) / 2 + 4),), "value", ink(mark.colour), text=mark.text, anchor="middle")
