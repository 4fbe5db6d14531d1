"""Hernandez, Dangovski, Lu & Soljačić 2022, "Model Stitching: Looking For Functional Similarity"."""

from __future__ import annotations

from pathlib import Path

from seamripper.papers.hernandez2022 import fig_2, fig_4, fig_6, hacking, networks, table_1
from seamripper.papers.hernandez2022.findings import FINDINGS
from seamripper.papers.hernandez2022.setting import SIZES
from seamripper.papers.items import Paper

PAPER = Paper(
    "hernandez2022",
    "Model Stitching: Looking For Functional Similarity Between Representations (Hernandez et al. 2022)",
    tuple(module.ITEM for module in (networks, fig_2, fig_4, table_1, fig_6, hacking)),
    SIZES,
    Path(__file__).with_name("measured.json"),
    FINDINGS,
)
