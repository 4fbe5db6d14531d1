"""Bansal et al. 2021: its networks and pairs are those that the paper asks for, and what is derived is right."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from planted_worlds import jobs_of, rows_of

from seamripper.figures import Lines, Sheet
from seamripper.papers import Item, Results
from seamripper.papers.bansal2021 import PAPER
from seamripper.papers.bansal2021.better import excess_penalties
from seamripper.papers.bansal2021.setting import CUTS, LABELS, TIMES, same_cut

ITEMS = {item.name: item for item in PAPER.items}
each_profile = pytest.mark.parametrize("profile", ["quick", pytest.param("paper", marks=pytest.mark.slow)])
each_item = pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)


def test_it_covers_every_figure_of_the_paper_that_is_an_experiment() -> None:
    covered = {place for item in PAPER.items for place in item.covers}
    assert {"Fig. 2A", "Fig. 2B", "Fig. 2C", "Fig. 3A", "Fig. 3B", "Fig. 3C", "Fig. 4", "Fig. 5"} <= covered


def test_every_claim_about_good_networks_has_the_gate_that_they_are_good() -> None:
    claims = [claim for item in PAPER.items for claim in item.claims if not claim.beyond]
    assert len(claims) >= 20
    for claim in claims:
        assert any(gate.says == "the well-trained networks are good ones" for gate in claim.gates), claim.says


# ---- pairs


@each_profile
@each_item
def test_no_two_networks_of_a_pair_share_their_first_weights(item: Item, profile: str) -> None:
    """Seeds of sender and receiver differ, unless the network is stitched into itself; the unit is the receiver's."""
    units: dict[tuple[Any, ...], set[Any]] = defaultdict(set)
    for job, labels in jobs_of(PAPER.experiment(item, profile)):
        if job.kind not in ("stitch", "audit"):
            continue
        same = labels["sender_seed"] == labels["receiver_seed"]
        assert same == (labels["sender"] == "itself")
        sender = "random" if labels["sender"].startswith("random") else labels["sender"]
        place = (sender, labels["receiver"], labels["receiver_cut"], labels["stitch"])
        units[job.kind, *place].add(labels["receiver_seed"])
    expected = {len(PAPER.sizes["seeds"].value(profile))}
    assert {len(seeds) for seeds in units.values()} <= expected


def test_a_network_that_is_stitched_into_itself_is_trained_once() -> None:
    jobs = jobs_of(PAPER.experiment(ITEMS["fig-2a"], "quick"))
    trained = {name: {job.key for job, labels in jobs if job.kind == "train" and labels["model"] == name}
               for name in ("base", "itself")}  # fmt: skip
    assert trained["base"] == trained["itself"]
    assert len(trained["base"]) == len(PAPER.sizes["seeds"].quick)


def test_weak_networks_see_every_image_that_stitches_are_fitted_on() -> None:
    """Else a stitch would show them something new, and any front would improve them."""
    assert PAPER.sizes["fit"].quick <= PAPER.sizes["few_images"].quick


def test_checkpoints_are_of_one_training_and_labels_change_nothing_but_labels() -> None:
    models = {**PAPER.experiment(ITEMS["networks"], "quick").models}
    base = models["base"].training
    for name, stop in zip(TIMES, PAPER.sizes["stops"].quick, strict=True):
        assert models[name].training == f"{base}&stop={stop}"
    for name, option in LABELS.items():
        assert models[name].model_copy(update={"data": "cifar10", "train": models["base"].train}) == models["base"]
        assert models[name].data == f"cifar10?{option}"


# ---- results


def world(kind: str, labels: Any) -> dict[str, float]:
    return dict.fromkeys(("top1", "penalty", "accuracy", "receiver_here", "agreement", "observed", "recovered"), 0.6)


@each_profile
@pytest.mark.parametrize("name", ["networks", "fig-2a", "fig-2c", "fig-3a", "fig-3b", "fig-3c", "fig-4"])
def test_every_figure_is_full_and_every_claim_gets_a_status(name: str, profile: str) -> None:
    item = ITEMS[name]
    reading = PAPER.read(item, Results(rows_of(PAPER, item, profile, world)), profile)
    assert [claim.says for claim in reading.claims] == [claim.sentence for claim in item.claims]
    assert reading.figures
    for figure in reading.figures:
        if isinstance(figure, Sheet):
            assert {len(row) for row in figure.rows} == {len(figure.columns)}
            assert not any("–" in str(cell).split() for row in figure.rows for cell in row)
        if isinstance(figure, Lines):
            assert all(point.value == point.value for series in figure.series for point in series.points)


def test_the_penalty_of_a_checkpoint_is_beside_that_of_a_trained_network_at_the_same_place() -> None:
    def row(sender: str, cut: str, value: float, **more: Any) -> dict[str, Any]:
        labels = {"sender": sender, "receiver": "base", "receiver_seed": 0, "receiver_cut": cut}
        return {**labels, "figure": "top1", "value": value, "low": 0.0, "high": 1.0, **more}

    rows = [
        row("base", "layer1", 0.5),
        row("base", "layer4", 0.6),
        row("quarter", "layer1", 0.45),
        row("quarter", "layer4", 0.3),
        row("quarter", "layer4", 0.9, receiver="quarter"),
        row("itself", "layer4", 0.61),
    ]
    derived = {(row["sender"], row["receiver_cut"]): row for row in excess_penalties(rows)}
    assert {place: row["value"] for place, row in derived.items()} == {
        ("quarter", "layer1"): pytest.approx(0.05),
        ("quarter", "layer4"): pytest.approx(0.3),
    }
    assert {row["low"] for row in derived.values()} == {None}, "the interval was that of an accuracy"


def test_cka_is_read_between_equal_cuts() -> None:
    rows = [
        {"kind": "compare", "figure": "score", "sender_cut": a, "receiver_cut": b, "value": float(a == b)}
        for a in CUTS
        for b in CUTS
    ]
    derived = list(same_cut([*rows, {"kind": "stitch", "figure": "top1", "value": 0.5}]))
    assert [(row["figure"], row["receiver_cut"], row["value"]) for row in derived] == [("cka", c, 1.0) for c in CUTS]
