"""Activations: what a head shows on given samples, computed once and kept in memory or, if large, on disk."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from seamripper._doors import require_function, require_path, require_whole
from seamripper._files import save_tensors
from seamripper._notebook import short
from seamripper._progress import Progress, Watcher, nobody
from seamripper.cut.frozen import seal
from seamripper.cut.halves import Context
from seamripper.cut.on_data import prove_halves, views_of
from seamripper.cut.place import Cut
from seamripper.cut.split import Split, require_split
from seamripper.data.padding import tokens_that_count, trim, trim_pair
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples, batches_in
from seamripper.errors import DataError, FileError

KIND = "set of activations"
"""What a file of activations says that it holds."""
AT_ONCE = 256
"""Samples that a network is shown at a time, unless the caller says otherwise."""
MEMORY = 4 * 1024**3
"""Activations larger than this many bytes are kept on disk, unless the caller says otherwise."""


@dataclass(frozen=True, eq=False)
class Activations:
    """Activations at one cut, a row a sample, in the order of the samples; with what passes beside the cut.

    `made_from` tells what is known of the model and the data. Labels and ids of -1 are not known. `mask` (n, tokens)
    tells which tokens of the samples count; None if all do.
    """

    cut: Cut
    values: Tensor
    labels: Tensor
    ids: Tensor
    context: Context = field(default_factory=dict)
    kept: Literal["memory", "disk"] = "memory"
    made_from: Mapping[str, Any] = field(default_factory=dict)
    mask: Tensor | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Activations(at {short(str(self.cut), 120)!r}, n = {len(self)}, kept in {self.kept})"

    def beside(self, index: Tensor | slice) -> Context:
        """The context of the samples at `index`."""
        return {name: value[index] for name, value in self.context.items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them to one safetensors file, which `load_activations` reads."""
        tensors = {"values": self.values, "labels": self.labels, "ids": self.ids}
        tensors |= {f"context.{name}": value for name, value in self.context.items()}
        tensors |= {} if self.mask is None else {"mask": self.mask}
        save_tensors(path, tensors, self.as_record(), kind=KIND)

    def as_record(self) -> dict[str, Any]:
        """All that is not a tensor, as JSON has it."""
        return {"cut": self.cut.as_record(), "n": len(self), "made_from": dict(self.made_from)}


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
    """One pass of the head over the samples.

    `beside` is the split whose tail the activations are meant for (the receiver): its context is kept along, and of a
    pair the head is shown the sender's samples. Without it the head is shown the receiver's. More than
    `memory` bytes go to a file in `folder` (the system's temporary one) that vanishes with the process. Places that are
    padding in all samples are cut off first, and `Activations.mask` tells of those that are left.
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
    batch: int = 256,
    memory: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    watch: Watcher = nobody,
) -> Activations:
    """What `collect` gives for samples of any length: nothing is cut off, so two such passes have the same places."""
    values, context, done = None, {}, 0
    steps, task = batches_in(len(samples), batch), f"activations at {split.cut.name}"
    kept: Literal["memory", "disk"] = "memory"
    pair = Paired.of(samples)
    views = Paired.of(split.model.present(pair.receiver)) if beside is None else views_of(pair, split, beside)
    with torch.no_grad(), seal({"model": split.model.module}):
        for given, inputs in views.batches(batch):
            rows = split.head(given)
            require_finite(rows, split.cut.name, samples.ids[done : done + len(rows)])
            extra = (beside or split).beside(inputs)
            if values is None:
                prove_halves(split, views.sender, role="model", batch=batch, activations=rows)
                # Sized by the first batch: its shape, not the example's, is what this data gives.
                needs = rows[0].numel() * rows.element_size() * len(samples)
                kept = "disk" if needs > (MEMORY if memory is None else memory) else "memory"
                where = tempfile.gettempdir() if folder is None else folder
                values = room((len(samples), *rows.shape[1:]), rows.dtype, Path(where) if kept == "disk" else None)
                context = {k: v.new_empty(len(samples), *v.shape[1:]) for k, v in extra.items()}
            values[done : done + len(rows)] = rows
            for name, value in extra.items():
                context[name][done : done + len(rows)] = value
            done += len(rows)
            watch(Progress(task, batches_in(done, batch), steps))
    assert values is not None
    made_from = {"model": split.model.source, "data": samples.name}
    mask = None if split.cut.layout == "nd" else tokens_that_count(views.sender.inputs)
    return Activations(split.cut, values, samples.labels, samples.ids, context, kept, made_from, mask)


def require_finite(rows: Tensor, where: str, ids: Tensor) -> None:
    """Refuse activations with NaN or Inf, naming the layer and the first sample."""
    bad = first_bad(rows)
    if bad is not None:
        raise DataError(
            f"The activations at {where!r} hold NaN or Inf, first for the sample with id {int(ids[bad])}. "
            "Look at that sample and at the weights before the layer."
        )


def first_bad(rows: Tensor) -> int | None:
    """The first sample with NaN or Inf, by its number; None if all are finite."""
    # A sum is finite only if all its terms are (or two infinities cancel to NaN), and costs one pass without a mask.
    if bool(torch.isfinite(rows.sum())):
        return None
    bad = (~torch.isfinite(rows).flatten(1).all(1)).nonzero()
    return int(bad[0, 0]) if len(bad) else None


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
