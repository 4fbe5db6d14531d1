"""One column of a functional matrix: a receiver's cut, the sender's activations, and the stitch that joins them."""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from seamripper._devices import like, to_memory, widen
from seamripper._progress import Progress, Watcher
from seamripper.activations.collect import MEMORY, require_finite, room
from seamripper.comparing.forms import RowForm
from seamripper.comparing.memory import available
from seamripper.cut.fast import Fast, fast, plain
from seamripper.cut.many import Heads
from seamripper.cut.place import Cut
from seamripper.cut.split import Split
from seamripper.data.samples import Samples, batches_in
from seamripper.errors import StitchError
from seamripper.matching.solve import least_squares
from seamripper.measures.pair import Pair
from seamripper.stitches import auto
from seamripper.stitches.affine import Affine
from seamripper.stitches.base import LinearLayer
from seamripper.stitches.linear import apply_map
from seamripper.stitches.positions import resize_map
from seamripper.stitches.resize import Resize


@dataclass(frozen=True, eq=False)
class Column:
    """A receiver's cut: its number, the split there, and the tail that all the senders' activations run through."""

    number: int
    half: Split
    optimise: bool

    @functools.cached_property
    def tail(self) -> Fast:
        """The tail, with batch normalisation folded where that is true to the plain one."""
        return fast(self.half) if self.optimise else plain(self.half)

    @functools.cached_property
    def native(self) -> Tensor:
        """The receiver's own activations of its example: stitches give out such, where these are."""
        with torch.no_grad():
            shown: Tensor = self.half.head(self.half.example)
        return shown

    @torch.no_grad()
    def answers(self, values: Tensor, carry: Callable[[Tensor], Tensor], samples: Samples, *, batch: int) -> Tensor:
        """The stitched network's answers to the samples, of which `values` are the sender's activations."""
        beside = self.half.beside
        named = not isinstance(samples.inputs, Tensor)
        parts = []
        for start in range(0, len(values), batch):
            rows = slice(start, start + batch)
            context = beside(samples.batch(rows)) if named else None
            parts.append(widen(to_memory(self.tail.tail(carry(values[rows]), context))))
        return torch.cat(parts)


def by_moments(x: RowForm, y: RowForm) -> bool:
    """Whether the rows of the pass are those that the plain stitch between the two cuts maps."""
    try:
        stitch = auto(x.cut, y.cut)
    except StitchError:
        return False
    # Where a CLS token was left out of the pass, the moments are not those of all tokens.
    whole = all(form.cut.layout != "ntd" or math.prod(form.grid) == form.cut.shape[0] for form in (x, y))
    return isinstance(stitch, Affine | Resize) and whole


def solve_stitch(pair: Pair, source: Cut, target: Cut, native: Tensor) -> LinearLayer:
    """The plain stitch between the two cuts, to activations like the `native` ones, with the pair's map installed."""
    layer = auto(source, target).build(source, target).live_with(native.device, native.dtype)
    assert isinstance(layer, LinearLayer)
    solution = least_squares(pair.moments)
    weight, bias = layer.map()
    layer.install(like(solution.weight, weight), like(solution.bias, bias))
    return layer.eval().requires_grad_(False)


def carrier(layer: LinearLayer, source: Cut, target: Cut) -> Callable[[Tensor], Tensor]:
    """The layer in the cheaper order: where the map grows, it is mapped first and then resized.

    One map at every position commutes with bilinear resizing, whose weights add up to 1 at each of them.
    """
    if target.layout != "nchw" or math.prod(source.grid) >= math.prod(target.grid):
        return lambda x: layer.carry(x, None)
    weight, bias = layer.map()

    def carry(x: Tensor) -> Tensor:
        mapped = resize_map(apply_map(layer.receive(x), weight, bias, layout="nchw"), target.grid)
        return mapped if layer.gives is None else mapped.to(layer.gives)

    return carry


def sender_activations(
    heads: Heads,
    wanted: Sequence[int],
    samples: Samples,
    *,
    batch: int,
    announce: Callable[[str], None],
    watch: Watcher,
) -> dict[int, Tensor]:
    """The activations at the wanted cuts, by their numbers, one row per sample, from one forward pass.

    More than 4 GiB, or than half of what is free, go to files that vanish with the process.
    """
    activations: dict[int, Tensor] = {}
    done, n, steps = 0, len(samples), batches_in(len(samples), batch)
    for inputs, _ in heads.model.present(samples).batches(batch):
        values_at = heads(inputs)
        if not activations:
            size = sum(math.prod(values_at[i].shape[1:]) * values_at[i].element_size() for i in wanted) * n
            folder = Path(tempfile.gettempdir()) if size > _memory() else None
            where = "in memory" if folder is None else f"in {folder}"
            announce(f"the sender's activations on {n:,} held-out samples are kept {where}: {size / 1e9:.1f} GB")
            activations = {i: room((n, *values_at[i].shape[1:]), values_at[i].dtype, folder) for i in wanted}
        stop = done + len(values_at[0])
        for i, values in activations.items():
            require_finite(values_at[i], heads.cuts[i].name, samples.ids[done:stop])
            values[done:stop] = to_memory(values_at[i])
        done = stop
        watch(Progress("the sender's activations", batches_in(done, batch), steps))
    return activations


def _memory() -> int:
    free = available()
    return MEMORY if free is None else min(MEMORY, free // 2)
