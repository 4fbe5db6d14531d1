"""The control `shuffled`: the sender itself, fitted on samples that are paired at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from seamripper.controls.base import Case, Control, Counterpart
from seamripper.data.paired import Paired
from seamripper.errors import InapplicableError
from seamripper.models.running import derive_seed, use_seed

_PAIRS = 11
"""The key by which the seeds of permutations are derived."""


@dataclass(frozen=True)
class Shuffled(Control):
    """The stitch is fitted with the sender shown sample π(i) where receiver and label belong to sample i.

    The permutation π is drawn by the seed. It breaks the pairing of the samples to fit on only; scores are on true
    pairs. Nothing can be learnt from broken pairs, so the accuracy must be that of a guess, 0.1 for ten classes of one
    size. If it is higher, something other than the sender's activations tells the stitch what to answer.
    """

    name = "shuffled"
    formula = "fitted on (x_π(i), yᵢ),  scored on (xᵢ, yᵢ)"
    about = "the sender fitted on samples paired at random: it must fail"
    known = "broken"
    origin = "mispaired"

    def stitches(self, case: Case) -> int:
        """One per seed."""
        return len(case.seeds)

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The sender, with another permutation for each seed."""
        with use_seed(0):
            layer = case.stitch_from(case.sender.cut).build(case.sender.cut, case.receiver.cut)
        if not list(layer.parameters()):
            raise InapplicableError("The stitch has no parameters, so pairing samples at random cannot change it.")
        for seed in case.seeds:
            yield Counterpart("pairs at random", seed, case.sender, shuffle(case.fit, seed=seed), case.test)


def shuffle(pair: Paired, *, seed: int) -> Paired:
    """The same samples, shown to the sender in another order.

    >>> from seamripper.data.samples import Samples
    >>> four = Samples("four", torch.arange(4.0)[:, None], torch.tensor([0, 1, 0, 1]), torch.arange(4), 2)
    >>> mixed = shuffle(Paired.of(four), seed=0)
    >>> mixed.receiver.ids.tolist(), mixed.sender.ids.tolist()
    ([0, 1, 2, 3], [3, 2, 1, 0])
    """
    # Not the seed itself: a matching draws its own order of the samples from that one.
    order = torch.randperm(len(pair), generator=torch.Generator().manual_seed(derive_seed(seed, _PAIRS)))
    return Paired(pair.sender.take(order), pair.receiver)
