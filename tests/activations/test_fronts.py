"""Fronts: an input is computed once, in whatever order or company it is shown again."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from seamripper.activations.fronts import Fronts, KeepingHead
from seamripper.cut import Split, split
from seamripper.data.samples import Inputs


class Counting(nn.Linear):
    """Counts the rows that it is shown."""

    rows = 0

    def forward(self, x: Tensor) -> Tensor:
        Counting.rows += len(x)
        return super().forward(x)


@pytest.fixture
def half() -> Split:
    cut = split(nn.Sequential(Counting(4, 3), nn.ReLU(), nn.Linear(3, 2)), "0", torch.zeros(1, 4))
    Counting.rows = 0
    return cut


def test_what_was_shown_before_is_not_computed_again(half: Split) -> None:
    fronts, inputs = Fronts(), torch.randn(20, 4)
    kept, order = fronts.keep(half), torch.randperm(20)
    expected = half.head(inputs)
    Counting.rows = 0
    assert torch.equal(kept.head(inputs[:12]), expected[:12])
    # Eight new ones among those that are known, and some of them twice.
    shown = torch.cat([order, order[:5]])
    assert torch.allclose(kept.head(inputs[shown]), expected[shown], atol=1e-6)
    assert Counting.rows == 20
    assert (fronts.computed, fronts.found) == (20, 12 + 5)
    assert kept.head.knows(inputs)
    assert not kept.head.knows(torch.randn(1, 4))


def test_whoever_writes_into_activations_does_not_change_what_is_kept(half: Split) -> None:
    kept, inputs = Fronts().keep(half), torch.randn(3, 4)
    first = kept.head(inputs)
    expected = first.clone()
    first.zero_()
    kept.head(inputs).zero_()
    assert torch.equal(kept.head(inputs), expected)


def test_splits_of_one_model_share_what_they_compute_and_other_models_do_not(half: Split) -> None:
    fronts, inputs = Fronts(), torch.randn(3, 4)
    fronts.keep(half).head(inputs)
    fronts.keep(half).head(inputs)
    assert Counting.rows == 3
    other = split(half.model.module, "0", torch.zeros(1, 4))
    Counting.rows = 0
    fronts.keep(other).head(inputs)
    assert Counting.rows == 3
    fronts.forget(other)
    fronts.keep(half).head(inputs)
    assert Counting.rows == 3
    fronts.clear()
    fronts.keep(half).head(inputs)
    assert Counting.rows == 6


def test_beyond_the_memory_they_are_on_disk_and_without_a_disk_computed_again(half: Split, tmp_path: Path) -> None:
    inputs = torch.randn(6, 4)
    for folder, rows in ((tmp_path, 6), (tmp_path / "missing", 9)):
        fronts = Fronts(memory=3 * 3 * 4, folder=folder)
        kept = fronts.keep(half)
        Counting.rows = 0
        parts = [kept.head(inputs[:3]), kept.head(inputs[3:])]
        assert torch.equal(torch.cat(parts), half.head(inputs))
        Counting.rows -= 6
        assert torch.equal(kept.head(inputs[:3]), parts[0])
        assert torch.equal(kept.head(inputs[3:]), parts[1])
        assert Counting.rows == rows
    assert not list(tmp_path.iterdir())


def test_what_is_shown_once_is_not_kept(half: Split) -> None:
    fronts, inputs = Fronts(), torch.randn(3, 4)
    kept = fronts.keep(half)
    with fronts.keeping_nothing():
        kept.head(inputs)
    assert not kept.head.knows(inputs)


def test_named_inputs_are_told_apart_by_every_column() -> None:
    class Texts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.out = nn.Embedding(5, 3), nn.Linear(3, 2)

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            return self.out((self.embed(input_ids) * attention_mask[:, :, None]).sum(1))

    example: Inputs = {"input_ids": torch.tensor([[1, 2, 3]]), "attention_mask": torch.ones(1, 3, dtype=torch.int64)}
    half = split(Texts(), "before:out", example)
    kept = Fronts().keep(half)
    other = {**example, "attention_mask": torch.tensor([[1, 1, 0]])}
    for inputs in (example, other, example):
        assert torch.equal(kept.head(inputs), half.head(inputs))


def test_large_inputs_are_shown_a_few_at_a_time() -> None:
    class Pooled(nn.Module):
        most = 0

        def __init__(self) -> None:
            super().__init__()
            self.conv, self.out = nn.Conv2d(1, 1, 1), nn.Linear(1, 2)

        def forward(self, x: Tensor) -> Tensor:
            Pooled.most = max(Pooled.most, len(x))
            return self.out(self.conv(x).mean((2, 3)))

    half = Fronts().keep(split(Pooled(), "conv", torch.zeros(1, 1, 8, 8), way="hooks"))
    assert isinstance(half.head, KeepingHead)
    half.head(torch.arange(20.0).reshape(20, 1, 1, 1).expand(20, 1, 1024, 512))
    assert Pooled.most == 4
