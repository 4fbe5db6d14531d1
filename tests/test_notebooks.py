"""The notebooks of docs/notebooks run, show what they are kept with, and name no folder of anybody's machine."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import notebooks

PATHS = sorted(notebooks.FOLDER.glob("*.ipynb"))
SMALLER = {
    "?epochs=8": "?epochs=1",
    "epochs=6": "epochs=1",
    "n=800": "n=120",
    "&epochs=4": "&epochs=1",
    '"test")\n': '"test", n=80)\n',
    "others=others)": "others=others, controls=('self', 'random_sender'), seeds=(0,))",
    "others=others[1:])": "others=others[1:], controls=('self', 'random_sender'), seeds=(0,))",
    'sr.load_data("digits/digit", "train"), sr.load_data("digits/digit", "test")': (
        'sr.load_data("digits/digit", "train", n=200), sr.load_data("digits/digit", "test", n=80)'
    ),
}
"""What is put in the place of a size, so that a notebook takes seconds."""


def small(notebook: notebooks.Notebook) -> notebooks.Notebook:
    cells = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"]) + "\n"
        for size, smaller in SMALLER.items():
            source = source.replace(size, smaller)
        cells.append({**cell, "source": source.splitlines(keepends=True)})
    return {**notebook, "cells": cells}


def codes(notebook: notebooks.Notebook) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def forms(cell: dict[str, Any]) -> list[list[str]]:
    """What a cell showed, without the values: streams, and the forms of its last value."""
    return [sorted(output.get("data", {"stream": ""})) for output in cell["outputs"]]


def test_there_are_two() -> None:
    assert [path.name for path in PATHS] == ["layers.ipynb", "verdict.ipynb"]


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_is_kept_with(path: Path, tmp_path: Path) -> None:
    kept = notebooks.read(path)
    done = notebooks.execute(small(kept), tmp_path)
    assert [forms(cell) for cell in codes(done)] == [forms(cell) for cell in codes(kept)]
    assert str(tmp_path) not in json.dumps(done)


@pytest.mark.slow
def test_a_cell_that_fails_is_seen(tmp_path: Path) -> None:
    """The planted failure."""
    cell = {"cell_type": "code", "source": ["import seamripper as sr\n", "sr.load('nothing.safetensors')"]}
    with pytest.raises(Exception, match=r"nothing\.safetensors"):
        notebooks.execute({"cells": [cell]}, tmp_path)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_is_whole(path: Path) -> None:
    """As Jupyter's format asks; run from the first cell to the last, in plain Python, with pictures and cards."""
    notebook = notebooks.read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    cells = codes(notebook)
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    for cell in cells:
        ast.parse("".join(cell["source"]))
    shown = [form for cell in cells for forms_ in forms(cell) for form in forms_]
    assert shown.count("image/png") >= 2
    assert shown.count("text/html") >= 3
    text = json.dumps(notebook)
    assert not any(folder in text for folder in ("/home/", "/root/", "/tmp/", "/work/", "/Users/"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_is_a_page(path: Path, tmp_path: Path) -> None:
    """With its text, every cell, what each showed, and its pictures as files."""
    notebook, page = notebooks.read(path), notebooks.page(path, tmp_path / "pictures")
    assert page.startswith("# A notebook: ")
    for cell in notebook["cells"]:
        assert "".join(cell["source"]).replace("](../", "](") in page
    pictures = sorted((tmp_path / "pictures").glob("*.png"))
    assert len(pictures) == sum("image/png" in forms_ for cell in codes(notebook) for forms_ in forms(cell))
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert f'src="pictures/{picture.name}"' in page
