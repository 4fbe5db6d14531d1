"""Carrying out jobs, the same for every engine, and the process in which the engine `local` does so.

That process is `python -m seamripper.experiment.engines.process TERMS NAME PARENT JOBS RESULTS`.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from typing import Any

from seamripper._words import out_of_memory
from seamripper.errors import DamagedError, ExperimentError, StoreError
from seamripper.experiment.engines.base import Terms
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import Output, parts
from seamripper.experiment.result import Result, State, require_json
from seamripper.experiment.worker import Worker

_PR_SET_PDEATHSIG = 1
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}


def carry_out(job: Job, worker: Worker) -> Result:
    """Carry out a job. Whatever goes wrong is what came of it."""
    started, clock = time.time(), time.perf_counter()
    state: State
    try:
        worker.start(job)
        output = parts[job.kind].run(job.content, worker)
        _require_record(output)
        state = "done"
    except DamagedError as e:
        state, output = "damaged", Output({"message": e.name})
    # Ctrl-C does not reach a worker: whatever would end it was raised by the job.
    except BaseException as e:
        if isinstance(e, StoreError) or _unwritable(e):
            state, output = "stopped", Output({"message": str(e)})
        else:
            state, output = "failed", Output(error_record(e))
    seconds = time.perf_counter() - clock
    return Result(
        job.key, job.kind, state, output.record, output.tensors, seconds=seconds, started=started, worker=worker.name
    )


def _require_record(output: Output) -> None:
    try:
        require_json(output.record)
    except ExperimentError as e:
        raise ExperimentError(f"Expected a result that can be written as JSON and read again, but {e}.") from e


def error_record(error: BaseException) -> dict[str, Any]:
    """An error as the record of a failed job."""
    text = str(error) or f"It raised {type(error).__name__}."
    if out_of_memory(error):
        text = f"There was not enough memory for this job: {text.splitlines()[0]}"
    message = " ".join([text, *getattr(error, "__notes__", ())])
    lines = "".join(traceback.format_exception(error))
    return {"error": type(error).__name__, "message": _printable(message), "traceback": _printable(lines)}


def _printable(text: str) -> str:
    """Text that can be shown: half a character, which some libraries make, cannot."""
    return text.encode("utf-8", "backslashreplace").decode()


def _unwritable(error: BaseException | None) -> bool:
    """Whether the disk is what went wrong, and not the job."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _UNWRITABLE:
            return True
        error = error.__cause__
    return False


def use_threads(n: int) -> None:
    """Compute with so many threads: by the environment if torch is not there yet, so that nobody waits for it."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(n)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(n)


# ---- as a process


def main(terms: str, name: str, parent: int, jobs: int, results: int) -> None:
    """Take jobs as lines from one pipe and tell on another what came of each, until the first is closed."""
    _end_with(parent)
    # Ctrl-C is for the driver, which then closes the pipes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs, waiting), daemon=True).start()
    agreed = Terms(**json.loads(terms))
    use_threads(agreed.threads)
    worker = Worker(agreed.store, name, device=agreed.device)
    while True:
        line = json.dumps(vars(carry_out(waiting.get(), worker)), allow_nan=False).encode() + b"\n"
        while line:
            line = line[os.write(results, line) :]


def _end_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, of this number, ends, whatever it is doing then.

    Linux alone has this; elsewhere nothing is done. A thread that waits for the parent's end cannot take its place: a
    loop in C that does not let go of the interpreter keeps it from running.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # A parent that had ended before that tells nobody any more: then this process has been handed to another.
    if os.getppid() != parent:
        os._exit(0)


def _listen(jobs: int, waiting: queue.SimpleQueue[Job]) -> None:
    """Hand on jobs. At the end of the pipe the driver has ended, and so does this process, whatever it is doing."""
    with os.fdopen(jobs, "rb") as pipe:
        for line in pipe:
            waiting.put(Job.parse(json.loads(line)))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
