"""An engine for tests to which processes do not matter: none is started, so torch need not be imported again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from seamripper.experiment.engines import Ending, Engine, Order, Terms
from seamripper.experiment.engines.process import carry_out
from seamripper.experiment.worker import Worker


@dataclass(eq=False)
class InProcess(Engine):
    """Carries out each order in this process, at once, as a worker of the engine `local` does in its own."""

    name = "in_process"
    places = 1

    worker: Any = None
    endings: list[Ending] = field(default_factory=list)

    def require(self, terms: Terms) -> None:
        """Whatever is asked for."""

    def begin(self, terms: Terms) -> None:
        """A worker that has loaded nothing yet."""
        self.worker = Worker(terms.store, "in-process")

    @property
    def free(self) -> int:
        """One order at a time, until its ending was taken."""
        return 1 - len(self.endings)

    def start(self, order: Order) -> None:
        """Carry it out."""
        self.endings.append(carry_out(order, self.worker))

    def wait(self, seconds: float) -> list[Ending]:
        """That of the last order."""
        endings, self.endings = self.endings, []
        return endings

    def close(self) -> None:
        """Nothing is left running."""
