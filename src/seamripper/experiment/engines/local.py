"""The engine `local`: a small pool of processes on this machine.

Each worker is a fresh interpreter that takes orders as lines of JSON and keeps what it has loaded. It ends with the
driver, however that ends. The order of a worker that dies goes to another.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from seamripper._doors import require_whole
from seamripper.errors import ExperimentError
from seamripper.experiment.engines.base import Answer, Engine, Order, Terms

_CHUNK = 1 << 20


@dataclass(eq=False)
class _Hand:
    """A worker process, the two ends of the pipes to it, and what it is doing."""

    name: str
    process: subprocess.Popen[bytes]
    orders: int
    answers: int
    order: Order | None = None
    heard: bytearray = field(default_factory=bytearray)


class Local(Engine):
    """So many processes side by side, each with `threads` threads; by default as many as there are cores for.

    One thread each is best for studies of small networks: on two cores, two workers of one thread took 26.7 s for 24
    stitches, one worker of two threads 32.9 s (`benchmarks/study_workers.py`).
    """

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None:
            require_whole(workers, "workers", least=1, error=ExperimentError)
        self.workers = workers
        self._hands: list[_Hand] = []
        self._numbers = itertools.count(1)

    def require(self, terms: Terms) -> None:
        """Without a GPU, a job that asks for one is refused."""
        if terms.gpus:
            import torch

            found = torch.cuda.device_count()
            if not found or terms.gpus > found:
                raise ExperimentError(
                    f"A job of this experiment asks for {terms.gpus:g} GPU, and this machine has {found}. Set "
                    "`resources.gpus` to 0, or run it where there are some: --engine ray --address HOST:PORT."
                )

    def begin(self, terms: Terms) -> None:
        """Start the workers."""
        self.terms = terms
        self._selector = selectors.DefaultSelector()
        self._hands = [self._hired(k) for k in range(self.places)]

    @property
    def places(self) -> int:
        """As many as asked for, or as there are cores, or shares of GPUs, for."""
        if self.workers is not None:
            return self.workers
        cores = max(1, len(os.sched_getaffinity(0)) // self.terms.threads)
        if not self.terms.gpus:
            return cores
        import torch

        return max(1, min(cores, int(torch.cuda.device_count() / self.terms.gpus)))

    @property
    def free(self) -> int:
        """Workers with nothing to do."""
        return sum(hand.order is None for hand in self._hands)

    def start(self, order: Order) -> None:
        """Hand it to a worker with nothing to do."""
        hand = next(hand for hand in self._hands if hand.order is None)
        hand.order = order
        # A worker that has just died is found out by its silence; the order then goes to another.
        with contextlib.suppress(BrokenPipeError):
            _write(hand.orders, json.dumps(asdict(order), allow_nan=False).encode() + b"\n")

    def wait(self, seconds: float) -> list[Answer]:
        """What the workers have said, and who has died."""
        found: list[Answer] = []
        for key, _ in self._selector.select(seconds):
            hand: _Hand = key.data
            said = os.read(hand.answers, _CHUNK)
            if not said:
                found += self._buried(hand)
                continue
            hand.heard += said
            for line in _lines(hand.heard):
                hand.order = None
                found.append(Answer(**json.loads(line)))
        return found

    def close(self) -> None:
        """Close the pipes, at which workers end, and see that they have."""
        for hand in self._hands:
            self._let_go(hand)
        self._hands = []

    def _hired(self, number: int) -> _Hand:
        """A new worker."""
        name = f"local-{os.getpid()}-{next(self._numbers)}"
        take, orders = os.pipe()
        answers, give = os.pipe()
        words = [json.dumps(asdict(self.terms)), name, str(os.getpid()), str(take), str(give)]
        env = {**os.environ, **self._device(number)}
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "seamripper.experiment.engines.hand", *words],
                pass_fds=(take, give),
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno() if _has_fileno() else subprocess.DEVNULL,
                env=env,
            )
        finally:
            os.close(take)
            os.close(give)
        hand = _Hand(name, process, orders, answers)
        self._selector.register(answers, selectors.EVENT_READ, hand)
        return hand

    def _device(self, number: int) -> dict[str, str]:
        """Which GPU a worker sees: several share one where each asks for a part."""
        if not self.terms.gpus:
            return {}
        if self.terms.gpus < 1:
            return {"CUDA_VISIBLE_DEVICES": str(int(number * self.terms.gpus))}
        each = int(self.terms.gpus)
        return {"CUDA_VISIBLE_DEVICES": ",".join(str(number * each + k) for k in range(each))}

    def _buried(self, hand: _Hand) -> list[Answer]:
        """A worker has died: another takes its place, and its order is told of."""
        number = self._hands.index(hand)
        self._let_go(hand)
        self._hands[number] = self._hired(number)
        if hand.order is None:
            return []
        return [Answer(hand.order.key, "died", worker=hand.name, note=_how(hand.process.returncode))]

    def _let_go(self, hand: _Hand) -> None:
        self._selector.unregister(hand.answers)
        os.close(hand.orders)
        os.close(hand.answers)
        with contextlib.suppress(subprocess.TimeoutExpired):
            hand.process.wait(2)
            return
        hand.process.kill()
        hand.process.wait()


def _how(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def _has_fileno() -> bool:
    try:
        sys.stderr.fileno()
    except (OSError, AttributeError, ValueError):
        return False
    return True


def _write(pipe: int, data: bytes) -> None:
    while data:
        data = data[os.write(pipe, data) :]


def _lines(heard: bytearray) -> Iterator[bytes]:
    """The whole lines at the beginning, which are taken away."""
    while (end := heard.find(b"\n")) >= 0:
        yield bytes(heard[:end])
        del heard[: end + 1]
