"""Part: what a study can ask for, from its table in TOML to its section of the report."""

from __future__ import annotations

import abc
import base64
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, over_seeds
from seamripper.experiment.result import Result, StudyResults
from seamripper.experiment.tables import Study, Table
from seamripper.figures import Section, hue
from seamripper.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from seamripper.cut import Split
    from seamripper.data import Paired, Samples
    from seamripper.experiment.expansion import Expansion
    from seamripper.experiment.job import Job
    from seamripper.experiment.worker import Worker
    from seamripper.matching import Match


@dataclass(frozen=True)
class Output:
    """What a job gives: a record as JSON has it, and tensors by role, by the names that they go by in the store."""

    record: Mapping[str, Any]
    tensors: Mapping[str, str] = field(default_factory=dict)


Row = dict[str, Any]
"""A row of the results table: labels, the figure's name, its value, interval and n."""


class Part(Table, abc.ABC):
    """A part of a study: its fields are the keys of its table, and each of its jobs runs `run`.

    A job's kind is the part's name. A part that is not `asked_for` has no table: its jobs are made by other parts.
    """

    name: ClassVar[str]
    asked_for: ClassVar[bool] = True
    helps: ClassVar[bool] = False
    """Whether its results serve other jobs alone, and are dropped when those are done."""
    rate: ClassVar[float] = 1e-3
    """Seconds per unit of cost, as long as no job has been timed."""

    def size(self, study: Study) -> int:
        """How many jobs it asks for, counted from its lists."""
        return 0

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """The jobs that it asks for."""
        yield from ()

    @classmethod
    def share(cls, jobs: Iterable[Job], expansion: Expansion) -> Iterable[Job]:
        """The jobs of this kind, once all of them are known: those that have work in common may share it."""
        return jobs

    @classmethod
    @abc.abstractmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Do the job of this content. The same content gives the same result, to the bit, on one machine."""

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """How much work a job is, in a unit of the part's own: samples shown to a network, say."""
        return 1.0

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """The figures of a result, one row each."""
        yield from ()

    @classmethod
    def sections(cls, results: StudyResults) -> Iterator[Section]:
        """What the report of a study says of the results of this kind; nothing where there is nothing to say."""
        yield from ()


parts: Registry[Part] = Registry(Part, "seamripper.experiment.parts", what="part of a study", error=ExperimentError)
"""Every part by name, those of third parties included. A part's name is the kind of its jobs."""


def training_cost(content: Mapping[str, Any], n: int, scored: int) -> float:
    """Samples shown to a network by a matching: n to fit on, once and once more for each epoch; and those scored.

    A learning rate that is tried takes a quarter of the epochs.
    """
    matching = content["matching"]
    epochs = matching.get("training", {}).get("epochs", 1) * (1 + len(matching.get("rates", ())) / 4)
    return float(n * (1 + epochs) + scored)


def match_for(
    worker: Worker, content: Mapping[str, Any], sender: Split, receiver: Split, samples: Samples | Paired
) -> Match:
    """The match that a content asks for: with its stitch, by its matching, from its seed."""
    from seamripper.matching import match

    return match(
        sender,
        receiver,
        samples,
        stitch=worker.stitch(content["stitch"]),
        matching=worker.matching(content["matching"]),
        freeze=content.get("freeze", "all"),
        seed=content["seed"],
    )


# ---- rows


_LEARNING = (0.05, 0.01)
"""A stitch is still learning if its loss fell by more than this share, and by more than so much, over the last fifth of
its steps. A share alone would not do: cross-entropy that has come near to 0 goes on halving, and no answer changes."""


def at_rest(fall: float | None, loss_end: float) -> bool:
    """Whether training ended at rest, by the share by which the loss still fell in the end; False if nobody knows.

    >>> at_rest(0.0, 1.2), at_rest(0.2, 1.2), at_rest(0.2, 0.01), at_rest(None, 1.2)
    (True, False, True, False)
    """
    share, least = _LEARNING
    return fall is not None and (fall <= share or fall * loss_end <= least)


def figure_row(name: str, estimate: Mapping[str, Any] | None, **more: Any) -> Iterator[Row]:
    """The row of an estimate as `Estimate.as_record` writes it; none for None.

    JSON has no NaN, so a value that was not finite is null there: its row has no value, and a status that says so.

    >>> list(figure_row("top1", {"value": 0.9, "interval": [0.8, 1.0], "n": 20}))
    [{'figure': 'top1', 'value': 0.9, 'low': 0.8, 'high': 1.0, 'n': 20}]
    >>> list(figure_row("top1", {"value": None, "interval": None, "n": 20}, status="ok"))
    [{'status': 'ok; not finite', 'figure': 'top1', 'value': None, 'low': None, 'high': None, 'n': 20}]
    """
    if estimate is not None:
        low, high = estimate["interval"] or (None, None)
        if estimate["value"] is None:
            status = (more.get("status"), estimate.get("status", "not finite"))
            more = {**more, "status": "; ".join(filter(None, status))}
        row = {**more, "figure": name, "value": estimate["value"], "low": low, "high": high, "n": estimate["n"]}
        yield {**row, "unit": estimate["unit"]} if estimate.get("unit") else row


