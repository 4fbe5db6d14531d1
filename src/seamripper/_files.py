"""Files that are whole or not there: atomic writes, and safetensors with a record of JSON beside the tensors."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from seamripper._doors import require_path
from seamripper.errors import FileError, SeamripperError

if TYPE_CHECKING:
    from torch import Tensor

_RECORD = "seamripper"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""No room: on the disk, in the user's share of it, or within the limit on the size of a file."""


def sha256_of(path: Path) -> str:
    """The sha256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_beside(path: Path) -> str:
    """The end of a message about a file that is not there: which of its kind are in its folder."""
    near = sorted(p.name for p in path.parent.glob(f"*{path.suffix}")) if path.parent.is_dir() else []
    return f" In that folder there are: {', '.join(near[:8])}." if near else ""


@contextlib.contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file that appears under its name only when it is whole and on disk.

    The bytes go to a temporary name in the same folder, are synced, and are renamed. Whatever goes wrong on
    the way (a full disk, Ctrl-C), the old file, if any, is untouched and the temporary one is gone.
    """
    path = Path(require_path(path, "the name of a file to write", error=FileError))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as e:
        _discard(temporary)
        if e.errno in _FULL:
            raise FileError(
                f"The disk is full ({e.strerror}): {path} could not be written and nothing of it was kept. "
                "Free some space, or give a path on another disk."
            ) from e
        raise FileError(f"Could not write {path}: {e.strerror or e}.") from e
    except BaseException:
        _discard(temporary)
        raise


def plain(value: Any) -> Any:
    """A value as JSON has it: what has a record is that record, tuples are lists, and what is not finite is null.

    >>> plain({1: (2.0, math.nan)})
    {'1': [2.0, None]}
    """
    if hasattr(value, "as_record"):
        return value.as_record()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text to a file, atomically."""
    with atomic(path) as file:
        file.write(text.encode())


def write_json(path: str | os.PathLike[str], value: Any, *, indent: int | None = None) -> None:
    """Write a value to a JSON file, atomically; NaN, which JSON does not know, is refused."""
    write_text(path, json.dumps(value, allow_nan=False, indent=indent))


def _discard(temporary: Path) -> None:
    # If its folder does not exist, there is nothing to remove, and the error that came before is the one to tell.
    with contextlib.suppress(OSError):
        temporary.unlink()


def _sweep(path: Path) -> None:
    """Remove temporaries of writers that were killed before they could."""
    for orphan in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        pid = orphan.name.rsplit(".", 2)[-2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc/self").exists():
            _discard(orphan)


def save_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], record: Mapping[str, Any], *, kind: str
) -> None:
    """Write tensors and what they are (`kind`, `record`) to one safetensors file, atomically."""
    from safetensors.torch import save

    from seamripper._devices import to_memory

    # Through JSON first, so that what is sealed is what will be read back (a tuple is a list, a key is a string).
    note = json.loads(json.dumps({"kind": kind, "record": dict(record)}, allow_nan=False))
    note["seal"] = _seal(note, tensors)
    # Cloned: safetensors refuses tensors that share memory, and tied weights do.
    payload = save(
        {k: to_memory(v.detach()).contiguous().clone() for k, v in tensors.items()},
        {_RECORD: json.dumps(note, sort_keys=True)},
    )
    with atomic(path) as file:
        file.write(payload)


def load_tensors(path: str | os.PathLike[str], *, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read back what `save_tensors` wrote under the same `kind`: the tensors and the record."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    note = _note(path)
    if note is None or note["kind"] != kind:
        made = f"holds a {note['kind']}" if note else "is a safetensors file that seamripper did not write"
        raise FileError(f"Expected {path} to hold a {kind}, but it {made}.")
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as e:
        raise FileError(f"{path} could not be read: {e}. Was it cut short? Make or copy it again.") from e
    if note.pop("seal") != _seal(note, tensors):
        raise FileError(f"{path} is not as it was written: its tensors or its record were changed. Copy it again.")
    return tensors, note["record"]


def read_record(path: str | os.PathLike[str]) -> tuple[str | None, dict[str, Any]]:
    """What kind of file this is (`None`: tensors from elsewhere) and its record, without reading a tensor."""
    note = _note(path)
    return (None, {}) if note is None else (note["kind"], note["record"])


def _note(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What seamripper wrote beside the tensors; None in a file from elsewhere."""
    header = read_header(path)
    try:
        text = header.get("__metadata__", {}).get(_RECORD)
        if text is None:
            return None
        note = json.loads(text)
        return {"kind": str(note["kind"]), "record": dict(note["record"]), "seal": note.get("seal")}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise FileError(f"{path} cannot be read: the record that seamripper wrote with its tensors is damaged.") from e


@contextlib.contextmanager
def understood(path: str | os.PathLike[str], *, error: type[SeamripperError] = FileError) -> Iterator[None]:
    """Within, a record that is not what seamripper writes becomes a sentence.

    Its seal says that a file was not damaged, and not who has made it.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as e:
        why = (str(e).splitlines() or [""])[0]
        raise error(
            f"{path} has a valid seal, but its record is not one that seamripper writes ({type(e).__name__}: {why}). "
            "Was it made by hand, or by another version? Make it again."
        ) from e


def _seal(note: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """The fingerprint of a file's record and tensors together: it tells damage, not forgery."""
    from seamripper._fingerprint import join_fingerprints, tensor_fingerprint

    prints = {f"tensor {name}": tensor_fingerprint(tensor) for name, tensor in tensors.items()}
    return join_fingerprints({**prints, "note": json.dumps(note, sort_keys=True)})


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a safetensors file, or an error that says what is wrong with it."""
    path = Path(path)
    if not path.is_file():
        raise FileError(f"There is no file {path}.{files_beside(path)}")
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            first = file.read(8)
            length = struct.unpack("<Q", first)[0] if len(first) == 8 else -1
            if not 2 <= length <= min(size - 8, 100_000_000):
                raise FileError(
                    f"{path} is not a safetensors file (or it was cut short). seamripper reads .safetensors, "
                    "and .pt/.pth files that hold nothing but weights."
                )
            header = json.loads(file.read(length))
        ends = [int(v["data_offsets"][1]) for k, v in header.items() if k != "__metadata__"]
    except OSError as e:
        raise FileError(f"{path} could not be read: {e.strerror or e}.") from e
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as e:
        raise FileError(f"{path} is not a safetensors file: its header is not valid.") from e
    if size != 8 + length + max(ends, default=0):
        raise FileError(f"{path} was cut short or added to: its size is not what its header says. Copy it again.")
    return dict(header)
