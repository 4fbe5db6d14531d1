"""The two models of a swap, each at the cuts that come into question, with its activations from one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from torch import nn

from seamripper._progress import Progress, Watcher
from seamripper.activations import Activations, collect_cuts, replay
from seamripper.cut import Cut, Split, cuts, heads, split
from seamripper.cut.many import Heads
from seamripper.cut.values import first_of
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import CutError, StitchError
from seamripper.models.model import Model
from seamripper.stitches import Stitch, auto
from seamripper.stitches.expand_linear import ExpandLinear

BLOCKS = 2
"""How many of a model's last blocks are tried, beside the input of its last layer."""


@dataclass(frozen=True, eq=False)
class ModelSide:
    """A model at its cuts: what it shows of the samples there, all from one pass."""

    heads: Heads
    activations: dict[str, Activations]
    samples: Samples
    _splits: dict[str, Split] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model, names: Sequence[str] | None, samples: Samples, role: str, watch: Watcher) -> ModelSide:
        """Run the model over the samples once; without names, at the cuts of its end."""
        example = first_of(model.present(samples).batch(slice(0, 2)), 2)
        try:
            some = heads(model, names or last_cuts(model, example, output=role == "new"), example)
        except CutError as e:
            e.add_note(f"This is about the {role} model, {model.source}.")
            raise

        def tell(now: Progress) -> None:
            watch(replace(now, task=f"the {role} model"))

        kept = collect_cuts(some, samples, watch=tell)
        return cls(some, {each.cut.name: each for each in kept}, samples)

    @property
    def model(self) -> Model:
        """The frozen copy that runs."""
        return self.heads.model

    def split(self, cut: str) -> Split:
        """The model, cut there."""
        if cut not in self._splits:
            self._splits[cut] = split(self.model, cut, self.heads.example)
        return self._splits[cut]

    def replay(self, cut: str, rows: slice) -> tuple[Split, Paired]:
        """The sender with nothing left to compute, and its samples of these rows: see `seamripper.activations`."""
        return replay_rows(self.split(cut), self.samples.take(rows), self.activations[cut], rows)


def replay_rows(half: Split, samples: Samples, activations: Activations, rows: slice) -> tuple[Split, Paired]:
    """What `replay` gives for some rows of activations, which stay where they are."""
    mask = None if activations.mask is None else activations.mask[rows]
    columns = {name: getattr(activations, name)[rows] for name in ("values", "labels", "ids")}
    return replay(half, samples, replace(activations, **columns, context={}, mask=mask))


def last_cuts(model: Model, example: Inputs, *, output: bool) -> list[str]:
    """The input of the last layer with parameters, and the last blocks in front of it; with `output` the answer too.

    A new model may be a backbone without a head, so that its answer is what it has to say.
    """
    every = cuts(model, example)
    inside = [cut for cut in every if cut.before and cut.after]
    if not inside:
        raise CutError("There is no cut with parameters on both sides, so it has no front that another could replace.")
    chosen = {(inside[-1].before, inside[-1].after): inside[-1]}
    blocks = heads(model, None, example).cuts
    stacked = [cut for cut in blocks if any(_is_stacked(model.module, name) for name in (cut.name, *cut.aliases))]
    for block in reversed(stacked or blocks):
        # A block that has no parameters of its own, a ReLU say, is no other place to cut.
        if block.before and block.after and len(chosen) <= BLOCKS:
            chosen.setdefault((block.before, block.after), block)
    return [cut.name for cut in (*chosen.values(), *(every[-1:] if output else ()))]


def _is_stacked(module: nn.Module, name: str) -> bool:
    """Whether this is one of a stack of modules, as the blocks of most networks are, and not a part of one."""
    parent = name.rpartition(".")[0]
    return ":" not in name and bool(parent) and isinstance(module.get_submodule(parent), nn.Sequential | nn.ModuleList)


def pairs_that_fit(new: ModelSide, old: ModelSide) -> tuple[list[tuple[Cut, Cut, Stitch]], dict[str, str]]:
    """Every cut of the new model with every cut of the old one that a plain stitch can join; the others with reasons.

    From a vector to a map or to tokens nothing is tried: such a stitch would have to make up the positions.
    """
    fitting, others = [], {}
    for source in new.heads.cuts:
        for target in old.heads.cuts:
            try:
                stitch = auto(source, target)
            except StitchError as e:
                others[pair_name(source, target)] = str(e)
                continue
            if isinstance(stitch, ExpandLinear):
                others[pair_name(source, target)] = "a vector says nothing about positions"
            else:
                fitting.append((source, target, stitch))
    return fitting, others


def pair_name(source: Cut, target: Cut) -> str:
    """Two cuts as a table names them."""
    return f"{source.name} → {target.name}"
