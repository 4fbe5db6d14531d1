"""Other people's parts, matchings, stitches, controls and engines: of an installed package, or of the user's file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seamripper.errors import ExperimentError
from seamripper.experiment import Experiment, Store, parts, plan, run, table
from seamripper.experiment.engines import engines
from seamripper.experiment.job import Job
from seamripper.matching import matchings
from seamripper.registry import Registry
from seamripper.report import page
from seamripper.stitches import stitches

PACKAGE = '''
from dataclasses import dataclass
from typing import ClassVar

from seamripper.experiment import Local, Part
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import Output
from seamripper.figures import Section, Sheet
from seamripper.matching import Direct
from seamripper.stitches.affine import Affine


class CountPart(Part):
    """Count the letters of words."""

    name: ClassVar[str] = "count"
    words: tuple[str, ...]
    times: int = 1

    def size(self, study):
        return len(self.words)

    def jobs(self, expansion):
        for word in self.words:
            yield Job("count", {"word": word, "times": self.times}, {"word": word})

    @classmethod
    def run(cls, content, worker):
        return Output({"letters": len(content["word"]) * content["times"]})

    @classmethod
    def rows(cls, record):
        yield {"figure": "letters", "value": float(record["letters"])}

    @classmethod
    def sections(cls, results):
        rows = tuple((result.labels["word"], result.record["letters"]) for result in results.of(cls.name))
        if rows:
            yield Section("letters", "How long words are", "As <b> counts.", (Sheet("Letters", ("word", "n"), rows),))


class DataPart(CountPart):
    """Its name is that of another key of a study."""

    name: ClassVar[str] = "data"


@dataclass(frozen=True)
class Theirs(Direct):
    """Direct matching by another name."""

    name: ClassVar[str] = "theirs"
    haste: float = 1.0


@dataclass(frozen=True)
class Scaled(Affine):
    """An affine stitch by another name."""

    name: ClassVar[str] = "scaled"


@dataclass(eq=False)
class Proud(Local):
    """The engine local, with an option."""

    name: ClassVar[str] = "proud"
    title: str = "sir"
'''
ENTRIES: list[tuple[Registry[Any], str]] = [
    (parts, "count = third:CountPart\ndata = third:DataPart"),
    (matchings, "theirs = third:Theirs"),
    (stitches, "scaled = third:Scaled"),
    (engines, "proud = third:Proud"),
]
MODELS = """
data = { name = "digits/correlated", n = 64, n_test = 32 }
[models.net]
load = "zoo:R_1111?width=0.125"
[[stitch]]
senders = ["net"]
receivers = ["net"]
cuts = ["layer1"]
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution as pip leaves it, on the path of this process and of workers; and entry points that fail."""
    site = tmp_path / "site"
    info = site / "third-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "third.py").write_text(PACKAGE)
    (site / "third_broken.py").write_text("import no_such_library\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    groups = [f"[{registry.package}]\n{lines}\nbad = third_broken:X\n" for registry, lines in ENTRIES]
    (info / "entry_points.txt").write_text("\n".join(groups))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    for registry, _ in ENTRIES:
        registry.reload()
    yield tmp_path
    monkeypatch.undo()
    for registry, _ in ENTRIES:
        registry.reload()


def read(folder: Path, text: str) -> Experiment:
    (folder / "study.toml").write_text(text)
    return Experiment.read(folder / "study.toml")


def jobs(folder: Path, text: str, kind: str = "stitch") -> list[Job]:
    return [job for job in plan(read(folder, text)).graph if job.kind == kind]


# ---- of an installed package


@pytest.mark.slow
def test_a_part_is_a_table_of_a_study_from_toml_to_its_rows(installed: Path) -> None:
    study = read(installed, '[[count]]\nwords = ["one", "three"]\ntimes = 2\n')
    assert [title for title, _ in study.parts()] == ["the 1st [[count]]"]
    done = run(study, installed / "store", engine="proud?workers=1&title=dame")
    assert (done.did, done.failed) == (2, ())
    with Store(installed / "store") as store:
        rows = {(row["word"], row["figure"]): row["value"] for row in table(store)[1]}
        assert store.experiments()["study"]["count"] == [{"words": ["one", "three"], "times": 2}]
    assert rows == {("one", "letters"): 6.0, ("three", "letters"): 10.0}
    again = read(installed, '[[count]]\nwords = ["one"]\ntimes = 2\n')
    assert run(again, installed / "store").did == 0


@pytest.mark.slow
def test_a_part_brings_its_own_section_of_the_report(installed: Path) -> None:
    run(read(installed, '[[count]]\nwords = ["one", "three"]\n'), installed / "store", engine="local?workers=1")
    shown = page(installed / "store")
    assert "<h2>How long words are</h2>\n  <p>As &lt;b&gt; counts.</p>" in shown
    assert '<td>three</td><td class="number" data-value="5">5</td>' in shown
    assert re.findall(r'<section id="(\w+)">', shown) == ["letters", "table", "methods", "provenance"]


def test_a_slip_in_its_table_is_told_as_one_in_any_other(installed: Path) -> None:
    with pytest.raises(
        ExperimentError, match=r"line 2: the 1st \[\[count\]\] has no key 'word': did you mean 'words'?"
    ):
        read(installed, "[[count]]\nword = ['one']\n")
    with pytest.raises(ExperimentError, match="has no key 'cuont': did you mean 'count'"):
        read(installed, "[[cuont]]\nwords = ['one']\n")
    with pytest.raises(ExperimentError, match=r"asks for nothing: add .*, \[\[count\]\], "):
        plan(Experiment(name="nothing"))


def test_a_part_in_python_though_its_package_was_imported_first(installed: Path) -> None:
    import third  # type: ignore[import-not-found]

    part = third.CountPart(words=("one",))
    assert len(plan(Experiment(name="study", count=(part,))).graph) == 1


def test_a_part_by_the_name_of_another_key_changes_nothing(installed: Path) -> None:
    assert read(installed, "data = 'digits'\n").data == "digits"
    with pytest.raises(ExperimentError, match="Expected `data` to be a string or a table"):
        read(installed, "[[data]]\nwords = ['one']\n")


def test_without_the_package_there_is_no_such_table(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="the experiment has no key 'count': did you mean 'control'"):
        read(tmp_path, "[[count]]\nwords = ['one']\n")


def test_a_matching_and_a_stitch_in_a_study(installed: Path) -> None:
    text = f"{MODELS}matchings = ['theirs?haste=2', 'mine']\nstitches = ['scaled']\n[matchings]\nmine = 'theirs'\n"
    one, other = jobs(installed, text)
    assert (one.labels["matching"], one.content["stitch"]) == ("theirs?haste=2", "scaled")
    assert one.content["matching"] == {**other.content["matching"], "haste": 2.0}
    assert other.content["matching"]["name"] == "theirs"


def test_what_fails_on_import_is_listed_and_breaks_nothing(installed: Path) -> None:
    for registry, _ in ENTRIES:
        assert "third_broken:X could not be imported: ModuleNotFoundError: " in registry.broken["bad"]
    with pytest.raises(ExperimentError, match="The matching 'bad' cannot be used: third_broken:X could not"):
        jobs(installed, f"{MODELS}matchings = ['bad']\n")
    with pytest.raises(ExperimentError, match="The engine 'bad' cannot be used: third_broken:X could not"):
        run(read(installed, MODELS), installed / "store", engine="bad")
    assert len(jobs(installed, MODELS)) == 1


# ---- options, and files of the user's own


@pytest.mark.parametrize("word", ["conv?kernel=3", "low_rank?rank=2", "conv"])
def test_a_stitch_with_options(tmp_path: Path, word: str) -> None:
    (job,) = jobs(tmp_path, f"{MODELS}stitches = ['{word}']\n")
    assert job.labels["stitch"] == word
    assert job.key != jobs(tmp_path, MODELS)[0].key


def test_options_decide_unless_they_are_as_by_default(tmp_path: Path) -> None:
    words = ("conv", "conv?kernel=3", "conv?kernel=5")
    usual, same, other = (jobs(tmp_path, f"{MODELS}stitches = ['{word}']\n")[0].key for word in words)
    assert usual == same != other


OWN = """
from dataclasses import dataclass
from typing import ClassVar

