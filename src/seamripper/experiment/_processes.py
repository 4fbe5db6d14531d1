"""Processes of this machine: which of them live, told apart even where a number is used again."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, of this number, ends, whatever it is doing then.

    Linux alone has this; elsewhere nothing is done. A thread that waits for the parent's end cannot take its place: a
    loop in C that does not let go of the interpreter keeps it from running.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # A parent that had ended before that tells nobody any more: then this process has been handed to another.
    if os.getppid() != parent:
        os._exit(0)


def born(pid: int) -> float:
    """When a process was started, by the kernel's count: a number that is used again is then known to be another's."""
    try:
        return float(_stat(pid)[19])
    except (OSError, IndexError, ValueError):
        return 0.0


def process_alive(pid: int, since: float) -> bool:
    """Whether the process of this number that was started then runs on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # One that was killed, and that its parent has not taken note of yet, has a number still.
    with contextlib.suppress(OSError, IndexError):
        if _stat(pid)[0] in ("Z", "X"):
            return False
    return born(pid) == since


def _stat(pid: int) -> list[str]:
    """What the kernel tells of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
