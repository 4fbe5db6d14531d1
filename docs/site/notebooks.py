"""The notebooks of docs/notebooks: run, with their results kept in them, and made pages of the site.

    python docs/site/notebooks.py                    # runs both again and writes what each cell showed into its file

A notebook here is plain Python: its cells run one after the other in one process and one namespace, as a kernel would
run them, and the value of a cell's last line is shown. So no Jupyter is needed to run them; any Jupyter opens them.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import html
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
Notebook = dict[str, Any]


def read(path: Path) -> Notebook:
    """A notebook's own JSON (format 4.5)."""
    notebook: Notebook = json.loads(path.read_text())
    return notebook


def execute(notebook: Notebook, folder: Path) -> Notebook:
    """The notebook as it is after all cells have run, in this process, with `folder` as the working folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count, cells = 0, []
    with contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                outputs = list(_run("".join(cell["source"]), f"cell {count}", names, count))
                cell = {**cell, "execution_count": count, "outputs": outputs}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _run(source: str, where: str, names: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """Run a cell; yield what it prints, and the value of its last line as a notebook shows it."""
    tree, value = ast.parse(source, where), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, where, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    if printed.getvalue():
        yield {"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)}
    if value is not None:
        yield {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": _forms(value)}


def _forms(value: object) -> dict[str, Any]:
    """The forms in which a value shows itself: always its `repr`, and HTML or a picture if it gives them."""
    forms: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if text := getattr(value, "_repr_html_", lambda: None)():
        forms["text/html"] = text.splitlines(keepends=True)
    if picture := getattr(value, "_repr_png_", lambda: None)():
        forms["image/png"] = base64.b64encode(picture).decode()
    return forms


def page(path: Path, pictures: Path) -> str:
    """A notebook as a page of the site: text, code, and what each cell showed; its pictures become files."""
    parts = []
    for k, cell in enumerate(read(path)["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace("](../", "]("))
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output, pictures / f"{path.stem}-{k}.png") for output in cell["outputs"]]
    return "\n\n".join([*parts, f"The notebook itself: [{path.name}](notebooks/{path.name}).", ""])


def _shown(output: dict[str, Any], picture: Path) -> str:
    """One output of a cell, in the richest of its forms."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "image/png" in data:
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return f'<img class="shown" src="{picture.parent.name}/{picture.name}" alt="{_alternative(data)}">'
    if "text/html" in data:
        # A blank line would end the block of HTML.
        lines = [line for line in "".join(data["text/html"]).splitlines() if line.strip()]
        return '<div class="shown">\n' + "\n".join(lines) + "\n</div>"
    return f"```text\n{''.join(data['text/plain'])}\n```"


def _alternative(data: dict[str, Any]) -> str:
    return html.escape("".join(data["text/plain"]), quote=True)


def main() -> None:
    """Run every notebook and write its results into its file."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            done = execute(read(path), Path(folder))
        path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n")
        sys.stdout.write(f"{os.path.relpath(path)}\n")


if __name__ == "__main__":
    main()
