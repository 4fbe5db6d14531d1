"""Smith, Mannering & Marcu 2025, "Functional Alignment Can Mislead: Examining Model Stitching" (ICML)."""

from __future__ import annotations

from pathlib import Path

from seamripper.papers.items import Paper
from seamripper.papers.smith2025 import (
    fig_3,
    fig_4,
    fig_c3,
    fig_d1,
    fig_g1,
    fig_g3,
    section_4_2,
    section_5_1,
    section_5_4,
    section_d4,
    table_1,
    table_b1,
    table_c1,
    table_c2,
    table_d3,
    table_g1,
)
from seamripper.papers.smith2025.findings import FINDINGS
from seamripper.papers.smith2025.setting import SIZES

_ITEMS = (
    *(table_c1, section_4_2, fig_3, table_1, section_d4, section_5_1, section_5_4, fig_c3),
    *(fig_d1, table_c2, table_d3, table_b1, fig_4, fig_g1, fig_g3, table_g1),
)
PAPER = Paper(
    "smith2025",
    "Functional Alignment Can Mislead: Examining Model Stitching (Smith, Mannering & Marcu 2025)",
    tuple(module.ITEM for module in _ITEMS),
    SIZES,
    Path(__file__).with_name("measured.json"),
    FINDINGS,
)
