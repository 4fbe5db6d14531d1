"""Scenes as SVG: text is text, colours follow the ground of the page, every mark says what it is."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from seamripper.figures.colours import GROUND, ROLES
from seamripper.figures.scene import Mark, Scene, label, scene, standalone
from seamripper.figures.values import Figure

_DASH = "7 5"


def style() -> str:
    """How marks look, by role, as CSS; the variables --ink, --faint, --rule and --ground are the page's."""
    rules = [".seam { display: block; width: 100%; height: auto; }"]
    rules.append(".seam text { fill: var(--ink); font: 11px system-ui, sans-serif; }")
    for name, role in ROLES.items():
        parts = {
            "stroke": role.edge and f"var(--{role.edge})",
            "stroke-width": role.width,
            "stroke-dasharray": role.dash and "5 4",
            "fill-opacity": role.opacity,
            "stroke-opacity": role.opacity,
            "fill": role.fill and f"var(--{role.fill})",
            "font-size": role.font and f"{role.font}px",
        }
        words = " ".join(f"{key}: {value};" for key, value in parts.items() if value)
        rules.append(f".seam .{name} {{ {words} }}")
    return "\n".join(rules)


def fragment(figure: Figure) -> str:
    """A figure to stand in a page that has the style and the title, with its legend as a list."""
    picture = scene(figure)
    entries = "".join(
        f'<li><svg class="seam mark" viewBox="0 0 30 14" aria-hidden="true">{"".join(map(_mark, marks))}</svg>'
        f"{escape(name)}</li>"
        for name, marks in picture.legend
    )
    return _frame(picture) + (f'<ul class="legend">{entries}</ul>' if entries else "")


def document(figure: Figure) -> str:
    """A figure as an SVG file, with its title and legend, in light colours."""
    colours = " ".join(f"--{name}: {value};" for name, value in GROUND.items())
    text = f"<style>.seam {{ {colours} background: {GROUND['ground']}; }}\n{style()}</style>"
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return head + _frame(standalone(scene(figure)), text, 'xmlns="http://www.w3.org/2000/svg" ')


def _frame(picture: Scene, inside: str = "", more: str = "") -> str:
    """An SVG that is as wide as its place allows; a matrix never wider than it is, lines hardly."""
    limit = 1.2 * picture.width if picture.grows else picture.width
    about, size = escape(picture.about), f"{picture.width:.0f} {picture.height:.0f}"
    return (
        f'<svg {more}class="seam" viewBox="0 0 {size}" role="img" aria-label="{about}" '
        f'style="max-width:{limit:.0f}px"><title>{about}</title>{inside}{"".join(map(_mark, picture.marks))}</svg>'
    )


def _mark(mark: Mark) -> str:
    role = f'class="{mark.role}"'
    hover = f' data-told="{escape(mark.hover)}"' if mark.hover else ""
    if mark.shape in ("polyline", "polygon"):
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in mark.points)
        paint = f'fill="{mark.colour}"' if mark.shape == "polygon" else f'fill="none" {_stroke(mark)}'
        return f'<{mark.shape} {role} points="{corners}" {paint}{hover}/>'
    x, y = mark.points[0]
    if mark.shape == "line":
        a, b = mark.points[1]
        return f'<line {role} x1="{x:.1f}" x2="{a:.1f}" y1="{y:.1f}" y2="{b:.1f}" {_stroke(mark)}{hover}/>'
    if mark.shape == "circle":
        return f'<circle {role} cx="{x:.1f}" cy="{y:.1f}" r="{ROLES[mark.role].radius}" fill="{mark.colour}"{hover}/>'
    if mark.shape == "text":
        return _text(mark, x, y)
    return _box(mark, role, hover)


def _stroke(mark: Mark) -> str:
    dash = f' stroke-dasharray="{_DASH}"' if mark.dashed else ""
    return (f'stroke="{mark.colour}"' if mark.colour else "") + dash


def _text(mark: Mark, x: float, y: float) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}"'
    if mark.turn:
        place = f'transform="translate({x:.1f} {y:.1f}) rotate({mark.turn:g})"'
    anchor = f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
    fill = f' style="fill:{mark.colour}"' if mark.colour else ""
    return f'<text class="{mark.role}" {place}{anchor}{fill}>{escape(mark.text)}</text>'


def _box(mark: Mark, role: str, hover: str) -> str:
    (x, y), (a, b) = mark.points
    place = f'x="{x:.1f}" y="{y:.1f}" width="{a - x:.1f}" height="{b - y:.1f}"'
    if mark.shape == "image":
        return f'<image {role} {place} href="data:image/png;base64,{b64encode(mark.png).decode()}"{hover}/>'
    fill = f' fill="{mark.colour}"' if mark.colour else ""
    if mark.colour in GROUND:
        fill = f' style="fill:var(--{mark.colour})"'
    if mark.role not in ("cell", "same"):
        return f"<rect {role} {place}{fill}{hover}/>"
    opens = f' data-pair="{escape(mark.key)}" tabindex="0" role="button"' if mark.key else ""
    text = _text(label(mark), *label(mark).points[0]) if mark.text else ""
    return f'<g{hover}{opens} aria-label="{escape(mark.hover)}"><rect {role} {place}{fill}/>{text}</g>'