from seamripper.controls.itself import Itself
from seamripper.matching import Direct
from seamripper.stitches.affine import Affine


@dataclass(frozen=True)
class MyStitch(Affine):
    name: ClassVar[str] = "my_stitch"


@dataclass(frozen=True)
class MyMatching(Direct):
    name: ClassVar[str] = "my_matching"
    haste: float = 1.0


@dataclass(frozen=True)
class MyControl(Itself):
    name: ClassVar[str] = "my_control"
"""
WORDS = {
    "stitches = ['mine.py:MyStitch']": "stitch",
    "matchings = ['mine.py:MyMatching?haste=2']": "stitch",
    "matchings = ['named']\n[matchings]\nnamed = 'mine.py:MyMatching'": "stitch",
    "controls = ['mine.py:MyControl']": "control",
}


@pytest.mark.parametrize("line", WORDS)
def test_a_class_of_the_users_file_counts_by_its_bytes(tmp_path: Path, line: str) -> None:
    keys = []
    for text in (OWN, OWN + "# changed\n", OWN):
        (tmp_path / "mine.py").write_text(text)
        (job,) = jobs(tmp_path, MODELS + line, WORDS[line])
        keys.append(job.key)
        assert str(tmp_path) not in str(job.content)
        assert "mine.py" in str(job.labels) or job.labels["matching"] == "named"
    assert keys[0] == keys[2] != keys[1]


@pytest.mark.slow
def test_classes_of_the_users_file_do_the_work(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    more = "stitches = ['mine.py:MyStitch']\nmatchings = ['mine.py:MyMatching?haste=2']\n"
    study = read(tmp_path, f"{MODELS}{more}controls = ['mine.py:MyControl']\n")
    assert not run(study, tmp_path / "store", engine="local?workers=1").failed
    with Store(tmp_path / "store") as store:
        records = {result.kind: result.record for result in store.results()}
    assert records["stitch"]["stitch"]["name"] == "my_stitch"
    assert records["stitch"]["result"]["agreement"]["value"] == 1.0
    assert [outcome["control"] for outcome in records["control"]["outcomes"]] == ["my_control"]


def test_a_file_or_class_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"There is no file .*mine\.py"):
        jobs(tmp_path, f"{MODELS}stitches = ['mine.py:MyStitch']\n")
    (tmp_path / "mine.py").write_text(OWN)
    with pytest.raises(ExperimentError, match="has no class 'MyStich': did you mean 'MyStitch'"):
        jobs(tmp_path, f"{MODELS}stitches = ['mine.py:MyStich']\n")


# ---- engines


def test_an_engine_by_its_word(tmp_path: Path) -> None:
    for word, message in {
        "local?worker=2": "The engine 'local' has no option 'worker': did you mean 'workers'? "
        "Its options are 'workers'.",
        "local?workers=two": "Expected workers of the engine 'local' to be a whole number or None, but got 'two'.",
        "lcal": "There is no engine 'lcal': did you mean 'local'?",
    }.items():
        with pytest.raises(ExperimentError) as e:
            run(read(tmp_path, MODELS), tmp_path / "store", engine=word)
        assert str(e.value) == message
    assert not (tmp_path / "store").exists()
