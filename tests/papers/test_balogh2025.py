"""Balogh & Jelasity 2025: figures that are derived from the rows of many jobs, in worlds whose answer is known."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from seamripper.figures import Histogram
from seamripper.papers.balogh2025 import PAPER
from seamripper.papers.balogh2025.derived import identification_rates, sensitive, specific
from seamripper.papers.balogh2025.ood import summaries
from seamripper.papers.balogh2025.setting import CUTS
from seamripper.papers.balogh2025.tlm import far_and_near
from seamripper.papers.results import Results

RESNET = CUTS["resnet"]


def comparison(sender: int, receiver: int, score: Any, measure: str = "linear_cka", sampling: str = "positions") -> Any:
    """Rows of a comparison of two networks; `score` takes the numbers of two layers."""
    for (i, a), (j, b) in itertools.product(enumerate(RESNET), repeat=2):
        yield {
            "kind": "compare", "figure": "score", "measure": measure, "sampling": sampling, "sender": "resnet",
            "receiver": "resnet", "sender_seed": sender, "receiver_seed": receiver, "sender_cut": a,
            "receiver_cut": b, "value": score(i, j),
        }  # fmt: skip


def stitches(seed: int, matching: str, figure: str, score: Any, sender: int | None = None) -> Iterator[dict[str, Any]]:
    for row in comparison(seed if sender is None else sender, seed, score):
        yield {**row, "kind": "functional", "matching": matching, "figure": figure, "measure": None}


def of(rows: Any, **labels: Any) -> dict[Any, float]:
    """Values of the rows with these labels, by the receiver's seed."""
    return {
        row["receiver_seed"]: row["value"]
        for row in rows
        if all(row.get(name) == value for name, value in labels.items())
    }


def near(i: int, j: int) -> float:
    return 1 - abs(i - j) / 10


def shifted(i: int, j: int) -> float:
    return 1 - abs(i + 1 - j) / 10


def test_every_layer_is_identified_where_its_counterpart_is_the_most_similar() -> None:
    rows = [*comparison(0, 0, near), *comparison(0, 1, near), *comparison(2, 1, shifted)]
    derived = list(identification_rates(rows))
    assert of(derived, where="within", rule="positions") == {0: 1.0}
    # Of two senders one finds every layer, the other only the last, which has no next.
    assert of(derived, where="between", rule="positions") == {1: pytest.approx((1 + 1 / 8) / 2)}


def test_layers_are_found_for_those_of_the_sender_and_for_those_of_the_receiver() -> None:
    """Of an index that is relative to the receiver's layer, one layer may be the nearest to all of the sender's."""
    rows = list(comparison(0, 1, lambda i, j: near(i, j) + (2.0 if j == 7 else 0.0)))
    derived = list(identification_rates(rows))
    assert of(derived, of="sender", rule="positions") == {1: pytest.approx(1 / 8)}
    assert of(derived, of="receiver", rule="positions") == {1: 1.0}


def test_a_distance_identifies_by_its_smallest_value() -> None:
    rows = list(comparison(0, 0, lambda i, j: abs(i - j), measure="opd"))
    assert of(identification_rates(rows), measure="OPD", rule="positions") == {0: 1.0}


def test_the_authors_rule_takes_positions_in_a_stage_and_averages_elsewhere() -> None:
    by_positions = list(comparison(0, 1, lambda i, j: abs(i - j) + 1, measure="opd"))
    # By averages, every layer would be nearest to the first.
    by_averages = list(comparison(0, 1, lambda _, j: j / 100, measure="opd", sampling="pool"))
    derived = list(identification_rates([*by_positions, *by_averages]))
    assert of(derived, rule="positions") == {1: 1.0}
    # Layers of the first stage find themselves only if nothing outside it is nearer, which the averages are.
    assert of(derived, rule="authors") == {1: 0.0}
    assert not of(identification_rates(by_averages), rule="positions")


def test_flattened_maps_are_the_authors_rule_for_cka() -> None:
    flat = list(comparison(0, 1, near, sampling="flatten"))
    assert of(identification_rates(flat), rule="authors") == {1: 1.0}
    assert not of(identification_rates(flat), rule="positions")


def test_layers_that_a_profile_leaves_out_are_not_counted() -> None:
    """Of every second layer, the last but one is matched to the last; and it is the last quarter that is late."""
    wrong = {(4, 6)}
    rows = [
        row
        for figure, other in (("relative_accuracy", 1.0), ("ood_energy", 0.9))
        for row in stitches(0, "task", figure, lambda i, j, x=other: x if (i, j) in wrong else 0.1 * (i == j))
        if {row["sender_cut"], row["receiver_cut"]} <= set(RESNET[::2])
    ]
    assert of(identification_rates(rows), measure="TLM", rule="positions") == {0: pytest.approx(3 / 4)}
    assert of(summaries(rows), figure="ood_elsewhere") == {0: pytest.approx(0.9 / 12)}
    assert of(summaries(rows), figure="ood_late") == {0: pytest.approx(0.1)}


def test_a_matrix_with_missing_cells_says_nothing() -> None:
    rows = list(comparison(0, 0, near))
    assert not list(identification_rates(rows[1:]))


def probe_rows(cut: str, seed: int, accuracies: dict[int | None, float], distances: dict[int, float]) -> Any:
    place = {"receiver": "resnet", "receiver_seed": seed, "receiver_cut": cut}
    for rank, accuracy in accuracies.items():
        rank_label = {} if rank is None else {"rank": rank}
        yield {**place, **rank_label, "figure": "probe", "value": accuracy}
    for rank, distance in distances.items():
        yield {**place, "rank": rank, "figure": "score", "measure": "opd", "value": distance}


