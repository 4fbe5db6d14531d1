"""The audit `identification`: planted matrices, p against every matching of layers, and networks that correspond."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
import torch
from torch import nn

from seamripper.audits import identification
from seamripper.audits.identification import Identification, Ranking, corresponding, identify
from seamripper.comparing import Comparison, Matrix
from seamripper.errors import AuditError, InapplicableError, MeasureError
from seamripper.estimate import Estimate, proportion

GOOD = np.eye(5) + np.linspace(0, 0.3, 25).reshape(5, 5)


def compared(values, *, direction: str = "similarity", receivers=None) -> Comparison:
    """A comparison whose one measure, "planted", has these values; NaN is a cell without a score."""
    cuts = tuple(f"layer{i}" for i in range(len(values)))
    scores = tuple(tuple(None if math.isnan(v) else Estimate(float(v)) for v in row) for row in values)
    failed = {f"{cuts[i]} × {cuts[j]}": "no reason" for i, j in np.argwhere(np.isnan(np.asarray(values)))}
    matrix = Matrix("planted", direction, scores, failed)
    return Comparison(cuts, receivers or cuts, {"planted": matrix}, {})


# ---- planted matrices


def test_every_layer_found() -> None:
    found = identify(compared(GOOD), "planted")
    assert (found.answer, found.observed.value, found.p) == ("yes", 1.0, pytest.approx(1 / 120))
    assert (found.observed.low, found.observed.high) == (proportion(5, 5).low, 1.0)
    assert found.effect.value == pytest.approx(1 - 1 / 5)
    assert found.controls["chance"][0].value == pytest.approx(0.2)
    assert (found.figures["mean_rank"], found.figures["mean_distance"]) == (1, 0)
    assert "5 of 5 rows and 5 of 5 columns" in found.sentence
    assert "takes layers for independent, which they are not" in found.sentence
    assert json.dumps(found.as_record(), allow_nan=False)


def test_a_distance_is_best_where_it_is_least() -> None:
    assert identify(compared(1 - GOOD, direction="distance"), "planted").answer == "yes"
    assert identify(compared(1 - GOOD), "planted").observed.value == 0


def test_rows_and_columns_are_counted_apart() -> None:
    """By hand: rows name 0, 0, 2; columns name 0, 1, 2. Row 1 has its own layer on second place."""
    found = identify(compared([[0.9, 0.1, 0.2], [0.8, 0.7, 0.3], [0.1, 0.6, 0.65]]), "planted")
    assert (found.figures["rows"], found.figures["columns"]) == (2, 3)
    assert found.observed.value == pytest.approx(5 / 6)
    rows, columns = proportion(2, 3), proportion(3, 3)
    assert found.observed.low == pytest.approx((rows.low + columns.low) / 2)
    assert found.figures["mean_rank"] == pytest.approx((1 + 2 + 1 + 1 + 1 + 1) / 6)
    assert found.figures["mean_distance"] == pytest.approx(1 / 6)
    assert found.figures["taken_for"] == {"sender": {"layer1": "layer0"}, "receiver": {}}
    assert found.answer == "no"


def test_layers_all_one_place_off() -> None:
    found = identify(compared(np.roll(GOOD, 1, axis=1)), "planted")
    assert (found.answer, found.observed.value, found.p) == ("no", 0.0, 1.0)
    # Each row names the next layer, but for the last, which names the first; columns the one before.
    assert found.figures["mean_distance"] == pytest.approx((1 * 4 + 4) / 5)


def test_ties_count_against() -> None:
    found = identify(compared(np.ones((4, 4))), "planted")
    assert (found.observed.value, found.figures["mean_rank"]) == (0, 4)
    assert found.figures["taken_for"]["sender"]["layer0"] == "tied"
    # The farthest of those that tie: 3, 2, 2, 3 layers off.
    assert found.figures["mean_distance"] == pytest.approx(2.5)
    tied = GOOD.copy()
    tied[1, 2] = tied[1, 1]
    one = identify(compared(tied), "planted")
    assert (one.figures["rows"], one.figures["columns"]) == (4, 5)


def test_cells_without_a_score_are_nobodys_best() -> None:
    values = GOOD.copy()
    values[0, 1] = values[3, 3] = math.nan
    found = identify(compared(values), "planted")
    assert (found.figures["rows"], found.figures["columns"], found.figures["missing"]) == (4, 4, 2)
    assert "2 cells have no score" in found.sentence


def test_two_layers_are_too_few_for_an_answer() -> None:
    found = identify(compared(np.eye(2)), "planted")
    assert (found.answer, found.observed.value, found.p) == ("unknown", 1.0, 0.5)
    assert "With only 2 layers, chance does as well too often" in found.sentence


def test_what_cannot_be_identified() -> None:
    with pytest.raises(InapplicableError, match="With a single layer there is nothing to confuse it with"):
        identify(compared([[1.0]]), "planted")
    with pytest.raises(
        InapplicableError, match="the same cuts in the same order, but these are layer0, layer1 and b, a"
    ):
        identify(compared(np.eye(2), receivers=("b", "a")), "planted")
    with pytest.raises(InapplicableError, match=r"has no score for any layer with its own counterpart\. no reason"):
        identify(compared(np.where(np.eye(3) > 0, np.nan, 1.0)), "planted")
    with pytest.raises(MeasureError, match=r"has no 'cka'"):
        identify(compared(np.eye(2)), "cka")


# ---- p


@pytest.mark.parametrize("seed", range(6))
def test_p_is_the_share_of_matchings_that_do_as_well(seed: int) -> None:
    """Against the matrix itself with its columns in every order."""
    grid = np.random.default_rng(seed).random((4, 4)) + 0.4 * np.eye(4)
    found = Ranking.of(grid)
    every = [sum(Ranking.of(grid[:, list(order)]).hits) for order in itertools.permutations(range(4))]
    assert found.p() == pytest.approx(np.mean([hits >= sum(found.hits) for hits in every]))


def test_p_of_many_layers_is_drawn() -> None:
    assert Ranking.of(np.eye(9)).p() == 1 / 10_001
    # Rows name the first three layers rightly and the others not at all: 3 or more fixed points of 3 of 8 layers.
    some = np.zeros((8, 8))
    some[:, 0] = 2
    some[1, 1] = some[2, 2] = 3
    found = Ranking.of(some)
    assert found.hits == (3, 2)
    exact = np.mean([_hits(found, order) >= 5 for order in itertools.permutations(range(8))])
    assert found.p() == pytest.approx(exact, abs=0.005)
    assert found.p() == found.p()


def _hits(found: Ranking, order: tuple[int, ...]) -> int:
    rows = sum(found.rows[i] == j for i, j in enumerate(order))
    return rows + sum(found.columns[j] == i for i, j in enumerate(order))


def test_p_is_about_uniform_for_matrices_that_tell_nothing() -> None:
    generator = np.random.default_rng(0)
    ps = np.array([Ranking.of(generator.random((5, 5))).p() for _ in range(400)])
    assert (ps <= 0.05).mean() <= 0.08


# ---- networks


def test_a_network_with_itself_is_found(case, evidence, make) -> None:
    same = make.halves("vectors", 0)
    found = Identification(n=100).put(evidence(case(sender=same, receiver=same), controls=()))
    assert found.answer == "yes"
    assert (found.figures["where"], found.figures["measure"]) == ("between", "linear_cka")
    assert found.figures["within"]["linear_cka"]["share"].value == 1
    assert found.figures["between"]["linear_cka"]["layers"] == 4
    assert json.dumps(found.as_record(), allow_nan=False)


def test_two_networks_are_compared_where_they_correspond(case, evidence) -> None:
    found = Identification().put(evidence(case(), controls=()))
    assert found.figures["where"] == "between"
    assert found.sentence.startswith("Between Sequential and Sequential, by linear_cka the corresponding layer")
    assert found.observed == found.figures["between"]["linear_cka"]["share"]


def test_two_architectures_leave_the_receiver_alone(case, evidence, make) -> None:
    other = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 3))
    given = case(sender=make.cut(other, "vectors"))
    assert not corresponding(given, given.test.receiver)
    found = Identification().put(evidence(given, controls=()))
    assert (found.figures["where"], found.answer) == ("within", "yes")
    assert "between" not in found.figures
    assert found.sentence.startswith("Within Sequential, ")
    assert found.sentence.endswith("most measures give a layer and itself the best score by definition.")


@pytest.mark.slow
def test_stitching_within_a_network_is_not_trivial(case, evidence, make) -> None:
    """Balogh & Jelasity's point: a trained stitch need not find a layer most like itself."""
    other = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 3))
    given = case(sender=make.cut(other, "vectors"))
    found = Identification("task_functional, direct_functional, opd").put(evidence(given, controls=()))
    assert found.figures["measure"] == "task_functional"
    assert set(found.figures["within"]) == {"opd", "direct_functional", "task_functional"}
    assert found.figures["within"]["opd"]["share"].value == 1
    assert "by definition" not in found.sentence


