"""Matrices of a figure over two labels, and rows that are derived from the rows of all jobs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from planted_paper import item as planted_item, paper

from seamripper.errors import ExperimentError
from seamripper.figures import Grid, describe, scene
from seamripper.papers import Claim, ItemReport, PaperGrid, Reproduction, Results, Select
from seamripper.papers.page import markdown, page, save_docs

CUTS = ("layer1", "layer2")
NAMES = {"receiver_cut": {"layer1": "Stage 1", "layer2": "Stage 2"}}
SELECT = Select("top1", sender_cut=(*CUTS, "layer3"), receiver_cut=CUTS)
ROWS: list[dict[str, Any]] = [
    {"figure": "top1", "sender_cut": a, "receiver_cut": b, "receiver_seed": seed, "value": 0.5 + 0.1 * i + 0.01 * seed}
    for i, (a, b) in enumerate([("layer1", "layer1"), ("layer1", "layer2"), ("layer2", "layer1"), ("layer2", "layer2")])
    for seed in range(3)
]


# ---- matrices


def test_a_grid_has_the_mean_over_seeds_and_a_gap_where_there_is_none() -> None:
    grid = PaperGrid("Into itself", SELECT, caption="Ours.", scale=(0, 0.9)).draw(Results(ROWS), NAMES)
    assert (grid.rows, grid.columns) == (("Stage 1", "Stage 2", "layer3"), ("Stage 1", "Stage 2"))
    assert [[round(cell.value, 3) for cell in row] for row in grid.cells[:2]] == [[0.51, 0.61], [0.71, 0.81]]
    assert grid.cells[0][0].describe() == "0.51 [0.485, 0.535], n = 3 seeds (mean over 3 seeds)"
    assert all(math.isnan(cell.value) for cell in grid.cells[2]), "nothing was run there"
    assert (grid.scale, grid.caption) == ((0, 0.9), "Ours.")


def test_a_grid_says_what_its_rows_and_columns_are() -> None:
    def words(grid: Grid) -> list[str]:
        return [mark.text for mark in scene(grid).marks if mark.role == "axis"]

    assert words(PaperGrid("", SELECT).draw(Results(ROWS), {})) == ["sender's cuts", "receiver's cuts"]
    turned = PaperGrid("", SELECT, "receiver_cut", "sender_cut").draw(Results(ROWS), NAMES)
    assert words(turned) == ["receiver's cuts", "sender's cuts"]
    assert [[round(cell.value, 2) for cell in row[:2]] for row in turned.cells] == [[0.51, 0.71], [0.61, 0.81]]
    own = PaperGrid("", Select("top1", sender=("a", "b"), receiver_cut=CUTS), "sender")
    assert words(own.draw(Results(ROWS), {"sender": {"a": "A"}})) == ["sender", "receiver's cuts"]
    assert "A matrix of 3 by 2 cells, from 0.51 at layer1 × layer1" in describe(
        PaperGrid("", SELECT).draw(Results(ROWS), {})
    )


def test_a_sparse_grid_leaves_out_what_has_no_value_at_all() -> None:
    full, sparse = (PaperGrid("", SELECT, sparse=sparse).draw(Results(ROWS), {}) for sparse in (False, True))
    assert full.rows == ("layer1", "layer2", "layer3")
    assert (sparse.rows, sparse.columns) == (("layer1", "layer2"), ("layer1", "layer2"))
    assert sparse.cells == tuple(row[:2] for row in full.cells[:2])


def test_the_cost_of_a_layer_pair_is_said(tmp_path: Path) -> None:
    item = planted_item(tmp_path, "table-1", ("Table 1",), (1, 2))
    report = ItemReport(item, None, 90.0, 3, layer_pairs=1200)
    assert report.cost == "3 jobs, 1.5 min; 1,200 layer pairs, 0.075 s each"
    assert replace(report, layer_pairs=0).cost == "3 jobs, 1.5 min"


@pytest.mark.parametrize(
    ("labels", "has"),
    [
        ({}, "none"),
        ({"receiver_cut": CUTS}, "receiver_cut"),
        ({"receiver_cut": CUTS, "sender_cut": "layer1"}, "receiver_cut"),
        ({"receiver_cut": CUTS, "sender_cut": CUTS, "sender": ("a", "b")}, "receiver_cut, sender_cut, sender"),
    ],
)
def test_a_grid_without_its_two_axes_is_refused(labels: dict[str, Any], has: str) -> None:
    with pytest.raises(ExperimentError, match=f"to have sender_cut and receiver_cut as its axes, but it has {has}"):
        PaperGrid("Mine", Select("top1", **labels))


def test_a_grid_is_drawn_on_the_page_and_is_a_table_in_the_text(tmp_path: Path) -> None:
    item = replace(planted_item(tmp_path, "table-1", ("Table 1",), (1, 2)), claims=(), names=NAMES,
                   shows=(PaperGrid("Into itself", SELECT, caption="Ours."),))  # fmt: skip
    report = ItemReport(item, item.read(Results(ROWS), "quick"), 60.0, 3)
    whole = Reproduction(paper(tmp_path, item), "quick", tmp_path, (report,))
    assert '<figure class="grid"' in page(whole)
    lines = markdown(whole).splitlines()
    assert "| sender's cuts \\ receiver's cuts | Stage 1 | Stage 2 |" in lines
    assert "| Stage 1 | 0.510 [0.485, 0.535] | 0.610 [0.585, 0.635] |" in lines
    assert "| layer3 | – | – |" in lines
    written = save_docs(whole, tmp_path / "docs" / "mine.md")
    assert [path.name for path in written] == ["mine.md", "01-table-1-Into-itself.svg"]


# ---- derived rows


def diagonal(rows: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """For each seed, how far the diagonal lies above the rest."""
    for seed in range(3):
        own = [r["value"] for r in rows if r["receiver_seed"] == seed and r["sender_cut"] == r["receiver_cut"]]
        rest = [r["value"] for r in rows if r["receiver_seed"] == seed and r["sender_cut"] != r["receiver_cut"]]
        yield {"figure": "lead", "value": min(own) - max(rest), "receiver_seed": seed}


CLAIM = Claim("The diagonal leads", "", Select("lead"), "above")


def derived(tmp_path: Path, derive: Any, rows: Any = ROWS) -> Any:
    item = planted_item(tmp_path, "table-1", ("Table 1",), (1, 2))
    return replace(item, claims=(CLAIM,), shows=(), derive=derive).read(Results(rows), "quick")


def test_claims_are_decided_over_derived_rows(tmp_path: Path) -> None:
    reading = derived(tmp_path, diagonal)
    (claim,) = reading.claims
    assert claim.status == "not reproduced"
    assert claim.figure == "-0.200 [-0.200, -0.200], 3 seeds (bound 0)"
    assert reading.results.of(["lead"], {}).n == 3
    assert len(reading.results.rows) == len(ROWS) + 3, "beside the rows of the jobs"


def test_rows_without_a_value_are_not_handed_to_derive(tmp_path: Path) -> None:
    failed = {"kind": "stitch", "state": "failed", "error": "no"}
    assert derived(tmp_path, diagonal, [*ROWS, failed]).claims[0].status == "not reproduced"


def test_what_cannot_be_derived_is_an_error_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        ExperimentError, match=r"table-1 that are derived could not be computed \(ValueError: .*failed or"
    ):
        derived(tmp_path, diagonal, ROWS[:4])
    with pytest.raises(
        ExperimentError, match=r"every row that table-1 derives to have a figure and a value, but got {'x'"
    ):
        derived(tmp_path, lambda rows: [{"x": 1}])
    with pytest.raises(ExperimentError, match="The results have no figure 'lead'"):
        derived(tmp_path, None)
