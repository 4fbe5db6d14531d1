"""Memory: what a pass will take, known before it begins, and how much is free."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from seamripper.comparing.forms import RowForm
from seamripper.comparing.moments import buffer_size
from seamripper.comparing.request import SLICE
from seamripper.errors import MeasureError
from seamripper.measures.memo import MOST

_SHARE = 0.8
"""Of the memory that is free, how much a pass may plan with: the networks themselves need some."""


@dataclass(frozen=True)
class Footprint:
    """Bytes for the sums, for one batch on its way through, for kept rows, and for what the measures make of it all.

    >>> print(Footprint(10**9, 2 * 10**8, 0))
    1.20 GB (sums 1.00 GB, a batch 200 MB, kept rows 0 MB, the measures 0 MB)
    """

    sums: int
    batch: int
    rows: int
    work: int = 0
    maps: int = 0
    """The activations of all samples, which only a null keeps."""
    disk: int = 0
    """The sums, where they stand on disk: then those of one fold are in memory, and batch and measures take turns."""

    @property
    def total(self) -> int:
        """All of it that is in memory."""
        turns = max(self.batch, self.work) if self.disk else self.batch + self.work
        return self.sums + turns + self.rows + self.maps

    def on_disk(self, folds: int) -> Footprint:
        """The same with the sums on disk.

        >>> Footprint(10, 2, 3, 4).on_disk(5).total
        9
        """
        return replace(self, sums=-(-self.sums // folds), disk=self.sums)

    def in_lanes(self, lanes: int) -> Footprint:
        """The same with so many passes side by side, each over a part of the samples, with sums of its own.

        >>> Footprint(10, 2, 3, 4).in_lanes(2).total
        34
        """
        return replace(self, sums=lanes * self.sums, batch=lanes * self.batch, rows=lanes * self.rows)

    def with_null(self, senders: Sequence[RowForm], receivers: Sequence[RowForm], samples: int) -> Footprint:
        """The same, with the maps of all samples kept for a null, the receivers' once more in another order."""
        sizes = [[form.size for form in forms] for forms in (senders, receivers)]
        return replace(self, maps=4 * samples * (sum(sizes[0]) + 2 * sum(sizes[1])))

    def __str__(self) -> str:
        parts = {"sums": self.sums, "a batch": self.batch, "kept rows": self.rows, "the measures": self.work}
        parts |= {"activations for the null": self.maps} if self.maps else {}
        parts |= {"on disk": self.disk} if self.disk else {}
        return f"{_size_text(self.total)} ({', '.join(f'{name} {_size_text(size)}' for name, size in parts.items())})"

    def require(self, room: int | None) -> None:
        """Refuse a pass that would not fit, and say what to change."""
        if room is None or self.total <= room:
            return
        advice = {
            self.work: "Keep fewer rows, choose fewer cuts, the sampling 'pool', or fewer folds",
            self.sums: "Choose fewer cuts, the sampling 'pool', or fewer folds",
            self.batch: "Use a smaller batch, fewer cuts, or the sampling 'pool'",
            self.rows: "Keep fewer rows, use the sampling 'pool', or leave out the measures that need rows",
            self.maps: "Give fewer samples, choose fewer cuts, use the sampling 'pool', or leave out the null",
        }[max(self.sums, self.batch, self.rows, self.work, self.maps)]
        raise MeasureError(f"The pass would take {self}, but there is room for {_size_text(room)}. {advice}.")


_SLICE_BYTES = 4 * 10**8
"""Activations of a slice; most networks stay below it."""


def _size_text(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 10**9 else f"{size / 1e6:.0f} MB"


def plan_memory(
    senders: Sequence[RowForm],
    receivers: Sequence[RowForm],
    *,
    batch: int,
    folds: int,
    moments: bool,
    keep: int,
    width: int = 4,
) -> Footprint:
    """The footprint of a pass over these cuts, with products of numbers of `width` bytes."""
    targets = {form.grid for form in receivers}
    wide, high = sum(form.width for form in senders), sum(form.width for form in receivers)
    own = [len(targets) * (f.width**2 + f.width) for f in senders] + [f.width**2 + f.width for f in receivers]
    every = (*senders, *receivers)
    # A slice is held as it comes, and what is made of it on its way to where it waits for being multiplied.
    slice_ = min(batch, slice_for([form.shown for form in every]))
    moving = 4 * slice_ * sum(form.shown + form.size for form in every)
    if moments:
        moving += width * buffer_size(senders, receivers, batch=batch, at_once=slice_)
    rows = keep * (len(targets) * wide + high) * (4 if targets == {(1, 1)} else 8)
    sums = 8 * folds * (wide * high + sum(own)) if moments else 0
    return Footprint(sums, moving, rows, _work(senders, receivers, folds + 1, moments=moments, keep=keep))


def slice_for(sizes: Sequence[int]) -> int:
    """How many samples to show both networks at once, if so many numbers come of one at each cut.

    >>> slice_for([64 * 32 * 32, 128 * 16 * 16]), slice_for([256 * 56 * 56] * 8)
    (32, 15)
    """
    return max(8, min(SLICE, _SLICE_BYTES // (4 * max(1, sum(sizes)))))


def _work(senders: Sequence[RowForm], receivers: Sequence[RowForm], times: int, *, moments: bool, keep: int) -> int:
    """What the measures hold at once, whole and with each fold left out: all senders, and one receiver."""
    sides = [form.width for form in senders] + [max(form.width for form in receivers)]
    numbers = 0
    if moments:
        # S, its eigenvectors and their loadings for every side; and a few products of each pair that is measured.
        pairs = torch.get_num_threads() * 4 * max(sides[:-1]) * sides[-1]
        numbers += times * (3 * sum(width**2 for width in sides) + pairs)
    if keep:
        # The rows, turned to no more columns than rows; and the distances that are kept, of which there is a limit.
        numbers += sum(keep * width + times * keep * min(width, keep) for width in sides)
        numbers += min(times * len(sides) * 2 * keep**2, MOST // 8)
    return 8 * numbers


def available() -> int | None:
    """Bytes of memory that a pass may plan with here; None if that is not known."""
    free = [size for size in (_free(), _left_in_group()) if size is not None]
    return int(_SHARE * min(free)) if free else None


def _free() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        try:
            return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError, AttributeError):
            return None


def _left_in_group() -> int | None:
    """What a container's limit leaves, if there is one."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        return None if limit == "max" else int(limit) - int((group / "memory.current").read_text())
    except (OSError, ValueError):
        return None
