"""An engine for tests to which processes do not matter: none is started, so torch need not be imported again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from seamripper.experiment.engines import Engine, Terms
from seamripper.experiment.engines.process import carry_out
from seamripper.experiment.job import Job
from seamripper.experiment.result import Result
from seamripper.experiment.worker import Worker


@dataclass(eq=False)
class InProcess(Engine):
    """Carries out each job in this process, at once, as a worker of the engine `local` does in its own."""

    name = "in_process"
    places = 1

    worker: Any = None
    results: list[Result] = field(default_factory=list)

    def require(self, terms: Terms) -> None:
        """Whatever is asked for."""

    def begin(self, terms: Terms) -> None:
        """A worker that has loaded nothing yet."""
        self.worker = Worker(terms.store, "in-process", device=terms.device)

    @property
    def free(self) -> int:
        """One job at a time, until its result was taken."""
        return 1 - len(self.results)

    def start(self, job: Job) -> None:
        """Carry it out."""
        self.results.append(carry_out(job, self.worker))

    def wait(self, seconds: float) -> list[Result]:
        """That of the last job."""
        results, self.results = self.results, []
        return results

    def close(self) -> None:
        """Nothing is left running."""
