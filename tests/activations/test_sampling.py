"""Sampling: how maps, tokens and vectors become rows."""

from __future__ import annotations

import pytest
import torch

from seamripper.activations import Sampling, rows_of


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_a_row_a_position_of_a_map() -> None:
    maps = drawn(3, 4, 2, 5)
    rows = rows_of(maps, "nchw", "positions")
    assert rows.shape == (30, 4)
    for n in range(3):
        for high in range(2):
            for wide in range(5):
                assert torch.equal(rows[10 * n + 5 * high + wide], maps[n, :, high, wide])


def test_a_row_a_token() -> None:
    tokens = drawn(3, 7, 4)
    rows = rows_of(tokens, "ntd", "positions")
    assert rows.shape == (21, 4)
    assert torch.equal(rows[7 * 2 + 3], tokens[2, 3])


def test_a_row_a_sample() -> None:
    maps, tokens = drawn(3, 4, 2, 5), drawn(3, 7, 4)
    assert torch.equal(rows_of(maps, "nchw", "flatten"), maps.reshape(3, 40))
    assert torch.equal(rows_of(tokens, "ntd", "flatten"), tokens.reshape(3, 28))
    means = torch.stack([torch.stack([maps[n, c].sum() / 10 for c in range(4)]) for n in range(3)])
    torch.testing.assert_close(rows_of(maps, "nchw", "pool"), means)
    torch.testing.assert_close(rows_of(tokens, "ntd", "pool"), sum(tokens[:, t] for t in range(7)) / 7)


@pytest.mark.parametrize("sampling", ["positions", "flatten", "pool"])
def test_vectors_are_rows(sampling: Sampling) -> None:
    rows = drawn(3, 4)
    assert rows_of(rows, "nd", sampling) is rows


def test_a_mean_in_half_precision_does_not_overflow_on_the_way() -> None:
    tokens, mask = torch.full((2, 301, 3), 300.0), torch.ones(2, 301, dtype=torch.bool)
    mask[1, 7:] = False
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        mean = rows_of(tokens.to(dtype), "ntd", "pool", mask)
        assert torch.equal(mean, torch.full((2, 3), 300.0, dtype=dtype))
