"""A stream gives the samples that it would give in memory, in parts, and holds few of them at a time."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from seamripper.data import Samples, Stream, load_data
from seamripper.errors import DataError

N = 700


def whole(n: int = N) -> Samples:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randint(0, 256, (n, 3, 4, 4), generator=generator, dtype=torch.uint8)
    return Samples("toy", inputs, torch.arange(n) % 7, torch.arange(n), classes=7, mean=0.4, std=0.2)


def parts(samples: Samples, sizes: tuple[int, ...]) -> Iterator[tuple[Tensor, Tensor]]:
    start = 0
    while start < len(samples):
        for size in sizes:
            index = slice(start, start + size)
            if len(samples.labels[index]):
                assert isinstance(samples.inputs, Tensor)
                yield samples.inputs[index], samples.labels[index]
            start += size


def stream(samples: Samples, *, sizes: tuple[int, ...] = (5, 64, 1), known: bool = True, once: bool = False) -> Stream:
    return Stream(
        "toy",
        lambda: parts(samples, sizes),
        ids=samples.ids if known else None,
        once=once,
        classes=7,
        view={"mean": 0.4, "std": 0.2},
    )


@pytest.mark.parametrize("size", [1, 32, 256, 5000])
def test_chunks_are_the_samples_in_order_and_in_steps(size: int) -> None:
    samples = whole()
    chunks = list(stream(samples).chunks(size))
    assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
    assert torch.equal(torch.cat([chunk.ids for chunk in chunks]), samples.ids)
    assert torch.equal(torch.cat([chunk.batch(slice(0, size)) for chunk in chunks]), samples.batch(slice(0, N)))


def test_a_known_number_of_samples_has_the_fingerprint_that_it_has_in_memory() -> None:
    samples = whole()
    for sizes in ((5, 64, 1), (N,)):
        given = stream(samples, sizes=sizes)
        for _ in given.chunks(100):
            pass
        assert given.fingerprint == samples.fingerprint == given.load().fingerprint


def test_the_fingerprint_of_an_unknown_number_tells_samples_apart() -> None:
    samples = whole()
    prints = {stream(samples, sizes=sizes, known=False).fingerprint for sizes in ((5, 64, 1), (N,))}
    assert len(prints) == 1
    changed = samples.inputs.clone()  # type: ignore[union-attr]
    changed[-1, 0, 0, 0] += 1
    others = [whole(N - 1), Samples("toy", changed, samples.labels, classes=7)]
    assert len(prints | {stream(other, known=False).fingerprint for other in others}) == 3


def test_few_samples_are_held_however_many_there_are() -> None:
    alive: weakref.WeakSet[Tensor] = weakref.WeakSet()
    most = 0

    def read(n: int) -> Iterator[tuple[Tensor, None]]:
        for _ in range(n):
            rows = torch.zeros(8, 3)
            alive.add(rows)
            yield rows, None

    held = []
    for n in (50, 500):
        most = 0
        for _ in Stream("many", lambda n=n: read(n)).chunks(64):  # type: ignore[misc]
            most = max(most, len(alive))
        held.append(most)
    assert held[0] == held[1] <= 2 * 64 // 8


def test_the_head_is_part_of_the_pass_that_follows() -> None:
    reads: list[int] = []

    def read() -> Iterator[tuple[Tensor, None]]:
        for k in range(10):
            reads.append(k)
            yield torch.full((1, 2), float(k)), None

    given = Stream("ten", read, once=True)
    assert len(given.head(3)) == 3
    assert reads == [0, 1, 2]
    assert len(given.head(2)) == 2
    assert sum(len(chunk) for chunk in given.chunks(4)) == 10
    assert reads == list(range(10))
    assert len(given.head(3)) == 3


def test_a_head_longer_than_the_stream_is_all_of_it_even_after_the_pass() -> None:
    given = stream(whole(20), known=False, once=True)
    assert len(given.head(32)) == 20
    list(given.chunks(8))
    assert len(given.head(32)) == 20


def test_what_can_be_read_once_refuses_a_second_pass() -> None:
    given = stream(whole(), once=True)
    list(given.chunks(64))
    with pytest.raises(DataError, match="toy can be read only once, and this needs another pass"):
        given.load()


def test_a_second_pass_with_other_samples_is_refused() -> None:
    draws = torch.Generator().manual_seed(0)
    shuffled = Stream("loader", lambda: iter([(torch.randperm(50, generator=draws)[:, None], None)]))
    list(shuffled.chunks(64))
    with pytest.raises(DataError, match="gave other samples in this pass than in the one before"):
        list(shuffled.chunks(64))


@pytest.mark.parametrize("said", [N - 1, N + 1])
def test_a_wrong_number_of_samples_is_refused(said: int) -> None:
    samples = whole()
    lying = Stream("lying", lambda: parts(samples, (64,)), ids=torch.arange(said))
    with pytest.raises(DataError, match=rf"Expected lying to have {said} samples, but it gave (more|{N})"):
        list(lying.chunks(64))


def test_samples_of_other_shapes_are_refused() -> None:
    rows = [(torch.zeros(2, 3), None), (torch.zeros(2, 4), None)]
    with pytest.raises(DataError, match=r"'inputs' is first 3 \(float32\) and then 4 \(float32\), at sample 2"):
        Stream("unlike", lambda: iter(rows)).load()


def test_an_empty_stream_is_refused() -> None:
    with pytest.raises(DataError, match="nothing is empty"):
        Stream("nothing", lambda: iter([])).load()


@pytest.mark.parametrize("n", [1, 40, N, N + 5])
def test_drawn_samples_are_those_that_are_drawn_in_memory(n: int) -> None:
    samples = whole()
    assert stream(samples).load(n, seed=3).fingerprint == samples.draw(n, seed=3).fingerprint


def test_of_an_unknown_number_the_same_are_drawn_however_they_come() -> None:
    samples = whole()
    drawn = [stream(samples, sizes=sizes, known=False).load(40, seed=3) for sizes in ((5, 64, 1), (N,))]
    assert len(drawn[0]) == 40
    assert torch.equal(drawn[0].ids, drawn[1].ids)
    assert torch.equal(drawn[0].ids, drawn[0].ids.sort().values)
    assert not torch.equal(drawn[0].ids, stream(samples, known=False).load(40, seed=4).ids)
    spread = drawn[0].ids.double().mean() / N
    assert 0.3 < spread < 0.7


def test_more_than_the_limit_is_not_taken_into_memory() -> None:
    with pytest.raises(DataError, match=r"takes more than 0.0 GB. Draw some"):
        stream(whole()).load(limit=10_000)
    assert len(stream(whole()).load(50, limit=10_000)) == 50
    assert len(stream(whole(), known=False).load(10, limit=20_000)) == 10


def test_load_data_draws_or_streams() -> None:
    given = stream(whole())
    assert load_data(given, stream=True) is given
    assert len(load_data(given, n=9)) == 9
    with pytest.raises(DataError, match="leave n out"):
        load_data(given, n=9, stream=True)  # type: ignore[call-overload]
