"""The registry: one grammar for every choice, users' own files, and third parties' packages, broken ones too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import pytest
from click.testing import CliRunner

from seamripper._options import read_options
from seamripper.cli import inputs, list_command
from seamripper.cli.inputs import registry_of
from seamripper.controls import controls
from seamripper.errors import MeasureError, SeamripperError
from seamripper.matching import matchings
from seamripper.measures import choose_measures, measures
from seamripper.models import architectures
from seamripper.registry import Choice, Registry
from seamripper.stitches import stitches

EVERY: dict[str, Registry[Any]] = {kind: registry_of(kind) for kind in inputs.REGISTRIES} | {"networks": architectures}
"""All that `seamripper list` knows, and the networks of the zoo, which it lists among the models."""
REGISTRIES = {kind: registry for kind, registry in EVERY.items() if issubclass(registry.base, Choice)}
"""Those whose entries have options; parts, papers and engines are made otherwise."""
OWN = '''
from dataclasses import dataclass
from seamripper.stitches import Stitch
from seamripper.stitches.affine import Affine
import neighbour

@dataclass(frozen=True)
class Mine(Stitch):
    """A stitch of somebody else's."""

    name = "mine"
    power: float = 1.0
    gains: tuple[float, ...] = (1.0,)

    def misfit(self, source, target):
        return None

    def layer(self, source, target):
        return neighbour.layer(source, target)

class Half(Stitch):
    name = "half"

    def misfit(self, source, target):
        return None

class Nameless(Mine):
    pass

class Unnamed(Stitch):
    def misfit(self, source, target):
        return None

    def layer(self, source, target):
        return None

@dataclass(frozen=True)
class Asking(Mine):
    width: int = None

@dataclass(frozen=True)
class Imposter(Mine):
    name = "affine"

not_a_class = 7

class Other:
    pass
