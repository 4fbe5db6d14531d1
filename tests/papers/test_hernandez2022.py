"""Hernandez et al. 2022: pairs that are chosen by rule, and derived figures in worlds whose answer is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from seamripper.figures import Grid, Lines, Sheet
from seamripper.papers import PROFILES, Results
from seamripper.papers.hernandez2022 import PAPER
from seamripper.papers.hernandez2022.derived import errors, number, share, triangle
from seamripper.papers.hernandez2022.hacking import answers, stage_ends
from seamripper.papers.hernandez2022.setting import (
    CASES,
    EVERY,
    FEW,
    LAYERS,
    QUICK,
    RANDOM,
    SEEDS,
    SIZES,
    rounds,
)
from seamripper.papers.items import Item

Score = Callable[[int, int], float]
A, B = "R_1111", "R_2222"


def matrix(sender: str, receiver: str, figure: str, score: Score, **more: Any) -> Iterator[dict[str, Any]]:
    """Rows of one matrix; `score` takes the numbers of two layers."""
    layers = [list(enumerate(LAYERS[name.removesuffix(RANDOM)])) for name in (sender, receiver)]
    for (i, a), (j, b) in itertools.product(*layers):
        yield {
            "kind": "functional", "figure": figure, "matching": "vanilla", "sender": sender, "receiver": receiver,
            "receiver_seed": 0, "sender_cut": a, "receiver_cut": b, "value": score(i, j), **more,
        }  # fmt: skip


def of(rows: Any, **labels: Any) -> dict[Any, float]:
    """Values of the rows with these labels, by receiver."""
    return {
        row.get("receiver_seed"): row["value"]
        for row in rows
        if all(row.get(name) == value for name, value in labels.items())
    }


# ---- which pairs


def test_the_paper_has_every_pair_and_the_quick_profile_has_every_case() -> None:
    assert len(set(EVERY)) == 256
    assert set(QUICK) <= set(EVERY)
    for stage in range(4):
        cases = {(sender[2 + stage], receiver[2 + stage]) for sender, receiver in QUICK}
        assert cases == set(itertools.product("12", repeat=2))
    depths = {(len(LAYERS[a]) > len(LAYERS[b])) - (len(LAYERS[a]) < len(LAYERS[b])) for a, b in QUICK}
    assert depths == {-1, 0, 1}
    assert {receiver for _, receiver in QUICK} == {sender for sender, _ in QUICK} == set(FEW)


def test_no_network_is_stitched_into_itself_and_every_seed_sends_and_receives() -> None:
    assert all(a != b for a, b in rounds(SEEDS))
    assert [sorted(ends) for ends in zip(*rounds(SEEDS), strict=True)] == [sorted(SEEDS)] * 2


@pytest.mark.parametrize(("profile", "audited"), [("quick", 4), ("paper", 2)])
def test_the_architectures_that_are_audited_have_networks_enough_for_their_gate(profile: str, audited: int) -> None:
    """With two networks of R_1111, it stayed open whether they have learnt their task."""
    (fig_2,) = PAPER.choose("fig-2")
    study = PAPER.experiment(fig_2, profile)
    assert {len(study.models[name].seeds) for name in ("R_1111", "R_2222")} == {audited}
    assert {len(study.models[name].seeds) for name in ("R_1212", "R_2121")} == {2}
    extremes = [part for part in study.functional if part.receivers[0].startswith("R_1111/") and part.ood]
    seeds = {part.receivers[0] for part in extremes if part.senders[0].startswith("R_2222/")}
    assert seeds == {f"R_1111/{seed}" for seed in range(audited)}


def test_layers_are_counted_by_the_blocks_before_them() -> None:
    assert [number("R_1212" + RANDOM, cut) for cut in LAYERS["R_1212"]] == list(range(7))
    assert number("R_2111", "layer2.0") == 3
    assert share("resnet34", "layer4.2") == share("R_2222", "layer4.1") == 1.0
    assert len(LAYERS["resnet34"]) == 17
    assert stage_ends("R_2222") == ("before:layer1", "layer1.1", "layer2.1", "layer3.1", "layer4.1")


# ---- the triangle


def test_a_triangle_is_the_mean_below_against_above() -> None:
    derived = list(triangle(list(matrix(A, B, "top1", lambda i, j: 0.9 if j < i else 0.7 if i == j else 0.2))))
    trained = {"figure": "mean_accuracy", "case": "trained", "shape": "any"}
    assert of(derived, layers="below", **trained) == {"R_2222/0": pytest.approx(0.9)}
    assert of(derived, layers="diagonal", **trained) == {"R_2222/0": pytest.approx(0.7)}
    assert of(derived, layers="above", **trained) == {"R_2222/0": pytest.approx(0.2)}
    assert of(derived, layers="gap", **trained) == {"R_2222/0": pytest.approx(0.7)}
    assert of(derived, layers="gap", **{**trained, "shape": "deeper receiver"}) == {"R_2222/0": pytest.approx(0.7)}
    assert not of(derived, layers="gap", **{**trained, "shape": "as deep"})


def test_several_senders_into_one_receiver_are_one_unit() -> None:
    rows = [*matrix(A, B, "top1", lambda i, j: 0.2), *matrix(B, B, "top1", lambda i, j: 0.4)]
    assert of(triangle(rows), layers="all", shape="any") == {"R_2222/0": pytest.approx(0.3)}
    assert of(triangle(rows), layers="all", shape="as deep") == {"R_2222/0": pytest.approx(0.4)}


def test_far_is_half_the_depth_and_a_share_of_it_between_networks_of_different_depths() -> None:
    rows = list(matrix(A, A, "top1", lambda i, j: float(i - j >= 2)))
    assert of(triangle(rows), layers="far below", shape="any") == {"R_1111/0": 1.0}
    large = list(matrix("resnet34", B, "top1", lambda i, j: float(i / 16 > j / 8)))
    assert of(triangle(large, share), layers="below", shape="deeper sender") == {"R_2222/0": 1.0}
    assert of(triangle(large, share), layers="above", shape="deeper sender") == {"R_2222/0": 0.0}
    assert of(triangle(large), layers="below", shape="deeper sender")["R_2222/0"] < 1.0, "by numbers it is another one"


def test_cases_say_which_network_is_trained_and_corners_are_its_exceptions() -> None:
    ends = {"trained": ("", ""), "random sender": (RANDOM, ""), "random receiver": ("", RANDOM),
            "both random": (RANDOM, RANDOM)}  # fmt: skip
    assert tuple(ends) == CASES
    for case, (a, b) in ends.items():
        rows = list(matrix(A + a, A + b, "top1", lambda i, j: float(max(i, j) <= 1) + 2 * float(min(i, j) >= 3)))
        derived = list(triangle(rows))
        where = {"case": case, "shape": "any"}
        means = [list(of(derived, layers=name, **where).values()) for name in ("first", "last", "elsewhere")]
        assert means == [[1.0], [2.0], [0.0]]


def test_layers_are_similar_to_several_where_a_second_one_is_as_similar() -> None:
    alone = list(matrix(A, A, "relative_accuracy", lambda i, j: float(i == j)))
    assert of(triangle(alone), layers="several", shape="any") == {"R_1111/0": 0.0}
    # The first layer has no other before it.
    below = list(matrix(A, A, "relative_accuracy", lambda i, j: float(j <= i)))
    assert of(triangle(below), layers="several", shape="any") == {"R_1111/0": pytest.approx(4 / 5)}


# ---- errors


def error_rows(matching: str, against: str, score: Score, std: float = 0.0) -> Iterator[dict[str, Any]]:
    for figure, part in (("error", 0.0), ("error_min", -0.5), ("error_max", 0.5)):
        yield from matrix(
            A, A, figure, lambda i, j, part=part: score(i, j) * (1 + part), matching=matching, against=against
        )
    yield from matrix(A, A, "error_std", lambda i, j: std, matching=matching, against=against)


def test_errors_have_their_statistics_over_images_and_cells() -> None:
    rows = [
        *error_rows("vanilla", "native", lambda i, j: 100.0 if i == j else 10.0, std=3.0),
        *error_rows("similarity", "native", lambda i, j: 0.1),
        *error_rows("similarity", "vanilla", lambda i, j: 1.0),
        *error_rows("direct", "native", lambda i, j: 1e9),
    ]
    derived = list(errors(rows))
    mean = {"figure": "mean_error", "case": "trained"}
    assert of(derived, between="EV", layers="diagonal", **mean) == {"R_1111/0": pytest.approx(100.0)}
    assert of(derived, between="EV", layers="all", **mean) == {"R_1111/0": pytest.approx(28.0)}
    assert of(derived, between="ES", layers="all", **mean) == {"R_1111/0": pytest.approx(0.1)}
    assert of(derived, between="EV", layers="all", figure="least_error") == {None: pytest.approx(5.0)}
    assert of(derived, between="EV", layers="all", figure="largest_error") == {None: pytest.approx(150.0)}
    # Within cells 3, between a fifth of 100 and four fifths of 10: 0.2 · 72² + 0.8 · 18².
    deviation = math.sqrt(9 + 0.2 * 72**2 + 0.8 * 18**2)
    assert of(derived, between="EV", layers="all", figure="error_deviation") == {None: pytest.approx(deviation)}
    assert of(derived, between="EV", layers="diagonal", figure="orders") == {"R_1111/0": pytest.approx(3.0)}
    assert of(derived, between="SV", layers="all", figure="orders") == {"R_1111/0": pytest.approx(1.0)}
    assert of(derived, layers="diagonal", figure="many_orders") == {"R_1111/0": 1.0}
    # 10 is a hundred times 0.1 as well.
    assert of(derived, layers="all", figure="many_orders") == {"R_1111/0": 1.0}


# ---- audits


def test_shares_of_what_the_conflict_audit_says() -> None:
    place = {"kind": "audit", "audit": "conflict", "figure": "observed", "sender": A, "receiver": B, "value": 0.5}
    rows = [
        {**place, "sender_cut": a, "receiver_cut": b, "receiver_seed": 1, "status": status}
        for a, b, status in (
            ("layer4.0", "layer1.1", "no"),
            ("layer4.0", "before:layer1", "no"),
            ("layer2.0", "layer1.1", "unknown"),
            ("layer3.0", "layer2.1", "yes"),
            ("layer2.0", "layer2.1", "yes"),
        )
    ]
    derived = list(answers(rows))
    assert of(derived, figure="share_driven", cells="backwards") == {"R_2222/1": 0.5}
    assert of(derived, figure="share_real", cells="backwards") == {"R_2222/1": 0.25}
    assert of(derived, figure="share_real", cells="same") == {"R_2222/1": 1.0}
    mixed = [
        {**row, "audit": "mixing", "status": {"yes": "no", "unknown": "yes"}.get(row["status"], "yes")} for row in rows
    ]
    both = list(answers([*rows, *mixed]))
    assert of(both, figure="share_driven", cells="same") == {"R_2222/1": 1.0}, "one that says no outweighs the other"
    assert of(both, figure="share_real", cells="backwards") == {"R_2222/1": 0.25}, "one that says yes, and none no"
    assert of(derived, figure="audit_answer", sender_cut="layer2.0", receiver_cut="layer1.1") == {1: 0.5}


# ---- the whole


def test_it_covers_every_table_and_figure_of_the_paper() -> None:
    covered = {place for item in PAPER.items for place in item.covers}
    # Fig. 1 and 3 are diagrams.
    assert {"Fig. 2", "Fig. 4", "Fig. 5", "Fig. 6", "Table 1", "Table 2"} <= covered


@pytest.mark.parametrize("item", PAPER.items, ids=lambda item: item.name)
def test_every_experiment_can_be_described(item: Item) -> None:
    for profile in PROFILES:
        study = PAPER.experiment(item, profile)
        assert sum(part.size(study) for _, part in study.parts()) > 0
    assert any("in the paper's profile" in sentence for sentence in PAPER.departures(item, "quick"))


def test_matrices_and_tables_are_filled_from_the_rows_of_the_jobs() -> None:
    (fig_2,) = PAPER.choose("fig-2")
    rows: list[dict[str, Any]] = []
    for seed in SEEDS:
        for a, b in QUICK:
            for figure in ("top1", "relative_accuracy"):
                rows += matrix(a, b, figure, lambda i, j: 0.9 if j <= i else 0.3, receiver_seed=seed)
    for seed, (a, b) in itertools.product(SEEDS, SIZES["audited"].quick):
        rows += matrix(a, b, "relative_accuracy", lambda i, j: 0.5, matching="direct", receiver_seed=seed)
    for a, b in SIZES["random_pairs"].quick:
        for left, right in ((RANDOM, ""), ("", RANDOM), (RANDOM, RANDOM)):
            rows += matrix(a + left, b + right, "top1", lambda i, j: 0.1)
    for model in FEW:
        rows += [{"kind": "train", "figure": "accuracy", "model": model, "seed": s, "value": 0.9} for s in SEEDS]
    reading = PAPER.read(fig_2, Results(rows), "quick")
    for figure in reading.figures:
        assert not isinstance(figure, Lines)
        if isinstance(figure, Sheet):
            assert not any(cell == "–" for row in figure.rows for cell in row)
        if isinstance(figure, Grid):
            assert not any(math.isnan(cell.value) for row in figure.cells for cell in row)
    statuses = {claim.claim.says: claim.status for claim in reading.claims}
    assert statuses["The similarity matrix has a triangle: it is higher below the diagonal than above"] == "reproduced"
    assert statuses["Of an untrained sender, only the first layers stitch well into a trained receiver"] != "reproduced"
