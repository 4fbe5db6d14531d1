"""What a kind of job is: what it does, what it costs, and what its result says in a table."""

from __future__ import annotations

import abc
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.errors import ExperimentError
from seamripper.registry import Choice, Registry

if TYPE_CHECKING:
    from seamripper.experiment.worker import Worker

Row = dict[str, Any]
"""A row of the results table: labels, the figure's name, its value, interval and n."""


@dataclass(frozen=True)
class Output:
    """What a job returns: a record that JSON can hold, and the names of its tensors in the store, by role."""

    record: Mapping[str, Any]
    tensors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind(Choice):
    """A kind of job. Leaves are one file each, and import torch only where they run."""

    what, error = "kind of job", ExperimentError
    helps: ClassVar[bool] = False
    """Whether its results serve other jobs alone, and are let go of when those are done."""
    rate: ClassVar[float] = 1e-3
    """Seconds that a unit of its cost takes, as long as none has been measured."""

    @abc.abstractmethod
    def run(self, content: Mapping[str, Any], worker: Worker) -> Output:
        """Do it. The same content gives the same result, to the bit, on one machine."""

    def cost(self, content: Mapping[str, Any]) -> float:
        """How much work it is, in units that are the same for all jobs of the kind: samples shown to a network, say."""
        return 1.0

    def rows(self, record: Mapping[str, Any]) -> Iterator[Row]:
        """The figures of a result, a row each."""
        yield from ()


kinds: Registry[Kind] = Registry(Kind, "seamripper.experiment.kinds", what="kind of job", error=ExperimentError)
"""Every kind of job by name."""


def figure(name: str, estimate: Mapping[str, Any] | None, **more: Any) -> Iterator[Row]:
    """The row of an estimate as `Estimate.as_record` writes it; none for None.

    JSON has no NaN, so a value that was not finite is null there: its row has no value, and a status that says so.

    >>> list(figure("top1", {"value": 0.9, "interval": [0.8, 1.0], "n": 20}))
    [{'figure': 'top1', 'value': 0.9, 'low': 0.8, 'high': 1.0, 'n': 20}]
    >>> list(figure("top1", {"value": None, "interval": None, "n": 20}, status="ok"))
    [{'status': 'ok; not finite', 'figure': 'top1', 'value': None, 'low': None, 'high': None, 'n': 20}]
    """
    if estimate is not None:
        low, high = estimate["interval"] or (None, None)
        if estimate["value"] is None:
            status = (more.get("status"), estimate.get("status", "not finite"))
            more = {**more, "status": "; ".join(filter(None, status))}
        row = {**more, "figure": name, "value": estimate["value"], "low": low, "high": high, "n": estimate["n"]}
        yield {**row, "unit": estimate["unit"]} if estimate.get("unit") else row


def functional(result: Mapping[str, Any], **more: Any) -> Iterator[Row]:
    """The rows of a functional result; accuracies that are unreadable have that for their status."""
    unreadable = {"status": f"unreadable: {result['unreadable']}"} if result.get("unreadable") else {}
    for name in ("top1", "top5", "penalty", "relative_accuracy", "receiver_here"):
        yield from figure(name, result[name], **{**more, **unreadable})
    for name in ("agreement", "receiver_own", "kl", "top5_overlap"):
        yield from figure(name, result.get(name), **more)


def course(record: Mapping[str, Any]) -> Iterator[Row]:
    """Of a stitch that was trained on a task: its loss at the end, and by what share that still fell."""
    figures = record.get("figures", {})
    if "falling" in figures:
        for name, status in (("loss_end", "not finite"), ("falling", "too few steps to tell")):
            yield from figure(name, {"value": figures[name], "interval": None, "n": None, "status": status})


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


def plain(value: Any) -> Any:
    """Figures as JSON has them: tuples are lists, what is not finite is null."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
