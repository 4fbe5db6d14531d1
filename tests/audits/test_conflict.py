"""The conflict audit, on two cues that are planted: numbers 0 – 3 and numbers 4 – 7, each of which tells the class."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from seamripper.audits import Evidence
from seamripper.audits.agreement import Agreement, answers
from seamripper.audits.conflict import HALF_WAY, POWER, TELLS, Beside, Conflict, SetReading, kept_and_position
from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.inputs import Kind
from seamripper.controls import Case, Control, Counterpart, Known, controls
from seamripper.controls.stand_in import AsTheyAre, stand_in
from seamripper.cut import Split, split
from seamripper.data import Samples
from seamripper.data.samples import Inputs
from seamripper.errors import AuditError, InapplicableError
from seamripper.estimate import Estimate
from seamripper.matching import Task, Training
from seamripper.models.running import use_seed

QUICK = Task(Training(epochs=10, batch=64, lr=0.02), init="direct")
FIRST, SECOND = slice(0, 4), slice(4, 8)
CENTRES = 3 * torch.randn(3, 4, generator=torch.Generator().manual_seed(7))


def cues(n: int, *, agree: bool, first_id: int = 0) -> Samples:
    """Two cues of four numbers; the label is the first one's class, the second's is the same or drawn by chance.

    The second is four times as loud, so that a network that has learnt nothing hears little else.
    """
    generator = torch.Generator().manual_seed(first_id)
    labels = torch.arange(n) % 3
    other = labels if agree else torch.randint(3, (n,), generator=generator)
    inputs = torch.cat([CENTRES[labels], CENTRES[other]], 1) + 0.8 * torch.randn(n, 8, generator=generator)
    inputs[:, SECOND] *= 4
    return Samples("cues", inputs, labels, torch.arange(first_id, first_id + n), classes=3)


@functools.cache
def network(cue: str, seed: int) -> Split:
    """A network that has learnt one of the cues, where the other was drawn by chance."""
    data = cues(600, agree=False, first_id=90_000)
    inputs = data.inputs
    if cue == "second":
        inputs = torch.cat([data.inputs[:, SECOND] / 4, data.inputs[:, FIRST] * 4], 1)
    with use_seed(seed):
        net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
        optimiser = torch.optim.Adam(net.parameters(), 0.02)
        for _ in range(300):
            optimiser.zero_grad()
            F.cross_entropy(net(inputs), data.labels).backward()
            optimiser.step()
    return split(net.eval(), "3", torch.zeros(2, 8))


@dataclass(frozen=True)
class Dropped(Intervention):
    """The numbers of one cue set to 0."""

    name: ClassVar[str] = "dropped"
    about: ClassVar[str] = "a cue taken away"
    kind: ClassVar[Kind] = "audio"
    cue: str = "second"

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        inputs = samples.batch(slice(None)).clone()
        inputs[:, FIRST if self.cue == "first" else SECOND] = 0
        return inputs


@dataclass(frozen=True)
class Nothing(Dropped):
    """A change that is none."""

    name: ClassVar[str] = "nothing"

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        return samples.batch(slice(None)).clone()


@dataclass(frozen=True)
class Follower(Control):
    """A random sender that happens to hold all that the receiver holds."""

    name: ClassVar[str] = "random_sender"
    about: ClassVar[str] = "the receiver itself"
    known: ClassVar[Known] = "nothing"

    def stitches(self, case: Case) -> int:
        """The receiver's."""
        return 1

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The receiver."""
        yield Counterpart("follower", 0, case.receiver, case.fit, case.test)


def put(sender: Split, *, audit: Conflict | None = None, controls: Any = ("self", "random_sender"), **more: Any) -> Any:
    case = Case(
        sender,
        more.pop("receiver", network("first", 0)),
        more.pop("fit", cues(400, agree=True)),
        more.pop("test", cues(300, agree=True, first_id=10_000)),
        QUICK,
        seeds=(0, 1),
        others=more.pop("others", ()),
    )
    return (audit or Conflict(n=300)).put(Evidence(case, controls=controls, **more))


CONFLICT = cues(300, agree=False, first_id=20_000)


@pytest.mark.slow
@pytest.mark.parametrize("others", [(), ("first",)])
def test_the_conflict_set_tells_whom_the_sender_follows(others: tuple[str, ...]) -> None:
    more = {"others": tuple(network(cue, 5) for cue in others), "controls": ("self", "other_seed", "random_sender")}
    same = put(network("first", 1), conflict=CONFLICT, **more)
    other = put(network("second", 1), conflict=CONFLICT, **more)
    assert (same.answer, other.answer) == ("yes", "no")
    assert same.figures["control"] == ("other_seed" if others else "self")
    assert same.figures["score"].low > HALF_WAY > other.figures["score"].high
    # The other cue's network gives the receiver's answer where the cues agree by chance, one time in three.
    assert other.observed.value == pytest.approx(1 / 3, abs=0.12)
    assert same.observed.value > 0.9
    assert "follows something else" in other.sentence
    # Nearer to a network that has learnt nothing than to one that has learnt the same.
    told = other.figures["sets"]["conflict set"]
    expected = (told["kept"].value - told["nothing"]) / (1 - told["nothing"])
    assert told["position"].value == pytest.approx(expected)
    assert same.p is None


def doubtful(samples: Samples) -> Samples:
    """The same samples, of which the receiver is right about half: the labels of the others were drawn by chance."""
    generator = torch.Generator().manual_seed(int(samples.ids[0]))
    chance = torch.rand(len(samples), generator=generator) < 0.75
    drawn = torch.randint(3, (len(samples),), generator=generator)
    return replace(samples, labels=torch.where(chance, drawn, samples.labels))


@pytest.mark.slow
def test_a_receiver_that_is_right_on_half_of_the_samples_can_be_followed() -> None:
    hard, test = doubtful(CONFLICT), doubtful(cues(300, agree=True, first_id=10_000))
    right = Agreement.of(answers(network("first", 0), hard), hard.labels.numpy())
    assert 0 < right.kappa < TELLS
    more = {"others": [network("first", 5)], "controls": ("self", "other_seed", "random_sender")}
    same, other = (put(network(cue, 1), conflict=hard, test=test, **more) for cue in ("first", "second"))
    assert (same.answer, other.answer) == ("yes", "no")
    assert TELLS < same.figures["sets"]["conflict set"]["stability"] <= 1
    # Where it is right on all test samples, it does not follow the cue that this set is labelled by.
    assert put(network("first", 1), conflict=hard, **more).answer == "unknown"
    # The receiver itself shows nothing of how far other networks would share its mistakes.
    assert put(network("first", 1), conflict=hard, test=test).answer == "unknown"


def test_a_receiver_that_follows_another_cue_than_that_of_the_labels_shows_nothing() -> None:
    lost = put(network("second", 1), receiver=network("second", 0), conflict=CONFLICT)
    assert lost.answer == "unknown"
    assert lost.figures["sets"]["conflict set"]["stability"] < TELLS


def test_an_intervention_tells_and_is_named() -> None:
    changes = [Nothing(), Dropped(), Dropped(cue="first")]
    other = put(network("second", 1), interventions=changes)
    assert other.answer == "no"
    assert other.figures["decided_by"] == "dropped"
    assert "'dropped'" in other.sentence
    sets = other.figures["sets"]
    # Without its own cue the receiver has no stable answer, so what is said there counts for little.
    assert sets["dropped?cue=first"]["weight"] < 0.3 < sets["dropped"]["weight"]
    # A change that changes nothing cannot tell anybody apart.
    assert sets["nothing"]["kept"].low > HALF_WAY
    assert sets["nothing"]["departure"] < 0.1 < sets["dropped"]["departure"]


def test_same_is_said_by_the_set_that_could_have_told() -> None:
    same = put(network("first", 1), interventions=[Nothing(), Dropped()])
    assert same.answer == "yes"
    assert same.figures["decided_by"] == "dropped"
    assert same.figures["nothing"] < 1 - POWER


class Rough(nn.Module):
    """Noise that depends on the input alone: behind it answers are others than they were, whatever is shown."""

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        return h + ROUGH * torch.sin(997 * h)


ROUGH = 20.0


@pytest.mark.slow
def test_relative_holds_nothing_against_a_sender_that_the_change_does_not_take() -> None:
    """`self` repeats the receiver's answers; a rough front with the same cue gives others, changed or not."""
    front = network("first", 1).model.module
    rough = split(nn.Sequential(*front[:4], Rough(), front[4]).eval(), "4", torch.zeros(2, 8))
    fair = Conflict(n=300, relative=True)
    strict, same = (put(rough, audit=audit, interventions=[Dropped()]) for audit in (None, fair))
    assert (strict.answer, same.answer) == ("no", "unknown")
    kept, beside = (same.figures["sets"]["dropped"][name] for name in ("kept", "kept_relative"))
    assert kept.high < 0.8 < beside.high
    assert "Beside its agreement without the change" in same.sentence
    # A sender that follows the other cue agrees without the change: nothing excuses it.
    other = put(network("second", 1), audit=fair, interventions=[Nothing(), Dropped()])
    assert (other.answer, other.figures["decided_by"]) == ("no", "dropped")
    # Of one that could be told to be the same, the same is said.
    assert put(network("first", 1), audit=fair, interventions=[Nothing(), Dropped()]).answer == "yes"


