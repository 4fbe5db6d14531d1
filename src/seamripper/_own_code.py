"""Users' own files: Python that is run because its user named it, with its mistakes told in sentences."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from seamripper._files import files_beside
from seamripper.errors import SeamripperError


def import_file(path: Path, wanted: str, *, error: type[SeamripperError]) -> ModuleType:
    """Run the file and give what it defines; `wanted` is what it is asked for, to be told if there is no such file."""
    if not path.is_file():
        raise error(f"There is no file {path} to take {wanted!r} from.{files_beside(path)}")
    with running(path, f"{path} could not be run", error=error):
        return _import(path, error)


@contextlib.contextmanager
def running(path: Path, what: str, *, error: type[SeamripperError], every: bool = False) -> Iterator[None]:
    """Within, code of the file may import its neighbours, and whatever it raises becomes one sentence with its line.

    With `every`, so does a KeyboardInterrupt: for a process that Ctrl-C does not reach.
    """
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    except error:
        raise
    # SystemExit too: a script that parses its arguments must not end ours.
    except BaseException as e:
        if not (every or isinstance(e, (Exception, SystemExit))):
            raise
        raise error(f"{what}{_line(path, e)}: {': '.join(filter(None, (type(e).__name__, str(e))))}") from e
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)


def _import(path: Path, error: type[SeamripperError]) -> ModuleType:
    # A private name, so that a user's file called torch.py or models.py stands in nobody's way.
    private = f"_seamripper_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(private, path)
    if spec is None or spec.loader is None:
        raise error(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[private] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[private]
        raise
    return module


def _line(path: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).resolve() == path.resolve():
        return f" at line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    return f" at line {lines[-1]}" if lines else ""
