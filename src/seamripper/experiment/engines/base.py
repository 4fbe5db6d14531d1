"""What an engine is: it carries out orders side by side, and tells of each how it ended."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Ending = Literal["done", "failed", "damaged", "died", "stop"]
"""How an order ended: done; failed, by its own fault; not begun, as a tensor that it needs is damaged; its worker died;
or the store cannot be written, and all must stop."""


@dataclass(frozen=True)
class Order:
    """A job for a worker, as JSON has it: `inputs` are the tensors that the jobs it needs have left in the store."""

    key: str
    kind: str
    content: Mapping[str, Any]
    where: Mapping[str, Any]
    inputs: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Answer:
    """What became of an order. For one that failed the record is its error; `note` is what went wrong otherwise."""

    key: str
    ending: Ending
    record: Mapping[str, Any] = field(default_factory=dict)
    tensors: Mapping[str, str] = field(default_factory=dict)
    started: float = 0.0
    seconds: float = 0.0
    worker: str = ""
    note: str = ""


@dataclass(frozen=True)
class Terms:
    """What workers are to know: the store's folder, how many threads a job computes with, and what share of a GPU."""

    store: str
    threads: int = 1
    gpus: float = 0.0


class Engine(abc.ABC):
    """Carries out orders: `begin`, then `start` while there are `free` places, and `wait` for answers; then `close`."""

    name: str

    @abc.abstractmethod
    def require(self, terms: Terms) -> None:
        """Refuse terms that cannot be met here, before anything is begun, and not by waiting for ever."""

    @abc.abstractmethod
    def begin(self, terms: Terms) -> None:
        """Get ready."""

    @property
    @abc.abstractmethod
    def places(self) -> int:
        """How many orders are carried out side by side."""

    @property
    @abc.abstractmethod
    def free(self) -> int:
        """How many more orders can be started now."""

    @abc.abstractmethod
    def start(self, order: Order) -> None:
        """Hand an order to a free worker."""

    @abc.abstractmethod
    def wait(self, seconds: float) -> list[Answer]:
        """The answers that have come, after at most so many seconds."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of everything at once; what is still being worked on is lost."""
