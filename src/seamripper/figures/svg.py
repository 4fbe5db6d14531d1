"""Scenes as SVG: text is text, colours follow the ground of the page, every mark says what it is."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from seamripper.figures.colours import GROUND, ROLES
from seamripper.figures.marks import NARROW, WIDE, Mark, label
from seamripper.figures.scene import Scene, scene, standalone
from seamripper.figures.values import Figure

_DASH = "7 5"


def style() -> str:
    """How marks look, by role, as CSS; the variables --ink, --faint, --rule and --ground are the page's."""
    # A figure that was drawn for its place grows a bit with it, and none ever shrinks: its text stays as it is.
    rules = [".seam { display: block; height: auto; }", ".seam.wide, .seam.narrow { width: 100%; }"]
    rules.append(".seam text { fill: var(--ink); font: 11px system-ui, sans-serif; }")
    rules.append(f"@container (min-width: {WIDE}px) {{ .narrow {{ display: none !important; }} }}")
    rules.append(f"@container (max-width: {WIDE - 0.1}px) {{ .wide {{ display: none !important; }} }}")
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
    """A figure to stand in a page that has the style and the title, with its legend as a list.

    It is there twice if it can be drawn for a narrow place, too; the style shows the one that fits.
    """
    wide = scene(figure)
    if not wide.fits:
        return _frame(wide) + _legend(wide)
    narrow = scene(figure, NARROW)
    if wide.legend == narrow.legend:
        return _frame(wide, "wide") + _frame(narrow, "narrow") + _legend(wide)
    return _frame(wide, "wide") + _legend(wide, " wide") + _frame(narrow, "narrow") + _legend(narrow, " narrow")


def _legend(picture: Scene, name: str = "") -> str:
    entries = "".join(
        f'<li><svg class="seam mark" viewBox="0 0 30 14" aria-hidden="true">{"".join(map(_mark, marks))}</svg>'
        f"{escape(name)}</li>"
        for name, marks in picture.legend
    )
    return f'<ul class="legend{name}">{entries}</ul>' if entries else ""


def document(figure: Figure) -> str:
    """A figure as an SVG file, with its title and legend, in light colours."""
    colours = " ".join(f"--{name}: {value};" for name, value in GROUND.items())
    text = f"<style>.seam {{ {colours} background: {GROUND['ground']}; }}\n{style()}</style>"
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return head + _frame(standalone(scene(figure)), inside=text, more='xmlns="http://www.w3.org/2000/svg" ')


def _frame(picture: Scene, name: str = "", *, inside: str = "", more: str = "") -> str:
    """An SVG of its own size; one that was drawn for its place is a bit wider where that is."""
    about, (width, height) = escape(picture.about), (round(picture.width), round(picture.height))
    size = f'style="max-width:{1.3 * width:.0f}px"' if name else f'width="{width}" height="{height}"'
    # The first cell alone is reached by the tab key; from there, arrows lead to the others.
    marks = "".join(map(_mark, picture.marks)).replace('tabindex="-1"', 'tabindex="0"', 1)
    # Within an image nothing could be reached.
    role = "group" if any(mark.key for mark in picture.marks) else "img"
    return (
        f'<svg {more}class="seam{name and " "}{name}" viewBox="0 0 {width} {height}" role="{role}" '
        f'aria-label="{about}" {size}>{inside}{marks}</svg>'
    )


def _mark(mark: Mark) -> str:
    role = f'class="{mark.role}"'
    hover = f' data-told="{escape(mark.hover)}"' if mark.hover else ""
    if mark.shape in ("polyline", "polygon"):
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in mark.points)
        paint = _paint("fill", mark) if mark.shape == "polygon" else f' fill="none"{_stroke(mark)}'
        return f'<{mark.shape} {role} points="{corners}"{paint}{hover}/>'
    x, y = mark.points[0]
    if mark.shape == "line":
        a, b = mark.points[1]
        return f'<line {role} x1="{x:.1f}" x2="{a:.1f}" y1="{y:.1f}" y2="{b:.1f}"{_stroke(mark)}{hover}/>'
    if mark.shape == "circle":
        radius = ROLES[mark.role].radius
        return f'<circle {role} cx="{x:.1f}" cy="{y:.1f}" r="{radius}"{_paint("fill", mark)}{hover}/>'
    if mark.shape == "text":
        return _text(mark, x, y)
    return _box(mark, role, hover)


def _paint(what: str, mark: Mark) -> str:
    """The colour of a mark; one of the ground is the page's own."""
    if mark.colour in GROUND:
        return f' style="{what}:var(--{mark.colour})"'
    return f' {what}="{mark.colour}"' if mark.colour else ""


def _stroke(mark: Mark) -> str:
    return _paint("stroke", mark) + (f' stroke-dasharray="{_DASH}"' if mark.dashed else "")


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
    fill = _paint("fill", mark)
    if mark.role not in ("cell", "same"):
        return f"<rect {role} {place}{fill}{hover}/>"
    opens = f' data-pair="{escape(mark.key)}" tabindex="-1" role="button"' if mark.key else ""
    text = _text(label(mark), *label(mark).points[0]) if mark.text else ""
    return f'<g{hover}{opens} aria-label="{escape(mark.hover)}"><rect {role} {place}{fill}/>{text}</g>'
