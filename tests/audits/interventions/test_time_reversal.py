"""Time reversal."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from seamripper.audits.interventions.time_reversal import TimeReversal
from seamripper.errors import InapplicableError


def test_the_last_value_comes_first(make: Any) -> None:
    waves = torch.arange(12.0).view(3, 4)
    assert TimeReversal().change(make.of(waves), seed=0).tolist() == [[3, 2, 1, 0], [7, 6, 5, 4], [11, 10, 9, 8]]


def test_twice_is_nothing(make: Any) -> None:
    samples = make.waves()
    assert torch.equal(TimeReversal().change(TimeReversal().apply(samples), seed=0), samples.inputs)


def test_the_tones_stay(make: Any) -> None:
    samples = make.waves()
    before, after = (torch.fft.rfft(one).abs() for one in (samples.inputs, TimeReversal().change(samples, seed=0)))
    torch.testing.assert_close(before, after, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("axis", [2, -2])
def test_another_axis(axis: int, make: Any) -> None:
    spectrograms = make.floats().inputs
    changed = TimeReversal(axis=axis).change(make.of(spectrograms), seed=0)
    assert all(torch.equal(changed[:, :, i], spectrograms[:, :, 11 - i]) for i in range(12))


@pytest.mark.parametrize("axis", [0, 2, -2])
def test_samples_do_not_change_places(axis: int, make: Any) -> None:
    with pytest.raises(InapplicableError, match=f"along axis {axis} is not possible for waves: .* 1 … 1, or −1 … −1"):
        TimeReversal(axis=axis).apply(make.waves())
