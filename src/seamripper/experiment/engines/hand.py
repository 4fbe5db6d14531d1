"""A worker process of the engine `local`: `python -m …engines.hand TERMS NAME PARENT ORDERS ANSWERS`."""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from dataclasses import asdict

from seamripper.experiment._processes import end_with
from seamripper.experiment.engines.base import Order, Terms
from seamripper.experiment.engines.worker import Worker


def main(terms: str, name: str, parent: int, orders: int, answers: int) -> None:
    """Take orders as lines from one pipe and answer on another, until the first is closed or the parent has ended."""
    end_with(parent)
    # Ctrl-C is for the driver, which then closes the pipes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    waiting: queue.SimpleQueue[Order] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders, waiting), daemon=True).start()
    worker = Worker(Terms(**json.loads(terms)), name)
    while True:
        answer = worker.do(waiting.get())
        line = json.dumps(asdict(answer), allow_nan=False).encode() + b"\n"
        while line:
            line = line[os.write(answers, line) :]


def _listen(orders: int, waiting: queue.SimpleQueue[Order]) -> None:
    """Hand on orders. At the end of the pipe the driver has ended, and so does this, whatever it is doing."""
    with os.fdopen(orders, "rb") as pipe:
        for line in pipe:
            waiting.put(Order(**json.loads(line)))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
