"""Choosing measures: by name and options, in groups, from a user's file, from a third party's package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from seamripper._options import read_options
from seamripper.errors import MeasureError
from seamripper.measures import Claims, Measure, Pair, chosen, measure_named, measures

OWN = '''
from __future__ import annotations
import abc
import math
from dataclasses import dataclass
from typing import Literal
from seamripper import Measure, Pair
from seamripper.measures import Claims
import neighbour

@dataclass(frozen=True)
class Mine(Measure):
    """The difference of the lengths of the mean rows."""

    name = "mine"
    paper = "nobody 2025"
    power: float = 1.0
    about: Literal["mean", "median"] = "mean"

    @property
    def claims(self):
        return Claims("distance", True, (0.0, math.inf), 0.0, frozenset({"orthogonal", "permutation"}), varying=False)

    def of(self, pair):
        a, b = (float(side.mean @ side.mean) for side in (pair.x, pair.y))
        return neighbour.difference(a ** (self.power / 2), b ** (self.power / 2))

class Half(Measure):
    name = "half"
    paper = "nobody 2025"

    def of(self, pair):
        return 0.0

class Nameless(Mine):
    pass

class Unnamed(Measure):
    @property
    def claims(self):
        return None

    def of(self, pair):
        return 0.0

@dataclass(frozen=True)
class Asking(Mine):
    width: int = None

    def __post_init__(self):
        super().__post_init__()

@dataclass(frozen=True)
class Imposter(Mine):
    name = "linear_cka"

not_a_class = 7

class Other:
    pass
'''


@dataclass(frozen=True)
class Options(Measure):
    """Every kind of option there is."""

    name = "options"
    paper = "none"
    whole: int = 1
    number: float = 0.5
    switch: bool = False
    word: Literal["a", "b"] = "a"
    perhaps: int | None = None
    some: float | None = 0.25
    text: str = "x"

    @property
    def claims(self) -> Claims:
        raise NotImplementedError

    def of(self, pair: Pair) -> float:
        raise NotImplementedError


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "neighbour.py").write_text("def difference(a, b):\n    return abs(a - b)\n")
    (tmp_path / "wrong.py").write_text("import math\n\nx = math.sqroot(2)\n")
    (tmp_path / "syntax.py").write_text("def f(:\n    pass\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit('usage: leaves.py FILE')\n")
    (tmp_path / "nothing.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- names and options


def test_every_measure_goes_by_its_name() -> None:
    assert {"linear_cka", "debiased_cka", "opd", "svcca"} <= set(measures())
    for name, cls in measures().items():
        assert cls.name == name
        assert type(measure_named(name)) is cls


def test_options_are_read_by_their_types() -> None:
    assert measure_named("svcca?dims=20").dims == 20  # type: ignore[attr-defined]
    found = measure_named("svcca?dims=3&keep=0.9")
    assert (found.dims, found.keep) == (3, 0.9)  # type: ignore[attr-defined]
    assert measure_named("svcca?dims=None") == measure_named("svcca")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ({"whole": "-3"}, -3),
        ({"number": "1e-3"}, 0.001),
        ({"number": "2"}, 2.0),
        ({"switch": "True"}, True),
        ({"switch": "false"}, False),
        ({"word": "b"}, "b"),
        ({"perhaps": "7"}, 7),
        ({"perhaps": "None"}, None),
        ({"perhaps": "none"}, None),
        ({"some": "7"}, 7.0),
        ({"text": "None"}, "None"),
    ],
)
def test_text_means_a_value_of_the_right_type(text: dict[str, str], value: object) -> None:
    read = read_options(text, Options, "measure 'options'", error=MeasureError)
    assert list(read) == list(text)
    found = next(iter(read.values()))
    assert (type(found), found) == (type(value), value)
    assert Options(**read)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("whole=2.5", "Expected whole of the measure 'options' to be a whole number, but got '2.5'."),
        ("whole=True", "to be a whole number, but got 'True'"),
        ("number=much", "to be a number, but got 'much'"),
        ("number=nan", "to be a number, but got 'nan'"),
        ("number=inf", "to be a number, but got 'inf'"),
        ("switch=1", "to be True or False, but got '1'"),
        ("word=c", "to be 'a' or 'b', but got 'c'"),
        ("perhaps=0.5", "to be a whole number or None, but got '0.5'"),
        ("wrod=a", "The measure 'options' has no option 'wrod': did you mean 'word'? Its options are 'whole', "),
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
    ],
)
def test_options_in_python_are_held_to_their_types(options: dict[str, Any], says: str) -> None:
    with pytest.raises(MeasureError) as caught:
        Options(**options)
    assert says in str(caught.value)


@pytest.mark.parametrize("cls", measures().values(), ids=lambda cls: cls.name)
def test_every_leaf_holds_its_options_to_their_types(cls: type[Measure]) -> None:
    """Also one that has checks of its own: it must call those of the base."""
    for name in (field.name for field in fields(cls)):
        with pytest.raises(MeasureError, match=f"Expected {name} of the measure '{cls.name}' to be "):
            cls(**{name: object()})


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("linear_kca", "There is no measure 'linear_kca': did you mean 'linear_cka'"),
        ("momnts", "There is no measure 'momnts': did you mean 'moments'"),
        ("", "There is no measure '': there are: "),
        ("linear_cka?dims=3", "The measure 'linear_cka' has no option 'dims': It has none."),
        ("svcca?dim=3", "The measure 'svcca' has no option 'dim': did you mean 'dims'?"),
        ("svcca?dims=few", "Expected dims of the measure 'svcca' to be a whole number or None, but got 'few'."),
        ("svcca?dims", "Expected options like ?name=value&name=value, but got 'dims'"),
        ("svcca?dims=2&dims=3", "Option 'dims' is given twice"),
        ("rsa?compare=spearmn", "to be 'pearson', 'spearman' or 'kendall'"),
        ("mine.py", "Say which class of the file is the measure: 'mine.py:MyMeasure'."),
        ("zoo:resnet18", "Expected a measure by name or as FILE.py:CLASS, but got 'zoo:resnet18'."),
    ],
)
def test_words_that_mean_no_measure(words: str, says: str) -> None:
    with pytest.raises(MeasureError) as caught:
        measure_named(words)
    assert says in str(caught.value)


# ---- several


def test_words_may_be_several() -> None:
    labels = [m.label for m in chosen(["linear_cka, opd", "svcca?dims=3,linear_cka", "opd"])]
    assert labels == ["linear_cka", "opd", "svcca?dims=3"]


def test_the_same_measure_in_other_words_is_one() -> None:
    assert chosen(["svcca?dims=None", "svcca", "svcca?keep=0.99"]) == (measure_named("svcca"),)


def test_all_is_every_variant_and_groups_are_its_parts() -> None:
    every = chosen(["all"])
    assert {m.name for m in every} == set(measures())
    assert len({m.label for m in every}) == len(every) > len(measures())
    parts = [chosen([word]) for word in ("moments", "batches", "rows")]
    assert all(parts)
    assert sorted(m.label for part in parts for m in part) == sorted(m.label for m in every)
    for word, part in zip(("moments", "batches", "rows"), parts, strict=True):
        assert {m.claims.needs for m in part} == {word}
    assert chosen(["opd,all"])[0].label == "opd"
    assert len(chosen(["all", "all,rows"])) == len(every)


# ---- a user's own


def test_a_class_in_a_file(own: Path) -> None:
    mine = measure_named("own.py:Mine")
    assert mine.label == "mine"
    x, y = torch.tensor([[3.0, 4.0]]).repeat(6, 1), torch.tensor([[1.0]]).repeat(6, 1)
    assert mine.value(Pair.of(x, y)) == pytest.approx(4.0)
    squared = measure_named(f"{own}/own.py:Mine?power=2&about=median")
    assert squared.label == "mine?power=2.0&about=median"
    assert squared.value(Pair.of(x, y)) == pytest.approx(24.0)


def test_a_file_that_is_named_twice_is_one_measure(own: Path) -> None:
    assert [m.label for m in chosen(["own.py:Mine", f"{own}/own.py:Mine", "own.py:Mine?power=1"])] == ["mine"]


def test_two_measures_of_one_label_are_refused(own: Path) -> None:
    with pytest.raises(MeasureError, match=r"Two different measures go by 'linear_cka', and .* another `name`"):
        chosen(["linear_cka", "own.py:Imposter"])
    with pytest.raises(MeasureError, match="Two different measures go by 'mine'"):
        chosen(["own.py:Mine,own.py:Nameless"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "owm.py:Mine",
            "There is no file owm.py to take 'Mine' from. In that folder there are: leaves.py, neighb",
        ),
        ("nowhere/own.py:Mine", "There is no file nowhere/own.py to take 'Mine' from."),
        ("own.py:Mien", "own.py has no class 'Mien': did you mean 'Mine'?"),
        ("own.py:Zzzz", "own.py has no class 'Zzzz': there are: Mine, Half, Nameless"),
        ("nothing.py:Mine", "nothing.py has no class 'Mine': it defines no measure."),
        ("own.py:Other", "Expected own.py:Other to be a class made from seamripper.Measure, but it is Other."),
        ("own.py:not_a_class", "to be a class made from seamripper.Measure, but it is a int."),
        ("own.py:Half", "own.py:Half is not a whole measure: it does not define claims."),
        ("own.py:Measure", "own.py:Measure is not a whole measure: it does not define claims and of."),
        ("own.py:Unnamed", "own.py:Unnamed is not a whole measure: it does not define name and paper."),
        ("own.py:Mine?powr=2", "The measure 'mine' has no option 'powr': did you mean 'power'?"),
        ("own.py:Mine?power=high", "Expected power of the measure 'mine' to be a number, but got 'high'."),
        ("own.py:Asking", "Expected width of the measure 'mine' to be a whole number, but got None."),
        ("wrong.py:Mine", "wrong.py could not be run at line 3: AttributeError: module 'math' has no attribute"),
        ("syntax.py:Mine", "syntax.py could not be run at line 1: SyntaxError"),
        ("leaves.py:Mine", "leaves.py could not be run at line 1: SystemExit: usage: leaves.py FILE"),
    ],
)
def test_a_file_that_gives_no_measure(own: Path, words: str, says: str) -> None:
    with pytest.raises(MeasureError) as caught:
        measure_named(words)
    assert says in str(caught.value)


# ---- a third party's


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution as pip leaves it, on the path."""
    (tmp_path / "third_party.py").write_text(OWN.replace("import neighbour", "").replace("neighbour.difference", "max"))
    info = tmp_path / "third_party-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[seamripper.measures]\nmine = third_party:Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    measures.cache_clear()
    yield tmp_path
    measures.cache_clear()


def test_an_installed_package_adds_measures(installed: Path) -> None:
    assert measures()["mine"].__module__ == "third_party"
    assert measure_named("mine?power=2").label == "mine?power=2.0"
    assert "mine" in {m.label for m in chosen(["moments"])}


def test_without_it_there_is_none() -> None:
    assert "mine" not in measures()
