"""Experiment as a value: frozen, strict, and what its words mean."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from seamripper._files import plain
from seamripper.errors import ExperimentError
from seamripper.experiment import (
    AuditPart,
    CallPart,
    ComparePart,
    Data,
    Experiment,
    Network,
    PicturesPart,
    StitchPart,
)
from seamripper.experiment.expansion import Expansion
from seamripper.experiment.experiment import Resources
from seamripper.experiment.identity import Identities
from seamripper.matching import Direct, Regression, Task, Training

PAIR: dict[str, Any] = {"senders": ("digit",), "receivers": ("colour",)}
STUDY = Experiment(
    name="study",
    data=Data(name="digits/digit", n=64, n_test=32, seed=3),
    models={
        "digit": Network(train="zoo:lenet", data="digits/digit", seeds=(0, 1, 12)),
        "theirs": Network(load="zoo:lenet"),
    },
    matchings={"ridged": "direct?ridge=0.5", "task": "task?epochs=3"},
    stitch=(StitchPart(**PAIR, cuts=("layer1",)),),
)
PARTS: list[tuple[BaseModel, str, Any]] = [
    (STUDY, "threads", 2),
    (STUDY.models["digit"], "training", "smith"),
    (STUDY.stitch[0], "cuts", ("layer2",)),
    (ComparePart(**PAIR), "parts", 2),
    (AuditPart(**PAIR, cuts=("layer1",)), "seeds", (1,)),
    (PicturesPart(**PAIR, cuts=("layer1",)), "n", 2),
    (CallPart(function="mine.py:f"), "seeds", (1,)),
    (Data(name="digits/digit"), "n", 5),
    (Resources(), "gpus", 1.0),
]


def told(error: BaseException | None) -> list[tuple[tuple[str | int, ...], str]]:
    """Where and what, of each mistake."""
    assert isinstance(error, ValidationError)
    return [(found["loc"], found["type"]) for found in error.errors()]


# ---- a frozen value


@pytest.mark.parametrize(("part", "field", "value"), PARTS, ids=lambda x: type(x).__name__)
def test_nothing_of_it_can_be_set(part: BaseModel, field: str, value: Any) -> None:
    before = part.model_dump()
    with pytest.raises(ValidationError) as e:
        setattr(part, field, value)
    assert told(e.value) == [((field,), "frozen_instance")]
    assert part.model_dump() == before
    assert getattr(part.model_copy(update={field: value}), field) == value


def test_a_table_given_to_it_can_be_changed_without_changing_it() -> None:
    models = {"a": Network(load="zoo:lenet")}
    study = Experiment(name="one", models=models)
    models["b"] = models["a"]
    assert list(study.models) == ["a"]


def test_equal_by_content() -> None:
    again = Experiment.model_validate(STUDY.model_dump())
    assert again == STUDY
    assert again is not STUDY
    assert again != STUDY.model_copy(update={"threads": 2})
    assert again != STUDY.model_copy(update={"stitch": ()})


def test_written_down_as_json_it_reads_back_the_same() -> None:
    """The store keeps descriptions so, with every key that was not given, too."""
    assert Experiment.model_validate_json(STUDY.model_dump_json()) == STUDY


@pytest.mark.parametrize("part", [part for part, *_ in PARTS], ids=lambda x: type(x).__name__)
def test_every_part_refuses_a_key_that_it_does_not_have(part: BaseModel) -> None:
    with pytest.raises(ExperimentError, match="unheard_of") as e:
        type(part)(**part.model_dump(), unheard_of=1)
    assert told(e.value.__cause__) == [(("unheard_of",), "extra_forbidden")]


@pytest.mark.parametrize(
    ("kind", "given", "kind_of_error"),
    [
        (Data, {"name": "d", "n": 1}, "greater_than_equal"),
        (Data, {"name": "d", "n": 2.0}, "int_type"),
        (Data, {"name": "d", "n": True}, "int_type"),
        (Data, {"name": "d", "seed": 2**32}, "less_than"),
        (Data, {"name": ""}, "string_too_short"),
        (Experiment, {"name": "a", "threads": 1025}, "less_than_equal"),
        (Experiment, {"name": "../a"}, "string_pattern_mismatch"),
        (Experiment, {"name": "a\n"}, "string_pattern_mismatch"),
        (Experiment, {"name": "a", "models": {"a/0": {"load": "x"}}}, "string_pattern_mismatch"),
        (Experiment, {"name": "a", "matchings": {"m": {"way": "task"}}}, "string_type"),
        (Network, {"train": "x", "data": "y", "training": ""}, "string_too_short"),
        (StitchPart, {**PAIR, "cuts": ()}, "too_short"),
        (StitchPart, {**PAIR, "cuts": ("a",), "seeds": ()}, "too_short"),
        (ComparePart, {**PAIR, "parts": 0}, "greater_than_equal"),
        (AuditPart, {**PAIR, "cuts": ("a",), "freeze": "none"}, "literal_error"),
        (PicturesPart, {**PAIR, "cuts": ()}, "too_short"),
        (PicturesPart, {**PAIR, "cuts": ("a",), "n": 0}, "greater_than_equal"),
        (PicturesPart, {**PAIR, "cuts": ("a",), "n": 1001}, "less_than_equal"),
        (PicturesPart, {**PAIR, "cuts": ("a",), "matchings": ()}, "too_short"),
        (CallPart, {"function": "f.py:f", "args": {"x": None}}, "string_type"),
        (Resources, {"gpus": float("inf")}, "finite_number"),
    ],
)
def test_wrong_values_are_refused(kind: type[BaseModel], given: dict[str, Any], kind_of_error: str) -> None:
    with pytest.raises(ExperimentError, match="Expected") as e:
        kind(**given)
    assert told(e.value.__cause__)[0][1] == kind_of_error


def test_a_whole_number_where_a_number_is_wanted_is_the_same_as_with_a_point() -> None:
    one, other = (Resources(gpus=gpus) for gpus in (1, 1.0))
    assert one == other
    assert isinstance(one.gpus, float)


# ---- networks


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "expected either `train` .* or `load`"),
        ({"train": "x", "load": "y", "data": "z"}, "expected either `train` .* or `load`"),
        ({"train": "x"}, "expected `data`: what the network is trained on"),
        ({"load": "x", "seeds": (1,)}, "a model that is loaded takes no 'seeds'"),
        ({"load": "x", "training": "smith"}, "a model that is loaded takes no 'training'"),
        ({"load": "x", "data": "y"}, "a model that is loaded takes no 'data'"),
    ],
)
def test_a_network_is_trained_or_loaded(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        Network(**given)


@pytest.mark.parametrize(
    ("word", "seeds"), [("digit", (0, 1, 12)), ("digit/1", (1,)), ("digit/12", (12,)), ("theirs", (None,))]
)
def test_a_word_means_a_network_and_its_seeds(word: str, seeds: tuple[int | None, ...]) -> None:
    assert STUDY.network(word) == (STUDY.models[word.partition("/")[0]], seeds)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("digt", "There is no model 'digt': did you mean 'digit'?"),
        ("digt/1", "There is no model 'digt/1': did you mean 'digit'?"),
        ("zzz", "There is no model 'zzz': there are: digit, theirs."),
        ("digit/2", "The model 'digit' has no seed '2': it has 0, 1, 12."),
        ("digit/-1", "The model 'digit' has no seed '-1': it has 0, 1, 12."),
        ("digit/0/1", "The model 'digit' has no seed '0/1': it has 0, 1, 12."),
        ("digit/one", "The model 'digit' has no seed 'one': it has 0, 1, 12."),
        ("theirs/0", "The model 'theirs' is loaded and has no seeds: ask for just 'theirs'."),
    ],
)
def test_a_word_that_means_no_network(word: str, message: str) -> None:
    with pytest.raises(ExperimentError) as e:
        STUDY.network(word)
    assert str(e.value) == message


# ---- matchings


def matching(word: str) -> dict[str, Any]:
    record, _ = Expansion(STUDY, Identities({})).matching(word)
    return record


def test_a_matching_is_one_of_the_studys_or_any_other_by_its_word() -> None:
    assert matching("regression") == plain(Regression().as_record())
    assert matching("ridged") == plain(Direct(ridge=0.5).as_record())
    assert matching("direct?form=orthogonal") == plain(Direct(form="orthogonal").as_record())
    assert matching("task?lr=0.1&label_map=1,0") == plain(Task(Training(lr=0.1), label_map=(1, 0)).as_record())
    # A study may say what it means by a name that there is.
    assert matching("task") == plain(Task(Training(epochs=3)).as_record())


def test_a_wrong_matching_is_told_with_the_nearest() -> None:
    with pytest.raises(ExperimentError, match="There is no matching 'rigded': did you mean 'ridged'"):
        matching("rigded")
    with pytest.raises(ExperimentError, match="There is no matching 'regresion': did you mean 'regression'"):
        matching("regresion")


# ---- samples


def test_samples_are_the_parts_own_or_those_of_the_experiment() -> None:
    own = Data(name="digits/colour", n=8)
    assert STUDY.samples(own, "a [[stitch]]") is own
    assert STUDY.samples(None, "a [[stitch]]") is STUDY.data
    # A name alone takes the numbers from the experiment's.
    assert STUDY.samples("digits/colour", "a [[stitch]]") == Data(name="digits/colour", n=64, n_test=32, seed=3)


def test_samples_by_name_alone() -> None:
    named = Experiment(name="a", data="digits/digit")
    assert named.samples(None, "x") == Data(name="digits/digit")
    assert named.samples("digits/colour", "x") == Data(name="digits/colour")
    assert Experiment(name="a").samples("digits/colour", "x") == Data(name="digits/colour")


def test_without_samples_it_says_who_needs_some() -> None:
    with pytest.raises(ExperimentError) as e:
        Experiment(name="a").samples(None, "a [[compare]]")
    assert str(e.value) == "Expected a [[compare]] or the experiment to have `data`, but neither has."
