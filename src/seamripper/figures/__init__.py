"""Figures: values, the one renderer that makes scenes of them, and SVG, PNG and PDF of a scene."""

from __future__ import annotations

from seamripper.figures.paper import plot
from seamripper.figures.png import png
from seamripper.figures.scene import Mark, Scene, scene, standalone
from seamripper.figures.svg import document, fragment, style
from seamripper.figures.values import (
    Cell,
    Figure,
    Grid,
    Histogram,
    Interval,
    Lines,
    Picture,
    Pictures,
    Series,
    Sheet,
    Strip,
    Words,
    curves,
    describe,
)

__all__ = [
    "Cell",
    "Figure",
    "Grid",
    "Histogram",
    "Interval",
    "Lines",
    "Mark",
    "Picture",
    "Pictures",
    "Scene",
    "Series",
    "Sheet",
    "Strip",
    "Words",
    "curves",
    "describe",
    "document",
    "fragment",
    "plot",
    "png",
    "scene",
    "standalone",
    "style",
]
