"""Scenes through matplotlib, for PNG and PDF: the same marks, and no plotting of its own."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any

from seamripper._words import need
from seamripper.figures.colours import GROUND, ROLES
from seamripper.figures.marks import Mark, label
from seamripper.figures.scene import scene, standalone
from seamripper.figures.values import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_PIXELS = 100
"""Pixels of a scene to an inch; fonts and lines are measured in points, 72 to an inch."""


def plot(figure: Figure) -> Canvas:
    """A matplotlib figure of it, with title and legend; pyplot is left alone."""
    picture = standalone(scene(figure))
    size = picture.width / _PIXELS, picture.height / _PIXELS
    canvas: Canvas = need("matplotlib.figure", extra="report", what="A plot").Figure(figsize=size)
    axes = canvas.add_axes((0, 0, 1, 1))
    for order, mark in enumerate(picture.marks):
        _draw(axes, mark, order + 2)
    axes.set(xlim=(0, picture.width), ylim=(picture.height, 0), aspect="auto")
    axes.set_axis_off()
    # A notebook shows figures by itself only once pyplot was imported; this one shows itself.
    canvas._repr_png_ = functools.partial(_png, canvas)  # type: ignore[attr-defined]
    return canvas


def _draw(axes: Any, mark: Mark, order: int) -> None:
    role, (x, y) = ROLES[mark.role], mark.points[0]
    colour = GROUND.get(mark.colour, mark.colour) or GROUND.get(role.fill or role.edge, GROUND["ink"])
    width = 0.72 * (role.width or 1)
    edge = GROUND[role.edge] if role.edge else "none"
    if mark.shape == "text":
        font = {"fontsize": 0.72 * (role.font or 11), "color": colour, "parse_math": False}
        side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
        turn = {"rotation": -mark.turn, "rotation_mode": "anchor"}
        axes.text(x, y, mark.text, ha=side, va="baseline", zorder=order, **font, **turn)
    elif mark.shape in ("line", "polyline"):
        dash = (0, (5, 4)) if mark.dashed or role.dash else "solid"
        ends = [a for a, _ in mark.points], [b for _, b in mark.points]
        axes.plot(*ends, color=colour, linewidth=width, linestyle=dash, alpha=role.opacity, zorder=order, marker="")
    elif mark.shape == "image":
        pixels = need("matplotlib.image", extra="report", what="A plot").imread(io.BytesIO(mark.png), format="png")
        (x, y), (a, b) = mark.points
        axes.imshow(pixels, extent=(x, a, b, y), cmap="gray", vmin=0, vmax=1, interpolation="nearest", zorder=order)
    else:
        shapes = need("matplotlib.patches", extra="report", what="A plot")
        paint = {"facecolor": colour, "alpha": role.opacity, "edgecolor": edge, "linewidth": width if role.edge else 0}
        if mark.shape == "circle":
            axes.add_patch(shapes.Circle((x, y), role.radius, zorder=order, **paint))
        elif mark.shape == "polygon":
            axes.add_patch(shapes.Polygon(mark.points, zorder=order, **paint))
        else:
            a, b = mark.points[1]
            axes.add_patch(shapes.Rectangle((x, y), a - x, b - y, zorder=order, **paint))
            if mark.text:
                _draw(axes, label(mark), order)


def _png(canvas: Any) -> bytes:
    file = io.BytesIO()
    canvas.savefig(file, format="png", dpi=_PIXELS)
    return file.getvalue()
