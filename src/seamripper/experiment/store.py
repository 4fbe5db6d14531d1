"""Store: one folder with everything that a study has computed. Its journals are the only truth.

::

    runs/study/
      store.json           the format of the store
      experiments/         what was asked for, one file per experiment
      journals/            the results, one sealed line each, one file per run
      runs/ claims/        who is at work, and on what
      memo.jsonl           what the words of a study stand for
      tensors/             safetensors files named by the sha256 of their bytes
      work/                trainings that are not finished
      damaged/             what was found damaged and set aside
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from seamripper._doors import require, require_path
from seamripper._files import files_beside
from seamripper.errors import StoreError
from seamripper.experiment.job import Graph, digest
from seamripper.experiment.journal import (
    Journal,
    Journals,
    Line,
    open_line,
    open_own,
    record_of,
    result_line,
    sealed_line,
    unwritable,
    write_whole,
)
from seamripper.experiment.parts.base import parts
from seamripper.experiment.result import Result
from seamripper.experiment.runs import RunFiles, new_run
from seamripper.experiment.tensors import TENSORS, WORK, Tensors

FORMAT = 2
STORE, EXPERIMENTS, JOURNALS, MEMO = "store.json", "experiments", "journals", "memo.jsonl"
PARTS = (EXPERIMENTS, JOURNALS, "runs", "claims", TENSORS)
"""The folders that a store is read from."""

_MADE_BY = "give one that `seamripper run`, `demo`, `audit --out FOLDER` or `compare --out FOLDER` has written"


class Store:
    """An open store: `with Store("runs/study", write=True) as store`. Any number of runs may write and read.

    Reading shows the store as it was when it was opened, or when `refresh` was last called. With `write` the folder is
    made if it is not there, unless `make` says otherwise; `name` is the name of the run that writes.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, write: bool = False, make: bool = True, name: str | None = None
    ) -> None:
        self.folder = Path(require_path(folder, "the folder of a store", error=StoreError))
        require(write, bool, "write", error=StoreError)
        _require_store(self.folder, make=write and make)
        if write and not os.access(self.folder, os.W_OK):
            raise StoreError(unwritable(self.folder, OSError(errno.EROFS, "it is read-only")))
        self.write = write
        self.name = name or new_run()
        self.tensors = Tensors(self.folder)
        self.runs = RunFiles(self.folder, self.name, write=write)
        self._journals = Journals(self.folder / JOURNALS)
        self._journal = Journal(self.folder / JOURNALS / f"{self.name}.jsonl")
        self._memo = Journal(self.folder / MEMO)
        self.refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._journals.close()
        self._journal.close()
        self._memo.close()

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    def work(self, key: str) -> Path:
        """A folder for what a job leaves behind while it is not finished."""
        return self.folder / WORK / key[:32]

    # ---- results

    def refresh(self) -> None:
        """Read what other runs have finished or taken back since the last time."""
        self._journals.refresh()

    def reread(self) -> None:
        """Read all journals again: lines of them were set aside."""
        self._journals.close()
        self._journals = Journals(self.folder / JOURNALS)
        self.refresh()

    @property
    def damage(self) -> list[str]:
        """The lines of journals that are not as they were written, one sentence each."""
        return [
            f"The journal {name} of {self.folder}: the line that ends at byte {end} is damaged. It is passed over, and "
            "its job is done again."
            for name, _, end in self._journals.damage
        ]

    def damaged_lines(self) -> dict[str, list[tuple[int, int]]]:
        """(start, end) of the damaged lines of each journal that has some."""
        spans: dict[str, list[tuple[int, int]]] = {}
        for name, start, end in self._journals.damage:
            spans.setdefault(name, []).append((start, end))
        return spans

    def states(self) -> dict[str, str]:
        """`done` or `failed` for every job that has ended; a helper counts while its tensors are there."""
        lines = ((key, self._standing(key)) for key in self._journals.lines)
        return {key: line.header["state"] for key, line in lines if line is not None}

    def state(self, key: str) -> str | None:
        """`done` or `failed`; None for a job that has not ended."""
        line = self._standing(key)
        return None if line is None else str(line.header["state"])

    def done(self) -> frozenset[str]:
        """The keys of the jobs that are done."""
        return frozenset(key for key, state in self.states().items() if state == "done")

    def failed(self) -> frozenset[str]:
        """The keys of the jobs that have failed."""
        return frozenset(key for key, state in self.states().items() if state == "failed")

    def result(self, key: str) -> Result | None:
        """The result of a job; None if it has none."""
        line = self._standing(key)
        return None if line is None else self._journals.result(line)

    def results(self) -> Iterator[Result]:
        """Every result, in the order of keys."""
        for key in sorted(self._journals.lines):
            result = self.result(key)
            if result is not None:
                yield result

    def tensors_of(self, key: str) -> dict[str, str]:
        """The tensors of a job's result, by role."""
        line = self._standing(key)
        return {} if line is None else dict(line.header["tensors"])

    def helpers(self) -> dict[str, list[str]]:
        """The names of the tensors of every helper that is there."""
        keys = (key for key, lines in self._journals.lines.items() if _helps(lines[0].header["kind"]))
        return {key: list(self.tensors_of(key).values()) for key in keys if self._standing(key) is not None}

    def seconds(self) -> dict[str, float]:
        """How long each job took that was done."""
        return {header["key"]: header["seconds"] for header in self.attempts() if header["state"] == "done"}

    def attempts(self) -> list[Mapping[str, Any]]:
        """Key, kind, state, tensors, seconds, started, worker and run of everything that was ever finished."""
        return [line.header for lines in self._journals.lines.values() for line in lines]

    def enter(self, result: Result) -> None:
        """Add a result to the journal of this run, and release the claim to its job."""
        self._append(result_line(result))
        self.runs.release([result.key])

    def forget(self, keys: Iterable[str]) -> None:
        """Take results back, so that their jobs are done again."""
        for key in keys:
            for line in self._journals.lines.get(key, ()):
                if line.seal not in self._journals.taken_back:
                    self._append(sealed_line({"takes_back": line.seal}, {"key": key}))

    def _append(self, line: bytes) -> None:
        if not self.write:
            raise StoreError(f"The store {self.folder} is open for reading: Store(…, write=True) opens it for writing.")
        self._journals.index(self.name, self._journal.append(line), line)

    def _standing(self, key: str) -> Line | None:
        """The line that counts. Helpers are let go of once nothing needs them."""
        line = self._journals.standing(key)
        if line is not None and _helps(line.header["kind"]):
            return line if all(map(self.tensors.has, line.header["tensors"].values())) else None
        return line

    def claim(self, keys: list[str]) -> list[str]:
        """Claim jobs for this run: those that no other living run has claimed, and that none has done meanwhile."""
        claimed = self.runs.claim(keys)
        # A run enters a result before it releases the claim: whoever has the claim afterwards finds the result.
        self.refresh()
        self.runs.release([key for key in claimed if self._standing(key) is not None])
        return [key for key in claimed if self._standing(key) is None]

    # ---- experiments

    @functools.cached_property
    def memo(self) -> MutableMapping[str, Any]:
        """What was looked up for experiments, by question. In a store that is read, new answers are not kept."""
        return _Memo(self._memo, write=self.write)

    def remember(self, name: str, description: Mapping[str, Any], graph: Graph) -> None:
        """Write down what an experiment asks for; it replaces what the experiment of this name asked for before."""
        path = self._experiment_file(name)
        asked = digest([description, [[key, labels] for key, labels in graph.goals], sorted(graph.jobs)])
        with contextlib.suppress(OSError, StoreError):
            if self.read_experiment(path)[0].get("digest") == asked:
                return
        jobs = {job.key: [job.kind, job.content, list(job.needs)] for job in graph}
        goals = [[key, labels] for key, labels in graph.goals]
        header = {"name": name, "description": description, "digest": asked}
        write_whole(path, sealed_line(header, {"goals": goals, "jobs": jobs}))

    def experiments(self) -> dict[str, dict[str, Any]]:
        """The descriptions of the experiments, by name."""
        headers = [self.read_experiment(path)[0] for path in self.experiment_files()]
        return {str(h["name"]): h["description"] for h in sorted(headers, key=lambda header: str(header["name"]))}

    def goals(self, experiment: str) -> list[tuple[str, dict[str, Any]]]:
        """(key, labels) of what an experiment asks for, in its order."""
        _, record = self.read_experiment(self._experiment_file(experiment))
        return [(key, labels) for key, labels in record()["goals"]]

    def contents(self, experiment: str) -> dict[str, dict[str, Any]]:
        """The contents of the jobs of an experiment, by key."""
        _, record = self.read_experiment(self._experiment_file(experiment))
        return {key: content for key, (_, content, _) in record()["jobs"].items()}

    def memo_is_damaged(self) -> bool:
        """Whether a whole line of the memo is not as it was written."""
        path = self.folder / MEMO
        lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
        return any(open_line(line) is None for line in lines if line.endswith(b"\n"))

    def read_experiment(self, path: Path) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        """The header of an experiment's file, and a function that parses the rest."""
        try:
            with os.fdopen(open_own(path), "rb") as file:
                line = file.read()
        except OSError as e:
            raise StoreError(
                f"The file that says what an experiment asks for cannot be read: {path}: {e.strerror or e}."
            ) from e
        parts = open_line(line)
        if parts is None or not parts[1].keys() >= {"name", "description"}:
            raise StoreError(
                f"The file that says what an experiment asks for was changed or damaged: {path}. Run its study again, "
                "which writes the file again; no result is lost."
            )
        return parts[1], lambda: record_of(line, parts[2])

    def experiment_files(self) -> list[Path]:
        """The files of the experiments."""
        return sorted((self.folder / EXPERIMENTS).glob("*.json"))

    def _experiment_file(self, name: str) -> Path:
        word = quote(name, safe=" ", errors="surrogatepass")
        return self.folder / EXPERIMENTS / f"{word if len(word) < 200 else digest(name)}.json"


