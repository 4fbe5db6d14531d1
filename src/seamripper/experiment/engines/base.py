"""What an engine is: it carries out jobs side by side, and tells what came of each."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

from seamripper.errors import ExperimentError
from seamripper.experiment.job import Job
from seamripper.experiment.result import Result
from seamripper.registry import Registry


@dataclass(frozen=True)
class Terms:
    """What workers are to know: the store's folder, how many threads a job computes with, and what share of a GPU."""

    store: str
    threads: int = 1
    gpus: float = 0.0

    @property
    def device(self) -> str | None:
        """Where the models of a worker compute: on the GPU that it sees, if jobs ask for one."""
        return "cuda" if self.gpus else None


class Engine(abc.ABC):
    """Carries out jobs: `begin`, then `start` while there are `free` places and `wait` for results; then `close`."""

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
        """How many jobs are carried out side by side."""

    @property
    @abc.abstractmethod
    def free(self) -> int:
        """How many more jobs can be started now."""

    @abc.abstractmethod
    def start(self, job: Job) -> None:
        """Hand a job, with its inputs, to a free worker."""

    @abc.abstractmethod
    def wait(self, seconds: float) -> list[Result]:
        """What came of the jobs that have ended, after at most so many seconds."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of everything at once; what is still being worked on is lost."""


engines: Registry[Engine] = Registry(Engine, "seamripper.experiment.engines", what="engine", error=ExperimentError)
"""Every engine by name. `engines.make("local?workers=2")` makes one."""
