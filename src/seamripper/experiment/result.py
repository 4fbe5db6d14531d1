"""Result: what came of one job, the same value from the worker that computed it to the report that shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from seamripper.errors import ExperimentError, StoreError

State = Literal["done", "failed", "damaged", "died", "stopped"]


@dataclass(frozen=True)
class Result:
    """What came of one job. What is `done` or `failed` is written to the store.

    A job that failed has `error`, `message` and `traceback` for its record. Where nothing came of a job, its record has
    a `message` alone, and the job is done again: `damaged` names a tensor that it needs and that is damaged, `died`
    says how its worker ended, and `stopped` why the store cannot be written, which stops the run.

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
        if self.state not in ("damaged", "died", "stopped") and not is_result(vars(self), self.record):
            raise StoreError(f"Expected the result of a job, but got {self!r:.200}")

    @property
    def pair(self) -> str:
        """The sender and the receiver: `colour/0 → digit/1`."""
        return f"{model_name(self.labels, 'sender')} → {model_name(self.labels, 'receiver')}"

    @property
    def cut(self) -> str:
        """The cuts: one name if both models were cut at the same place, or if there is no sender to cut."""
        a, b = self.labels.get("sender_cut"), self.labels.get("receiver_cut")
        return str(b) if a is None or a == b else f"{a} → {b}"


class StudyResults(Protocol):
    """The results of a study so far, as its parts read them to report on them: a `Reading` is one."""

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the senders and receivers, in the order in which they are met."""

    def of(self, kind: str) -> list[Result]:
        """The results of one kind that were done."""

    def tensor(self, result: Result, role: str, kind: str) -> dict[str, Any] | None:
        """The tensors of a result under a role; None if there are none, or they cannot be read any more."""


def model_name(labels: Mapping[str, Any], role: str) -> str:
    """The name of a model, with its seed if it has one.

    >>> model_name({"sender": "colour", "sender_seed": 0}, "sender")
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
    says_why = state == "done" or (state == "failed" and {"error", "message"} <= set(record))  # type: ignore[call-overload]
    return says_why and set(map(type, words)) == {str} and set(map(type, numbers)) <= {int, float}


# ---- records as JSON has them


def require_json(record: Mapping[str, Any]) -> None:
    """Refuse a record that could not be written as JSON, or not be read or shown afterwards.

    >>> require_json({"word": "\\ud800"})
    Traceback (most recent call last):
    seamripper.errors.ExperimentError: a text in it holds '\\ud800', which is half a character
    """
    try:
        json.dumps(record, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        raise ExperimentError("it is nested too deeply") from None
    except UnicodeEncodeError as e:
        raise ExperimentError(f"a text in it holds {e.object[e.start]!r}, which is half a character") from None
    except (TypeError, ValueError) as e:
        raise ExperimentError(str(e)) from e