def functional_rows(result: Mapping[str, Any], **more: Any) -> Iterator[Row]:
    """The rows of a functional result; accuracies that are unreadable say so in their status."""
    unreadable = {"status": f"unreadable: {result['unreadable']}"} if result.get("unreadable") else {}
    for name in ("top1", "top5", "penalty", "relative_accuracy", "receiver_here"):
        yield from figure_row(name, result[name], **{**more, **unreadable})
    for name in ("agreement", "receiver_own", "kl", "top5_overlap"):
        yield from figure_row(name, result.get(name), **more)


def pack_hits(hits: Tensor) -> str:
    """Which samples are right, as text: eight to a byte.

    >>> import torch
    >>> unpack_hits(pack_hits(torch.tensor([True, False, True])), 3).tolist()
    [True, False, True]
    """
    import numpy as np

    return base64.b64encode(np.packbits(hits.numpy()).tobytes()).decode()


def unpack_hits(text: str, n: int) -> NDArray[np.bool_]:
    """Which of n samples are right."""
    import numpy as np

    return np.unpackbits(np.frombuffer(base64.b64decode(text), np.uint8), count=n).astype(bool)


def loss_rows(record: Mapping[str, Any]) -> Iterator[Row]:
    """Of a stitch that was trained on a task: its loss at the end, and by what share that still fell."""
    figures = record.get("figures", {})
    if "falling" in figures:
        for name, status in (("loss_end", "not finite"), ("falling", "too few steps to tell")):
            yield from figure_row(name, {"value": figures[name], "interval": None, "n": None, "status": status})


def rank_rows(record: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of the ranks that a record has.

    >>> [(row["figure"], row["value"]) for row in rank_rows({"rank": {"rank": 42, "effective": 9.5, "n": 2000}})]
    [('rank', 42.0), ('effective_rank', 9.5)]
    """
    for name in ("rank", "rank_native"):
        if name in record:
            ranks = record[name]
            yield {"figure": name, "value": float(ranks["rank"]), "n": ranks["n"]}
            effective = {"value": ranks["effective"], "interval": None, "n": ranks["n"]}
            yield from figure_row(f"effective_{name}", effective)


# ---- sections

Key = TypeVar("Key", bound=Hashable)


def groups_of(results: Iterable[Result], key: Callable[[Result], Key]) -> dict[Key, list[Result]]:
    """The results by a key, in the order in which the keys are met."""
    groups: dict[Key, list[Result]] = defaultdict(list)
    for result in results:
        groups[key(result)].append(result)
    return dict(groups)


def cuts_of(results: Iterable[Result]) -> tuple[str, ...]:
    """The cuts of these results, in the order in which the experiment names them."""
    return tuple(dict.fromkeys(result.cut for result in results))


def over(results: Sequence[Result], figure: str) -> Estimate:
    """A figure of functional results over training seeds, or over those of the stitch; of one, with its own interval.

    The unit is a pair of networks, or the receiver where the figure is of the receiver alone: what was measured of the
    same unit is averaged first.
    """
    roles = ("receiver",) if figure.startswith("receiver") else ("sender", "receiver")
    units: dict[str, list[tuple[Any, Estimate]]] = defaultdict(list)
    for result in results:
        estimate = Estimate.from_record(result.record["result"][figure], note="one seed, interval over samples")
        if not math.isnan(estimate.value):
            seeds = (str(result.labels.get(f"{role}_seed", "")) for role in roles)
            units[f"seed {' → '.join(seeds)}"].append((result.labels.get("seed"), estimate))
    if not units:
        return Estimate(math.nan)
    means = {unit: math.fsum(estimate.value for _, estimate in of) / len(of) for unit, of in units.items()}
    unit = "training seeds" if len(roles) == 1 else "pairs of training seeds"
    if len(means) == 1:
        (estimates,) = units.values()
        if len(estimates) == 1 or len(roles) == 1:
            # Several stitches into one receiver say the same of the receiver alone.
            return estimates[0][1]
        means = {f"stitch {k + 1}, seed {seed}": estimate.value for k, (seed, estimate) in enumerate(estimates)}
        unit = "stitch seeds"
    return replace(over_seeds(means, unit).as_share, note="mean and interval over them")


def colour_of(results: StudyResults, model: str) -> str:
    """The colour that a model has in every figure of a report."""
    names = results.models
    return hue(names.index(model)) if model in names else ""


def by_names(result: Result) -> str:
    """The pair without its seeds: `colour → digit`."""
    return f"{result.labels['sender']} → {result.labels['receiver']}"
