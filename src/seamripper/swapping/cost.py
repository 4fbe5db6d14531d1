"""What a network costs: parameters, floating-point operations, and measured seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from seamripper._devices import to_memory
from seamripper.cut.values import batch_of
from seamripper.data.samples import Inputs
from seamripper.estimate import Estimate

ROUNDS = 7
"""How often each network is timed; the median counts."""
Run = Callable[[Inputs], Tensor]


@dataclass(frozen=True)
class Cost:
    """Of one network. `flops` are per sample, a multiplication and an addition being two.

    `seconds` are per sample too: the median of the runs that were timed, between the fastest and the slowest of them.
    """

    parameters: int
    flops: int
    seconds: Estimate

    def as_record(self) -> dict[str, Any]:
        """The cost as JSON has it."""
        return {**vars(self), "seconds": self.seconds.as_record()}


def costs(networks: Mapping[str, tuple[Run, Inputs, int]]) -> dict[str, Cost]:
    """The cost of each network: how it is run, on which inputs, and how many parameters it has.

    The networks are timed in turns, so that what else the machine does is spread over all of them.
    """
    seconds: dict[str, list[float]] = {name: [] for name in networks}
    with torch.no_grad():
        flops = {name: _flops(run, inputs) for name, (run, inputs, _) in networks.items()}
        for _ in range(ROUNDS):
            for name, (run, inputs, _) in networks.items():
                start = time.perf_counter()
                # A GPU has finished when its answer is in main memory.
                to_memory(run(inputs))
                seconds[name].append((time.perf_counter() - start) / batch_of(inputs))
    return {name: Cost(networks[name][2], flops[name], _between(seconds[name])) for name in networks}


def _between(seconds: list[float]) -> Estimate:
    return Estimate(median(seconds), min(seconds), max(seconds), len(seconds), "runs")


def _flops(run: Run, inputs: Inputs) -> int:
    """Of one sample: matrix products, convolutions and attention, which are nearly all there is."""
    counter = FlopCounterMode(display=False)
    with counter:
        run(inputs)
    return round(counter.get_total_flops() / batch_of(inputs))
