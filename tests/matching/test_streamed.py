"""Matches on streams: one pass, the numbers of the same samples in memory, and no more held than a few batches."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

from seamripper.cut import Split, split
from seamripper.data import Samples, Stream, load_data
from seamripper.errors import DataError
from seamripper.matching import Match, evaluate, match

N = 700


def samples(n: int = N, first_id: int = 0) -> Samples:
    inputs = torch.randn(n, 3, 6, 6, generator=torch.Generator().manual_seed(first_id + 1))
    return Samples("toy", inputs, torch.arange(n) % 3, torch.arange(first_id, first_id + n), classes=3)


def stream(given: Samples, *, known: bool = True, once: bool = False) -> Stream:
    assert isinstance(given.inputs, Tensor)
    rows = list(zip(given.inputs.split(100), given.labels.split(100), strict=True))  # type: ignore[no-untyped-call]
    return Stream("toy", lambda: iter(rows), ids=given.ids if known else None, once=once, classes=3)


@pytest.fixture(scope="module")
def halves() -> tuple[Split, Split]:
    def made(seed: int) -> Split:
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 3), nn.Flatten(), nn.Linear(20, 3))
        return split(net.eval(), "1", torch.zeros(2, 3, 6, 6))

    return made(0), made(1)


@pytest.fixture(scope="module")
def in_memory(halves: tuple[Split, Split]) -> Match:
    return match(*halves, samples(), matching="direct", seed=3)


def test_a_direct_match_is_that_of_the_samples_in_memory(halves: tuple[Split, Split], in_memory: Match) -> None:
    found = match(*halves, stream(samples(), once=True), matching="direct", seed=3)
    for name, weight in found.layer.state_dict().items():
        torch.testing.assert_close(weight, in_memory.layer.state_dict()[name], rtol=1e-5, atol=1e-6)
    assert found.figures.keys() == in_memory.figures.keys()
    for name in ("residual_in_sample", "residual_held_out"):
        assert found.figures[name] == pytest.approx(in_memory.figures[name], rel=1e-9)
    assert torch.equal(found.fitted, in_memory.fitted)
    # The same samples, by their fingerprints: those of the fit, those held out, and all that were given.
    for part in ("fit", "held_out"):
        assert found.made_from[part] == {**in_memory.made_from[part], "source": "toy"}
    assert found.made_from["given"]["fit"]["fingerprint"] == samples().fingerprint


def test_loaders_with_samplers_share_the_samples_that_they_have_in_common(halves: tuple[Split, Split]) -> None:
    """An honest split into two parts is scored, and a part of what was fitted on is refused."""
    given = samples(300)
    dataset = TensorDataset(given.inputs, given.labels)  # type: ignore[arg-type]

    def part(first: int, stop: int) -> DataLoader[tuple[Tensor, ...]]:
        return DataLoader(dataset, batch_size=32, sampler=SubsetRandomSampler(range(first, stop)))

    stitched = match(*halves, part(0, 200), matching="direct")
    assert evaluate(stitched, part(200, 300)).n == 100
    with pytest.raises(DataError, match="among those that the stitch was fitted on"):
        evaluate(stitched, part(0, 100))
    with pytest.raises(DataError, match="among those that the stitch was fitted on"):
        evaluate(stitched, DataLoader(dataset, batch_size=64))


def test_an_unknown_number_is_divided_by_ids(halves: tuple[Split, Split], in_memory: Match) -> None:
    found = match(*halves, stream(samples(), known=False), matching="direct")
    assert found.made_from["fit"]["n"] + found.made_from["held_out"]["n"] == N
    assert 0.15 < found.made_from["held_out"]["n"] / N < 0.25
    assert found.figures["residual_held_out"] == pytest.approx(in_memory.figures["residual_held_out"], rel=0.1)


@pytest.mark.parametrize("n", [5, 60])
def test_few_samples_are_matched_as_in_memory(halves: tuple[Split, Split], n: int) -> None:
    ours, theirs = (match(*halves, fit, matching="direct") for fit in (stream(samples(n)), samples(n)))
    assert ours.figures == theirs.figures


def test_other_matchings_take_a_stream_into_memory(halves: tuple[Split, Split]) -> None:
    ours, theirs = (
        match(*halves, fit, matching="task?epochs=1", seed=1) for fit in (stream(samples(200), once=True), samples(200))
    )
    assert ours.figures == theirs.figures
    assert torch.equal(ours.fitted, theirs.fitted)


@pytest.mark.parametrize("known", [True, False])
def test_a_stream_is_scored_as_in_memory(in_memory: Match, known: bool) -> None:
    other = samples(300, first_id=5000)
    given = stream(other, known=True, once=True) if known else (x for x in zip(other.inputs, other.labels, strict=True))
    ours, theirs = evaluate(in_memory, given, batch=64), evaluate(in_memory, other, batch=64)  # type: ignore[arg-type]
    for name in ("top1", "penalty", "agreement", "kl", "receiver_here", "chance", "n"):
        assert getattr(ours, name) == getattr(theirs, name)
    if known:
        assert ours.made_from["test"]["fingerprint"] == other.fingerprint


def test_a_stream_that_was_fitted_on_is_not_scored(halves: tuple[Split, Split]) -> None:
    given = load_data(samples(), stream=True)
    found = match(*halves, given, matching="direct")
    with pytest.raises(DataError, match="are among those that the stitch was fitted on"):
        evaluate(found, stream(samples()))


class Counted:
    """Samples that are counted while they are held."""

    def __init__(self, n: int, seed: int) -> None:
        self.n, self.seed, self.held, self.most = n, seed, 0, 0

    def __iter__(self) -> Iterator[tuple[Tensor, int]]:
        generator = torch.Generator().manual_seed(self.seed)
        for k in range(self.n):
            one = torch.randn(3, 6, 6, generator=generator)
            self.held += 1
            weakref.finalize(one, self._let_go)
            self.most = max(self.most, self.held)
            yield one, k % 3

    def _let_go(self) -> None:
        self.held -= 1


def test_ten_times_the_samples_hold_no_more(halves: tuple[Split, Split]) -> None:
    most = []
    for n in (600, 6000):
        fit, test = Counted(n, 0), Counted(n, 1)
        found = match(*halves, (one for one in fit), matching="direct")  # type: ignore[arg-type]
        result = evaluate(found, (one for one in test))  # type: ignore[arg-type]
        assert (result.n, found.made_from["given"]["fit"]["n"]) == (n, n)
        most.append((fit.most, test.most))
    assert most[0] == most[1]
    assert max(most[0]) <= 2 * 64
