"""The suite itself: marks say what a test needs, and `make check` leaves out every test that has one."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from seamripper import load_data
from seamripper.errors import UnfetchedError

ROOT = Path(__file__).parent.parent
NEEDS = {"selenium": "browser", "ray": "ray"}
"""Libraries that only files with this mark import."""


def imported(tree: ast.Module) -> set[str]:
    """The libraries that a file imports, anywhere in it."""
    plain = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    named = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in (*plain, *named)}


def marks(tree: ast.Module) -> set[str]:
    """The marks of all tests of a file: those of its `pytestmark`."""
    lines = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)]
    whole = " ".join(line for line in lines if line.startswith("pytestmark"))
    return set(re.findall(r"pytest\.mark\.(\w+)", whole))


def mistakes(text: str) -> set[str]:
    """The marks that a file has without a need for them, or needs and has not."""
    tree = ast.parse(text)
    needed = {mark for library, mark in NEEDS.items() if library in imported(tree)}
    return needed ^ (marks(tree) & set(NEEDS.values()))


def test_files_are_marked_by_what_they_import() -> None:
    words = {*NEEDS, *NEEDS.values()}
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    # Only a file that has one of the words is parsed: that is what takes time.
    suspects = {name: text for name, text in texts.items() if any(word in text for word in words)}
    assert {name: wrong for name, text in suspects.items() if (wrong := mistakes(text))} == {}


def test_a_wrong_mark_would_be_seen() -> None:
    """The planted failures: a browser without its mark, and the mark without a browser."""
    assert mistakes("def test():\n    from selenium import webdriver\n") == {"browser"}
    assert mistakes("import pytest\npytestmark = pytest.mark.ray\n") == {"ray"}
    assert mistakes("import ray, pytest\npytestmark = [pytest.mark.ray, pytest.mark.slow]\n") == set()


def test_nothing_is_fetched_or_found_without_the_mark() -> None:
    with pytest.raises(UnfetchedError, match="because SEAMRIPPER_OFFLINE is set"):
        load_data("fashion")


@pytest.mark.network
def test_with_the_mark_it_is_fetched() -> None:
    assert len(load_data("fashion", "test", n=3)) == 3


def test_check_leaves_out_every_mark_and_the_documentation_names_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = [line.partition(":")[0] for line in project["tool"]["pytest"]["ini_options"]["markers"]]
    assert f"-m '{' and '.join(f'not {name}' for name in names)}'" in (ROOT / "Makefile").read_text()
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert all(f"`{name}` (" in guide for name in names)


def test_what_is_made_once_is_not_made_again(made_once: Callable[..., Path]) -> None:
    def make(folder: Path) -> None:
        (folder / "made").write_text("once")

    assert made_once("suite", make) == made_once("suite", lambda folder: pytest.fail("made again"))
    assert (made_once("suite", make) / "made").read_text() == "once"
