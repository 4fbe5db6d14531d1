"""The engine `local`: a small pool of processes on this machine.

Each worker is a fresh interpreter that takes jobs as lines of JSON and keeps what it has loaded. It ends with the
driver, however that ends. The job of a worker that dies goes to another.
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
from dataclasses import dataclass, field

from seamripper._doors import require_whole
from seamripper.errors import ExperimentError
from seamripper.experiment.engines.base import Engine, Terms
from seamripper.experiment.job import Job
from seamripper.experiment.result import Result

_CHUNK = 1 << 20


@dataclass(eq=False)
class _WorkerProcess:
    """A worker process, our ends of the pipes to it, and its job."""

    name: str
    process: subprocess.Popen[bytes]
    jobs: int
    results: int
    job: Job | None = None
    received: bytearray = field(default_factory=bytearray)


@dataclass(eq=False)
class Local(Engine):
    """Runs `workers` processes in parallel, each with `threads` threads; by default as many as the cores allow.

    One thread each is best for studies of small networks: on two cores, two workers of one thread took 26.7 s for 24
    stitches, one worker of two threads 32.9 s (`benchmarks/study_workers.py`).
    """

    name = "local"

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            require_whole(self.workers, "workers", least=1, error=ExperimentError)
        self._workers: list[_WorkerProcess] = []
        self._numbers = itertools.count(1)

    def require(self, terms: Terms) -> None:
        """Without a GPU, a job that asks for one is refused; so is any device that is not here."""
        if terms.device is not None and not terms.gpus:
            from seamripper._devices import as_device

            as_device(terms.device)
        if terms.gpus:
            import torch

            gpus = torch.cuda.device_count()
            if not gpus or terms.gpus > gpus:
                raise ExperimentError(
                    f"A job of this experiment asks for {terms.gpus:g} GPU, and this machine has {gpus}. Run it "
                    "with --device cpu, or where there are some: --engine 'ray?address=HOST:PORT'."
                )

    def begin(self, terms: Terms) -> None:
        """Start the workers."""
        self.terms = terms
        self._selector = selectors.DefaultSelector()
        self._workers = [self._start_worker(k) for k in range(self.places)]

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
        return sum(worker.job is None for worker in self._workers)

    def start(self, job: Job) -> None:
        """Hand it to a worker with nothing to do."""
        worker = next(worker for worker in self._workers if worker.job is None)
        worker.job = job
        # The pipe of a worker that has just died is found closed by `wait`; the job then goes to another.
        with contextlib.suppress(BrokenPipeError):
            _write(worker.jobs, json.dumps(job.as_record(), allow_nan=False).encode() + b"\n")

    def wait(self, seconds: float) -> list[Result]:
        """What came of the jobs that have ended, and of those whose worker has died."""
        results: list[Result] = []
        for key, _ in self._selector.select(seconds):
            worker: _WorkerProcess = key.data
            data = os.read(worker.results, _CHUNK)
            if not data:
                results += self._replace_worker(worker)
                continue
            worker.received += data
            for line in _take_lines(worker.received):
                worker.job = None
                results.append(Result(**json.loads(line)))
        return results

    def close(self) -> None:
        """Close the pipes, at which workers end, and see that they have."""
        for worker in self._workers:
            self._stop(worker)
        self._workers = []

    def _start_worker(self, number: int) -> _WorkerProcess:
        """A new worker."""
        name = f"local-{os.getpid()}-{next(self._numbers)}"
        take, jobs = os.pipe()
        results, give = os.pipe()
        words = [json.dumps(vars(self.terms)), name, str(os.getpid()), str(take), str(give)]
        env = {**os.environ, **self._device(number)}
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "seamripper.experiment.engines.process", *words],
                pass_fds=(take, give),
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno() if _has_fileno() else subprocess.DEVNULL,
                env=env,
            )
        finally:
            os.close(take)
            os.close(give)
        worker = _WorkerProcess(name, process, jobs, results)
        self._selector.register(results, selectors.EVENT_READ, worker)
        return worker

    def _device(self, number: int) -> dict[str, str]:
        """Which GPU a worker sees, of those that this process sees: several share one where each asks for a part."""
        share = self.terms.gpus
        if not share:
            return {}
        import torch

        given = os.environ.get("CUDA_VISIBLE_DEVICES")
        visible = given.split(",") if given else [str(k) for k in range(torch.cuda.device_count())]
        first, count = int(number * share) if share < 1 else number * int(share), max(1, int(share))
        # Where more workers are asked for than there are GPUs, they begin again with the first.
        return {"CUDA_VISIBLE_DEVICES": ",".join(visible[(first + k) % len(visible)] for k in range(count))}

    def _replace_worker(self, worker: _WorkerProcess) -> list[Result]:
        """Start another worker in the place of one that has died; what came of the job of that one."""
        number = self._workers.index(worker)
        self._stop(worker)
        self._workers[number] = self._start_worker(number)
        if worker.job is None:
            return []
        code = worker.process.returncode
        message = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        return [Result(worker.job.key, worker.job.kind, "died", {"message": message})]

    def _stop(self, worker: _WorkerProcess) -> None:
        self._selector.unregister(worker.results)
        os.close(worker.jobs)
        os.close(worker.results)
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.process.wait(2)
            return
        worker.process.kill()
        worker.process.wait()


def _has_fileno() -> bool:
    try:
        sys.stderr.fileno()
    except (OSError, AttributeError, ValueError):
        return False
    return True


def _write(pipe: int, data: bytes) -> None:
    while data:
        data = data[os.write(pipe, data) :]


def _take_lines(received: bytearray) -> Iterator[bytes]:
    """The whole lines at the beginning, which are taken away."""
    while (end := received.find(b"\n")) >= 0:
        yield bytes(received[:end])
        del received[: end + 1]
