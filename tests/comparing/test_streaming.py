"""Streaming scores: the numbers of one pass, in whatever batches the samples come and however the parts are merged."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import seamripper as sr
from seamripper.comparing import Rule, StreamingScore, pair_activations, streaming_metric
from seamripper.cut import Cut
from seamripper.errors import MeasureError
from seamripper.measures import Measure, Pair, choose_measures, score

SPLITS = ([203], [1, 7, 92, 103], [5] * 40 + [3], [2, 201])


def rows(n: int = 203) -> tuple[Tensor, Tensor]:
    """Two representations that have something in common, with means that are large beside their spread."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 6, generator=g)
    return x + 100, (x @ torch.randn(6, 6, generator=g) + torch.randn(n, 6, generator=g)).relu() + 3


def fed(measure: Measure | str, x: Tensor, y: Tensor, sizes: Sequence[int], **options: Any) -> StreamingScore:
    streaming = StreamingScore(measure, **options)
    for a, b in zip(x.split(list(sizes)), y.split(list(sizes)), strict=True):
        streaming.update(a, b)
    return streaming


def same(a: sr.Estimate, b: sr.Estimate, bound: float = 1e-9) -> bool:
    """Value, interval, n and rule, to rounding in float64."""
    known = torch.tensor([[e.value, e.low, e.high] for e in (a, b)], dtype=torch.float64)
    sides = [tuple(round(side, 9) for side in e.rule.get("sides", ())) for e in (a, b)]
    close = torch.allclose(known[0], known[1], rtol=bound, atol=bound, equal_nan=True)
    words = [(e.n, e.unit, {k: v for k, v in e.rule.items() if k != "sides"}) for e in (a, b)]
    return close and words[0] == words[1] and sides[0] == sides[1]


@pytest.mark.parametrize("measure", choose_measures("moments"), ids=lambda measure: measure.label)
def test_every_moment_measure_gives_the_score_of_one_call(measure: Measure) -> None:
    x, y = rows()
    whole = score(measure, Pair.of(x, y))
    for sizes in SPLITS:
        assert same(fed(measure, x, y, sizes).compute(), whole), sizes


def test_parts_that_are_merged_are_one_pass_over_them_in_turn() -> None:
    x, y = rows()
    whole = score("linear_cka", Pair.of(x, y))
    for first, second in ((1, 2), (7, 100), (64, 203), (203, 203)):
        ends = [0, first, second, 203]
        parts = [fed("linear_cka", x[a:b], y[a:b], [b - a]) for a, b in itertools.pairwise(ends) if b > a]
        parts.append(StreamingScore("linear_cka"))
        before = [part.n for part in parts]
        left = copy.deepcopy(parts[0])
        for part in parts[1:]:
            left.merge_state(part)
        # Merged from the right as well: the second with the third first.
        right = StreamingScore("linear_cka")
        tail = copy.deepcopy(parts[1])
        for part in parts[2:]:
            tail.merge_state(part)
        right.merge_state(parts[0])
        right.merge_state(tail)
        assert same(left.compute(), whole)
        assert same(right.compute(), whole)
        assert [part.n for part in parts] == before


def test_another_order_has_another_interval_so_the_test_can_tell() -> None:
    x, y = rows()
    turned = fed("linear_cka", x.roll(1, 0), y.roll(1, 0), [203]).compute()
    whole = score("linear_cka", Pair.of(x, y))
    assert turned.value == pytest.approx(whole.value, rel=1e-9)
    assert not same(turned, whole)


def test_reset_begins_anew() -> None:
    x, y = rows()
    streaming = fed("opd", x, y.flip(0), [100, 103])
    streaming.reset()
    assert streaming.n == 0
    streaming.update(x[:50, :4], y[:50])
    assert same(streaming.compute(), score("opd", Pair.of(x[:50, :4], y[:50])))


def test_state_as_bytes() -> None:
    x, y = rows()
    streaming, other = fed("linear_cka", x, y, [203]), StreamingScore("linear_cka")
    other.merge_packed(streaming.packed())
    assert other.compute() == streaming.compute()
    assert StreamingScore("linear_cka").packed().numel() == 0
    with pytest.raises(MeasureError, match="could not be read"):
        other.merge_packed(torch.arange(40, dtype=torch.uint8))


