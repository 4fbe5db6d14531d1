"""The exceptions: the tree is as drawn, and nothing else is raised on purpose."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import seamripper
from seamripper import errors
from seamripper.errors import DivergedError, FrozenError, LeakError, SeamripperError

SOURCE = Path(seamripper.__file__).parent
TREE = {name: cls for name, cls in vars(errors).items() if inspect.isclass(cls) and issubclass(cls, Exception)}
ALLOWED = {
    ("_doors.py", "error"): "the class of the tree that the caller names",
    ("__init__.py", "AttributeError"): "what Python asks of a module's __getattr__",
    ("audits/rank_reading.py", "_Reached"): "ends a tail's forward pass and is caught there; no user sees it",
    ("audits/identification.py", "reasons[0]"): "the InapplicableError of the first measure, where none applies",
    ("cli/inputs.py", "click.UsageError"): "click's own, shown with the usage of the command",
    ("cli/audit_command.py", "click.UsageError"): "likewise",
    ("cli/card_command.py", "click.UsageError"): "likewise",
    ("cli/compare_command.py", "click.UsageError"): "likewise",
    ("cli/map_command.py", "click.UsageError"): "likewise",
    ("cli/output.py", "KeyboardInterrupt"): "a batch system's signal, taken for Ctrl-C",
    ("cli/results_command.py", "click.UsageError"): "likewise",
    ("cli/sbatch_command.py", "click.UsageError"): "likewise",
    ("swapping/joined.py", "TypeError"): "what Python raises for wrong arguments of a module's forward",
    ("experiment/journal.py", "OSError"): "what the system raises for such a file; told as a StoreError",
    ("experiment/parts/probe.py", "ValueError"): "what pydantic asks of a validator; told as an ExperimentError",
    ("experiment/tables.py", "ValueError"): "what pydantic asks of a validator; told as an ExperimentError",
    ("cut/by_hooks.py", "_AllSeen"): "ends a head's forward pass and is caught there; no user sees it",
    ("cut/split.py", "_NotWholeError"): "a CutError that tells one failed way of cutting from another; caught there",
    ("figures/scene.py", "TypeError"): "a figure that the renderer does not know; its author sees it, and no user",
    ("matching/descent.py", "outcome"): "the MatchError of a training, where there is one stitch and no other to go on",
    ("matching/task.py", "findings"): "likewise",
    ("report/serve.py", "_NOT_FOUND"): "an answer of the server, 404; caught there",
    ("report/serve.py", "_RefusedError"): "an answer of the server with its status; caught there",
    ("comparing/accumulate.py", "_StoppedError"): "ends a lane of a pass when another has failed; caught by its pool",
    ("_options.py", "error"): "a class of the tree, chosen by the caller (`type[SeamripperError]`)",
    ("_files.py", "error"): "likewise",
    ("_own_code.py", "error"): "likewise",
    ("registry.py", "self.error"): "likewise",
    ("papers/profiles.py", "AttributeError"): "what Python asks of an attribute that is not there",
    ("comparing/streaming_metric.py", "AttributeError"): "what Python asks of a module's __getattr__",
    ("data/items.py", "TypeError"): "what numpy raises for such an array; told as a DataError",
    ("models/tensor_bundle.py", "ValueError"): "a file that is no bundle; told there as a CheckpointError",
    ("data/digits8.py", "why"): "the DataError of the data set that could not be fetched",
}
"""(file, what it raises) that is not in the tree by name, and why that is right."""


# ---- the tree


def drawn(text: str) -> dict[str, str | None]:
    """Class → its parent, read from a tree drawn with ├── and └──."""
    parents: dict[str, str | None] = {}
    open_at: dict[int, str] = {}
    for line in text.splitlines():
        found = re.match(r"^    ((?:│   |    )*)(?:([├└])── )?([A-Z]\w*Error)\b", line)
        if found:
            depth = len(found[1]) // 4 + (1 if found[2] else 0)
            parents[found[3]] = open_at[depth - 1] if depth else None
            open_at[depth] = found[3]
    return parents


def test_the_tree_is_as_drawn() -> None:
    real = {name: cls.__base__.__name__ for name, cls in TREE.items() if cls.__base__ is not None}
    assert drawn(errors.__doc__ or "") == {**real, "SeamripperError": None}
    assert TREE["SeamripperError"].__base__ is Exception


def test_a_drawing_is_read_as_a_person_reads_it() -> None:
    text = """
    RootError
    ├── AError   what
    │   ├── BError  it
    │   │   └── CError     says
    │   └── DError
    └── EError
    """
    parents = {"RootError": None, "AError": "RootError", "BError": "AError", "CError": "BError"}
    assert drawn(text) == parents | {"DError": "AError", "EError": "RootError"}


def test_every_leaf_of_the_drawing_says_what_it_is() -> None:
    for line in (errors.__doc__ or "").splitlines():
        if "── " in line:
            assert re.search(r"Error {2,}\w.{15,}", line), line


@pytest.mark.parametrize("cls", TREE.values())
def test_an_exception_is_explained_and_shows_its_message(cls: type[SeamripperError]) -> None:
    assert (cls.__doc__ or "").strip().endswith(".")
    more = {"step": 3, "lr": 0.1} if cls is DivergedError else {}
    assert str(cls("what to do", **more)) == "what to do"


def test_what_exceptions_carry_is_kept() -> None:
    diverged = DivergedError("it did", step=3, lr=0.1)
    assert (diverged.step, diverged.lr) == (3, 0.1)
    assert LeakError("it leaks", around=("relu",)).around == ("relu",)
    assert FrozenError("it moved", changed=("bn.mean",)).changed == ("bn.mean",)


# ---- what is raised


def raised(text: str) -> set[str]:
    """What a file raises by name: `raise X`, `raise X(…)`; a bare `raise` is of something that came from elsewhere."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            found.add(ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc))
    return found


