"""The audit `symmetry`: the way back is what match and evaluate give, and a planted contradiction is named."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
import torch
from torch import nn

from seamripper.audits import symmetry
from seamripper.audits.symmetry import Symmetry, reverse_case
from seamripper.controls.stand_in import AsTheyAre, stand_in
from seamripper.data.paired import Paired
from seamripper.errors import InapplicableError
from seamripper.matching import Direct, Task, Training, evaluate, match
from seamripper.stitches import stitches


def test_the_way_back_is_that_of_match_and_evaluate(case, evidence, make) -> None:
    given = case()
    found = Symmetry().put(evidence(given, controls=()))
    back = [
        evaluate(match(given.receiver, given.sender, given.fit, matching=make.quick, seed=seed), given.test)
        for seed in given.seeds
    ]
    assert found.controls == {"reversed": tuple(one.relative_accuracy for one in back)}
    way = found.figures["reversed"]
    assert way["accuracy"].value == pytest.approx(sum(one.top1.value for one in back) / 2)
    assert way["penalty"].value == pytest.approx(sum(one.penalty.value for one in back) / 2)
    # Each way is held to its own receiver.
    assert way["receiver"] == back[0].receiver_here
    assert found.figures["forward"]["receiver"] != way["receiver"]
    assert found.effect.value == pytest.approx(
        found.figures["forward"]["relative_accuracy"].value - way["relative_accuracy"].value
    )
    assert json.dumps(found.as_record(), allow_nan=False)


def test_a_network_and_itself_are_the_same_both_ways(case, evidence, make) -> None:
    same = make.halves("vectors", 0)
    found = Symmetry().put(evidence(case(sender=same, receiver=same, matching=Direct()), controls=()))
    assert found.effect.value == 0
    assert found.figures["forward"]["penalty"].value == 0
    assert found.figures["forward"] == found.figures["reversed"]
    assert found.answer == "yes"
    assert not found.figures["contradiction"]
    assert "contradiction" not in found.sentence


def misnamed(net: nn.Module) -> nn.Module:
    """The network with its classes called by each other's names: alone it is wrong, and yet it knows them apart."""
    changed = copy.deepcopy(net)
    last = changed[-1]
    with torch.no_grad():
        last.weight.copy_(last.weight.roll(1, 0))
        last.bias.copy_(last.bias.roll(1, 0))
    return changed


def test_each_better_than_the_other_is_named(case, evidence, make) -> None:
    """As in Smith's Table C.1: both receivers do badly alone, and a stitch makes good for either."""
    nets = (misnamed(make.network("vectors", seed)) for seed in (0, 1))
    sender, receiver = (make.cut(net, "vectors") for net in nets)
    matching = Task(Training(epochs=30, batch=64, lr=0.03))
    found = Symmetry().put(evidence(case(sender=sender, receiver=receiver, matching=matching), controls=()))
    for way in ("forward", "reversed"):
        assert found.figures[way]["receiver"].value < 0.3
        assert found.figures[way]["accuracy"].value > 0.6
    assert found.figures["better"] == {"forward": True, "reversed": True}
    assert found.figures["contradiction"] is True
    assert 'each network would be "better" than the other: the contradiction of Smith et al. 2025' in found.sentence
    assert found.answer == "yes"


@pytest.mark.parametrize(
    ("there", "back", "answer", "better"),
    [
        ([0.95, 0.94, 0.95], [0.95, 0.95, 0.94], "yes", (False, False)),
        ([0.95, 0.94, 0.95], [0.50, 0.52, 0.51], "no", (False, False)),
        ([0.50, 0.52, 0.51], [0.95, 0.94, 0.95], "no", (False, False)),
        ([0.50, 0.52, 0.51], [0.51, 0.50, 0.52], "unknown", (False, False)),
        ([0.99, 0.99, 0.99], [0.95, 0.95, 0.94], "yes", (True, False)),
        ([0.99, 0.99, 0.99], [0.99, 1.00, 0.99], "yes", (True, True)),
    ],
)
def test_answers_on_planted_ways(planted, make, monkeypatch, there, back, answer, better) -> None:
    """Receivers alone have 0.95."""
    monkeypatch.setattr(symmetry, "_outcomes", lambda case: make.outcomes("sender", back))
    found = Symmetry().put(planted(there))
    assert found.answer == answer
    assert tuple(found.figures["better"].values()) == better
    assert found.figures["contradiction"] == all(better) == ("contradiction" in found.sentence)
    assert found.effect.value == pytest.approx((sum(there) - sum(back)) / 3 / 0.95)


# ---- what has no way back


def test_noise_has_no_way_back(case, evidence, make) -> None:
    shown = [make.samples("vectors", n, first_id=first) for n, first in ((240, 0), (150, 5000))]
    noise = [replace(samples, inputs=torch.rand(len(samples), 16), name="noise") for samples in shown]
    fit, test = (Paired(other, samples) for samples, other in zip(shown, noise, strict=True))
    sender = stand_in(AsTheyAre(), torch.zeros(2, 16), "noise")
    with pytest.raises(InapplicableError, match="not a network that sees the inputs"):
        Symmetry().put(evidence(case(sender=sender, fit=fit, test=test), controls=()))


def test_a_sender_of_fewer_classes_cannot_receive(case, make) -> None:
    two = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    with pytest.raises(InapplicableError, match=r"The sender \(Sequential\) cannot be the receiver: .* 2 classes"):
        reverse_case(case(sender=make.cut(two, "vectors")))


def test_a_sender_that_answers_with_a_map_cannot_receive(case, make) -> None:
    coder = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 3, padding=1))
    with pytest.raises(InapplicableError, match="cannot be the receiver: Expected the receiver to answer with a score"):
        reverse_case(case("maps", sender=make.cut(coder, "maps", "1")))


def test_a_stitch_that_fits_one_way_only(case, evidence, make) -> None:
    """From a map to a vector it flattens; a vector has nothing to flatten."""
    given = case("maps", sender=make.halves("maps", 0, "a"), receiver=make.halves("maps", 1, "out.1"))
    given = replace(given, stitch=stitches.make("flatten_linear"))
    with pytest.raises(InapplicableError, match="The reverse direction could not be stitched: "):
        Symmetry().put(evidence(given, controls=()))


def test_the_case_is_turned_and_nothing_else(case, make) -> None:
    given = case(others=(make.halves("vectors", 2),))
    back = reverse_case(given)
    assert (back.sender, back.receiver, back.others) == (given.receiver, given.sender, ())
    assert (back.fit, back.test, back.matching, back.seeds) == (given.fit, given.test, given.matching, given.seeds)
