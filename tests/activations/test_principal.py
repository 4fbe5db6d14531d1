"""Principal directions: against an SVD and scikit-learn's PCA; fitted once, and put to any samples."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from torch import Tensor

from seamripper.activations import Activations, principal, principal_directions
from seamripper.cut import Cut
from seamripper.cut.place import LAYOUTS
from seamripper.errors import DataError

SHAPES = [(60, 6), (20, 5, 6), (20, 6, 3, 4)]


def stored(*shape: int, seed: int = 0, mask: Tensor | None = None, dtype: torch.dtype = torch.float64) -> Activations:
    """Activations whose channels vary by different amounts about a large mean."""
    layout = LAYOUTS[len(shape)]
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    width = shape[1] if layout == "nchw" else shape[-1]
    mix = torch.randn(width, width, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    last = values.movedim(1, -1) if layout == "nchw" else values
    last = last * torch.logspace(1, -1, width, dtype=torch.float64) @ mix + 10
    values = (last.movedim(-1, 1) if layout == "nchw" else last).contiguous().to(dtype)
    ids = torch.arange(shape[0])
    return Activations(Cut("a", shape[1:], layout), values, ids % 2, ids, mask=mask)


def rows(activations: Activations) -> np.ndarray:
    """One row per position, made by hand."""
    values = activations.values
    last = values.movedim(1, -1) if activations.cut.layout == "nchw" else values
    return last.reshape(-1, activations.cut.width).double().numpy()


@pytest.mark.parametrize("shape", SHAPES)
def test_directions_are_the_right_singular_vectors(shape: tuple[int, ...]) -> None:
    activations = stored(*shape)
    ours, x = principal_directions(activations), rows(activations)
    _, values, vt = np.linalg.svd(x - x.mean(0), full_matrices=False)
    np.testing.assert_allclose(ours.mean, x.mean(0), rtol=1e-12)
    np.testing.assert_allclose(ours.spread, values**2, rtol=1e-8)
    np.testing.assert_allclose(np.abs((vt * ours.basis.T.numpy()).sum(1)), 1, rtol=1e-9)
    assert (ours.n, ours.width) == (len(x), 6)


@pytest.mark.parametrize("rank", [1, 3, 6])
@pytest.mark.parametrize("shape", SHAPES)
def test_approximations_of_other_samples_are_those_of_scikit_learn(shape: tuple[int, ...], rank: int) -> None:
    fit, other = stored(*shape), stored(*shape, seed=1)
    theirs = PCA(rank, svd_solver="full").fit(rows(fit))
    ours = principal_directions(fit).approximate(other, rank)
    expected = theirs.inverse_transform(theirs.transform(rows(other)))
    np.testing.assert_allclose(rows(ours), expected, rtol=1e-9, atol=1e-9)
    assert ours.values.shape == other.values.shape
    assert torch.equal(ours.ids, other.ids)


def test_at_full_rank_activations_stay_as_they_are() -> None:
    activations = stored(20, 6, 3, 4, dtype=torch.float32)
    same = principal_directions(activations).approximate(activations, 6)
    assert same.values.dtype == torch.float32
    torch.testing.assert_close(same.values, activations.values, rtol=1e-6, atol=0)


def test_of_the_samples_that_it_was_fitted_on_nothing_is_nearer() -> None:
    """Eckart and Young: what is left over are the smallest singular values."""
    activations = stored(20, 5, 6)
    directions = principal_directions(activations)
    left = (directions.approximate(activations, 2).values - activations.values).square().sum()
    assert float(left) == pytest.approx(float(directions.spread[2:].sum()), rel=1e-9)


def test_many_parts_make_the_directions_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    activations = stored(20, 6, 3, 4)
    whole = principal_directions(activations)
    monkeypatch.setattr(principal, "_AT_ONCE", 3 * 72)
    parts = principal_directions(activations)
    torch.testing.assert_close(parts.spread, whole.spread, rtol=1e-12, atol=0)
    torch.testing.assert_close(parts.approximate(activations, 2).values, whole.approximate(activations, 2).values)


def test_padding_makes_no_row() -> None:
    mask = torch.arange(5)[None] < torch.arange(20)[:, None] % 5 + 1
    padded = stored(20, 5, 6, mask=mask)
    padded.values[~mask] = 1e6
    directions = principal_directions(padded)
    x = padded.values[mask].numpy()
    assert directions.n == len(x) == int(mask.sum())
    np.testing.assert_allclose(directions.mean, x.mean(0), rtol=1e-12)


def test_some_of_the_activations() -> None:
    mask = torch.ones(20, 5, dtype=torch.bool)
    mask[7, 3:] = False
    activations = stored(20, 5, 6, mask=mask)
    some = activations.take(torch.tensor([7, 2]))
    assert some.ids.tolist() == [7, 2]
    assert some.labels.tolist() == [1, 0]
    assert torch.equal(some.values, activations.values[[7, 2]])
    assert some.mask is not None
    assert some.mask.sum(1).tolist() == [3, 5]


def test_what_makes_no_sense_is_refused() -> None:
    directions = principal_directions(stored(60, 6))
    for rank in (0, 7, 2.0, True):
        with pytest.raises(DataError, match="Expected rank to be a whole number from 1 to 6, but got"):
            directions.approximate(stored(60, 6), rank)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"Expected activations of width 6, .* at a \(4x2x2, nchw\) have 4"):
        directions.approximate(stored(3, 4, 2, 2), 1)
    with pytest.raises(DataError, match="Expected 2 rows of activations or more to find directions in, but got 1"):
        principal_directions(stored(1, 6))
    with pytest.raises(DataError, match="Expected activations to be an Activations, but got a Tensor of 3x3"):
        principal_directions(torch.zeros(3, 3))  # type: ignore[arg-type]