def test_agreement_is_read_beside_that_without_the_change() -> None:
    right = np.arange(100) % 2
    wrong = [Agreement.of(np.where(np.arange(100) < k, 1 - right, right), right) for k in (0, 10, 20)]
    kept, _ = kept_and_position([wrong[2]], [], [wrong[0]], seed=0)
    assert kept.value == pytest.approx(0.6)
    for unchanged, stability, value in ((wrong[2], 1.0, 1.0), (wrong[1], 1.0, 0.75), (wrong[0], 0.75, 0.8)):
        beside = Beside([unchanged], [wrong[0]], stability)
        assert kept_and_position([wrong[2]], [], [wrong[0]], seed=0, beside=beside)[0].value == pytest.approx(value)


def test_without_power_nothing_is_called_the_same() -> None:
    powerless = put(network("first", 1), interventions=[Nothing()])
    assert powerless.answer == "unknown"
    assert "a sender that has learnt nothing does as well on every set" in powerless.sentence
    assert powerless.figures["sets"]["nothing"]["stability"] > TELLS
    unproved = put(network("first", 1), controls=("self",), conflict=CONFLICT)
    assert unproved.answer == "unknown"
    assert "random_sender" in unproved.sentence


def told(name: str, *, weight: float, kept: float, nothing: float) -> SetReading:
    position = (kept - nothing) / (1 - nothing)
    near = Estimate(position, position - 0.05, position + 0.05, 300)
    return SetReading(name, weight, 0.9, Estimate(kept, kept - 0.05, kept + 0.05, 300), nothing, near, near, near, {})


