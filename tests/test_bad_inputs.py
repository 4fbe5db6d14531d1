"""Bad input, on the command line and in Python: each is one sentence that says what to do, and never a traceback."""

from __future__ import annotations

import contextlib
import json
import pickle
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import seamripper as sr
from bad_input_shelf import Bomb, fill, given
from bad_inputs import DIRECT, ROWS, Row
from seamripper import errors
from seamripper.cli import cli, main
from seamripper.errors import SeamripperError


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that a user may have got wrong, made once."""
    folder = tmp_path_factory.mktemp("shelf")
    with contextlib.chdir(folder):
        fill(folder)
    return folder


@pytest.fixture(scope="session")
def names(shelf: Path) -> dict[str, Any]:
    """What the rows of Python can name."""
    with contextlib.chdir(shelf):
        return given()


@pytest.fixture(scope="session")
def contents(shelf: Path, names: dict[str, Any]) -> set[Path]:
    """The files of the shelf, as the last test has left them."""
    return _files(shelf)


@pytest.fixture
def here(shelf: Path, contents: set[Path]) -> Iterator[Path]:
    """The shelf, within it; whatever is added to it, or taken away, is found out."""
    with contextlib.chdir(shelf):
        yield shelf
    changed = _files(shelf) ^ contents
    # A later test is not to be blamed for it as well.
    contents ^= changed
    assert changed == set()


def _files(folder: Path) -> set[Path]:
    # What reading a store of SQLite's leaves behind for other readers is no work of ours.
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts and "sqlite-" not in path.suffix}


def _command(words: list[str]) -> tuple[BaseException | None, int]:
    """What ended the command, and its exit code: `main` turns every error into an exit, and keeps it as its context."""
    try:
        main(words)
    except SystemExit as e:
        return e.__context__, int(e.code or 0)
    return None, 0


SLOW = [pytest.mark.slow]
EACH = [pytest.param(row, id=row.given, marks=SLOW if "timm:" in row.given else ()) for row in ROWS]
"""To import timm takes three seconds."""


@pytest.mark.parametrize("row", EACH)
def test_a_sentence_that_says_what_to_do(
    row: Row, here: Path, names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    if row.code is None:
        with pytest.raises(SeamripperError) as caught:
            eval(row.given, dict(names))
        error: BaseException | None = caught.value
        said = str(error)
    else:
        error, code = _command(shlex.split(row.given)[1:])
        out, err = capsys.readouterr()
        assert code == row.code
        # A comparison tells how much memory it takes before it begins.
        assert not [line for line in out.splitlines() if not line.startswith("memory for ")]
        assert isinstance(error, (SeamripperError, click.ClickException))
        assert "Traceback" not in err
        # An audit tells how long it will take before it begins.
        lines = [line for line in err.splitlines() if not line.startswith("steps of the audit: 0/")]
        assert not isinstance(error, SeamripperError) or lines[0].startswith("seamripper: ")
        said = " ".join(err.split())
    assert type(error).__name__ == row.kind
    assert row.says in said


SOME = [row for row in ROWS if row.code and row.kind != "NoArgsIsHelpError"][4::9]


@pytest.mark.parametrize("row", SOME, ids=lambda row: row.given)
def test_with_json_an_error_is_one_object(row: Row, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    error, code = _command([*shlex.split(row.given)[1:], "--json"])
    out, err = capsys.readouterr()
    assert code == row.code
    assert not [line for line in err.splitlines() if not line.startswith("memory for ")]
    told = json.loads(out)["error"]
    assert told["kind"] == (row.kind if isinstance(error, SeamripperError) else "UsageError")
    assert row.says in " ".join(told["message"].split())


def test_every_kind_of_error_that_a_user_can_cause_is_here() -> None:
    kinds = {row.kind for row in ROWS if row.kind.endswith("Error")} - {"UsageError", "NoArgsIsHelpError"}
    # FrozenError and DamagedError are about what happens later; the others need a network, or a library that is not.
    elsewhere = {"FrozenError", "DamagedError", "UnfetchedError", "MissingExtraError", "InapplicableError"}
    assert kinds == {name for name in vars(errors) if name.endswith("Error")} - elsewhere - {"SeamripperError"}


def test_nothing_in_a_file_of_weights_is_run(here: Path, tmp_path: Path) -> None:
    with pytest.raises(SeamripperError):
        sr.load("zoo:lenet?weights=bomb.pth")
    assert not (here / "burst").exists()
    # And it would have done something.
    (tmp_path / "bomb").write_bytes(pickle.dumps(Bomb(tmp_path / "burst")))
    pickle.loads((tmp_path / "bomb").read_bytes()).close()
    assert (tmp_path / "burst").exists()


def test_what_is_right_on_that_shelf_is_taken(here: Path, names: dict[str, Any]) -> None:
    """The same files and calls without what was planted in them: it is not the way they are made that is refused."""
    for words in (
        "cuts zoo:lenet?weights=right.safetensors",
        "cuts digit.safetensors",
        "plan good.toml --store store",
        "measure a.npy a.safetensors -m linear_cka",
        f"{DIRECT}?ridge=0.1 --stitch low_rank?rank=2",
    ):
        assert _command(words.split()) == (None, 0)
    for call in (
        "evaluate(match(half, half, fit, matching='direct'), test)",
        "compare(net, model, fit, measures='linear_cka', rule='pool')",
        "score('linear_cka', pair)",
        "collect(half, fit, batch=7)",
        "plan('good.toml', 'store')",
    ):
        assert eval(call, dict(names)) is not None


@pytest.mark.slow
def test_the_installed_command_says_the_same(here: Path) -> None:
    words = [sys.executable, "-m", "seamripper", "cuts", "zoo:lenet?weights=bomb.pt"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("seamripper: bomb.pt is a pickle that holds more than weights. It was not opened")


def test_data_that_cannot_be_fetched_is_told_with_what_to_do(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEAMRIPPER_OFFLINE", "1")
    monkeypatch.setenv("SEAMRIPPER_CACHE", str(tmp_path / "cache"))
    with pytest.raises(errors.UnfetchedError, match="because SEAMRIPPER_OFFLINE is set") as e:
        sr.load_data("fashion/digit")
    assert "place these files by hand" in str(e.value)


def test_the_table_covers_every_command_and_is_long_enough() -> None:
    commands = Counter(shlex.split(row.given)[1] for row in ROWS if row.code is not None and " " in row.given)
    assert len(ROWS) >= 350
    assert len({row.given for row in ROWS}) == len(ROWS), "each slip once"
    assert {name: commands[name] for name in cli.list_commands(click.Context(cli)) if commands[name] < 2} == {}
