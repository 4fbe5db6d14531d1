"""Arrays in `.npy` files, opened so that nothing in them can run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seamripper.errors import FileError

_MAGIC = b"\x93NUMPY"


def open_array(path: Path, *, mapped: bool = False) -> NDArray[Any]:
    """The real numbers of a `.npy` file; those that are `mapped` stay on disk and are read where they are looked at."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise FileError(f"{path} is not a .npy file. Write one with numpy.save(FILE, array).")
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (ValueError, EOFError, MemoryError) as e:
        # To map an array of objects is refused in other words than to read one.
        if "allow_pickle" in str(e) or "Python objects" in str(e):
            raise FileError(
                f"{path} holds pickled Python objects. It was not opened, because opening it can run any code. "
                "Write only numbers: numpy.save(FILE, array.astype('float32'))."
            ) from e
        raise FileError(f"{path} could not be read: {e}. Was it cut short? Make or copy it again.") from e
    if array.dtype.kind not in "fiub":
        raise FileError(f"Expected {path} to hold real numbers, but it holds {array.dtype}.")
    return array
