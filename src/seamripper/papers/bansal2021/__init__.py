"""Bansal, Nakkiran & Barak 2021, "Revisiting Model Stitching to Compare Neural Representations" (NeurIPS)."""

from __future__ import annotations

from pathlib import Path

from seamripper.papers.bansal2021 import better, fig_2a, fig_2b, fig_3a, fig_4, fig_5, networks, same_information
from seamripper.papers.bansal2021.findings import FINDINGS
from seamripper.papers.bansal2021.setting import SIZES
from seamripper.papers.items import Paper

PAPER = Paper(
    "bansal2021",
    "Revisiting Model Stitching to Compare Neural Representations (Bansal, Nakkiran & Barak 2021)",
    (
        networks.ITEM,
        fig_2a.ITEM,
        fig_2b.ITEM,
        better.FIG_2C,
        fig_3a.ITEM,
        better.FIG_3B,
        better.FIG_3C,
        fig_4.ITEM,
        fig_5.ITEM,
        same_information.ITEM,
    ),
    SIZES,
    Path(__file__).with_name("measured.json"),
    FINDINGS,
)
