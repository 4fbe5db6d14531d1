"""One pass over a stream comes to the numbers that the same samples come to in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from seamripper.comparing import Comparison, Rule, compare
from seamripper.comparing.order import deal
from seamripper.data import Samples, Stream, load_data
from seamripper.errors import DataError

N = 420
MEASURES = ("linear_cka", "opd", "cca_mean", "rsa", "mutual_knn")


@pytest.fixture(scope="module")
def nets() -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    return tuple(  # type: ignore[return-value]
        nn.Sequential(
            nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 5, 3), nn.Flatten(), nn.Linear(80, 3)
        )
        for _ in range(2)
    )


@pytest.fixture(scope="module")
def samples() -> Samples:
    inputs = torch.randn(N, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    # Sorted by class, as data often comes.
    return Samples("toy", inputs, torch.arange(N) // 140, torch.arange(N), classes=3)


def stream(samples: Samples, *, known: bool = True) -> Stream:
    assert isinstance(samples.inputs, Tensor)
    rows = list(zip(samples.inputs.split(37), samples.labels.split(37), strict=True))  # type: ignore[no-untyped-call]
    return Stream("toy", lambda: iter(rows), ids=samples.ids if known else None, classes=3)


def values(comparison: Comparison, label: str, *, interval: bool) -> Tensor:
    rows = [
        (e.value, *((e.low, e.high) if interval else ()))
        for row in comparison[label].scores
        for e in row
        if e is not None
    ]
    assert rows
    return torch.tensor(rows, dtype=torch.float64)


def both(nets: Any, one: Any, other: Any, **options: Any) -> tuple[Comparison, Comparison]:
    options = {"measures": MEASURES, "sender_cuts": ["0", "3"], "receiver_cuts": ["2", "3"], **options}
    first, second = (compare(*nets, data, **options) for data in (one, other))
    return first, second


@pytest.mark.parametrize("keep", [60, 1000])
def test_values_and_intervals_are_those_in_memory(nets: Any, samples: Samples, keep: int) -> None:
    rule = Rule(batch=20, keep=keep, products="float64", optimise=False)
    ours, theirs = both(nets, stream(samples), samples, rule=rule)
    for label in MEASURES:
        torch.testing.assert_close(
            values(ours, label, interval=True), values(theirs, label, interval=True), rtol=1e-9, atol=1e-9
        )
    assert ours.record["data"]["fingerprint"] == theirs.record["data"]["fingerprint"]
    assert ours.record["n"] == theirs.record["n"] == N


def test_an_unknown_number_changes_only_the_intervals(nets: Any, samples: Samples) -> None:
    rule = Rule(batch=20, keep=60, products="float64", optimise=False)
    ours, theirs = both(nets, stream(samples, known=False), samples, rule=rule)
    for label in MEASURES:
        torch.testing.assert_close(
            values(ours, label, interval=False), values(theirs, label, interval=False), rtol=1e-9, atol=1e-9
        )
    assert ours.record["n"] == N


def test_fast_ways_agree_within_their_rounding(nets: Any, samples: Samples) -> None:
    ours, theirs = both(nets, stream(samples), samples)
    for label in MEASURES:
        torch.testing.assert_close(
            values(ours, label, interval=True), values(theirs, label, interval=True), rtol=0, atol=2e-5
        )


def test_a_batch_has_one_fold_and_every_sample_is_dealt_once(samples: Samples) -> None:
    for known in (True, False):
        dealt = list(deal(stream(samples, known=known), batch=20, folds=5, seed=0))
        assert sorted(k for batch, _ in dealt for k in batch.ids.tolist()) == list(range(N))
        folds = [sum(len(batch) for batch, fold in dealt if fold == k) for k in range(5)]
        assert min(folds) > N / 5 / 1.5
        for fold in range(5):
            labels = torch.cat([batch.labels for batch, its in dealt if its == fold])
            # In no fold is a class left out, although the data is sorted by class.
            assert torch.bincount(labels, minlength=3).min() > 10


class Counted:
    """Samples that are counted while they are held."""

    def __init__(self, n: int) -> None:
        self.n, self.held, self.most = n, 0, 0

    def __iter__(self) -> Iterator[Tensor]:
        import weakref

        generator = torch.Generator().manual_seed(0)
        for _ in range(self.n):
            one = torch.randn(3, 8, 8, generator=generator)
            self.held += 1
            weakref.finalize(one, self._let_go)
            self.most = max(self.most, self.held)
            yield one

    def _let_go(self) -> None:
        self.held -= 1


def test_ten_times_the_samples_hold_no_more(nets: Any) -> None:
    most = []
    for n in (200, 2000):
        counted = Counted(n)
        comparison = compare(*nets, (one for one in counted), sender_cuts=["3"], receiver_cuts=["3"])
        assert comparison.record["n"] == n
        most.append(counted.most)
    # A generator's samples are stacked 64 at a time, and a stack is a copy.
    assert most[0] == most[1] <= 2 * 64


def test_a_generator_needs_no_labels_and_no_number(nets: Any, samples: Samples) -> None:
    comparison = compare(*nets, iter(samples.inputs), sender_cuts=["3"], receiver_cuts=["3"])  # type: ignore[arg-type]
    assert comparison.record["n"] == N


def test_a_shuffled_loader_will_do_for_one_pass(nets: Any, samples: Samples) -> None:
    random.seed(0)
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(samples.inputs, samples.labels), batch_size=16, shuffle=True)  # type: ignore[arg-type]
    comparison = compare(*nets, loader, sender_cuts=["3"], receiver_cuts=["3"])
    plain = compare(*nets, samples, sender_cuts=["3"], receiver_cuts=["3"])
    torch.testing.assert_close(
        values(comparison, "linear_cka", interval=False),
        values(plain, "linear_cka", interval=False),
        rtol=1e-5,
        atol=1e-6,
    )


def test_stitching_and_nulls_take_the_stream_into_memory(nets: Any, samples: Samples) -> None:
    cuts = {"sender_cuts": ["3"], "receiver_cuts": ["3"]}
    ours, theirs = (compare(*nets, data, null=19, **cuts) for data in (stream(samples), samples))  # type: ignore[arg-type]
    assert ours["linear_cka"].null == theirs["linear_cka"].null
    ours, theirs = (
        compare(*nets, data, measures="direct_functional", **cuts)  # type: ignore[arg-type]
        for data in (stream(samples), samples)
    )
    assert ours["direct_functional"].scores == theirs["direct_functional"].scores


@pytest.mark.parametrize("rule", ["positions", "pool"])
def test_a_text_of_which_no_token_counts_is_refused_as_in_memory(rule: str) -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.mix = nn.Embedding(9, 6), nn.Linear(6, 6)

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            return torch.tanh(self.mix(self.embed(input_ids)))

    ids, reader = torch.randint(1, 9, (60, 5), generator=torch.Generator().manual_seed(0)), Reader()
    texts = [{"input_ids": row, "attention_mask": torch.tensor([1, 1, 1, 1, k % 2])} for k, row in enumerate(ids)]
    options: dict[str, Any] = {"rule": rule, "sender_cuts": ["mix"], "receiver_cuts": ["mix"]}
    assert compare(reader, reader, texts, **options)["linear_cka"].values[0][0] == pytest.approx(1.0)
    texts[40]["attention_mask"] = torch.zeros(5, dtype=torch.long)
    for data in (texts, load_data(texts)):
        with pytest.raises(DataError, match=r"Sample .* \(id 40\) has no token that counts"):
            compare(reader, reader, data, **options)


def test_an_empty_generator_is_refused(nets: Any) -> None:
    with pytest.raises(DataError, match="is empty"):
        compare(*nets, (x for x in ()))
