"""Samples refuse what cannot be compared on, and stay the same samples however they are cut."""

from __future__ import annotations

import pytest
import torch

from seamripper.data import Samples
from seamripper.data.paired import Paired
from seamripper.errors import DataError


def make(n: int = 6, **changes: object) -> Samples:
    given = {
        "name": "toy",
        "inputs": torch.arange(n * 4, dtype=torch.uint8).reshape(n, 1, 2, 2),
        "labels": torch.arange(n) % 2,
        "ids": torch.arange(n),
        "classes": 2,
    }
    return Samples(**{**given, **changes})  # type: ignore[arg-type]


def test_empty_is_refused() -> None:
    with pytest.raises(DataError, match="toy is empty"):
        make(0)


def test_one_sample_will_do() -> None:
    one = make(1)
    assert len(one) == 1
    assert one.shape == (1, 2, 2)
    assert one.draw(5) is one


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_refused_by_sample_and_id(bad: float) -> None:
    inputs = torch.zeros(6, 1, 2, 2)
    inputs[4, 0, 1, 1] = bad
    with pytest.raises(DataError, match=r"first in sample 4 \(id 14\)"):
        make(inputs=inputs, ids=torch.arange(10, 16))


@pytest.mark.parametrize("labels", [[0, 1, 0, 1, 0, 2], [-1, 0, 0, 0, 0, 0]])
def test_labels_outside_the_classes_are_refused(labels: list[int]) -> None:
    with pytest.raises(DataError, match=r"labels of toy to lie in 0 … 1, but got"):
        make(labels=torch.tensor(labels))


@pytest.mark.parametrize("column", ["inputs", "ids"])
def test_columns_of_unlike_length_are_refused(column: str) -> None:
    with pytest.raises(DataError, match=rf"as many {column} as labels \(6\), but got 5"):
        make(**{column: torch.zeros(5, dtype=torch.uint8)})


def test_bytes_are_normalised_and_floats_are_left() -> None:
    pixels = torch.tensor([0, 51, 255], dtype=torch.uint8).reshape(3, 1)
    plain = make(3, inputs=pixels, mean=0.5, std=0.25).batch(slice(0, 3))
    torch.testing.assert_close(plain, (pixels.float() / 255 - 0.5) / 0.25)
    floats = torch.rand(3, 1)
    assert make(3, inputs=floats, mean=0.5, std=0.25).batch(slice(0, 3)) is not floats
    torch.testing.assert_close(make(3, inputs=floats, mean=0.5).batch(slice(0, 3)), floats, rtol=0, atol=0)


def test_batches_cover_everything_once_in_order() -> None:
    samples = make(7)
    sizes = [len(labels) for _, labels in samples.batches(3)]
    assert sizes == [3, 3, 1]
    order = torch.tensor([6, 0, 3, 1, 2, 5, 4])
    seen = torch.cat([labels for _, labels in samples.batches(2, order)])
    assert seen.tolist() == samples.labels[order].tolist()


def test_a_draw_is_seeded_sorted_and_without_repeats() -> None:
    samples = make(50, inputs=torch.zeros(50, 1))
    ids = samples.draw(20, seed=3).ids.tolist()
    assert ids == sorted(set(ids))
    assert ids == samples.draw(20, seed=3).ids.tolist()
    assert ids != samples.draw(20, seed=4).ids.tolist()
    # The first of a permutation: a smaller draw is part of a larger one.
    assert set(samples.draw(5, seed=3).ids.tolist()) < set(ids)


def test_a_draw_of_none_is_refused() -> None:
    with pytest.raises(DataError, match="at least 1 sample"):
        make().draw(0)


def test_the_fingerprint_knows_every_column_and_the_normalisation() -> None:
    base = make()
    assert base.fingerprint == make().fingerprint
    others = [
        make(inputs=torch.zeros(6, 1, 2, 2, dtype=torch.uint8)),
        make(labels=torch.ones(6, dtype=torch.int64)),
        make(ids=torch.arange(1, 7)),
        make(mean=0.5),
        make(std=0.5),
    ]
    assert len({base.fingerprint, *(other.fingerprint for other in others)}) == 6


def test_named_inputs_are_cut_together() -> None:
    tokens = {"input_ids": torch.arange(12).reshape(6, 2), "attention_mask": torch.ones(6, 2)}
    samples = make(inputs=tokens)
    cut = samples.take(torch.tensor([5, 2]))
    assert cut.ids.tolist() == [5, 2]
    batch = cut.batch(slice(0, 1))
    assert isinstance(batch, dict)
    assert batch["input_ids"].tolist() == [[10, 11]]
    assert cut.first(1).inputs["attention_mask"].shape == (1, 2)  # type: ignore[index]


