"""The public surface: these names and no others, each of them explained."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
from pathlib import Path

import pytest

import seamripper
from seamripper.audits import Audit, audits
from seamripper.audits.interventions import Intervention, interventions
from seamripper.audits.mixtures import mixtures
from seamripper.benchmark import bench_tests
from seamripper.controls import Control, controls
from seamripper.data import DataSet, datasets
from seamripper.matching import matchings
from seamripper.measures import measures
from seamripper.stitches import stitches

PUBLIC = [
    "Activations",
    "Audited",
    "Comparison",
    "Cut",
    "Estimate",
    "Experiment",
    "Functional",
    "Match",
    "Model",
    "Pair",
    "Run",
    "Samples",
    "SeamripperError",
    "Split",
    "Store",
    "Training",
    "Verdict",
    "audit",
    "collect",
    "compare",
    "cuts",
    "evaluate",
    "load",
    "load_data",
    "match",
    "plan",
    "run",
    "score",
    "split",
    "train",
]
PACKAGES = (
    *("activations", "audits", "audits.interventions", "audits.mixtures", "controls"),
    *("benchmark", "comparing", "cut", "data", "mapping", "matching", "measures", "models", "stitches"),
    "swapping",
)


def test_the_surface_is_this_list() -> None:
    assert seamripper.__all__ == PUBLIC
    assert dir(seamripper) == PUBLIC
    # Verbs, and the values that they take and give. Whatever a word can name is reached through its package.
    assert len(PUBLIC) <= 30


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_there_and_explained(name: str) -> None:
    thing = getattr(seamripper, name)
    assert thing.__name__ == name
    assert explained(thing), f"{name} has no docstring of its own"
    if inspect.isclass(thing):
        for word, member in vars(thing).items():
            # Those that a dataclass makes by itself have no docstring to write.
            if not word.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                assert explained(member), f"{name}.{word} has no docstring"


def test_a_star_import_gives_the_surface() -> None:
    found: dict[str, object] = {}
    exec("from seamripper import *", found)
    assert set(found) - {"__builtins__"} == set(PUBLIC)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("splitt", "split"), ("Matsh", "Match"), ("loaddata", "load_data")],
)
def test_a_wrong_name_gets_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(AttributeError, match=rf"seamripper has no '{wrong}': did you mean '{right}'"):
        getattr(seamripper, wrong)


@pytest.mark.parametrize(("name", "package"), [("Task", "matching"), ("Measure", "measures"), ("Control", "controls")])
def test_a_name_of_a_package_is_said_to_be_there(name: str, package: str) -> None:
    with pytest.raises(AttributeError, match=rf"seamripper has no '{name}': it is seamripper\.{package}\.{name}\."):
        getattr(seamripper, name)


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(AttributeError, match=r"seamripper has no 'qqqqqq': there are: Activations, Audited, "):
        seamripper.qqqqqq  # noqa: B018
    assert not hasattr(seamripper, "__wrapped__")


def test_what_type_checkers_see_is_what_is_there() -> None:
    tree = ast.parse(Path(seamripper.__file__).read_text())
    blocks = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    assert len(blocks) == 1
    seen = {}
    for statement in blocks[0].body:
        assert isinstance(statement, ast.ImportFrom)
        for alias in statement.names:
            # `as` the same name is how a type checker knows that it is meant to be taken from here.
            assert alias.asname == alias.name
            seen[alias.name] = statement.module
    assert set(seen) == set(PUBLIC)
    for name, module in seen.items():
        assert getattr(importlib.import_module(str(module)), name) is getattr(seamripper, name)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_lists_of_the_packages_are_true(package: str) -> None:
    module = importlib.import_module(f"seamripper.{package}")
    # Constants, classes, functions, each in alphabetical order.
    kinds = {name: (not name.isupper(), name.islower(), name) for name in module.__all__}
    assert module.__all__ == sorted(kinds, key=lambda name: kinds[name])
    assert (module.__doc__ or "").strip()
    for name in module.__all__:
        assert hasattr(module, name)
    from_here = {name for name in PUBLIC if getattr(seamripper, name) is getattr(module, name, None)}
    assert from_here <= set(module.__all__)


def plug_ins() -> list[type]:
    registries = (stitches, matchings, measures, datasets, controls, interventions, mixtures, audits, bench_tests)
    return [cls for registry in registries for cls in registry.values()]


@pytest.mark.parametrize("cls", plug_ins(), ids=lambda cls: f"{cls.__module__.split('.')[1]}.{cls.name}")
def test_a_plug_in_has_a_first_line_to_list(cls: type) -> None:
    assert explained(cls)
    first = (cls.__doc__ or "").splitlines()[0]
    assert 10 < len(first) <= 120
    if issubclass(cls, DataSet):
        assert cls.about
        assert "\n" not in cls.about
        assert all(cls.variants.values())
    if issubclass(cls, Control | Intervention):
        assert 10 < len(cls.about) <= 120
    if issubclass(cls, Audit):
        assert cls.question.endswith("?")


def test_there_are_plug_ins_of_every_kind() -> None:
    names = {cls.name for cls in plug_ins()}  # type: ignore[attr-defined]
    assert {"affine", "identity", "low_rank", "direct", "task", "regression", "linear_cka", "mnist", "folder"} <= names
    assert {"self", "random_sender", "greyscale", "word_shuffle", "margin", "conflict", "shortcut"} <= names


def explained(thing: object) -> bool:
    """Whether it has a docstring that somebody wrote: dataclasses without one get their signature for it."""
    text = (thing.__doc__ or "").strip()
    return bool(text) and not text.startswith(f"{getattr(thing, '__name__', '')}(")


def test_the_docstring_of_a_dataclass_is_told_from_a_written_one() -> None:
    @dataclasses.dataclass
    class Silent:
        x: int = 0

    @dataclasses.dataclass
    class Written:
        """A point."""

        x: int = 0

    assert Silent.__doc__
    assert not explained(Silent)
    assert explained(Written)
