"""Aligned cosine against SciPy's rotation and a loop over samples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from pairs import noise, rotation
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.aligned_cosine import AlignedCosine
from seamripper.measures.pair import Pair


def cosine(x: Tensor, y: Tensor, about: str = "origin") -> float:
    return AlignedCosine(about=about).value(Pair.of(x, y))  # type: ignore[arg-type]


def by_loop(x: Tensor, y: Tensor, *, centred: bool) -> float:
    wide = max(x.shape[1], y.shape[1])
    a, b = (np.pad((z - z.mean(0) if centred else z).numpy(), ((0, 0), (0, wide - z.shape[1]))) for z in (x, y))
    turn, _ = scipy.linalg.orthogonal_procrustes(a, b)
    cosines = [np.dot(r, s) / (np.linalg.norm(r) * np.linalg.norm(s)) for r, s in zip(a @ turn, b, strict=True)]
    return float(np.mean(cosines))


@pytest.mark.parametrize(("n", "p", "q"), [(30, 5, 5), (30, 2, 6), (30, 6, 2), (8, 12, 12), (8, 12, 3)])
@pytest.mark.parametrize("centred", [False, True])
def test_it_is_the_mean_over_samples(n: int, p: int, q: int, centred: bool) -> None:
    x, y = noise(n, p, 0) + 1, noise(n, q, 1) - 0.5
    found = cosine(x, y, "mean" if centred else "origin")
    assert found == pytest.approx(by_loop(x, y, centred=centred), abs=1e-10)


def test_a_large_mean_hides_everything_but_about_the_mean() -> None:
    x, y = noise(50, 5, 0), noise(50, 5, 1)
    assert cosine(x + 100, y + 100) > 0.999
    assert cosine(x + 100, y + 100, "mean") == pytest.approx(cosine(x, y, "mean"), abs=1e-9)
    assert cosine(x, y, "mean") < 0.7


@pytest.mark.parametrize("about", ["origin", "mean"])
def test_a_rotated_and_scaled_copy_is_1(about: str) -> None:
    x = noise(40, 6, 0) + 1
    turn = rotation(6, 1)
    assert cosine(x, 5 * x @ turn, about) == pytest.approx(1.0, abs=1e-12)
    # With every column twice the products are short of rank, and Q is not unique.
    assert cosine(torch.cat([x, x], 1), torch.cat([x, x], 1), about) == pytest.approx(1.0, abs=1e-12)


def test_what_the_alignment_leaves_free_does_not_count() -> None:
    # Columns a, b of x and a, c of y, all orthogonal: Xᵀ Y leaves it open whether b is turned to c or to −c.
    a, b, c = torch.linalg.qr(noise(8, 3, 0))[0].T
    x, y = torch.stack([a, b], 1), torch.stack([a, c], 1)
    lengths = x.norm(dim=1) * y.norm(dim=1)
    assert abs(float((b * c / lengths).mean())) > 0.01
    assert cosine(x, y) == pytest.approx(float((a * a / lengths).mean()), abs=1e-12)


@pytest.mark.parametrize("width", [4, 40])
def test_samples_with_a_zero_row_are_left_out(width: int) -> None:
    x, y = noise(20, width, 0), noise(20, width, 1)
    x[3], y[7] = 0.0, 0.0
    some = [i for i in range(20) if i not in (3, 7)]
    a, b = x.numpy(), y.numpy()
    turn, _ = scipy.linalg.orthogonal_procrustes(a, b)
    cosines = [a[i] @ turn @ b[i] / (np.linalg.norm(a[i]) * np.linalg.norm(b[i])) for i in some]
    assert cosine(x, y) == pytest.approx(np.mean(cosines), abs=1e-9)


def test_a_constant_side_has_a_direction_but_not_about_the_mean() -> None:
    x = noise(20, 3, 0) + 2
    mean = x.mean(0)
    towards = (x @ mean / (x.norm(dim=1) * mean.norm())).mean()
    assert cosine(x, torch.ones(20, 2)) == pytest.approx(float(towards), abs=1e-12)
    with pytest.raises(MeasureError, match="receiver's activations are constant"):
        cosine(x, torch.ones(20, 2), "mean")


def test_no_rows_with_a_direction_are_refused() -> None:
    x = noise(6, 3, 0)
    with pytest.raises(MeasureError, match="in every sample the row of one side is zero"):
        cosine(x, torch.zeros(6, 3))


def test_unknown_option() -> None:
    with pytest.raises(MeasureError, match="'origin' or 'mean'"):
        AlignedCosine(about="median")  # type: ignore[arg-type]
