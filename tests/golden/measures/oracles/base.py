"""Oracle: someone else's value of one of our measures, and how their code is called.

Libraries are imported when they are called, so that this folder can be read without them.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[..., Any])

TALL = ("shared", "unrelated", "near", "relu", "decaying")
"""Inputs with more rows than columns."""
ALL = (*TALL, "wide")
"""All of them but `steep`, which is only for what has to do with inverses."""
ODD, EVEN = ("unrelated", "relu", "wide"), ("shared", "near", "decaying")
"""Those with an odd number of rows, and with an even one."""

TIGHT = 1e-10
"""How far from ours the value of an oracle may be, unless it says otherwise."""

CLONES: Path | None = None
"""The folder of clones that the command line names."""

REPOSITORIES = {
    "google/svcca": "cca_core.py at 08f8935, pwcca.py at 766f206",
    "js-d/sim_metric": "dists/scoring.py at 110a4e1",
    "ahwillia/netrep": "netrep/metrics: linear.py at 3059f54, perm.py at 0f3d825; netrep/utils.py at 016774f",
    "sgstepaniants/GULP": "distance_functions.py at 90185f0",
    "minyoungg/platonic-rep": "metrics.py at 07ef02a",
    "mklabunde/resi": "repsim/measures at f9403bd; utils.py and procrustes.py at 5553e1d",
    "ssnl/align_uniform": "align_uniform/__init__.py at 505907b",
    "similarity-repository-0.0.1": "PyPI's source archive: its copy of amzn/xfer's nn_similarity_index/sim_indices.py",
}
"""Code that is on no package index, and which version of it was run."""


@dataclass(frozen=True)
class Oracle:
    """Values of `measure` by someone else's code, on some of the inputs.

    `reads` is what of ours they are values of: the measure's `value`, its `sides`, or the mean of `both orders`.
    Where `differs` is not empty they are not to agree, and it says why.
    """

    measure: str
    by: str
    of: Callable[..., Any]
    inputs: tuple[str, ...] = ALL
    reads: str = "value"
    differs: str = ""
    note: str = ""
    tolerance: float = TIGHT
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def call(self) -> str:
        """The code of the call."""
        body = ast.parse(textwrap.dedent(inspect.getsource(self.of))).body[0]
        assert isinstance(body, ast.FunctionDef)
        lines = [ast.unparse(line) for line in body.body if not _is_docstring(line)]
        given = ", ".join(f"{name} = {value!r}" for name, value in self.options.items())
        return "; ".join(lines).removeprefix("return ") + (f", with {given}" if given else "")

    @property
    def source(self) -> str:
        """Whose code it is, with its version."""
        names = self.by.split(" + ")
        return ", ".join(f"{n} ({REPOSITORIES[n]})" if n in REPOSITORIES else f"{n} {version(n)}" for n in names)

    @property
    def at_hand(self) -> bool:
        """Whether it can be asked now: a repository's code needs a clone."""
        needed = [name.split("/")[-1] for name in self.by.split(" + ") if name in REPOSITORIES]
        return all(CLONES is not None and (CLONES / folder).is_dir() for folder in needed)

    def record(self, pairs: Mapping[str, tuple[Array, Array]]) -> dict[str, Any]:
        """The values, and who computed them how."""
        found = {name: self.of(*(rows.copy() for rows in pairs[name]), **self.options) for name in self.inputs}
        values = {name: [float(v) for v in f] if isinstance(f, tuple) else float(f) for name, f in found.items()}
        record = {"by": self.source, "call": self.call, "reads": self.reads, "values": values}
        words = {"why": self.differs, "note": self.note}
        wider = {} if self.differs or self.tolerance == TIGHT else {"tolerance": self.tolerance}
        return {**record, **{name: word for name, word in words.items() if word}, **wider}


FAMILIES: dict[str, list[Oracle]] = defaultdict(list)
"""All oracles, by the file that they are in."""


def oracle(
    measure: str, *, by: str, each: Sequence[Mapping[str, Any]] = ({},), **how: Any
) -> Callable[[Function], Function]:
    """Make the function an oracle of `measure`; of several, if `each` has options for it and for the measure's name."""

    def add(function: Function) -> Function:
        family = FAMILIES[function.__module__.rpartition(".")[2]]
        family.extend(Oracle(measure.format(**options), by, function, options=options, **how) for options in each)
        return function

    return add


def _is_docstring(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def lib(name: str) -> Any:
    """A library."""
    return importlib.import_module(name)


@functools.cache
def clone(folder: str, module: str) -> Any:
    """A module of a clone. The `__init__` of its packages is passed over: it would import all that they have."""
    assert CLONES is not None
    root, names = CLONES / folder, module.split(".")
    hidden = _taken_out(names[0])
    for depth in range(1, len(names)):
        package = ModuleType(".".join(names[:depth]))
        package.__path__ = [str(root.joinpath(*names[:depth]))]
        sys.modules[package.__name__] = package
    sys.path.insert(0, str(root))
    try:
        return importlib.import_module(module)
    finally:
        sys.path.remove(str(root))
        _taken_out(names[0])
        sys.modules.update(hidden)


def _taken_out(top: str) -> dict[str, ModuleType]:
    """A package and its modules, taken out of what Python has loaded: two of the names are in use twice."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == top}


def resi(module: str) -> Any:
    """A file of ReSi's measures; their functions take rows, rows and the word 'nd'."""
    return clone("resi", f"repsim.measures.{module}")


def sim_index() -> Any:
    """The class of Tang et al. (amzn/xfer), which another project on PyPI carries."""
    return clone("similarity-repository-0.0.1", "similarity.backend.nn_similarity_index.sim_indices").SimIndex()


def tensor(rows: Array) -> Any:
    """The rows as a tensor."""
    return lib("torch").from_numpy(rows)


def centred(rows: Array) -> Array:
    """The rows about their mean."""
    found: Array = rows - rows.mean(0)
    return found


def normed(rows: Array) -> Array:
    """The rows about their mean, at Frobenius norm 1."""
    found: Array = centred(rows) / np.linalg.norm(centred(rows))
    return found


def unit(rows: Array) -> Array:
    """Each row at length 1."""
    found: Array = lib("sklearn.preprocessing").normalize(rows)
    return found
