"""Upkeep of a store: check that all of it is whole, and remove what nothing refers to.

Both can be interrupted at any moment and done again.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from seamripper._progress import Progress, Watcher, nobody
from seamripper.errors import DamagedError, StoreError
from seamripper.experiment.journal import write_whole
from seamripper.experiment.result import Result
from seamripper.experiment.results import rows_of
from seamripper.experiment.runs import new_run
from seamripper.experiment.store import EXPERIMENTS, JOURNALS, MEMO, Store
from seamripper.experiment.tensors import DAMAGED, WORK


@dataclass(frozen=True)
class Check:
    """What a check came to: how much was looked at, and what is wrong, one sentence each, with what to do."""

    results: int
    tensors: int
    bytes: int
    problems: tuple[str, ...] = field(default_factory=tuple)


def check(folder: str | os.PathLike[str], *, mend: bool = False, watch: Watcher = nobody) -> Check:
    """Look at everything: every line of the journals, every experiment, every record, the bytes of every tensor.

    With `mend`, a damaged tensor is set aside and its result taken back, so that the next run computes it anew; so are
    damaged lines and files of experiments. Without, a run redoes what it comes to need.
    """
    with Store(folder, write=mend, make=False, name=new_run("mend")) as store:
        problems = [*_check_journals(store, mend), *_check_experiments(store, mend)]
        results = list(store.results())
        problems += _check_records(store, results, mend)
        names = sorted({name for result in results for name in result.tensors.values()})
        size = 0
        for k, name in enumerate(names, 1):
            try:
                size += store.tensors.get(name).stat().st_size
            except DamagedError as e:
                problems.append(f"{e} {_set_tensor_aside(store, name, results) if mend else _advice(store)}")
            watch(Progress("tensors", k, len(names)))
        return Check(len(results), len(names), size, tuple(problems))


def _advice(store: Store) -> str:
    return f"`seamripper store check {store.folder} --mend` sets it aside, and the next run computes it again."


def _set_tensor_aside(store: Store, name: str, results: Iterable[Result]) -> str:
    """Set a tensor aside and take back the results that it is part of."""
    store.tensors.set_aside(name)
    store.forget([result.key for result in results if name in result.tensors.values()])
    return "It was set aside, and the next run computes it again."


def _check_journals(store: Store, mend: bool) -> list[str]:
    damage, problems = store.damaged_lines(), []
    if damage and mend:
        _require_idle(store)
    for name, spans in damage.items():
        for _, end in spans:
            done = "It was set aside, and the next run does its job again." if mend else _advice(store)
            problems.append(f"The journal {name}: the line that ends at byte {end} is damaged. {done}")
        if mend:
            _cut_out(store.folder, name, spans)
    if damage and mend:
        store.reread()
    return problems


def _cut_out(folder: Path, name: str, spans: list[tuple[int, int]]) -> None:
    """Move damaged lines of a journal to the folder of damaged things."""
    path = folder / JOURNALS / f"{name}.jsonl"
    data = path.read_bytes()
    aside = folder / DAMAGED / f"{name}-{secrets.token_hex(4)}.jsonl"
    write_whole(aside, b"".join(data[start:end] for start, end in spans))
    starts, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(data)]
    write_whole(path, b"".join(data[start:end] for start, end in zip(starts, ends, strict=True)))


def _check_experiments(store: Store, mend: bool) -> list[str]:
    problems = []
    for path in store.experiment_files():
        try:
            store.read_experiment(path)
        except StoreError as e:
            problems.append(str(e))
            if mend:
                _move_aside(store.folder, path)
    if store.memo_is_damaged():
        problems.append(f"{MEMO}: a line is damaged. What it said is looked up again.")
        if mend:
            _move_aside(store.folder, store.folder / MEMO)
    return problems


def _move_aside(folder: Path, path: Path) -> None:
    aside = folder / DAMAGED
    aside.mkdir(exist_ok=True)
    path.replace(aside / f"{path.stem}-{secrets.token_hex(4)}{path.suffix}")


def _check_records(store: Store, results: Iterable[Result], mend: bool) -> list[str]:
    """Results whose records are not what their kinds write: of an older version, or of another hand."""
    problems, unread = [], []
    for result in results:
        if result.state == "done":
            try:
                rows_of(result.kind, result.record, result.key)
            except StoreError as e:
                problems.append(str(e))
                unread.append(result.key)
    if mend:
        store.forget(unread)
    return problems


@dataclass(frozen=True)
class Swept:
    """What was removed."""

    files: int
    bytes: int


def gc(folder: str | os.PathLike[str], *, watch: Watcher = nobody) -> Swept:
    """Remove what nothing refers to: tensors of no result, of helpers, drafts, finished work, what was set aside."""
    with Store(folder, write=True, make=False) as store:
        # Listed before looking whether a run is under way: what one that begins later writes is not among these.
        names = list(store.tensors.names())
        left = [*store.tensors.drafts(), *_drafts(store.folder), *_leftovers(store)]
        _require_idle(store)
        store.refresh()
        helpers = store.helpers()
        wanted = {name for key in store.done() - helpers.keys() for name in store.tensors_of(key).values()}
        files, size = 0, 0
        for k, name in enumerate(names, 1):
            if name not in wanted:
                size += store.tensors.drop(name)
                files += 1
            watch(Progress("tensors", k, len(names)))
        for path in left:
            size += _size(path)
            files += 1
            _remove(path)
        return Swept(files, size)


def _require_idle(store: Store) -> None:
    living = store.runs.living()
    if living:
        raise StoreError(f"A run is under way on {store.folder} ({living[0]}): wait until it has ended.")


def _drafts(folder: Path) -> list[Path]:
    """What writers that were killed have left behind, and claims of runs that are dead."""
    places = (folder, folder / EXPERIMENTS, folder / JOURNALS, folder / "runs")
    return [*(path for place in places for path in place.glob(".*.tmp")), *(folder / "claims").glob("*")]


def _leftovers(store: Store) -> list[Path]:
    """Work of jobs that are done, and what was set aside."""
    done = {key[:32] for key in store.done()}
    work, aside = store.folder / WORK, store.folder / DAMAGED
    finished = [path for path in sorted(work.iterdir()) if path.name in done] if work.is_dir() else []
    return [*finished, *(sorted(aside.iterdir()) if aside.is_dir() else [])]


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