def sources() -> dict[str, str]:
    return {path.relative_to(SOURCE).as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


def makers(text: str) -> set[str]:
    """Functions of a file that say that they return an exception of the tree."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return {f.name for f in functions if f.returns is not None and ast.unparse(f.returns) in TREE}


@pytest.mark.slow
def test_everything_raised_on_purpose_is_of_the_tree() -> None:
    fine = TREE.keys() | {name for text in sources().values() for name in makers(text)}
    others = {(file, name) for file, text in sources().items() for name in raised(text) if name not in fine}
    assert others == set(ALLOWED)


def test_planted_raises_are_seen() -> None:
    text = "def f(e):\n    if e:\n        raise ValueError('no')\n    raise e from None\n"
    assert raised(text) == {"ValueError", "e"}
    assert raised("try:\n    f()\nexcept OSError:\n    raise") == set()
    assert raised("def g():\n    raise DataError(f'{1}') from None") == {"DataError"}
    assert makers("def a() -> DataError: ...\ndef b() -> ValueError: ...\ndef c(): ...") == {"a"}


@pytest.mark.slow
def test_every_class_of_the_tree_is_used() -> None:
    text = "\n".join(text for file, text in sources().items() if file != "errors.py")
    made = {
        node.func.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert TREE.keys() - made == {"SeamripperError"}


def test_exceptions_of_other_files_are_private() -> None:
    for info in pkgutil.walk_packages([str(SOURCE)], "seamripper."):
        for name, cls in vars(importlib.import_module(info.name)).items():
            here = inspect.isclass(cls) and cls.__module__ == info.name != errors.__name__
            if here and issubclass(cls, BaseException) and not issubclass(cls, Warning):
                file = info.name.removeprefix("seamripper.").replace(".", "/") + ".py"
                assert (file, name) in ALLOWED
                assert name.startswith("_")


def test_nothing_is_asserted_for_a_user() -> None:
    """An assert is for the reader (and mypy): one with a message would be meant for a user, and goes with -O."""
    for file, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assert):
                assert node.msg is None, f"{file}:{node.lineno} has a message for somebody: raise an error instead"
