"""Balogh & Jelasity 2025, "How Not to Stitch Representations to Measure Similarity" (AAAI)."""

from __future__ import annotations

from pathlib import Path

from seamripper.papers.balogh2025 import fooled, networks, ood, table_1, table_2, table_3, tlm
from seamripper.papers.balogh2025.findings import FINDINGS
from seamripper.papers.balogh2025.setting import SIZES
from seamripper.papers.items import Paper

PAPER = Paper(
    "balogh2025",
    "How Not to Stitch Representations to Measure Similarity (Balogh & Jelasity 2025)",
    tuple(module.ITEM for module in (networks, table_1, tlm, ood, table_2, table_3, fooled)),
    SIZES,
    Path(__file__).with_name("measured.json"),
    FINDINGS,
)
