"""What an engine is: it carries out orders side by side, and tells of each how it ended."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from seamripper.errors import ExperimentError
from seamripper.experiment.result import Result
from seamripper.registry import Registry


@dataclass(frozen=True)
class Order:
    """A job for a worker, as JSON: `inputs` are the tensors that the jobs it needs have left in the store."""

    key: str
    kind: str
    content: Mapping[str, Any]
    where: Mapping[str, Any]
    inputs: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Ending:
    """How an order ended: with a result, done or failed; or with none.

    `damaged`: a tensor that it needs, named by `note`, is damaged. `died`: its worker died, as `note` says. `stop`:
    the store cannot be written, and the run must stop.
    """

    key: str
    how: Literal["result", "damaged", "died", "stop"]
    result: Result | None = None
    note: str = ""

    def as_record(self) -> dict[str, Any]:
        """The ending as JSON."""
        return {**vars(self), "result": None if self.result is None else vars(self.result)}

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> Ending:
        """The ending that `as_record` has turned into this."""
        result = record["result"]
        return cls(**{**record, "result": None if result is None else Result(**result)})


@dataclass(frozen=True)
class Terms:
    """What workers are to know: the store's folder, how many threads a job computes with, and what share of a GPU."""

    store: str
    threads: int = 1
    gpus: float = 0.0


class Engine(abc.ABC):
    """Carries out orders: `begin`, then `start` while there are `free` places and `wait` for endings; then `close`."""

    name: ClassVar[str]

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
    def wait(self, seconds: float) -> list[Ending]:
        """The orders that have ended, after at most so many seconds."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of everything at once; what is still being worked on is lost."""


engines: Registry[Engine] = Registry(Engine, "seamripper.experiment.engines", what="engine", error=ExperimentError)
"""Every engine by name. `engines.make("local?workers=2")` makes one."""