def test_the_set_with_the_largest_departure_decides_as_it_stands_to_the_controls() -> None:
    mild = told("mild", weight=0.95, kept=0.8, nothing=0.0)
    clear = told("clear", weight=0.55, kept=0.65, nothing=0.4)
    assert clear.position.value == pytest.approx(5 / 12)
    # The set weighs less, but there the sender is nearer to a network that has learnt nothing.
    assert clear.departure > mild.departure
    powerless = told("powerless", weight=0.9, kept=0.8, nothing=0.95)
    assert (mild.tells, clear.tells, powerless.tells) == (True, True, False)
    assert not told("broken", weight=0.4, kept=0.1, nothing=0.0).stable


def test_a_sender_far_below_the_control_departs_whatever_an_untrained_one_does() -> None:
    powerless = told("powerless", weight=0.9, kept=0.3, nothing=0.95)
    assert (powerless.tells, powerless.far_below) == (False, True)
    assert not told("near", weight=0.9, kept=0.48, nothing=0.95).far_below
    assert not told("broken", weight=0.4, kept=0.1, nothing=0.95).far_below
    # On the whole audit: with an untrained sender that follows the receiver as the control does.
    other = put(network("second", 1), conflict=CONFLICT, controls=("self", Follower()))
    assert other.figures["nothing"] > 1 - POWER
    assert other.answer == "no"
    assert "It follows something else." in other.sentence
    assert put(network("first", 1), conflict=CONFLICT, controls=("self", Follower())).answer == "unknown"