def test_trained_stitches_are_trained_as_the_cases_own(case, evidence, make, monkeypatch) -> None:
    asked = []

    def compare(*given, **more):
        asked.append((len(given[2]), more["stitching"].task, more["measures"]))
        return compared(np.eye(4))

    monkeypatch.setattr(identification, "compare", compare)
    Identification("task_functional", n=60).put(evidence(case(), controls=()))
    assert asked == [(60, make.quick, ["task_functional"])] * 2


def test_noise_is_not_compared_with_the_receiver(case, evidence, make) -> None:
    evidence = evidence(case(), controls=("clustered_noise",))
    counterpart = next(evidence.controls["clustered_noise"].counterparts(evidence.case))
    given = case(sender=counterpart.sender, fit=counterpart.fit, test=counterpart.test)
    assert not corresponding(given, given.test.receiver)


def test_a_network_of_one_layer_has_none_to_be_taken_for_another(case, evidence, make) -> None:
    one = make.cut(nn.Sequential(nn.Linear(8, 3), nn.Linear(3, 3)), "vectors", "0")
    with pytest.raises(InapplicableError, match="With a single layer there is nothing to confuse it with"):
        Identification().put(evidence(case(sender=one, receiver=one), controls=()))


def test_what_is_not_a_measure() -> None:
    with pytest.raises(AuditError, match=r"measures of the audit 'identification'.*did you mean 'linear_cka'"):
        Identification("linear_cak")
    with pytest.raises(
        AuditError, match="Expected n of the audit 'identification' to be a whole number of at least 20"
    ):
        Identification(n=3)
    with pytest.raises(AuditError, match="Expected sampling of the audit 'identification' to be 'positions'"):
        Identification(sampling="all")


def test_the_global_generators_are_left_alone() -> None:
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    Ranking.of(np.eye(9)).p()
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()
