"""probe: against scikit-learn on either half, with planted directions, and through the shorter way of low ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from seamripper.activations import Activations, PrincipalDirections, principal_directions
from seamripper.controls import halves, probe, readable
from seamripper.controls.logistic import logistic_answers
from seamripper.cut import Cut
from seamripper.errors import DataError, InapplicableError
from seamripper.estimate import proportion

TOLD = 3
"""How many of the directions carry the label: the smaller ones."""


def planted(n: int, *, seed: int, width: int = 8) -> Activations:
    """Maps of 8 channels with 8 classes, one bit of the label in each of the three directions of least variation."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(2**TOLD, (n,), generator=generator)
    means = torch.randn(n, width, generator=generator)
    for bit in range(TOLD):
        means[:, width - TOLD + bit] = 2.0 * (labels >> bit & 1) - 1 + 0.1 * means[:, width - TOLD + bit]
    scales = torch.logspace(1, -0.5, width)
    turn = torch.linalg.qr(torch.randn(width, width, generator=torch.Generator().manual_seed(7)))[0]
    maps = ((means * scales) @ turn)[:, :, None, None] + 0.05 * torch.randn(n, width, 2, 2, generator=generator)
    ids = torch.arange(n) + 10_000 * seed
    return Activations(Cut("a", (width, 2, 2), "nchw"), maps, labels, ids, made_from={"data": "planted"})


def of_scikit_learn(fit: Tensor, labels: Tensor, test: Tensor, l2: float) -> np.ndarray:
    scaler = StandardScaler().fit(fit.numpy())
    theirs = LogisticRegression(C=1 / (len(fit) * l2), tol=1e-10, max_iter=10_000)
    theirs.fit(scaler.transform(fit.numpy()), labels.numpy())
    return theirs.predict(scaler.transform(test.numpy()))


@pytest.mark.parametrize("pool", [True, False])
def test_either_half_is_scored_as_scikit_learn_does(pool: bool) -> None:
    fit, test = planted(200, seed=0), planted(201, seed=1)
    rows = [x.values.double().mean((2, 3)) if pool else x.values.double().flatten(1) for x in (fit, test)]
    right = of_scikit_learn(rows[0], fit.labels, rows[1], 0.03) == test.labels.numpy()
    probed = probe(fit, test, l2=0.03, pool=pool)
    choose, report = halves(test.ids)
    assert probed.choose == proportion(int(right[choose].sum()), 100)
    assert probed.report == proportion(int(right[report].sum()), 101)
    assert sorted([*choose.tolist(), *report.tolist()]) == list(range(201))


def test_accuracy_falls_with_the_directions_that_carry_the_label() -> None:
    """All three, two, one and none of them: each bit that is gone halves the accuracy."""
    fit, test = planted(400, seed=0), planted(400, seed=1)
    directions = principal_directions(fit)
    accuracies = [probe(fit, test, directions=directions, rank=rank).report.value for rank in (8, 7, 6, 5, 1)]
    assert accuracies[0] > 0.95
    for accuracy, expected in zip(accuracies, (1.0, 0.5, 0.25, 0.125, 0.125), strict=True):
        assert accuracy == pytest.approx(expected, abs=0.08)
    full = probe(fit, test)
    assert probe(fit, test, directions=directions, rank=8) == full


@pytest.mark.parametrize("rank", [2, 6, 8])
def test_the_probe_of_an_approximation_is_that_of_the_approximated_activations(rank: int) -> None:
    fit, test = planted(300, seed=0), planted(200, seed=1)
    directions = principal_directions(fit)
    low = [directions.approximate(replace(x, values=x.values.double()), rank) for x in (fit, test)]
    expected = of_scikit_learn(low[0].values.mean((2, 3)), fit.labels, low[1].values.mean((2, 3)), 0.01)
    right = expected == test.labels.numpy()
    probed = probe(fit, test, directions=directions, rank=rank, l2=0.01)
    assert probed.report.value == pytest.approx(right[halves(test.ids)[1]].mean(), abs=0.01)
    whole = probe(fit, test, directions=directions, rank=rank, l2=0.01, pool=False)
    assert whole.report.n == probed.report.n


def test_in_a_span_the_minimum_is_the_same() -> None:
    generator = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(9, 3, generator=generator, dtype=torch.float64))[0]
    rows = torch.randn(150, 3, generator=generator, dtype=torch.float64) @ basis.T + 4
    labels = (rows @ basis).argmax(1)
    plain, short = (
        logistic_answers(rows[:100], labels[:100], rows[100:], classes=3, l2=0.01, span=span) for span in (None, basis)
    )
    torch.testing.assert_close(short, plain, rtol=0, atol=1e-5)


def test_what_is_read() -> None:
    maps = planted(5, seed=0)
    read = readable(maps)
    assert (read.cut.layout, read.cut.shape, read.values.dtype) == ("nd", (8,), torch.float64)
    torch.testing.assert_close(read.values, maps.values.mean((2, 3)).double())
    tokens = torch.randn(5, 5, 8)
    ids = torch.arange(5)
    behind_cls = Activations(Cut("a", (5, 8), "ntd"), tokens, ids, ids)
    assert torch.equal(readable(behind_cls).values, tokens[:, 0].double())
    square = Activations(Cut("a", (4, 8), "ntd"), tokens[:, 1:], ids, ids)
    torch.testing.assert_close(readable(square).values, tokens[:, 1:].mean(1).double())
    mask = torch.arange(5)[None] < ids[:, None] + 1
    text = replace(behind_cls, mask=mask)
    assert torch.allclose(readable(text).values[1], tokens[1, :2].mean(0).double())
    assert readable(maps, pool=False).values.shape == (5, 8, 2, 2)
    with pytest.raises(DataError, match="which has no place in a flattened row"):
        readable(text, pool=False)


def test_halves_depend_on_ids_and_seed_alone() -> None:
    ids = torch.tensor([9, 4, 77, 12, 3, 50])
    choose, report = halves(ids)
    again, _ = halves(ids.flip(0))
    assert set(ids[choose].tolist()) == set(ids.flip(0)[again].tolist())
    assert not set(choose.tolist()) & set(report.tolist())
    assert any(halves(ids, seed=seed)[0].tolist() != choose.tolist() for seed in range(1, 5))


def test_what_makes_no_sense_is_refused() -> None:
    fit, test = planted(40, seed=0), planted(40, seed=1)
    directions: PrincipalDirections = principal_directions(fit)
    with pytest.raises(DataError, match="40 of the 40 samples of planted are among those that the probe is fitted on"):
        probe(fit, fit)
    assert probe(fit, replace(fit, made_from={"data": "other"})).report.n == 20
    with pytest.raises(InapplicableError, match="planted has samples of one class only"):
        probe(fit.take((fit.labels == fit.labels[0]).nonzero().flatten()), test)
    with pytest.raises(DataError, match="Expected the activations of test to have labels"):
        probe(fit, replace(test, labels=torch.full((40,), -1)))
    with pytest.raises(DataError, match="at least 2 samples to score on, one for each half, but got 1"):
        probe(fit, test.take(torch.tensor([0])))
    with pytest.raises(DataError, match="Expected both `directions` and a `rank`"):
        probe(fit, test, rank=3)
    with pytest.raises(DataError, match="Expected rank to be a whole number from 1 to 8, but got 9"):
        probe(fit, test, directions=directions, rank=9)
