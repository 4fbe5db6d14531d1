"""What a function of the user's own may return or raise: a row that says so, or a failed job with a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from seamripper.cli import cli
from seamripper.errors import StoreError
from seamripper.experiment import Experiment, Local, Store, as_pandas, run, table
from seamripper.experiment.result import Result

ODD = {
    "huge": 'return {"figure": 10**400}',
    "half a character": 'return {"figure": "\\ud800"}',
    "half a character as a name": 'return {"\\udc00": 1.0}',
    "no interval": 'return {"figure": {"value": 1.0, "interval": 3, "n": 4}}',
    "a word for a value": 'return {"figure": {"value": "a", "interval": None, "n": 4}}',
    "no number of samples": 'return {"figure": {"value": 1.0, "interval": None, "n": 10**400}}',
    "deep": 'inner = []\n    for _ in range(3000): inner = [inner]\n    return {"figure": inner}',
    "stopped": "raise KeyboardInterrupt",
    "ended": "raise GeneratorExit",
    "half a character in an error": 'raise ValueError("\\ud800")',
}
SAID = {
    "huge": "'figure' is a whole number above 1.8e308, the largest that a table can hold",
    "half a character": r"a text in it holds '\ud800', which is half a character",
    "half a character as a name": r"a text in it holds '\udc00', which is half a character",
    "no interval": "expected the interval of 'figure' to be None or two numbers, but got 3",
    "a word for a value": "expected 'figure' to be a number, but got 'a'",
    "no number of samples": "expected n of 'figure' to be None or a number of samples, but got 1000",
    "deep": "it is nested too deeply",
    "stopped": "failed at line 18: KeyboardInterrupt",
    "ended": "failed at line 20: GeneratorExit",
    "half a character in an error": r"failed at line 22: ValueError: \ud800",
}
NOT_FINITE = """
def f(x):
    return {"nan": float("nan"), "inf": float("-inf"), "none": None, "one": 1,
            "table": {"value": float("nan"), "interval": [0.1, float("inf")], "n": 3}}
"""


def ran(folder: Path, code: str, names: list[str]) -> Any:
    (folder / "mine.py").write_text(code)
    calls = "".join(f'[[call]]\nfunction = "mine.py:{name}"\nargs = {{ x = 1 }}\n' for name in names)
    (folder / "study.toml").write_text(calls)
    return run(Experiment.read(folder / "study.toml"), folder / "store", engine=Local(1))


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store of all the functions above, and what the table says of each."""
    folder = tmp_path_factory.mktemp("odd")
    names = {word: word.replace(" ", "_") for word in ODD}
    done = ran(folder, "".join(f"def {names[word]}(x):\n    {body}\n" for word, body in ODD.items()), [*names.values()])
    assert (done.did, len(done.failed)) == (len(ODD), len(ODD))
    with Store(folder / "store") as store:
        _, rows = table(store)
    by_name = {row["call"].partition(":")[2]: row["error"] for row in rows}
    return folder / "store", {word: by_name[name] for word, name in names.items()}


@pytest.mark.parametrize("word", ODD)
def test_what_cannot_be_a_figure_fails_its_job_with_a_sentence(odd: tuple[Path, dict[str, str]], word: str) -> None:
    assert SAID[word] in odd[1][word]


def test_every_command_reads_such_a_store(odd: tuple[Path, dict[str, str]]) -> None:
    for words in (["results"], ["results", "--json"], ["status"], ["report"]):
        done = CliRunner().invoke(cli, [words[0], str(odd[0]), *words[1:]], catch_exceptions=False)
        assert done.exit_code == 0


def test_a_figure_that_is_not_finite_is_a_row(tmp_path: Path) -> None:
    assert not ran(tmp_path, NOT_FINITE, ["f"]).failed
    with Store(tmp_path / "store") as store:
        _, rows = table(store)
        told = {row["figure"]: (row.get("value"), row.get("status")) for row in rows}
        frame = as_pandas(store).set_index("figure")
    assert told == {
        "nan": (None, "nan"),
        "inf": (None, "-inf"),
        "none": (None, "none"),
        "one": (1.0, None),
        "table": (None, "nan"),
    }
    assert frame["value"].isna().to_dict() == {name: name != "one" for name in told}
    assert (frame.loc["table", "low"], frame.loc["table", "n"]) == (0.1, 3)
    shown = CliRunner().invoke(cli, ["results", str(tmp_path / "store")], catch_exceptions=False).output
    assert "-inf" in shown
    assert "– [0.1, –]" in shown
    path = json.loads(CliRunner().invoke(cli, ["report", str(tmp_path / "store"), "--json"]).output)["report"]
    assert "<td>-inf</td>" in Path(path).read_text()


def test_a_figure_of_a_stitch_that_was_not_finite_is_a_row() -> None:
    from seamripper.experiment.parts.base import figure_row, loss_rows

    (row,) = figure_row("top1", {"value": None, "interval": [None, None], "n": 3}, status="ok")
    assert (row["value"], row["status"]) == (None, "ok; not finite")
    told = {row["figure"]: row["status"] for row in loss_rows({"figures": {"loss_end": None, "falling": None}})}
    assert told == {"loss_end": "not finite", "falling": "too few steps to tell"}


@pytest.mark.parametrize("record", [{"figures": {"big": 10**400}}, {"figures": {"word": "\ud800"}}, {"figures": 3}, {}])
def test_a_record_of_an_older_version_gets_a_sentence(tmp_path: Path, record: dict[str, Any]) -> None:
    """Such records may be in stores that were written before figures were checked."""
    from seamripper.experiment.job import Graph, Job

    job = Job("call", {"x": 1}, {"call": "mine.py:f"})
    with Store(tmp_path / "store", write=True) as store:
        store.enter(Result(job.key, "call", "done", record))
        store.remember("study", {}, Graph.of([job]))
        with pytest.raises(
            StoreError, match=r"record of the result .* cannot be read .* `seamripper store check --mend"
        ):
            table(store)


def test_a_number_beyond_64_bits_is_refused_in_a_study(tmp_path: Path) -> None:
    from seamripper.errors import ExperimentError

    (tmp_path / "study.toml").write_text(f'[[call]]\nfunction = "mine.py:f"\nargs = {{ x = {10**400} }}\n')
    with pytest.raises(ExperimentError, match=r"line 3: Expected `args.x` of the 1st \[\[call\]\]"):
        Experiment.read(tmp_path / "study.toml")
