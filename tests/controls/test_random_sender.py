"""The sender's architecture, untrained."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from seamripper._fingerprint import tensors_of
from seamripper.controls import Case, controls
from seamripper.controls.random_sender import RandomSender
from seamripper.controls.stand_in import AsTheyAre, stand_in
from seamripper.cut import split
from seamripper.data.paired import Paired
from seamripper.errors import AuditError, InapplicableError
from seamripper.matching import Match

RANDOM = RandomSender()


@pytest.mark.parametrize(
    ("asked", "given", "drawn"),
    [(None, (3, 5), (3, 5)), (1, (3, 5), (3,)), (4, (3, 1), (3, 1, 0, 2)), (2, (3, 5), (3, 5))],
)
def test_how_many(asked: int | None, given: tuple[int, ...], drawn: tuple[int, ...]) -> None:
    assert RandomSender(seeds=asked).seeds_from(given) == drawn


def test_cut_where_the_sender_is_with_nothing_of_it(maps: Case) -> None:
    counterparts = list(RandomSender(seeds=3).counterparts(maps))
    assert [one.seed for one in counterparts] == [0, 1, 2]
    assert len({one.sender.fingerprint for one in counterparts} | {maps.sender.fingerprint}) == 4
    for one in counterparts:
        cut, wanted = one.sender.cut, maps.sender.cut
        assert (cut.name, cut.shape, cut.layout) == (wanted.name, wanted.shape, wanted.layout)
        assert (one.fit, one.test) == (maps.fit, maps.test)
        assert one.label == "untrained sender"
        assert one.sender.model.source == f"untrained {maps.sender.model.source} of seed {one.seed}"
        trained = tensors_of(maps.sender.model.module)
        for name, tensor in tensors_of(one.sender.model.module).items():
            assert not bool((tensor == trained[name]).any()), name


def test_cut_in_the_way_that_the_sender_is(maps: Case) -> None:
    hooked = split(maps.sender.model, "layer2", maps.sender.example, way="hooks")
    assert maps.sender.way == "fx"
    assert next(RANDOM.counterparts(replace(maps, sender=hooked))).sender.way == "hooks"


def test_outcomes_use_the_seed_for_the_sender_and_the_stitch(case: Case) -> None:
    outcomes = list(RANDOM.outcomes(case))
    assert [outcome.seed for outcome in outcomes] == [0, 1]
    assert outcomes[0].match.made_from["sender"] != outcomes[1].match.made_from["sender"]
    assert [outcome.match.made_from["seed"] for outcome in outcomes] == [0, 1]


def test_a_match_with_it_can_be_kept(tmp_path, maps: Case) -> None:
    outcome = next(RANDOM.outcomes(maps))
    outcome.match.save(tmp_path / "m.safetensors")
    again = Match.load(tmp_path / "m.safetensors")
    assert again.sender.fingerprint == outcome.match.sender.fingerprint
    inputs = maps.test.receiver.batch(slice(0, 3))
    assert torch.equal(again(inputs), outcome.match(inputs))


def test_what_is_left_is_named(make, case: Case) -> None:
    class Ordered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(8, 16)
            self.register_buffer("order", torch.arange(15, -1, -1))

        def forward(self, x):
            return self.net(x)[:, self.order]

    net = nn.Sequential(Ordered(), nn.Linear(16, 4))
    one = next(RANDOM.counterparts(replace(case, sender=make.halves(net, "0", case.fit.receiver))))
    assert one.label == "untrained sender, with its own 0.order"


def test_a_sender_that_is_no_network(case: Case) -> None:
    noise = torch.rand(400, 16)
    sender = stand_in(AsTheyAre(), noise[:2], "noise of mine")
    shown = replace(case.fit.receiver, inputs=noise)
    for fit in (Paired(shown, case.fit.receiver), case.fit):
        with pytest.raises(
            InapplicableError, match=r"sender \(noise of mine\) is not a network, so it has no parameters"
        ):
            next(RANDOM.counterparts(replace(case, sender=sender, fit=fit)))


def test_a_sender_that_cannot_be_cut_untrained(make, case: Case) -> None:
    class Infinite(nn.Module):
        """A scale that training has moved away from where it begins, at which nothing is finite."""

        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.linspace(-1, 1, 16))

        def reset_parameters(self) -> None:
            self.scale.fill_(-1.0)

        def forward(self, x):
            return x / (self.scale + 1).sum()

    net = nn.Sequential(nn.Linear(8, 16), Infinite(), nn.Linear(16, 4))
    with pytest.raises(
        InapplicableError, match="With newly drawn weights, the sender could not be cut at the same place"
    ):
        next(RANDOM.counterparts(replace(case, sender=make.halves(net, "1", case.fit.receiver))))


def test_none_is_too_few() -> None:
    with pytest.raises(
        AuditError, match="Expected seeds of the control 'random_sender' to be a whole number of at least 1, or None"
    ):
        controls.make("random_sender?seeds=0")
