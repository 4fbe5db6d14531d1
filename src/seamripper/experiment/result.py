"""Result: what came of one job, the same value from the worker that computed it to the report that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from seamripper.errors import StoreError

State = Literal["done", "failed"]


@dataclass(frozen=True)
class Result:
    """The result of one job. A job that failed has `error`, `message` and `traceback` for its record.

    `labels` are what an experiment calls the job. `seconds`, `started`, `worker` and `run` describe the circumstances,
    and may differ where results are the same.
    """

    key: str
    kind: str
    state: State
    record: Mapping[str, Any] = field(repr=False)
    tensors: Mapping[str, str] = field(default_factory=dict, repr=False)
    labels: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    started: float = 0.0
    worker: str = ""
    run: str = ""

    def __post_init__(self) -> None:
        if not is_result(vars(self), self.record):
            raise StoreError(f"Expected the result of a job, but got {self!r:.200}")

    @property
    def pair(self) -> str:
        """The sender and the receiver: `colour/0 → digit/1`."""
        return f"{named(self.labels, 'sender')} → {named(self.labels, 'receiver')}"

    @property
    def cut(self) -> str:
        """The cuts: one name if both models were cut at the same place, or if there is no sender to cut."""
        a, b = self.labels.get("sender_cut"), self.labels.get("receiver_cut")
        return str(b) if a is None or a == b else f"{a} → {b}"


def named(labels: Mapping[str, Any], role: str) -> str:
    """The name of a model, with its seed if it has one.

    >>> named({"sender": "colour", "sender_seed": 0}, "sender")
    'colour/0'
    """
    seed = labels.get(f"{role}_seed")
    return str(labels.get(role, "?")) + ("" if seed is None else f"/{seed}")


def is_result(facts: Mapping[str, Any], record: object) -> bool:
    """Whether these are the facts of a result: the seal of a line shows that it was not damaged, and no more."""
    tensors, state = facts["tensors"], facts["state"]
    for mapping in (record, tensors):
        if type(mapping) is not dict and not isinstance(mapping, Mapping):
            return False
    words = [facts["key"], facts["kind"], facts["worker"], facts["run"], *tensors, *tensors.values()]
    numbers = [facts["seconds"], facts["started"]]
    whole = state == "done" or (state == "failed" and {"error", "message"} <= set(record))  # type: ignore[call-overload]
    return whole and set(map(type, words)) == {str} and set(map(type, numbers)) <= {int, float}
