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
    """What workers are to know: the store's folder, how many threads a job computes with, and where.

    `device` is where the models of a worker compute; with `gpus`, a share of a GPU for each worker, it is the GPU that
    this worker sees.
    """

    store: str
    threads: int = 1
    gpus: float = 0.0
    device: str | None = None

    @classmethod
    def on(cls, device: str | None, store: str, threads: int, gpus: float) -> Terms:
        """The terms where a run is asked for a device: `cuda` gives each worker a GPU, or the share that `gpus` says.

        >>> Terms.on("cuda", "runs", 1, 0.0).gpus, Terms.on("cpu", "runs", 1, 0.5).gpus
        (1.0, 0.0)
        """
        if device == "auto":
            from seamripper._devices import usable_devices

            device = usable_devices()[0].type
        if device == "cuda" or (device is None and gpus):
            return cls(store, threads, gpus or 1.0, "cuda")
        return cls(store, threads, 0.0, device)


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
