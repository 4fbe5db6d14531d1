"""Draws by seed and id, and the partner of a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from seamripper.audits.interventions.draws import partners, permutations, uniforms
from seamripper.data import Samples


def splitmix64(state: int) -> int:
    """As in the reference implementation (Vigna 2015), in whole numbers of any size."""
    word = (1 << 64) - 1
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & word
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & word
    return state ^ (state >> 31)


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
@pytest.mark.parametrize("sample", [0, 3, 2**32 + 3, 2**62])
def test_they_are_splitmix64(seed: int, sample: int) -> None:
    word, step = (1 << 64) - 1, 0x9E3779B97F4A7C15
    start = splitmix64((sample + (seed + 1) * step) & word)
    expected = [(splitmix64((start + k * step) & word) >> 11) / 2**53 for k in (1, 2, 3)]
    assert uniforms(torch.tensor([sample]), 3, seed=seed)[0].tolist() == expected


def test_they_are_uniform_and_independent_of_each_other() -> None:
    drawn = uniforms(torch.arange(2000), 8, seed=0).numpy()
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert stats.kstest(drawn.ravel(), "uniform").pvalue > 0.001
    other = uniforms(torch.arange(2000), 8, seed=1).numpy()
    # Columns, neighbouring ids and neighbouring seeds: 1 / √2000 is 0.022.
    for a, b in ((drawn[:, 0], drawn[:, 1]), (drawn[:-1, 0], drawn[1:, 0]), (drawn[:, 0], other[:, 0])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.1


def test_an_id_draws_the_same_in_any_company() -> None:
    ids = torch.tensor([5, 2**40, 9])
    whole = uniforms(ids, 6, seed=4)
    assert torch.equal(uniforms(ids[1:2], 4, seed=4), whole[1:2, :4])
    assert torch.equal(uniforms(ids.flip(0), 6, seed=4), whole.flip(0))
    assert not torch.equal(uniforms(ids, 6, seed=5), whole)


def test_every_permutation_is_as_likely() -> None:
    found = permutations(torch.arange(6000), 3, seed=0)
    assert torch.equal(found.sort(1).values, torch.arange(3).expand(6000, -1))
    counts = np.unique(found.numpy(), axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 0.001


def test_a_partner_has_another_label_and_any_is_as_likely(make: Any) -> None:
    labels = torch.tensor([2, 0, 1, 0, 2, 0, 0])
    samples = Samples("seven", torch.zeros(7, 1), labels, torch.arange(7), classes=4)
    drawn = torch.stack([partners(samples, seed=seed) for seed in range(3000)])
    for row, label in enumerate(labels.tolist()):
        counts = torch.bincount(drawn[:, row], minlength=7).numpy()
        other = (labels != label).numpy()
        assert not counts[~other].any()
        assert stats.chisquare(counts[other]).pvalue > 1e-4


def test_of_one_label_a_partner_is_any_other() -> None:
    samples = Samples("four", torch.zeros(4, 1), torch.full((4,), 3), torch.arange(4), classes=5)
    drawn = torch.stack([partners(samples, seed=seed) for seed in range(3000)])
    for row in range(4):
        counts = torch.bincount(drawn[:, row], minlength=4).numpy()
        assert counts[row] == 0
        assert stats.chisquare(np.delete(counts, row)).pvalue > 1e-4


def test_partners_do_not_depend_on_the_order_of_the_samples() -> None:
    samples = Samples("sixty", torch.zeros(60, 1), torch.arange(60) % 4, torch.arange(20, 80), classes=4)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(0))
    moved = samples.take(order)
    assert torch.equal(moved.ids[partners(moved, seed=1)], samples.ids[partners(samples, seed=1)][order])


def test_one_sample_is_its_own_partner() -> None:
    one = Samples("one", torch.zeros(1, 1), torch.tensor([2]), torch.tensor([9]), classes=3)
    assert partners(one, seed=0).tolist() == [0]
