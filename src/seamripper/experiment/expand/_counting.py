"""How many jobs an experiment asks for, counted from its lists alone, before any of the jobs is made."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from seamripper.errors import ExperimentError
from seamripper.experiment.spec import Calling, Experiment, Joining, Pairs
from seamripper.experiment.toml import ordinal

MOST = 1_000_000
"""Jobs that can be planned at once. So many take about 2 GB and a minute; a slip of the pen asks for far more."""


def require_size(experiment: Experiment) -> None:
    """Refuse an experiment of more jobs than can be planned, with its size and the part that most of them are of."""
    sizes = dict(_sizes(experiment))
    total = sum(sizes.values())
    if total > MOST:
        part = max(sizes, key=lambda name: sizes[name])
        raise ExperimentError(
            f"The study {experiment.name!r} asks for {total:,} jobs, {sizes[part]:,} of them in {part}, and at most "
            f"{MOST:,} can be planned at once. Shorten the lists of {part}, or split the study into several files."
        )


def _sizes(experiment: Experiment) -> Iterator[tuple[str, int]]:
    for name, network in experiment.models.items():
        yield f"[models.{name}]", len(network.seeds)
    for name, size in _SIZES.items():
        for k, part in enumerate(getattr(experiment, name), 1):
            yield f"the {ordinal(k)} [[{name}]]", size(experiment, part)


def _pairs(experiment: Experiment, part: Pairs) -> int:
    """The pairs of networks that meet, as `Expansion.pairs` lets them; None is the seed of one that is loaded."""
    senders, receivers = (
        Counter(seed for word in words for seed in experiment.network(word)[1])
        for words in (part.senders, part.receivers)
    )
    every = senders.total() * receivers.total()
    if part.pairing == "all":
        return every
    seeded = (senders.total() - senders[None]) * (receivers.total() - receivers[None])
    equal = sum(n * receivers[seed] for seed, n in senders.items() if seed is not None)
    return every - seeded + (equal if part.pairing == "matched" else seeded - equal)


def _ways(part: Joining) -> int:
    return len(part.matchings) * len(part.stitches) * len(part.freeze) * len(part.seeds)


def _of_stitch(experiment: Experiment, part: Any) -> int:
    return _pairs(experiment, part) * len(part.cuts) * _ways(part) * (1 + len(part.controls))


def _of_control(experiment: Experiment, part: Any) -> int:
    return _pairs(experiment, part) * len(part.cuts) * _ways(part) * len(part.controls)


def _of_noise(experiment: Experiment, part: Any) -> int:
    receivers = sum(len(experiment.network(word)[1]) for word in part.receivers)
    return receivers * len(part.cuts) * len(part.radius) * max(1, len(part.classes)) * _ways(part)


def _of_compare(experiment: Experiment, part: Any) -> int:
    return _pairs(experiment, part) * (part.parts + 1 if part.parts > 1 else 1)


def _of_audit(experiment: Experiment, part: Any) -> int:
    return _pairs(experiment, part) * len(part.cuts)


def _of_pictures(experiment: Experiment, part: Any) -> int:
    return _pairs(experiment, part) * len(part.cuts) * len(part.matchings)


def _of_call(_: Experiment, part: Calling) -> int:
    return math.prod(map(len, part.grid.values())) * max(1, len(part.seeds))


_SIZES: Mapping[str, Callable[[Experiment, Any], int]] = {
    "stitch": _of_stitch,
    "control": _of_control,
    "noise": _of_noise,
    "compare": _of_compare,
    "audit": _of_audit,
    "pictures": _of_pictures,
    "call": _of_call,
}
"""How many jobs a part asks for, by the names of the parts; activations that stitches share are not counted."""