def make_store(folder: Path) -> None:
    """Make a store of a folder, which is made too if it is not there, whatever else is in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise StoreError(f"The store {folder} cannot be made: {e.strerror or e}.") from e
    if not (folder / STORE).is_file():
        write_whole(folder / STORE, json.dumps({"format": FORMAT}).encode())


def is_store(folder: Path) -> bool:
    """Whether a folder is a store, of this format or of another."""
    return (folder / STORE).is_file() or (folder / "ledger.sqlite").is_file()


def _require_store(folder: Path, *, make: bool) -> None:
    """Refuse a folder that is something else, before anything is written into it; with `make`, it may be made."""
    if folder.is_file():
        raise StoreError(f"Expected a folder for the store, but {folder} is a file.")
    if is_store(folder):
        _require_format(folder)
    elif folder.is_dir() and not all(path.name.startswith(f".{STORE}.") for path in folder.iterdir()):
        wanted = "choose a folder that is new or empty" if make else _MADE_BY
        raise StoreError(f"{folder} is not a store of seamripper, and it is not empty: {wanted}.")
    elif not make:
        raise StoreError(f"There is no store at {folder}.{files_beside(folder)}")
    else:
        make_store(folder)


def _require_format(folder: Path) -> None:
    try:
        text = (folder / STORE).read_bytes() if (folder / STORE).exists() else b'{"format": 1}'
        written = json.loads(text)["format"]
    except OSError as e:
        raise StoreError(f"{folder / STORE} cannot be read: {e.strerror or e}.") from e
    except (ValueError, TypeError, KeyError, RecursionError):
        written = None
    if written == FORMAT:
        return
    if not isinstance(written, int):
        raise StoreError(
            f'{folder / STORE} is damaged: expected {{"format": {FORMAT}}}. If no other version of seamripper has '
            "written this store, write that into the file; no result is lost."
        )
    if written > FORMAT:
        raise StoreError(
            f"The store {folder} was written by a newer seamripper (its format is {written}, and this one knows "
            f"{FORMAT}). Upgrade seamripper to use it; nothing of it was changed."
        )
    raise StoreError(
        f"The store {folder} was written by an older seamripper (its format is {written}, and this one knows "
        f"{FORMAT}): run the study again with another --store, or use the older version. Nothing of it was changed."
    )


@functools.cache
def _helps(kind: str) -> bool:
    return kind in parts and parts[kind].helps


class _Memo(dict[str, Any]):
    """Answers by question, in a file of sealed lines that is only appended to."""

    def __init__(self, journal: Journal, *, write: bool) -> None:
        lines = journal.path.read_bytes().splitlines(keepends=True) if journal.path.is_file() else []
        # What a damaged line said is looked up again.
        parts = ((line, open_line(line)) for line in lines)
        super().__init__({p[1]["question"]: record_of(line, p[2]) for line, p in parts if p and "question" in p[1]})
        self._journal, self._write = journal, write

    def __setitem__(self, question: str, answer: Any) -> None:
        if self._write:
            self._journal.append(sealed_line({"question": question}, answer))
        super().__setitem__(question, answer)
