"""Names: a class has one of its own, a function says what it returns, and no call takes a crowd of parameters."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import seamripper

SOURCE = Path(seamripper.__file__).parent
MOST = 7
"""Parameters, beside `self` and `cls`."""
CROWDED = {
    # What a user calls, with its choices by keyword.
    *("benchmark.bench.bench", "experiment.drive.run", "matching.many.match_many", "matching.match.match"),
    *("models.train.train", "papers.reproduce.reproduce"),
    *("cards.method_record", "cli.map_command.command", "data.yours.stream_of"),
}
"""Functions that take more. This list may only get shorter."""
SAY_NOTHING = {"found", "one"}
"""What no variable is called: it would not say what is in it."""
PARTICIPLES = {
    "audits.distribution.Distribution.published",
    "comparing.streaming.StreamingScore.packed",
    "experiment.store.Store.done",
    "experiment.store.Store.failed",
}
"""Functions that are named by a lone participle, and are no properties. This list may only get shorter."""
ENDINGS = ("ed", "own", "awn", "oken", "osen", "itten", "ought")
IRREGULAR = {"built", "done", "found", "given", "held", "kept", "left", "made", "met", "sent", "taken", "told"}
NO_PARTICIPLES = {"embed", "exceed", "feed", "markdown", "need", "own", "proceed", "seed", "speed"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def names(tree: ast.AST, before: str) -> Iterator[tuple[str, ast.ClassDef | Function]]:
    """Every class and function, with the file and the classes and functions that it is in before its own name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | Function):
            yield f"{before}.{node.name}", node
            yield from names(node, f"{before}.{node.name}")
        else:
            yield from names(node, before)


def parameters(function: Function) -> list[ast.arg]:
    given = function.args
    some = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return [arg for arg in some if arg.arg not in ("self", "cls")]


def is_property(function: Function) -> bool:
    """Also a setter; `once` is ours."""
    words = [ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list]
    return bool({"property", "once", "cached_property", "setter"} & set(words))


def is_participle(name: str) -> bool:
    name = name.strip("_")
    ends = name.endswith(ENDINGS) and name not in NO_PARTICIPLES
    return "_" not in name and (ends or name in IRREGULAR)


class Names:
    """The names of some files that this house has rules for."""

    def __init__(self, files: dict[str, str]) -> None:
        self.classes, self.crowded, self.participles, self.empty = list[str](), set[str](), set[str](), set[str]()
        for file, text in files.items():
            tree = ast.parse(text)
            for name, node in names(tree, file):
                if isinstance(node, ast.ClassDef):
                    self.classes.append(node.name)
                    continue
                if len(parameters(node)) > MOST:
                    self.crowded.add(name)
                if is_participle(node.name) and not is_property(node):
                    self.participles.add(name)
            for node in ast.walk(tree):
                word = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else ""
                if word in SAY_NOTHING:
                    self.empty.add(f"{file}:{node.lineno} {word}")

    @property
    def double(self) -> set[str]:
        """Classes whose name another one has as well."""
        return {name for name, times in Counter(self.classes).items() if times > 1}


@pytest.fixture(scope="module")
def ours() -> Names:
    files = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
    assert len(files) > 300
    return Names({module: path.read_text() for module, path in files.items()})


def test_planted_names_are_caught() -> None:
    wrong = Names({
        "a": "class Plan:\n    def drawn(self): ...\n    @property\n    def shown(self): ...",
        "b": "def f(a, b, c, d, /, e, *f, g, **h):\n    class Plan: ...\n    def _sorted(one): ...\n    found = 1",
    })  # fmt: skip
    assert wrong.double == {"Plan"}
    assert wrong.crowded == {"b.f"}
    assert wrong.participles == {"a.Plan.drawn", "b.f._sorted"}
    assert wrong.empty == {"b:3 one", "b:4 found"}


def test_no_two_classes_have_one_name(ours: Names) -> None:
    assert ours.double == set()


def test_no_other_function_takes_many_parameters(ours: Names) -> None:
    assert ours.crowded == CROWDED


def test_no_variable_is_called_by_a_word_that_says_nothing(ours: Names) -> None:
    assert ours.empty == set()


def test_no_other_function_is_named_by_a_participle(ours: Names) -> None:
    assert ours.participles == PARTICIPLES
