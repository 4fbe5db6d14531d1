"""Figures: values, the one renderer that makes scenes of them, and SVG, PNG and PDF of a scene."""

from __future__ import annotations

from seamripper.figures.colours import KINDS, KNOWN, hue
from seamripper.figures.marks import Mark
from seamripper.figures.paper import plot
from seamripper.figures.scene import Scene, scene, standalone
from seamripper.figures.svg import document, fragment, style
from seamripper.figures.values import (
    Answer,
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
    numbers_of,
    png,
    twins,
)

__all__ = [
    "KINDS",
    "KNOWN",
    "Answer",
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
    "hue",
    "numbers_of",
    "plot",
    "png",
    "scene",
    "standalone",
    "style",
    "twins",
]