class Blanked(nn.Module):
    """A front that shows nothing of some inputs."""

    def __init__(self, front: nn.Module, where: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.front, self.where = front, where

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.front(x) * self.where(x)[:, None]


def blanked(where: Callable[[torch.Tensor], torch.Tensor]) -> Split:
    """The receiver, blind to all inputs but these."""
    net = network("first", 0).model.module
    return split(nn.Sequential(Blanked(net[:4], where), net[4]).eval(), "0", torch.ones(2, 8))


@dataclass(frozen=True)
class Agreeing(Follower):
    """A random sender that holds what the receiver holds, but where the cues disagree."""

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The receiver, blanked."""

        def agree(x: torch.Tensor) -> torch.Tensor:
            first, second = (torch.cdist(part, CENTRES).argmin(1) for part in (x[:, FIRST], x[:, SECOND] / 4))
            return (first == second) | ~there(x)

        yield Counterpart("agreeing", 0, blanked(agree), case.fit, case.test)


def there(x: torch.Tensor) -> torch.Tensor:
    """Where the second cue was not taken away."""
    return x[:, SECOND].abs().sum(1) > 0


@pytest.mark.parametrize("relative", [False, True])
def test_a_set_on_which_it_is_far_below_counts_though_it_follows_on_those_that_tell(relative: bool) -> None:
    """The sender is the receiver, and shows nothing where one cue is missing; an untrained one happens to show it."""
    other = put(
        blanked(there),
        audit=Conflict(n=300, relative=relative),
        conflict=CONFLICT,
        interventions=[Dropped()],
        controls=("self", Agreeing()),
    )
    sets = other.figures["sets"]
    assert sets["conflict set"]["position"].low > HALF_WAY
    assert sets["dropped"]["nothing"] > 1 - POWER
    assert sets["dropped"]["kept"].high < 0.1
    assert (other.answer, other.figures["decided_by"], other.figures["departs"]) == ("no", "dropped", ["dropped"])


def test_the_best_of_the_untrained_networks_is_what_a_sender_must_beat() -> None:
    hits = {k: np.r_[np.ones(k), np.zeros(100 - k)] for k in (50, 80, 90, 95)}
    found = {k: Agreement(each, 0.0) for k, each in hits.items()}
    _, position = kept_and_position([found[90]], [found[50], found[80]], [found[95]], seed=0)
    assert position.value == pytest.approx((0.90 - 0.80) / (0.95 - 0.80))


def test_sets_that_break_the_receiver_tell_nothing() -> None:
    for cue in ("first", "second"):
        blind = put(network(cue, 1), interventions=[Dropped(cue="first")])
        assert blind.answer == "unknown"
        assert "there is no set on which receiver and control keep their answers" in blind.sentence


def test_self_is_the_same_and_the_order_of_sets_does_not_matter() -> None:
    itself = put(network("first", 0), interventions=[Dropped(), Nothing()])
    again = put(network("first", 0), interventions=[Nothing(), Dropped()])
    assert itself.answer == "yes"
    assert itself.as_record() == again.as_record() | {"figures": itself.as_record()["figures"]}
    assert itself.figures["sets"] == again.figures["sets"]


def test_a_sender_that_does_not_look_cannot_be_tested() -> None:
    noise = stand_in(AsTheyAre(), torch.zeros(2, 16), "noise")
    base = Case(network("first", 1), network("first", 0), cues(400, agree=True), cues(300, agree=True), QUICK)
    one = next(iter(controls.make("clustered_noise").counterparts(base)))
    case = Case(noise, base.receiver, one.fit, one.test, QUICK)
    with pytest.raises(InapplicableError, match="does not see the inputs"):
        Conflict().put(Evidence(case, conflict=CONFLICT))


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InapplicableError, match="neither a conflict set nor interventions"):
        put(network("first", 1))
    with pytest.raises(InapplicableError, match="'self' or 'other_seed'"):
        put(network("first", 1), controls=("random_sender",), conflict=CONFLICT)
    with pytest.raises(AuditError, match="n of the audit 'conflict' to be a whole number of at least 20"):
        Conflict(n=3)
