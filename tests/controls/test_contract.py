"""What every control keeps to, and controls planted to break it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import ClassVar, get_args

import pytest
import torch

from seamripper._fingerprint import model_fingerprint, tensors_of
from seamripper.audits.base import DEFAULT_CONTROLS
from seamripper.controls import Case, Control, Counterpart, Known, Origin, Outcome, controls
from seamripper.data.paired import Paired
from seamripper.errors import AuditError
from seamripper.matching import Task, Training


def untold(cls: type[Control]) -> list[str]:
    """What a control does not say of itself."""
    doc = inspect.getdoc(cls) or ""
    said = {
        "a name": bool(getattr(cls, "name", "")),
        "one line about it": 10 < len(getattr(cls, "about", "")) < 100 and "\n" not in cls.about,
        "what is known": getattr(cls, "known", None) in get_args(Known),
        "where its activations come from": cls.origin in get_args(Origin),
        "a first sentence": doc.partition("\n")[0].endswith((".", ":")) and "dataclass" not in doc,
        "frozen": is_dataclass(cls) and cls.__dataclass_params__.frozen,
    }
    missing = [what for what, there in said.items() if not there]
    record = cls().as_record()
    if (
        json.loads(json.dumps(record)) != record
        or not {"name", "known", *(f.name for f in fields(cls))} <= record.keys()
    ):
        missing.append("a record")
    return missing


def told(outcome: Outcome) -> tuple[object, ...]:
    """All that an outcome says, with the stitch that it was found with."""
    stitch = None if outcome.match is None else model_fingerprint(outcome.match.layer)
    return json.dumps(outcome.as_record(), allow_nan=False), stitch


def prints(case: Case) -> list[str]:
    halves = (case.sender, case.receiver, *case.others)
    return [model_fingerprint(half.model.module) for half in halves] + [
        model_fingerprint(part) for half in halves for part in (half.head, half.tail)
    ]


def breaches(control: Control, case: Case) -> list[str]:
    """What a control breaks when it is run."""
    before, state, samples = prints(case), torch.get_rng_state(), (case.fit.fingerprint, case.test.fingerprint)
    # Each with a memo of its own, or the second would only be remembered.
    first, second = (list(control.outcomes(replace(case, memo={}))) for _ in range(2))
    found = {
        "no outcome": not first,
        "other outcomes for the same seeds": [told(one) for one in first] != [told(one) for one in second],
        "the name of another": any(one.control != control.name for one in first),
        "two outcomes of one label and seed": len({(one.label, one.seed) for one in first}) < len(first),
        "more stitches than it said": sum(one.match is not None for one in first) > control.stitches(case),
        "a network was changed": prints(case) != before,
        "samples were changed": (replace(case.fit).fingerprint, replace(case.test).fingerprint) != samples,
        "the global generator was used": not torch.equal(torch.get_rng_state(), state),
    }
    return [what for what, broken in found.items() if broken]


@pytest.fixture(scope="module")
def quick(case: Case) -> Case:
    return replace(case, matching=Task(Training(epochs=1, batch=128)))


@pytest.mark.parametrize("name", controls)
def test_a_control_says_what_it_is(name: str) -> None:
    assert untold(controls[name]) == []
    assert controls[name].name == name
    assert type(controls.make(name)) is controls[name]


@pytest.mark.parametrize("name", controls)
def test_a_control_keeps_to_the_contract(name: str, quick: Case) -> None:
    assert breaches(controls.make(name), quick) == []


def origins(control: Control, case: Case) -> tuple[set[str], bool]:
    """Where a control's activations come from, by its counterparts, and whether these have the receiver's weights."""
    each = list(control.counterparts(case))
    networks = {bool(tensors_of(counterpart.sender.model.module)) for counterpart in each}
    same = {Paired.of(part).same for counterpart in each for part in (counterpart.fit, counterpart.test)}
    made = {True: {"network" if same == {True} else "mispaired"}, False: {"input" if same == {True} else "noise"}}
    own = all(counterpart.sender.fingerprint == case.receiver.fingerprint for counterpart in each if networks == {True})
    return set().union(*(made[network] for network in networks)), own and networks == {True}


@pytest.mark.parametrize("name", controls)
def test_a_control_declares_what_its_counterparts_are(name: str, quick: Case) -> None:
    """The audits read it from the declaration, before anything is stitched."""
    control = controls.make(name)
    assert origins(control, quick) == ({control.origin}, control.own_weights)


@pytest.mark.parametrize("name", controls)
def test_other_seeds_give_other_stitches(name: str, quick: Case) -> None:
    if name == "linear_probe":
        name += "?untrained=true"
    first, second = (next(controls.make(name).outcomes(replace(quick, seeds=(seed,)))) for seed in (0, 1))
    assert (first.seed, second.seed) == (0, 1)
    assert told(first) != told(second)


@pytest.mark.parametrize("name", controls)
def test_no_control_takes_an_option_that_it_does_not_have(name: str) -> None:
    with pytest.raises(AuditError, match=f"The control '{name}' has no option 'bogus'"):
        controls.make(f"{name}?bogus=1")


def test_all_that_an_audit_uses_are_there() -> None:
    assert set(DEFAULT_CONTROLS) <= controls.keys()
    assert {control.known for control in controls.values()} == set(get_args(Known))


# ---- planted


@dataclass(frozen=True)
class Good(Control):
    """The receiver, in a way that breaks nothing."""

    name: ClassVar[str] = "good"
    about: ClassVar[str] = "the receiver once more"
    known: ClassVar[Known] = "same"

    def stitches(self, case: Case) -> int:
        return 1

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        yield Counterpart("good", case.seeds[0], case.receiver, case.fit, case.test)


@dataclass(frozen=True)
class Drawing(Good):
    """Draws from the generator that everyone shares."""

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        fit = replace(case.fit.receiver, inputs=case.fit.receiver.inputs + torch.randn(case.fit.receiver.inputs.shape))
        yield Counterpart("drawing", 0, case.sender, fit, case.test)


@dataclass(frozen=True)
class Changing(Good):
    """Changes the sender while it is at it."""

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        with torch.no_grad():
            next(case.sender.model.module.parameters()).add_(0.1)
        yield Counterpart("changing", 0, case.receiver, case.fit, case.test)


@dataclass(frozen=True)
class Twice(Good):
    """Gives one outcome two times."""

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        yield from list(super().counterparts(case)) * 2


@dataclass(frozen=True)
class Silent(Good):
    """Gives nothing."""

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        yield from ()


@dataclass(frozen=True)
class Untold(Good):
    about: ClassVar[str] = ""
    known: ClassVar[str] = "perhaps"
    option: object = None

    def as_record(self) -> dict[str, object]:
        return {"name": self.name, "known": self.known}


@pytest.mark.parametrize(
    ("control", "broken"),
    [
        (Good, []),
        (Drawing, ["other outcomes for the same seeds", "the global generator was used"]),
        (Changing, ["a network was changed"]),
        (Twice, ["two outcomes of one label and seed", "more stitches than it said"]),
        (Silent, ["no outcome"]),
    ],
)
def test_the_contract_finds_what_is_broken(control: type[Control], broken: list[str], quick: Case) -> None:
    # A copy of the sender, as one of them changes it.
    assert breaches(control(), replace(quick, sender=quick.sender.again())) == broken


def test_the_contract_finds_what_is_not_said() -> None:
    assert untold(Good) == []
    assert untold(Untold) == ["one line about it", "what is known", "a first sentence", "a record"]
