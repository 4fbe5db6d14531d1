"""Provenance: what a run was made with and where: versions, revision, host, command line."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("seamripper", "torch", "numpy", "scipy", "safetensors", "pydantic", "ray")


def provenance(folder: str | os.PathLike[str] = ".") -> dict[str, Any]:
    """Versions, the git revisions of `folder` and of this package if they are in a repository, host, command line."""
    return {
        "python": platform.python_version(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name)) is not None},
        "git": revision(folder),
        "code": _own_revision(),
        "host": socket.gethostname(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }


def revision(folder: str | os.PathLike[str]) -> str | None:
    """The commit that a folder is at, with `+` if something in it was changed since; None outside a repository."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return commit + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _own_revision() -> str | None:
    """The commit of this very code, if it is run from a checkout: an environment inside a user's repository is none."""
    here = Path(__file__)
    try:
        _git(here.parent, "ls-files", "--error-unmatch", here.name)
    except (OSError, subprocess.SubprocessError):
        return None
    return revision(here.parent)


def _git(folder: str | os.PathLike[str], *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True, timeout=5)
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
