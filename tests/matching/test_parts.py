"""Parts of a batch: the stitch that a tail trains in parts is the one that it trains with the whole batch."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tests.matching.test_match_many import Gated, LooksAround, assert_same, halves, matches
from torch import Tensor, nn

from seamripper.cut import split
from seamripper.cut.halves import Context, Tail
from seamripper.matching import Task, Training, match, match_many, parts
from seamripper.matching.parts import part_of

TASK = Task(Training(epochs=3, batch=50, lr=0.01))


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tails' batches, with parts as small as they may be."""
    monkeypatch.setattr(parts, "_VALUES", 1)
    seen: list[int] = []
    run = parts.losses_in_parts

    def counted(rows: Tensor, each: parts.Run, size: int) -> Tensor:
        seen.extend([len(rows), size])
        return run(rows, each, size)

    monkeypatch.setattr("seamripper.matching.task.losses_in_parts", counted)
    return seen


@pytest.mark.parametrize("kind", ["nd", "ntd", "nchw"])
def test_parts_train_the_stitch_that_the_whole_batch_trains(kind: str, make, sizes: list[int]) -> None:
    (sender, *_), (receiver, *_), data = halves(kind, make)
    in_parts = match(sender, receiver, data, matching=TASK)
    assert set(sizes) == {80, 50, 30, parts._FEWEST}
    with pytest.MonkeyPatch.context() as whole:
        whole.setattr(parts, "_VALUES", 1 << 30)
        assert_same(in_parts, match(sender, receiver, data, matching=TASK), rel=1e-9)


def test_parts_of_several_stitches_give_each_its_own_gradient(make, sizes: list[int]) -> None:
    senders, (receiver, *_), data = halves("nchw", make)
    for sender, one in zip(senders, matches(match_many(senders, receiver, data, matching=TASK)), strict=True):
        assert_same(one, match(sender, receiver, data, matching=TASK), rel=1e-9)
    assert max(sizes) > len(data), "several in one batch, and in parts of it"


def test_a_tail_that_looks_at_the_whole_batch_is_given_all_of_it(make, sizes: list[int]) -> None:
    data = make.blobs(64)
    with make.seeded(3):
        net = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), LooksAround(), nn.Linear(6, 3)).eval()
    match(make.halves(make.mlp(0), "1", data), make.halves(net, "0", data), data, matching=TASK)
    assert sizes == []


def test_what_passes_beside_the_cut_goes_with_its_part(make, sizes: list[int]) -> None:
    plain = make.blobs(64)
    data = replace(plain, inputs={"x": plain.inputs.double(), "gate": torch.arange(64) % 5})
    with make.seeded(5):
        half = split(Gated().double().eval(), "front", data.batch(slice(0, 4)))
    assert half.context == ("gate",)
    in_parts = match(half, half, data, matching=TASK)
    assert sizes
    with pytest.MonkeyPatch.context() as whole:
        whole.setattr(parts, "_VALUES", 1 << 30)
        assert_same(in_parts, match(half, half, data, matching=TASK), rel=1e-9)


class Wide(Tail):
    """Nothing but a wide vector on the way."""

    def __init__(self, values: int) -> None:
        super().__init__()
        self.wide = nn.Linear(2, values)

    def forward(self, activations: Tensor, context: Context | None = None) -> Tensor:
        return self.wide(activations)[:, :2]


def test_the_widest_tensor_within_a_tail_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_VALUES", 2000)
    rows = torch.zeros(64, 2)
    assert [part_of(Wide(values), rows, {}) for values in (10, 100, 1000)] == [64, 20, parts._FEWEST]
