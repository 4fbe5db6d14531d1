"""collect: one pass of a head over samples; the activations are kept in memory or, if they are large, on disk."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from seamripper._devices import to_memory
from seamripper._doors import require_function, require_path, require_whole
from seamripper._progress import Progress, Watcher, nobody
from seamripper.activations.activations import Activations, first_bad
from seamripper.cut.frozen import seal
from seamripper.cut.many import Heads
from seamripper.cut.on_data import prove_halves, views_of
from seamripper.cut.split import Split, require_split
from seamripper.data.padding import tokens_that_count, trim, trim_pair
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples, batches_in
from seamripper.errors import DataError, FileError

AT_ONCE = 256
"""Samples that a network is shown at a time, unless the caller says otherwise."""
MEMORY = 4 * 1024**3
"""Activations larger than this many bytes are kept on disk, unless the caller says otherwise."""


def collect(
    split: Split,
    samples: Samples | Paired,
    *,
    beside: Split | None = None,
    batch: int = AT_ONCE,
    memory: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    watch: Watcher = nobody,
) -> Activations:
    """Run the head over the samples once, and keep the activations.

    `beside` is the split whose tail the activations are meant for (the receiver): its context is kept with them, and if
    the samples are a pair, the head is shown the sender's. Without `beside` the head is shown the receiver's.
    Activations of more than `memory` bytes go to a file in `folder` (by default the system's temporary folder), which
    vanishes with the process. Positions that are padding in all samples are cut off first; `Activations.mask` says
    which of the others count.
    """
    require_split(split, "split")
    pair = Paired.of(samples)
    if beside is not None:
        require_split(beside, "beside")
    require_whole(batch, "batch", least=1, error=DataError)
    if memory is not None:
        require_whole(memory, "memory", least=0, error=DataError)
    folder = None if folder is None else require_path(folder, "folder", error=FileError)
    require_function(watch, "watch", error=DataError)
    samples = trim(pair.receiver) if beside is None else trim_pair(pair)
    return activations_of(split, samples, beside=beside, batch=batch, memory=memory, folder=folder, watch=watch)


def activations_of(
    split: Split,
    samples: Samples | Paired,
    *,
    beside: Split | None = None,
    batch: int = AT_ONCE,
    memory: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    watch: Watcher = nobody,
) -> Activations:
    """What `collect` gives for samples of any length: nothing is cut off, so two such passes have the same places."""
    values, context, done = None, {}, 0
    kept: Literal["memory", "disk"] = "memory"
    pair = Paired.of(samples)
    views = Paired.of(split.model.present(pair.receiver)) if beside is None else views_of(pair, split, beside)
    batch = views.fitting(batch)
    steps, task = batches_in(len(samples), batch), f"activations at {split.cut.name}"
    with torch.no_grad(), seal({"model": split.model.module}):
        for given, inputs in views.batches(batch):
            rows = split.head(given)
            require_finite(rows, split.cut.name, samples.ids[done : done + len(rows)])
            extra = to_memory((beside or split).beside(inputs))
            if values is None:
                prove_halves(split, views.sender, role="model", batch=batch, activations=rows)
                # Sized by the first batch: its shape, not the example's, is what this data gives.
                needs = rows[0].numel() * rows.element_size() * len(samples)
                kept = "disk" if needs > (MEMORY if memory is None else memory) else "memory"
                where = tempfile.gettempdir() if folder is None else folder
                values = room((len(samples), *rows.shape[1:]), rows.dtype, Path(where) if kept == "disk" else None)
                context = {k: v.new_empty(len(samples), *v.shape[1:]) for k, v in extra.items()}
            values[done : done + len(rows)] = to_memory(rows)
            for name, value in extra.items():
                context[name][done : done + len(rows)] = value
            done += len(rows)
            watch(Progress(task, batches_in(done, batch), steps))
    assert values is not None
    made_from = {"model": split.model.source, "data": samples.name}
    mask = None if split.cut.layout == "nd" else tokens_that_count(views.sender.inputs)
    return Activations(split.cut, values, samples.labels, samples.ids, context, kept, made_from, mask)


def collect_cuts(
    heads: Heads, samples: Samples, *, batch: int = AT_ONCE, memory: int = MEMORY, watch: Watcher = nobody
) -> list[Activations]:
    """What `collect` gives at each cut of the heads, all from one pass; `memory` is for all of them together.

    >>> from torch import nn
    >>> from seamripper.cut import heads
    >>> toy = Samples("toy", torch.eye(4), torch.arange(4) % 2, torch.arange(4), classes=2)
    >>> some = heads(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), ["0", "1"], torch.zeros(1, 4))
    >>> [tuple(part.values.shape) for part in collect_cuts(some, toy)]
    [(4, 3), (4, 3)]
    """
    samples = trim(samples)
    view, done, n = heads.model.present(samples), 0, len(samples)
    batch = view.fitting(batch)
    values: list[Tensor] = []
    kept: Literal["memory", "disk"] = "memory"
    with seal({"model": heads.model.module}):
        for inputs, _ in view.batches(batch):
            rows_at = heads(inputs)
            if not values:
                needs = n * sum(rows[0].numel() * rows.element_size() for rows in rows_at)
                kept = "disk" if needs > memory else "memory"
                folder = Path(tempfile.gettempdir()) if kept == "disk" else None
                values = [room((n, *rows.shape[1:]), rows.dtype, folder) for rows in rows_at]
            stop = done + len(rows_at[0])
            for cut, rows, place in zip(heads.cuts, rows_at, values, strict=True):
                require_finite(rows, cut.name, samples.ids[done:stop])
                place[done:stop] = to_memory(rows)
            done = stop
            watch(Progress("activations at all cuts", batches_in(done, batch), batches_in(n, batch)))
    made_from = {"model": heads.model.source, "data": samples.name}
    mask = tokens_that_count(view.inputs)
    return [
        Activations(cut, rows, samples.labels, samples.ids, {}, kept, made_from, None if cut.layout == "nd" else mask)
        for cut, rows in zip(heads.cuts, values, strict=True)
    ]


def require_finite(rows: Tensor, where: str, ids: Tensor) -> None:
    """Refuse activations with NaN or Inf, naming the layer and the first sample."""
    bad = first_bad(rows)
    if bad is not None:
        raise DataError(
            f"The activations at {where!r} hold NaN or Inf, first for the sample with id {int(ids[bad])}. "
            "Look at that sample and at the weights before the layer."
        )


def room(shape: tuple[int, ...], dtype: torch.dtype, folder: Path | None) -> Tensor:
    """An empty tensor, in memory or in a file of `folder` that vanishes with the process."""
    if folder is None:
        return torch.empty(shape, dtype=dtype)
    count = math.prod(shape)
    size = count * torch.empty((), dtype=dtype).element_size()
    try:
        handle, name = tempfile.mkstemp(prefix="seamripper-", suffix=".activations", dir=folder)
        try:
            # Reserved now: a full disk is an error here, and a bus error if met while writing through the map.
            os.posix_fallocate(handle, 0, size)
            return torch.from_file(name, shared=True, size=count, dtype=dtype).reshape(shape)
        finally:
            os.close(handle)
            Path(name).unlink(missing_ok=True)
    except OSError as e:
        raise FileError(
            f"Keeping {size / 1e9:.1f} GB of activations in {folder} failed: {e.strerror}. "
            "Free some space, set TMPDIR to another disk, or use fewer samples."
        ) from e