@pytest.mark.parametrize("sampling", ["positions", "pool"])
def test_maps_of_two_networks_give_what_compare_gives(sampling: Any) -> None:
    samples = sr.load_data("digits/digit", "test", n=60)
    nets = [sr.load(f"zoo:lenet?channels=3&seed={seed}") for seed in (0, 1)]
    # Exactly as they are, and of different grids, so that the sender's is resized.
    rule = Rule(sampling=sampling, batch=12, optimise=False, products="float64")
    known = sr.compare(*nets, samples, sender_cuts="conv2", receiver_cuts="conv1", rule=rule, measures="opd")
    halves = [sr.split(net, cut, net.example()) for net, cut in zip(nets, ("conv2", "conv1"), strict=True)]
    x, y = (sr.collect(half, samples).values for half in halves)
    streamed = fed("opd", x, y, [1, 20, 39], sampling=sampling).compute()
    assert streamed.value == pytest.approx(known.score("opd", "conv2", "conv1").value, rel=1e-6)
    assert streamed.n == known.score("opd", "conv2", "conv1").n
    assert streamed.rule["sampling"] == sampling


@pytest.mark.parametrize("sampling", ["positions", "pool"])
def test_tokens_that_are_padding_do_not_count(sampling: Any) -> None:
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 40, 7, 3, generator=g).unbind()
    mask = torch.arange(7) < torch.randint(2, 8, (40, 1), generator=g)
    cut, nothing = Cut("tokens", (7, 3), "ntd"), torch.zeros(40)
    sides = [sr.Activations(cut, values, nothing, torch.arange(40), mask=mask) for values in (x, y)]
    whole = score("linear_cka", pair_activations(*sides, sampling=sampling).every, sampling=sampling)
    streaming = StreamingScore("linear_cka", sampling=sampling)
    for part in (slice(0, 11), slice(11, 40)):
        streaming.update(x[part], y[part], mask[part])
    assert same(streaming.compute(), whole)
    with pytest.raises(MeasureError, match="in every update, or in none"):
        streaming.update(x, y)


@pytest.mark.parametrize("sampling", ["positions", "pool"])
@pytest.mark.parametrize(
    "mask",
    [
        torch.tensor([[1, 1, 0]]).expand(6, 3),
        torch.tensor([[1, 1, 0]] * 3 + [[0, 0, 0]]),
        torch.tensor([[0.0, 0.0, -1e9]]).expand(4, 3),
        torch.ones(4, 1, 3),
    ],
    ids=["more rows than samples", "nothing counts", "to be added to scores", "three axes"],
)
def test_a_mask_that_does_not_say_which_tokens_count(mask: Tensor, sampling: Any) -> None:
    x, y = torch.randn(2, 4, 3, 5).unbind()
    with pytest.raises(MeasureError, match=r"0 for padding, of shape \(4, tokens\), with a token that counts in each"):
        StreamingScore("linear_cka", sampling=sampling).update(x, y, mask)