'''


@dataclass(frozen=True)
class Inner:
    """Options within an option."""

    steps: int = 3
    kind: Literal["slow", "fast"] = "slow"


@dataclass(frozen=True)
class Options(Choice):
    """Every kind of option that there is."""

    what, error, name = "measure", MeasureError, "options"
    whole: int = 1
    number: float = 0.5
    switch: bool = False
    word: Literal["a", "b"] = "a"
    perhaps: int | None = None
    some: float | None = 0.25
    text: str = "x"
    places: tuple[int, ...] | None = None
    inner: Inner = field(default_factory=Inner)


# ---- words


@pytest.mark.parametrize("registry", REGISTRIES.values(), ids=REGISTRIES)
def test_every_entry_goes_by_its_name(registry: Registry[Any]) -> None:
    assert list(registry) == sorted(registry)
    assert not registry.broken
    for name, cls in registry.items():
        assert cls.name == name
        assert registry.describe(name)
        if not getattr(cls, "takes", ""):
            made = registry.make(name)
            assert (type(made), made) == (cls, registry.make(made))
            assert registry.make(made.label) == made


@pytest.mark.parametrize("registry", REGISTRIES.values(), ids=REGISTRIES)
def test_every_entry_holds_its_options_to_their_types(registry: Registry[Any]) -> None:
    """An entry with checks of its own must call those of the base, too."""
    for name, cls in registry.items():
        required = {cls.takes: "."} if getattr(cls, "takes", "") else {}
        for option in (entry.name for entry in fields(cls)):
            with pytest.raises(SeamripperError, match=f"Expected {option} of the {registry.what} '{name}' to be "):
                cls(**(required | {option: object()}))


@pytest.mark.parametrize("kind", [kind for kind in REGISTRIES if kind != "models"])
def test_wrong_words_get_the_nearest_right_ones(kind: str) -> None:
    """Of a model, `load` sees to that: its words may be files."""
    registry = REGISTRIES[kind]
    first = next(name for name, cls in registry.items() if not getattr(cls, "takes", ""))
    what = registry.what
    for word, says in {
        f"{first}q": f"There is no {what} '{first}q': did you mean '{first}'",
        "": f"There is no {what} '': there are: ",
        f"{first}?qqqq=3": f"The {what} '{first}' has no option 'qqqq': ",
        f"{first}?dims": "Expected options like ?name=value&name=value, but got 'dims'",
        f"{first}?a=2&a=3": "Option 'a' is given twice",
        "mine.py": f"Say which class of the file is the {what}: 'mine.py:MyClass'."
        if registry.files
        else f"There is no {what} 'mine.py': ",
        "nowhere/mine.py:Mine": "There is no file nowhere/mine.py to take 'Mine' from."
        if registry.files
        else f"There is no {what} 'nowhere/mine.py:Mine': ",
    }.items():
        with pytest.raises(registry.error) as caught:
            registry.make(word)
        assert says in str(caught.value)
    with pytest.raises(registry.error, match=f"Expected the {what} to be "):
        registry.make(7)


def test_the_registry_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        stitches["affine"] = Options  # type: ignore[index]


def test_a_line_on_an_entry_is_no_default_of_an_option() -> None:
    """One measure has an option `about`."""
    assert measures.describe("aligned_cosine").startswith("The mean cosine")
    assert controls.describe("self") == controls["self"].about


def test_what_goes_by_another_door_says_so() -> None:
    with pytest.raises(MeasureError, match="'direct_functional' stitches the models themselves"):
        measures.make("direct_functional")


def test_words_may_be_several_and_each_counts_once() -> None:
    labels = [choice.label for choice in measures.many(["linear_cka, opd", "svcca?dims=3,linear_cka", "opd"])]
    assert labels == ["linear_cka", "opd", "svcca?dims=3"]
    assert measures.many(["svcca?dims=None", "svcca", "svcca?keep=0.99"]) == [measures.make("svcca")]
    # A comma before a digit belongs to an option.
    assert [choice.label for choice in matchings.many("task?label_map=1,0,direct")] == ["task?label_map=1,0", "direct"]
    with pytest.raises(MeasureError, match="There is no measure 'momnts': did you mean 'moments'"):
        choose_measures("momnts")


# ---- options


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ({"whole": "-3"}, -3),
        ({"number": "1e-3"}, 0.001),
        ({"number": "2"}, 2.0),
        ({"switch": "True"}, True),
        ({"switch": "false"}, False),
        ({"switch": "1"}, True),
        ({"switch": "0"}, False),
        ({"word": "b"}, "b"),
        ({"perhaps": "7"}, 7),
        ({"perhaps": "None"}, None),
        ({"perhaps": "none"}, None),
        ({"some": "7"}, 7.0),
        ({"text": "None"}, "None"),
        ({"places": "3,1, 2"}, (3, 1, 2)),
        ({"steps": "9"}, 9),
    ],
)
def test_text_means_a_value_of_the_right_type(text: dict[str, str], value: object) -> None:
    read = read_options(text, Options, "measure 'options'", error=MeasureError)
    ((name, meant),) = read.items()
    assert name in text
    assert (type(meant), meant) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("whole=2.5", "Expected whole of the measure 'options' to be a whole number, but got '2.5'."),
        ("whole=True", "to be a whole number, but got 'True'"),
        ("number=much", "to be a number, but got 'much'"),
        ("number=nan", "to be a number, but got 'nan'"),
        ("number=inf", "to be a number, but got 'inf'"),
        ("switch=2", "to be True or False, but got '2'"),
        ("word=c", "to be 'a' or 'b', but got 'c'"),
        ("perhaps=0.5", "to be a whole number or None, but got '0.5'"),
        ("places=1,x", "to be several of a whole number, joined by commas or None, but got '1,x'"),
        ("kind=quick", "Expected kind of the measure 'options' to be 'slow' or 'fast', but got 'quick'."),
        ("wrod=a", "The measure 'options' has no option 'wrod': did you mean 'word'? Its options are "),
    ],
)
def test_other_text_is_refused(text: str, says: str) -> None:
    name, value = text.split("=")
    with pytest.raises(MeasureError) as caught:
        read_options({name: value}, Options, "measure 'options'", error=MeasureError)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"whole": 2.5}, "Expected whole of the measure 'options' to be a whole number, but got 2.5."),
        ({"whole": True}, "to be a whole number, but got True"),
        ({"word": "c"}, "to be 'a' or 'b', but got 'c'"),
        ({"perhaps": "1"}, "to be a whole number or None, but got '1'"),
        ({"switch": None}, "to be True or False, but got None"),
        ({"places": [1]}, "joined by commas or None, but got [1]"),
    ],
)
def test_options_in_python_are_held_to_their_types(options: dict[str, Any], says: str) -> None:
    with pytest.raises(MeasureError) as caught:
        Options(**options)
    assert says in str(caught.value)


def test_a_label_is_the_word_that_makes_the_choice() -> None:
    choice = Options(whole=2, places=(1, 2), inner=Inner(kind="fast"))
    assert choice.label == "options?whole=2&places=1,2&kind=fast"
    task = matchings.make("task?epochs=3&init=direct&label_map=1,0")
    assert matchings.make(task.label) == task
    assert matchings.make("direct", ridge=0.1) == matchings.make("direct?ridge=0.1")
    with pytest.raises(SeamripperError, match="Option 'ridge' is given twice"):
        matchings.make("direct?ridge=0.1", ridge=0.2)


def test_a_record_makes_the_choice_again() -> None:
    for registry, word in (
        (matchings, "task?epochs=3&label_map=1,0&lr=0.5"),
        (stitches, "low_rank?rank=4"),
        (measures, "svcca?dims=3"),
    ):
        made = registry.make(word)
        assert registry.from_record(made.as_record()) == made
    # What an older record does not have keeps the choice's own default.
    mapping = matchings.from_record({"name": "class_mapping", "training": {"epochs": 2}})
    assert (mapping.training.epochs, mapping.training.lr) == (2, 0.01)  # type: ignore[attr-defined]
    with pytest.raises(SeamripperError, match="Expected the record of a stitch to have a 'name'"):
        stitches.from_record({})


def test_a_record_runs_no_code_that_it_names(tmp_path: Path) -> None:
    """Records come from files that users are handed: a match, a card."""
    file = tmp_path / "mine.py"
    file.write_text("raise SystemExit('this must not run')")
    with pytest.raises(SeamripperError, match="to have a 'name'"):
        stitches.from_record({"name": f"{file}:Mine"})
    file.write_text(
        "from dataclasses import dataclass\nfrom seamripper.stitches.affine import Affine\n"
        "@dataclass(frozen=True)\nclass Mine(Affine):\n    name = 'mine'\n    k: int = 1\n"
    )
    assert stitches.from_record({"name": "mine", "k": 2}, f"{file}:Mine").k == 2  # type: ignore[attr-defined]


# ---- a user's own file


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "neighbour.py").write_text("def layer(source, target):\n    return source\n")
    (tmp_path / "wrong.py").write_text("import math\n\nx = math.sqroot(2)\n")
    (tmp_path / "syntax.py").write_text("def f(:\n    pass\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit('usage: leaves.py FILE')\n")
    (tmp_path / "nothing.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_class_in_a_file(own: Path) -> None:
    mine = stitches.make(f"{own}/own.py:Mine?power=2&gains=1,2.5")
    assert mine.label == "mine?power=2.0&gains=1.0,2.5"
    assert mine.layer("a", "b") == "a"  # type: ignore[arg-type, comparison-overlap]
    assert [choice.label for choice in stitches.many(["own.py:Mine", f"{own}/own.py:Mine"])] == ["mine"]


def test_two_classes_of_one_name_are_refused(own: Path) -> None:
    with pytest.raises(
        SeamripperError, match=r"Two different classes are called stitch 'affine', and .* another `name`"
    ):
        stitches.many(["affine", "own.py:Imposter"])
    with pytest.raises(SeamripperError, match="Two different classes are called stitch 'mine'"):
        stitches.many("own.py:Mine,own.py:Nameless")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("owm.py:Mine", "There is no file owm.py to take 'Mine' from. In that folder there are: leaves.py, neighb"),
        ("own.py:Mien", "own.py has no class 'Mien': did you mean 'Mine'?"),
        ("nothing.py:Mine", "nothing.py has no class 'Mine': it defines no stitch."),
        (
            "own.py:Other",
            "own.py:Other is not a complete stitch: expected a class made from seamripper's Stitch, but got",
        ),
        ("own.py:not_a_class", "own.py:not_a_class is not a complete stitch: expected a class made from"),
        ("own.py:Half", "own.py:Half is not a complete stitch: it does not define layer."),
        ("own.py:Unnamed", "own.py:Unnamed is not a complete stitch: it does not define name."),
        ("own.py:Mine?powr=2", "The stitch 'mine' has no option 'powr': did you mean 'power'?"),
        ("own.py:Asking", "Expected width of the stitch 'mine' to be a whole number, but got None."),
        ("wrong.py:Mine", "wrong.py could not be run at line 3: AttributeError: module 'math' has no attribute"),
        ("syntax.py:Mine", "syntax.py could not be run at line 1: SyntaxError"),
        ("leaves.py:Mine", "leaves.py could not be run at line 1: SystemExit: usage: leaves.py FILE"),
    ],
)
def test_a_file_that_gives_no_choice(own: Path, words: str, says: str) -> None:
    with pytest.raises(SeamripperError) as caught:
        stitches.make(words)
    assert says in str(caught.value)


# ---- a third party's package


def plugin(kind: str) -> str:
    """The lines of a third party that make one of our own entries once more, under the name `mine`."""
    registry = EVERY[kind]
    # A source without words of its own is listed by its name.
    ours = next(entry for entry in registry.values() if not getattr(entry, "form", ""))
    if registry.values_only:
        return f"from seamripper.{kind}.{ours.name} import PAPER\nMine_{kind} = replace(PAPER, name='mine')\n"
    head = f"from {ours.__module__} import {ours.__name__}\nclass Mine_{kind}({ours.__name__}):\n"
    return f"{head}    'Somebody else has made it.'\n    name: ClassVar[str] = 'mine'\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution as pip leaves it, on the path, with an entry point for every kind of choice."""
    (tmp_path / "third_party.py").write_text(OWN.replace("import neighbour", ""))
    head = "from dataclasses import replace\nfrom typing import ClassVar\n\n"
    (tmp_path / "third_party_plugins.py").write_text(head + "\n".join(plugin(k) for k in EVERY if k != "stitches"))
    (tmp_path / "third_party_broken.py").write_text("import no_such_library\n")
    info = tmp_path / "third_party-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    third = ["mine = third_party:Mine", "affine = third_party:Imposter", "number = third_party:not_a_class"]
    third += ["half = third_party:Half", "other = third_party:Mine"]
    lines = list[str]()
    for kind, registry in EVERY.items():
        lines += [f"[{registry.package}]", "bad = third_party_broken:X"]
        lines += third if registry is stitches else [f"mine = third_party_plugins:Mine_{kind}"]
    (info / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    for registry in EVERY.values():
        registry.reload()
    yield tmp_path
    monkeypatch.undo()
    for registry in EVERY.values():
        registry.reload()


def test_an_installed_package_adds_choices(installed: Path) -> None:
    assert stitches["mine"].__module__ == "third_party"
    assert stitches.make("mine?power=2").label == "mine?power=2.0"


def test_an_entry_point_that_fails_is_listed_and_breaks_nothing(installed: Path) -> None:
    for registry in EVERY.values():
        assert set(registry) > {"mine"}
        assert "third_party_broken:X could not be imported: ModuleNotFoundError: " in registry.broken["bad"]
        with pytest.raises(registry.error, match=f"The {registry.what} 'bad' cannot be used: third_party_broken:X "):
            registry.make("bad")
    assert stitches.broken["number"].startswith("third_party:not_a_class is not a complete stitch: expected a class")
    assert stitches.broken["half"] == "third_party:Half is not a complete stitch: it does not define layer."
    assert stitches.broken["other"].endswith("its name is 'mine', but it is registered as 'other'.")
    # Nobody replaces what is here by a name of his own.
    assert stitches.broken["affine"] == "third_party:Imposter registers it, but the name is taken."
    assert stitches["affine"].__module__ == "seamripper.stitches.affine"


@pytest.mark.parametrize("kind", inputs.REGISTRIES)
def test_a_third_partys_entry_and_a_broken_one_are_listed(installed: Path, kind: str) -> None:
    done = CliRunner().invoke(list_command.command, [kind, "--json"])
    assert done.exit_code == 0, done.output
    listed = json.loads(done.stdout)
    assert "mine" in {word.partition(":")[0].partition("/")[0] for word in listed[kind]}
    assert listed["broken"]["bad"].startswith("third_party_broken:X could not be imported: ModuleNotFoundError: ")
    done = CliRunner().invoke(list_command.command, [kind])
    assert "bad cannot be used: third_party_broken:X could not be imported" in done.stderr


def test_without_the_package_there_is_none() -> None:
    for registry in EVERY.values():
        assert "mine" not in registry
        assert not registry.broken


def test_members_of_a_group_are_made_only_if_it_is_asked_for() -> None:
    asked: list[str] = []

    def everything() -> list[Any]:
        asked.append("all")
        return [measures.make("opd"), measures.make("linear_cka")]

    assert [choice.label for choice in measures.many("opd", {"all": everything})] == ["opd"]
    assert not asked
    assert [choice.label for choice in measures.many("all", {"all": everything})] == ["opd", "linear_cka"]