def test_of_named_inputs_only_pictures_are_pixels() -> None:
    """A mask in bytes would else reach the model as 1/255, and its padding would count by a little."""
    named = {
        "input_ids": torch.tensor([[7, 5, 0]] * 6, dtype=torch.uint8),
        "attention_mask": torch.tensor([[1, 1, 0]] * 6, dtype=torch.uint8),
        "pixel_values": torch.full((6, 1, 2, 2), 255, dtype=torch.uint8),
        "pixel_mask": torch.ones(6, 2, 2, dtype=torch.uint8),
        "cross_attention_mask": torch.ones(6, 1, 2, 2, dtype=torch.uint8),
    }
    batch = make(inputs=named, mean=0.5, std=0.5).batch(slice(0, 1))
    assert isinstance(batch, dict)
    assert {name: value.dtype for name, value in batch.items()} == {
        **dict.fromkeys(named, torch.int64),
        "pixel_values": torch.float32,
    }
    assert (batch["input_ids"].tolist(), batch["attention_mask"].tolist()) == ([[7, 5, 0]], [[1, 1, 0]])
    assert batch["pixel_values"].unique().tolist() == batch["pixel_mask"].unique().tolist() == [1]


# ---- what a sender is shown in their place


def pair_of(n: int = 6) -> Paired:
    """Samples with others for a sender, which are told by their ids."""
    noise = torch.arange(n * 3, dtype=torch.float32).reshape(n, 3)
    return Paired(make(n, name="noise", inputs=noise, ids=torch.arange(100, 100 + n)), make(n))


def test_a_sender_is_shown_as_many_samples_as_the_receiver() -> None:
    with pytest.raises(DataError, match=r"as many samples for the sender as toy has for the receiver \(6\), but got 5"):
        Paired(make(5), make())
    with pytest.raises(DataError, match="Expected samples for the sender to be Samples, but got None"):
        Paired(None, make())  # type: ignore[arg-type]
    with pytest.raises(DataError, match="Expected fit to be Samples, but got 'mnist'"):
        Paired.of("mnist", "fit")  # type: ignore[arg-type]


def test_both_sides_of_a_pair_are_cut_together() -> None:
    pair = pair_of(50)
    for part in (
        pair.take(torch.tensor([5, 2, 2])),
        pair.take(pair.labels == 1),
        pair.take(slice(3, None, 7)),
        pair.draw(20, seed=3),
    ):
        assert (part.sender.ids - 100).tolist() == part.receiver.ids.tolist() == part.ids.tolist()
        assert torch.equal(part.sender.inputs[:, 0], 3.0 * part.ids)  # type: ignore[index]


def test_plain_samples_are_both_sides_of_a_pair() -> None:
    plain = make()
    pair = Paired.of(plain)
    assert pair.sender is pair.receiver is plain
    assert pair.same
    assert not pair_of().same
    assert Paired.of(pair) is pair
    assert pair.fingerprint == plain.fingerprint
    for part in (pair.take(slice(2)), pair.draw(3), pair.draw(9)):
        assert part.same


def test_the_fingerprint_of_a_pair_knows_both_sides() -> None:
    pair = pair_of()
    assert pair.fingerprint == pair_of().fingerprint
    others = [
        Paired.of(make()),
        Paired(make(), make()),
        Paired(pair.sender.take(torch.tensor([1, 0, 2, 3, 4, 5])), pair.receiver),
        Paired(pair.receiver, pair.sender),
    ]
    assert len({pair.fingerprint, *(other.fingerprint for other in others)}) == 5


@pytest.mark.parametrize("size", [1, 4, 6, 100])
def test_both_sides_are_batched_in_step(size: int) -> None:
    for pair in (pair_of(), Paired.of(make())):
        batches = list(pair.batches(size))
        assert all((given is own) == pair.same and len(given) == len(own) for given, own in batches)
        given, own = (torch.cat([batch[side] for batch in batches]) for side in (0, 1))  # type: ignore[misc]
        assert torch.equal(own, pair.receiver.batch(slice(None)))  # type: ignore[arg-type]
        assert torch.equal(given, pair.sender.batch(slice(None)))  # type: ignore[arg-type]


def test_samples_need_no_labels_and_no_ids() -> None:
    bare = Samples("bare", torch.rand(3, 2))
    assert (bare.labelled, bare.classes, bare.labels.tolist(), bare.ids.tolist()) == (False, 0, [-1] * 3, [0, 1, 2])
    assert repr(bare) == "Samples('bare', n = 3, 2, no labels)"
    assert bare.draw(2).labelled is bare.take(slice(0, 1)).labelled is False
    with pytest.raises(DataError, match=r"bare has no labels, and training needs them\. Give some\."):
        bare.require_labels("training", "Give some.")


def test_classes_are_those_that_the_labels_name() -> None:
    some = Samples("some", torch.rand(3, 2), torch.tensor([0, 4, 1]))
    assert (some.classes, some.labelled) == (5, True)
    some.require_labels("training")