def test_sensitivity_is_the_rank_correlation_of_lost_accuracy_with_distance() -> None:
    accuracies = {None: 0.9, 4: 0.8, 2: 0.6, 1: 0.3}
    rows = [
        *probe_rows("layer4.0", 0, accuracies, {4: 0.1, 2: 0.2, 1: 0.3}),
        *probe_rows("layer4.1", 0, accuracies, {4: 0.3, 2: 0.2, 1: 0.1}),
        *probe_rows("layer4.1", 1, accuracies, {4: 0.1, 2: 0.2, 1: 0.3}),
    ]
    # Right at one cut and inverted at the other: the mean over cuts is 0 for the first network.
    assert of(sensitive(rows), figure="sensitivity_kendall") == {0: pytest.approx(0.0), 1: pytest.approx(1.0)}
    assert of(sensitive(rows), measure="OPD", figure="sensitivity_spearman")[1] == pytest.approx(1.0)


def test_specificity_takes_its_reference_from_other_samples() -> None:
    rows: list[dict[str, Any]] = []
    for seed in (0, 1):
        for k, cut in enumerate(RESNET):
            place = {"receiver": "resnet", "receiver_seed": seed, "receiver_cut": cut}
            rows.append({**place, "figure": "probe", "value": 0.1 * k})
            # By the samples to choose with, the last layer of network 1 is the best.
            rows.append({**place, "figure": "probe_choose", "value": 0.1 * k + 0.01 * seed})
    rows += comparison(1, 0, near)
    rows += comparison(1, 1, near)
    rows += comparison(0, 1, shifted)
    values = of(specific(rows), figure="specificity_kendall", rule="positions")
    assert values == {0: pytest.approx(1.0), 1: pytest.approx(1.0)}


def test_means_of_strangeness_by_place_and_whether_detectors_agree() -> None:
    rows = [
        *stitches(0, "task", "relative_accuracy", lambda i, j: 1.0 - 0.001 * (8 * i + j)),
        *stitches(0, "task", "ood_energy", lambda i, j: 0.5 if i == j == 0 else 0.8 if i == j else 0.99),
        *stitches(0, "task", "ood_fast", lambda i, j: 0.4 if i == j == 0 else 0.6 if i == j else 0.7),
    ]
    derived = list(summaries(rows))
    energy = {"detector": "energy", "matching": "task", "where": "within"}
    assert of(derived, figure="ood_elsewhere", **energy) == {0: pytest.approx(0.99)}
    assert of(derived, figure="ood_first", **energy) == {0: pytest.approx(0.5)}
    assert of(derived, figure="ood_late", **energy) == {0: pytest.approx(0.8)}
    assert of(derived, figure="detectors_agree") == {0: pytest.approx(1.0)}


def test_of_different_layers_those_that_stitch_best_tell_of_direct_matching() -> None:
    """Of a layer with itself nothing is asked: direct matching gives it the identity."""
    rows = [
        *stitches(0, "direct", "relative_accuracy", lambda i, j: 1.0 if i == j else 0.9 if abs(i - j) == 1 else 0.5),
        *stitches(0, "direct", "ood_energy", lambda i, j: 0.5 if i == j else 0.7 if abs(i - j) == 1 else 0.99),
        *stitches(0, "direct", "ood_fast", lambda i, j: 0.5 + abs(i - j) / 20),
    ]
    assert of(summaries(rows), figure="ood_similar", detector="energy") == {0: pytest.approx(0.7)}


def test_layers_far_apart_are_at_least_half_the_depth_apart() -> None:
    rows = list(stitches(0, "task", "relative_accuracy", lambda i, j: float(abs(i - j) >= 4)))
    assert of(far_and_near(rows), layers="far apart") == {0: 1.0}
    assert of(far_and_near(rows), layers="same layer") == {0: 0.0}


def test_energies_of_every_cut_are_drawn_at_the_first_one() -> None:
    (fig_2,) = PAPER.choose("fig-2")
    networks = "resnet/0 → resnet/0, from every cut by task"
    name = f"Energies of native, auxiliary and stitched activations at layer1.0: {networks}"
    energies = Histogram(name, (0.0, 1.0), {"native": (1,)}, "energy")
    other = Histogram(name.replace("task", "other"), (0.0, 1.0), {"native": (1,)}, "energy")
    assert name in fig_2.pictures
    assert replace(fig_2, claims=(), derive=None).read(Results([], (energies, other)), "quick").figures[-1] == energies


def test_fig_2_costs_what_the_jobs_that_it_shares_with_table_1_cost() -> None:
    (fig_2,) = PAPER.choose("fig-2")
    assert PAPER.sharing(fig_2, "quick") == ("table-1-tlm", "fig-2")


def test_a_claim_about_networks_of_the_second_set_asks_whether_they_have_learnt_it() -> None:
    for item in PAPER.items:
        for claim in item.claims:
            families = claim.select.labels.get("receiver", ())
            for family in [families] if isinstance(families, str) else families:
                if str(family).endswith("-fashion") and not claim.beyond:
                    assert any(gate.select.labels.get("model") == family for gate in claim.gates), claim.says


def test_it_covers_every_table_and_figure_of_the_paper() -> None:
    covered = {place for item in PAPER.items for place in item.covers}
    assert {"Table 1", "Table 2", "Table 3", "Fig. 1", "Fig. 2"} <= covered
