"""Word shuffle."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from seamripper.audits.interventions.word_shuffle import WordShuffle
from seamripper.errors import InapplicableError


def test_words_change_places_and_nothing_else_does(make: Any) -> None:
    samples = make.texts(20, length=16)
    changed = WordShuffle().change(samples, seed=0)
    assert list(changed) == ["input_ids", "attention_mask", "token_type_ids"]
    assert all(changed[key] is samples.inputs[key] for key in ("attention_mask", "token_type_ids"))
    moved = 0
    for old, new in zip(samples.inputs["input_ids"].tolist(), changed["input_ids"].tolist(), strict=True):
        end = old.index(2)
        assert new[0] == 1
        assert new[end:] == old[end:]
        assert sorted(new) == sorted(old)
        moved += new != old
    assert moved >= 18


def test_padding_on_the_left(make: Any) -> None:
    ids = torch.tensor([[0, 0, 1, 11, 12, 13, 14, 15, 2]]).repeat(40, 1)
    samples = make.of({"input_ids": ids, "attention_mask": (ids > 0).long()})
    changed = WordShuffle().change(samples, seed=0)["input_ids"]
    assert torch.equal(changed[:, [0, 1, 2, 8]], ids[:, [0, 1, 2, 8]])
    assert torch.equal(changed[:, 3:8].sort(1).values, ids[:, 3:8])
    # Every word is seen at every place.
    assert all(set(changed[:, place].tolist()) == {11, 12, 13, 14, 15} for place in range(3, 8))


def test_more_padding_changes_nothing(make: Any) -> None:
    samples = make.texts()
    ids = samples.inputs["input_ids"]
    longer = torch.nn.functional.pad(ids, (0, 5))
    padded = make.of({"input_ids": longer, "attention_mask": (longer > 0).long()})
    changed = WordShuffle().change(padded, seed=0)["input_ids"]
    assert torch.equal(changed[:, : ids.shape[1]], WordShuffle().change(samples, seed=0)["input_ids"])


def test_without_a_mask_all_tokens_count(make: Any) -> None:
    ids = torch.arange(12).view(2, 6)
    changed = WordShuffle().change(make.of({"input_ids": ids}), seed=0)["input_ids"]
    assert torch.equal(changed[:, [0, 5]], ids[:, [0, 5]])
    assert torch.equal(changed.sort(1).values, ids)
    assert not torch.equal(changed, ids)


def test_texts_without_words_stay(make: Any) -> None:
    ids = torch.tensor([[1, 2, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [1, 7, 2, 0]])
    samples = make.of({"input_ids": ids, "attention_mask": (ids > 0).long()})
    assert torch.equal(WordShuffle().change(samples, seed=0)["input_ids"], ids)


def test_a_mask_of_another_shape_is_refused(make: Any) -> None:
    samples = make.of({"input_ids": torch.ones(2, 4).long(), "attention_mask": torch.ones(2, 4, 4)})
    with pytest.raises(
        InapplicableError, match=r"needs an `attention_mask` .* \(2, 4\), but that of toy has \(2, 4, 4\)"
    ):
        WordShuffle().apply(samples)
