"""Models of the user's own: a function in a Python file that returns one."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from torch import nn

from seamripper._words import did_you_mean
from seamripper.errors import ModelError
from seamripper.models._libraries import literal
from seamripper.models._seeded import seeded
from seamripper.models.model import Model


def from_factory(name: str, options: Mapping[str, str], *, source: str, seed: int) -> Model:
    """What FUNCTION of FILE.py returns when called with the options as keywords, under `seed`."""
    file, _, function = name.rpartition(":")
    path = Path(file)
    if not path.is_file():
        near = sorted(p.name for p in path.parent.glob("*.py")) if path.parent.is_dir() else []
        hint = f" In that folder there are: {', '.join(near[:8])}." if near else ""
        raise ModelError(f"There is no file {file} to take {function!r} from.{hint}")
    with seeded(seed), _beside(path), _told(path, f"{file} could not be run"):
        imported = _import(path)
    factory = getattr(imported, function, None)
    if not callable(factory):
        own = [k for k, v in vars(imported).items() if callable(v) and not k.startswith("_")]
        raise ModelError(f"{file} has no function {function!r}: {did_you_mean(function, own)}")
    with seeded(seed), _beside(path), _told(path, f"{name} failed"):
        made = factory(**{k: literal(v) for k, v in options.items()})
    if not isinstance(made, nn.Module):
        raise ModelError(f"Expected {name} to return a torch.nn.Module, but it returned {type(made).__name__}.")
    return Model(made, source)


def _import(path: Path) -> ModuleType:
    # A private name, so that a user's file called torch.py or models.py stands in nobody's way.
    private = f"_seamripper_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(private, path)
    if spec is None or spec.loader is None:
        raise ModelError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[private] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[private]
        raise
    return module


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Within, the file may import its neighbours, as it could if it were run by itself."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)


@contextlib.contextmanager
def _told(path: Path, what: str) -> Iterator[None]:
    """Turn whatever the user's code raises into one sentence with the line it came from."""
    try:
        yield
    except ModelError:
        raise
    # SystemExit too: a script that parses its arguments must not end ours.
    except (Exception, SystemExit) as e:
        line = _line(path, e)
        raise ModelError(f"{what}{line}: {type(e).__name__}: {e}") from e


def _line(path: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).resolve() == path.resolve():
        return f" at line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    return f" at line {lines[-1]}" if lines else ""
