"""Store: one folder with all that a study has found, by content.

::

    runs/study/
      ledger.sqlite     jobs, results, runs, claims, timings: an index that can be made anew from the journals
      journals/         finished results, a line each, a file for each run or shard
      tensors/          safetensors named by the sha256 of their bytes
      work/             trainings that are not finished
      damaged/          what was found damaged and set aside
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from seamripper._doors import require, require_path
from seamripper._files import files_beside
from seamripper.errors import StoreError
from seamripper.experiment.journal import Entry, Journal, entries
from seamripper.experiment.kinds import kind_named
from seamripper.experiment.ledger import Ledger
from seamripper.experiment.tensors import Tensors

LEDGER, JOURNALS, TENSORS, WORK, DAMAGED = "ledger.sqlite", "journals", "tensors", "work", "damaged"

_MADE_BY = "give one that `seamripper run`, `demo`, `audit --out FOLDER` or `compare --out FOLDER` has written"


class Store:
    """An open store: `with Store("runs/study", write=True) as store`. Any number may read while one run writes.

    With `write` the folder is made if it is not there, unless `make` says otherwise.
    """

    def __init__(self, folder: str | os.PathLike[str], *, write: bool = False, make: bool = True) -> None:
        self.folder = Path(require_path(folder, "the folder of a store", error=StoreError))
        require(write, bool, "write", error=StoreError)
        _require(self.folder, write and make)
        self.tensors = Tensors(self.folder / TENSORS, self.folder / DAMAGED)
        self.ledger = Ledger(self.folder / LEDGER, write=write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the ledger."""
        self.ledger.close()

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    def done(self) -> frozenset[str]:
        """The jobs that are done, by key; what only helps other jobs counts while its tensors are there."""
        states = self.ledger.states()
        return frozenset(key for key, state in states.items() if state == "done")

    def failed(self) -> frozenset[str]:
        """The jobs that have failed, by key."""
        return frozenset(key for key, state in self.ledger.states().items() if state == "failed")

    def work(self, key: str) -> Path:
        """A folder for what a job leaves behind while it is not finished."""
        return self.folder / WORK / key[:32]

    def journals(self) -> dict[str, Path]:
        """The journals, by name."""
        return {path.stem: path for path in sorted((self.folder / JOURNALS).glob("*.jsonl"))}

    def journal(self, name: str) -> Journal:
        """The journal of this name, open for appending."""
        return Journal(self.folder / JOURNALS / f"{name}.jsonl")

    def take_in(self, announce: Callable[[str], None] = lambda _: None) -> list[str]:
        """Enter what journals have said that the ledger has not heard yet: of runs that died, of other runs, of shards.

        The keys that are new. It is safe to repeat, and to be interrupted.
        """
        new: list[str] = []
        read, living = self.ledger.read(), set(self.ledger.living())
        for name, path in self.journals().items():
            start = read.get(name, 0)
            # A run that is alive tells the ledger itself, a moment after its journal.
            if path.stat().st_size <= start or name in living:
                continue
            found, end = list[Entry](), start
            for end, entry in entries(path, start):
                if entry is None:
                    announce(
                        f"{path}: a line that ends at byte {end} is damaged. It is passed over, and its job redone."
                    )
                elif self.holds(entry):
                    found.append(entry)
            new += self.ledger.take_in(name, end, found, start=start)
        return new

    def mend(self, announce: Callable[[str], None] = lambda _: None) -> None:
        """Take results that are not as they were written from the journals again; those that these lack are redone."""
        altered = self.ledger.damaged()
        if not altered:
            return
        lines = (entry for path in self.journals().values() for _, entry in entries(path))
        whole = [entry for entry in lines if entry is not None and entry.key in altered and self.holds(entry)]
        self.ledger.replace(altered, whole)
        again = {entry.key for entry in whole}
        for key in altered:
            what = "was read from its journal again" if key in again else "is in no journal either, and is made anew"
            announce(f"The result {key[:12]} in the ledger was not as it was written. It {what}.")

    def holds(self, entry: Entry) -> bool:
        """Whether the tensors of an entry are there. Those of helpers are let go of once nothing needs them."""
        return not kind_named(entry.kind).helps or all(self.tensors.has(name) for name in entry.tensors.values())

    def enter(self, journal: Journal, entry: Entry) -> None:
        """Keep a result: in the journal first, then in the ledger."""
        journal.append(entry)
        self.ledger.take_in(journal.path.stem, journal.path.stat().st_size, [entry])

    def results(self) -> Iterator[Entry]:
        """Every result, in the order of keys."""
        return self.ledger.results()


def _require(folder: Path, make: bool) -> None:
    """Refuse a folder that is something else, before anything is written into it; with `make`, it may be made."""
    if folder.is_file():
        raise StoreError(f"Expected a folder for the store, but {folder} is a file.")
    there = folder.is_dir() and any(folder.iterdir())
    ours = any((folder / name).exists() for name in (LEDGER, JOURNALS))
    if there and not ours:
        wanted = "choose a folder that is new or empty" if make else _MADE_BY
        raise StoreError(f"{folder} is no store of seamripper's, and not empty: {wanted}.")
    if not make and not ours:
        raise StoreError(f"There is no store at {folder}.{files_beside(folder)}")
    if make:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise StoreError(f"The store {folder} cannot be made: {e.strerror or e}.") from e