def test_coarse_numbers_stay_coarse_whatever_is_added() -> None:
    x, y = (side - side.mean(0) for side in rows())
    first, second = fed("linear_cka", x[:100].half(), y[:100].half(), [100]), StreamingScore("linear_cka")
    first.update(x[100:], y[100:])
    second.update(x, y)
    first.merge_state(second)
    assert first._sums is not None
    assert first._sums.pair("moments", 0, 0).x.grain == torch.finfo(torch.float16).eps


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x, y: StreamingScore("mutual_knn"), "computed from rows"),
        (lambda x, y: StreamingScore("minibatch_cka"), "computed from batches"),
        (lambda x, y: StreamingScore("linear_cka", sampling="flatten"), "'positions' or 'pool', but got 'flatten'"),
        (lambda x, y: StreamingScore("linear_cka").compute(), "call `update` first"),
        (lambda x, y: StreamingScore("linear_cka").update(x, y[:9]), "203 and 9"),
        (lambda x, y: StreamingScore("linear_cka").update(x.tolist(), y), "torch.as_tensor"),
        (lambda x, y: StreamingScore("linear_cka").update(x[:0], y[:0]), "n ≥ 1"),
        (lambda x, y: StreamingScore("linear_cka").update(x * torch.nan, y), "NaN or Inf, first in sample 0"),
        (lambda x, y: StreamingScore("linear_cka").update(x[:, :, None], y), "'positions' or 'pool'"),
        (lambda x, y: fed("linear_cka", x, y, [203]).update(x[:, :2], y), "samples of 6 and 6, as before"),
        (lambda x, y: StreamingScore("linear_cka").merge_state(StreamingScore("opd")), "'opd'"),
        (lambda x, y: StreamingScore("linear_cka").merge_state(3), "Expected other to be"),
    ],
)
def test_what_cannot_be_added_up_is_refused(call: Callable[[Tensor, Tensor], object], says: str) -> None:
    with pytest.raises(MeasureError, match=says):
        call(*rows())


# ---- as a torchmetrics.Metric


@pytest.fixture(scope="module")
def metrics() -> Any:
    """torchmetrics itself, imported after the first metric was made, as its import needs a torchvision that works."""
    streaming_metric("linear_cka")
    import torchmetrics

    return torchmetrics


@pytest.mark.slow
def test_in_a_collection(metrics: Any) -> None:
    x, y = rows()
    labels = ("linear_cka", "opd", "cca_mean")
    collection = metrics.MetricCollection({label: streaming_metric(label) for label in labels})
    for size in (50, 100, 203):
        collection.reset()
        for a, b in zip(x[:size].split(33), y[:size].split(33), strict=True):
            collection.update(a, b)
        # Asked in between, which must not disturb what follows.
        for _ in range(2):
            values = {label: float(value) for label, value in collection.compute().items()}
            expected = {label: score(label, Pair.of(x[:size], y[:size])).value for label in labels}
            assert values == pytest.approx(expected, rel=1e-9)
    # One state for all three: it is added up once.
    assert len(collection.compute_groups) == 1
    assert not collection["opd"].higher_is_better
    kept = pickle.loads(pickle.dumps(collection)).half()
    assert {label: float(value) for label, value in kept.compute().items()} == values


@pytest.mark.slow
def test_forward_merge_and_estimate(metrics: Any) -> None:
    x, y = rows()
    whole = score("linear_cka", Pair.of(x, y))
    first, second = streaming_metric("linear_cka"), streaming_metric("linear_cka")
    assert isinstance(first, metrics.Metric)
    assert float(first(x[:80], y[:80])) == pytest.approx(score("linear_cka", Pair.of(x[:80], y[:80])).value)
    assert float(first(x[80:90], y[80:90])) == pytest.approx(score("linear_cka", Pair.of(x[80:90], y[80:90])).value)
    second.update(x[90:], y[90:])
    first.merge_state(second)
    assert same(first.estimate(), whole)
    assert float(first.compute()) == pytest.approx(whole.value, rel=1e-9)
    assert float(first.clone().compute()) == pytest.approx(whole.value, rel=1e-9)


def synchronise(rank: int, folder: str) -> None:
    """One of two processes, which has seen a part of the samples, asks for the value of all."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    x, y = rows()
    part = slice(0, 77) if rank == 0 else slice(77, 203)
    metric = streaming_metric("linear_cka")
    metric.update(x[part], y[part])
    both, mine = float(metric.compute()), metric.estimate().n
    Path(folder, str(rank)).write_text(f"{both!r} {mine}")
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_two_processes_have_the_value_of_all_samples(metrics: Any, tmp_path: Path) -> None:
    # Forked, as both would otherwise import everything once more.
    children = []
    for rank in (0, 1):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                synchronise(rank, str(tmp_path))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    whole = score("linear_cka", Pair.of(*rows())).value
    said = [(tmp_path / str(rank)).read_text().split() for rank in (0, 1)]
    assert [float(value) for value, _ in said] == pytest.approx([whole] * 2, rel=1e-9)
    assert [int(n) for _, n in said] == [77, 126]
