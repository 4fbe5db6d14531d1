"""The excess over all looks: against plain loops, and its false alarms and power on leanings that are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from seamripper.audits.departure import FEWEST, RESAMPLES, Choices, Excess, Floats, excess


def drawn(
    rng: np.random.Generator, n: int, rates: list[float], *, networks: int = 1, sure: float = 0.8, spread: float = 0.0
) -> Floats:
    """How networks lean that name the other input at these rates, and are undecided on a fifth of the pairs.

    The receiver names the first input throughout.
    """
    shift = 1 + spread * rng.standard_normal((networks, 1, 1))
    other = rng.random((networks, n, len(rates))) < np.clip(np.array(rates) * shift, 0, 1)
    return np.where(rng.random(other.shape) < sure, np.where(other, 0.98, 0.02), 0.5)


def of(receiver: Choices, *sides: Floats, tolerance: float = 0.0) -> Excess:
    found = excess(receiver, *sides, tolerance=tolerance)
    assert found is not None
    return found


def departure(receiver: Choices, networks: Floats, look: int, rows: list[int]) -> float:
    other, sure = 0.0, 0
    for network in networks:
        for row in rows:
            if receiver[row, look]:
                sure += 1
                other += network[row, look] if receiver[row, look] == 1 else 1 - network[row, look]
    return other / sure


def test_the_figures_are_those_of_plain_loops() -> None:
    rng = np.random.default_rng(3)
    receiver = rng.choice([-1, 0, 1], size=(120, 3)).astype(np.int8)
    # In the terms of the receiver's choice, so that a departure is a departure from it.
    sender, control = (
        np.where(receiver < 0, 1 - leanings, leanings)
        for leanings in (drawn(rng, 120, [0.3, 0.05, 0.1], networks=2), drawn(rng, 120, [0.05, 0.05, 0.1]))
    )
    found = of(receiver, sender, control, tolerance=0.02)
    every = list(range(120))
    weights = np.random.default_rng(0).multinomial(120, np.full(120, 1 / 120), size=RESAMPLES)
    values, largest, errors, deviations = [], [], [], []
    for look in range(3):
        value = departure(receiver, sender, look, every) - departure(receiver, control, look, every)
        values.append(value)
        resampled = []
        for counts in weights[:200]:
            rows = [row for row, count in enumerate(counts) for _ in range(count)]
            resampled.append(departure(receiver, sender, look, rows) - departure(receiver, control, look, rows))
        errors.append(np.std(resampled))
        deviations.append(np.abs(np.array(resampled) - value))
    assert found.value == pytest.approx(values)
    assert found.error == pytest.approx(errors, rel=0.15)
    largest = np.max([d / e for d, e in zip(deviations, found.error, strict=True)], axis=0)
    assert found.reach == pytest.approx(np.quantile(largest, 0.95), rel=0.15)
    assert found.largest == 0
    assert found.low[0] == pytest.approx(found.value[0] - found.reach * found.error[0])
    # The interval lies above the tolerance where the p-value says so, and only there.
    assert (found.low[0] > 0.02) == (found.p < 0.05)


RATES = [0.0, 0.01, 0.03, 0.05, 0.08, 0.08, 0.05, 0.02, 0.0, 0.1]


def alarms(trials: int, rates: list[float], *, networks: int, spread: float) -> float:
    rng, receiver, count = np.random.default_rng(0), np.ones((400, len(RATES)), np.int8), 0
    for _ in range(trials):
        control = drawn(rng, 400, RATES, networks=networks, spread=spread)
        found = of(receiver, drawn(rng, 400, rates, spread=spread), control)
        count += found.p < 0.05
    return count / trials


@pytest.mark.slow
def test_a_sender_like_its_control_is_seldom_called_different() -> None:
    assert alarms(100, RATES, networks=1, spread=0.0) <= 0.07
    # Networks that differ among themselves: their spread counts where there are several.
    assert alarms(100, RATES, networks=3, spread=0.5) <= 0.07


@pytest.mark.slow
def test_one_look_in_ten_is_enough() -> None:
    different = [*RATES[:-1], 0.3]
    assert alarms(20, different, networks=1, spread=0.0) > 0.9


def test_the_spread_of_the_controls_networks_widens_the_intervals() -> None:
    n = 4000
    rng, receiver = np.random.default_rng(1), np.ones((n, 2), np.int8)
    sender = drawn(rng, n, [0.2, 0.2])
    alike = np.concatenate([drawn(rng, n, [0.2, 0.2]) for _ in range(3)])
    apart = np.concatenate([drawn(rng, n, [rate, rate]) for rate in (0.05, 0.2, 0.35)])
    # Four fifths of the pairs are decided, at rates that are 0.15 apart.
    ours, pairs = of(receiver, sender, apart), of(receiver, sender, alike)
    assert ours.spread == pytest.approx(0.96 * 0.8 * 0.15, rel=0.1)
    assert pairs.spread < 0.01
    assert of(receiver, sender, alike[:1]).spread == 0.0
    assert ours.error[0] == pytest.approx(np.sqrt(pairs.error[0] ** 2 + ours.spread**2 * 4 / 3), rel=0.1)


def test_pairs_that_share_an_input_are_not_independent() -> None:
    """Of 380 inputs with one answer and 20 with another, the 20 are the partners of all the others."""
    n, few = 400, 20
    receiver = np.ones((n, 1), np.int8)
    control = np.full((1, n, 1), 0.1)
    values, errors, naive = [], [], []
    for trial in range(60):
        rng = np.random.default_rng(trial)
        partners = np.concatenate([n - few + rng.integers(few, size=n - few), rng.integers(n - few, size=few)])
        of_input = 0.3 + 0.2 * rng.standard_normal(n)
        pull = (of_input + of_input[partners]) / 2 + 0.1 * rng.standard_normal(n)
        sender = np.clip(pull, 0, 1)[None, :, None]
        found = excess(receiver, sender, control, partners=partners)
        assert found is not None
        values.append(found.value[0])
        errors.append(found.error[0])
        if trial < 5:
            naive.append(of(receiver, sender, control).error[0])
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.25)
    assert np.mean(naive) < np.std(values) / 2


def test_a_network_that_is_undecided_departs_by_a_half() -> None:
    receiver = np.tile(np.array([[1], [-1], [0]], np.int8), (40, 1))
    undecided, sure = np.full((1, 120, 1), 0.5), np.where(receiver < 0, 1.0, 0.0)[None]
    found = of(receiver, undecided, sure)
    assert (found.sender[0], found.control[0], found.pairs[0]) == (0.5, 0.0, 80)


def test_looks_on_which_the_receiver_is_seldom_sure_do_not_count() -> None:
    receiver = np.ones((200, 2), np.int8)
    receiver[FEWEST - 1 :, 0] = 0
    sender = np.zeros((1, 200, 2))
    sender[0, :, 0] = 1.0
    found = of(receiver, sender, np.zeros((1, 200, 2)))
    assert found.pairs.tolist() == [FEWEST - 1, 200]
    assert (found.largest, found.value[1], found.p > 0.5) == (1, 0.0, True)
    assert excess(receiver[:10], sender[:, :10], sender[:, :10]) is None


def test_all_against_none_has_an_interval() -> None:
    receiver = np.ones((100, 1), np.int8)
    found = of(receiver, np.ones((1, 100, 1)), np.zeros((1, 100, 1)), tolerance=0.05)
    assert (found.value[0], found.p < 0.001) == (1.0, True)
    assert 0.9 < found.low[0] < 1 == found.high[0]
