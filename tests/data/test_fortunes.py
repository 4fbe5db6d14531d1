"""Fortunes as bytes: texts that are what the files hold, and splits that share no entry."""

from __future__ import annotations

import pytest

from seamripper.data import load_data
from seamripper.data.fortunes import REMOTE, TOPICS, entries, windows
from seamripper.errors import DataError


@pytest.mark.network
def test_texts_are_parts_of_entries_and_splits_share_none() -> None:
    train, test = load_data("fortunes"), load_data("fortunes", "test")
    assert (len(train), len(test), train.classes, train.shape) == (19_383, 1_424, 8, (64,))
    assert set(train.ids.tolist()).isdisjoint(test.ids.tolist())
    held = {part for topic in TOPICS for entry in entries(REMOTE.read(topic)) for part in windows(entry, 64)}
    texts = {}
    for name, samples in (("train", train), ("test", test)):
        assert isinstance(samples.inputs, dict)
        ids, mask = samples.inputs["input_ids"], samples.inputs["attention_mask"]
        texts[name] = {bytes(row[: int(n)].tolist()) for row, n in zip(ids, mask.sum(1), strict=True)}
        assert texts[name] <= held
        assert not any(b"\0" in text for text in texts[name])
    assert texts["train"].isdisjoint(texts["test"])


@pytest.mark.network
def test_the_length_is_an_option() -> None:
    assert load_data("fortunes?length=16", "test", n=3).shape == (16,)
    with pytest.raises(
        DataError, match="Expected length of the data set 'fortunes' to be a whole number of at least 8"
    ):
        load_data("fortunes?length=4", "test")
