"""What a sender shows at many cuts on the same samples, from one forward pass, in memory or, if large, on disk."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from torch import Tensor

from seamripper._progress import Progress, Watcher
from seamripper.activations.collect import MEMORY, require_finite, room
from seamripper.cut.many import Heads
from seamripper.data.samples import Samples, batches_in
from seamripper.measures._footprint import available


def sent(
    heads: Heads,
    wanted: Sequence[int],
    samples: Samples,
    *,
    batch: int,
    announce: Callable[[str], None],
    watch: Watcher,
) -> dict[int, Tensor]:
    """The activations at the wanted cuts, by their numbers, a row a sample.

    More than 4 GiB, or than half of what is free, go to files that vanish with the process.
    """
    kept: dict[int, Tensor] = {}
    done, n, steps = 0, len(samples), batches_in(len(samples), batch)
    for inputs, _ in heads.model.present(samples).batches(batch):
        shown = heads(inputs)
        if not kept:
            size = sum(math.prod(shown[i].shape[1:]) * shown[i].element_size() for i in wanted) * n
            folder = Path(tempfile.gettempdir()) if size > _memory() else None
            where = "in memory" if folder is None else f"in {folder}"
            announce(f"the sender's activations on {n:,} held-out samples are kept {where}: {size / 1e9:.1f} GB")
            kept = {i: room((n, *shown[i].shape[1:]), shown[i].dtype, folder) for i in wanted}
        stop = done + len(shown[0])
        for i, values in kept.items():
            require_finite(shown[i], heads.cuts[i].name, samples.ids[done:stop])
            values[done:stop] = shown[i]
        done = stop
        watch(Progress("the sender's activations", batches_in(done, batch), steps))
    return kept


def _memory() -> int:
    free = available()
    return MEMORY if free is None else min(MEMORY, free // 2)
