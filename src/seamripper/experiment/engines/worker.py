"""Worker: carries out one order after the other, at a desk that it keeps. The same for every engine."""

from __future__ import annotations

import errno
import os
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any

from seamripper._words import out_of_memory
from seamripper.errors import DamagedError, ExperimentError, StoreError
from seamripper.experiment.desk import Desk
from seamripper.experiment.engines.base import Answer, Order, Terms
from seamripper.experiment.kinds import kind_named
from seamripper.experiment.kinds.base import require_json
from seamripper.experiment.store import DAMAGED, TENSORS, WORK
from seamripper.experiment.tensors import Tensors

_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}


class Worker:
    """A worker by its name. It sees the store's tensors, and never its ledger."""

    def __init__(self, terms: Terms, name: str) -> None:
        from pathlib import Path

        use_threads(terms.threads)
        folder = Path(terms.store)
        self.name = name
        self.desk = Desk(Tensors(folder / TENSORS, folder / DAMAGED), lambda key: folder / WORK / key[:32])

    def do(self, order: Order) -> Answer:
        """Carry out an order. Whatever goes wrong becomes an answer."""
        started, clock = time.time(), time.perf_counter()

        def answer(ending: Any, **more: Any) -> Answer:
            return Answer(
                order.key, ending, started=started, seconds=time.perf_counter() - clock, worker=self.name, **more
            )

        try:
            self.desk.turn_to(order.key, order.where, order.inputs)
            found = kind_named(order.kind).run(order.content, self.desk)
            _require_record(found.record)
        except DamagedError as e:
            return answer("damaged", note=e.name)
        # Ctrl-C does not reach a worker: whatever would end it was raised by the job.
        except BaseException as e:
            if isinstance(e, StoreError) or _unwritable(e):
                return answer("stop", note=str(e))
            return answer("failed", record=told(e))
        return answer("done", record=found.record, tensors=found.tensors)


def _require_record(record: Mapping[str, Any]) -> None:
    try:
        require_json(record)
    except ExperimentError as e:
        raise ExperimentError(f"Expected a result that can be written as JSON and read again, but {e}.") from e


def told(error: BaseException) -> dict[str, Any]:
    """An error as a result keeps it."""
    said = str(error) or f"It raised {type(error).__name__}."
    if out_of_memory(error):
        said = f"There was not enough memory for this job: {said.splitlines()[0]}"
    message = " ".join([said, *getattr(error, "__notes__", ())])
    lines = "".join(traceback.format_exception(error))
    return {"error": type(error).__name__, "message": _text(message), "traceback": _text(lines)}


def _text(text: str) -> str:
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
