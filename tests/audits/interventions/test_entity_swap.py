"""Entity swap."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from seamripper.audits.interventions.draws import partners
from seamripper.audits.interventions.entity_swap import EntitySwap
from seamripper.data import Samples
from seamripper.errors import InapplicableError


def planted(n: int = 8, *, twice: bool = False) -> Samples:
    """Text i has the names 100 + i and 200 + i among words that all have; labels go round."""
    rows = [[1, 10, 200 + i, 11, 100 + i, 12, 200 + i if twice else 13, 2, 0] for i in range(n)]
    ids = torch.tensor(rows)
    inputs = {"input_ids": ids, "attention_mask": (ids > 0).long()}
    return Samples("names", inputs, torch.arange(n) % 2, torch.arange(n), classes=2)


@pytest.mark.parametrize("twice", [False, True])
def test_names_become_those_of_the_partner_where_they_stand(twice: bool) -> None:
    samples = planted(twice=twice)
    changed = EntitySwap().change(samples, seed=0)["input_ids"]
    others = partners(samples, seed=0)
    assert (samples.labels[others] != samples.labels).all()
    expected = samples.inputs["input_ids"].clone()
    expected[:, 4], expected[:, 2] = 100 + others, 200 + others
    if twice:
        expected[:, 6] = 200 + others
    assert torch.equal(changed, expected)


def test_no_more_than_n_of_them() -> None:
    samples = planted()
    changed = EntitySwap(n=1).change(samples, seed=0)["input_ids"]
    # Equally rare are both names: the larger token goes first.
    assert torch.equal((changed != samples.inputs["input_ids"]).nonzero()[:, 1], torch.full((8,), 2))


def test_a_name_that_both_have_is_not_put_in_twice() -> None:
    ids = torch.tensor([[1, 50, 60, 10, 2], [1, 50, 70, 10, 2]])
    samples = Samples("two", {"input_ids": ids}, torch.arange(2), torch.arange(2), classes=2)
    changed = EntitySwap(n=1).change(samples, seed=0)["input_ids"]
    assert changed.tolist() == [[1, 50, 70, 10, 2], [1, 50, 60, 10, 2]]
    # 60 becomes 70; of the rest 50 would be next, but the other has nothing more to give.
    assert EntitySwap(n=3).change(samples, seed=0)["input_ids"].tolist() == changed.tolist()


def test_a_text_that_has_no_other_words_gives_none() -> None:
    ids = torch.tensor([[1, 60, 50, 10, 2], [1, 50, 10, 10, 2]])
    samples = Samples("two", {"input_ids": ids}, torch.arange(2), torch.arange(2), classes=2)
    changed = EntitySwap(n=1).change(samples, seed=0)["input_ids"]
    assert changed.tolist() == [[1, 60, 50, 10, 2], [1, 60, 10, 10, 2]]


def test_the_first_and_the_last_token_stay_however_rare() -> None:
    # The first one of the second text stands within it as well: there it is exchanged.
    ids = torch.tensor([[900, 10, 300, 800], [301, 10, 301, 801]])
    samples = Samples("two", {"input_ids": ids}, torch.arange(2), torch.arange(2), classes=2)
    changed = EntitySwap(n=4).change(samples, seed=0)["input_ids"]
    assert changed.tolist() == [[900, 10, 301, 800], [301, 10, 300, 801]]


def test_rare_is_what_few_texts_have_and_not_what_stands_rarely() -> None:
    # 40 stands three times in one text, 30 once in each of two.
    ids = torch.tensor([[1, 40, 40, 40, 30, 2], [1, 30, 9, 9, 8, 2], [1, 9, 9, 8, 8, 2]])
    samples = Samples("three", {"input_ids": ids}, torch.tensor([0, 1, 1]), torch.arange(3), classes=2)
    changed = EntitySwap(n=1).change(samples, seed=0)["input_ids"][0].tolist()
    assert 40 not in changed
    assert changed[4] == 30


def test_one_text_alone_has_nobody_to_swap_with() -> None:
    with pytest.raises(InapplicableError, match="entity_swap needs two texts or more, but names has one"):
        EntitySwap().apply(planted(1))


def test_what_else_there_is_stays(make: Any) -> None:
    samples = make.texts()
    changed = EntitySwap().change(samples, seed=0)
    assert all(changed[key] is samples.inputs[key] for key in ("attention_mask", "token_type_ids"))
    mask = samples.inputs["attention_mask"] == 0
    assert not changed["input_ids"][mask].any()
