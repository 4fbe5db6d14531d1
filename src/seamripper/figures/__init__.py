"""Figures: values, the one renderer that makes scenes of them, and SVG, PNG and PDF of a scene."""

from __future__ import annotations

from seamripper.figures.paper import plot
from seamripper.figures.scene import Mark, Scene, scene, standalone
from seamripper.figures.svg import document, fragment, style
from seamripper.figures.values import (
    Figure,
    Grid,
    Histogram,
    Interval,
    Lines,
    Picture,
    Pictures,
    Section,
    Series,
    Sheet,
    Strip,
    Words,
    curves,
    describe,
    png,
)

__all__ = [
    "Figure",
    "Grid",
    "Histogram",
    "Interval",
    "Lines",
    "Mark",
    "Picture",
    "Pictures",
    "Scene",
    "Section",
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
