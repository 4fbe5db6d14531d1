"""Kept: what a run needs of a store and its ledger, whichever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from seamripper.experiment.journal import Entry, Journal
from seamripper.experiment.tensors import Tensors


class Book(Protocol):
    """What a run needs of a ledger; see `Ledger` for what each does."""

    def begin(self, run: str, experiment: str, provenance: Mapping[str, Any]) -> None: ...  # noqa: D102
    def beat(self, run: str) -> None: ...  # noqa: D102
    def end(self, run: str) -> None: ...  # noqa: D102
    def living(self) -> list[str]: ...  # noqa: D102
    def claim(self, keys: Sequence[str], run: str) -> list[str]: ...  # noqa: D102
    def release(self, keys: Iterable[str], run: str) -> None: ...  # noqa: D102
    def claims(self) -> dict[str, str]: ...  # noqa: D102
    def states(self) -> dict[str, str]: ...  # noqa: D102
    def result(self, key: str) -> Entry | None: ...  # noqa: D102
    def forget(self, keys: Iterable[str]) -> None: ...  # noqa: D102


class Kept(Protocol):
    """What a run needs of a store: the one of a ledger, or that of a shard; see `Store` for what each does."""

    folder: Path
    tensors: Tensors

    @property
    def ledger(self) -> Book: ...  # noqa: D102
    def work(self, key: str) -> Path: ...  # noqa: D102
    def journal(self, name: str) -> Journal: ...  # noqa: D102
    def take_in(self, announce: Callable[[str], None]) -> list[str]: ...  # noqa: D102
    def enter(self, journal: Journal, entry: Entry) -> None: ...  # noqa: D102
