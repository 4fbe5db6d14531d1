"""Shelf: sums that stand in files, of which only those that are being added to take memory."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import tempfile

import torch
from torch import Tensor

from seamripper.errors import FileError


class Shelf:
    """Float64 zeros in files without a name, which go when nobody holds them any more.

    What is written to them stays when it is let go of: the system keeps it on the disk, or in memory that it can have
    back at any time. They stand in the folder of temporary files (`TMPDIR`), which should be on a disk.

    >>> shelf = Shelf()
    >>> sums = shelf.zeros(2, 3)
    >>> sums[1] += 4
    >>> shelf.let_go()
    >>> sums.sum().item()
    12.0
    """

    def __init__(self) -> None:
        self._maps: list[mmap.mmap] = []
        _give_back_freed_memory()

    def zeros(self, *shape: int) -> Tensor:
        """Zeros of this shape, as `torch.zeros` makes them in memory."""
        size = 8 * math.prod(shape)
        if not size:
            return torch.zeros(shape, dtype=torch.float64)
        folder = tempfile.gettempdir()
        try:
            with tempfile.TemporaryFile(prefix="seamripper-", suffix=".sums", dir=folder) as file:
                # Reserved now: a full disk is an error here, and a bus error if met while writing through the map.
                os.posix_fallocate(file.fileno(), 0, size)
                pages = mmap.mmap(file.fileno(), size)
        except OSError as e:
            raise FileError(
                f"Keeping {size / 1e9:.1f} GB of sums in {folder} failed: {e.strerror}. Free some space, set TMPDIR to "
                "another disk, or choose fewer cuts, the sampling 'pool', or fewer folds."
            ) from e
        self._maps.append(pages)
        return torch.frombuffer(pages, dtype=torch.float64).view(shape)

    def let_go(self, *, freed: bool = True) -> None:
        """Give the memory of all of them back; what is in them is read again where it is asked for.

        And what was `freed` elsewhere, which takes longer.
        """
        for pages in self._maps:
            if hasattr(pages, "madvise"):
                pages.madvise(mmap.MADV_DONTNEED)
        if freed:
            _give_back_freed_memory()


def _give_back_freed_memory() -> None:
    """Have the allocator return what was freed: glibc keeps a gigabyte after tracing two ResNet-50s."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        # Another C library, which has no such function.
        return
