"""The control `shifted_labels`: the receiver's own front, shown a sample of another class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.controls.base import Case, Control, Counterpart
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError


@dataclass(frozen=True)
class ShiftedLabels(Control):
    """The receiver into itself, with its front shown a sample of class i where its back expects one of class i + k.

    A network that tells a 0 from a 1 must represent them by different information, so a stitch that turns one into the
    other has found nothing in common; yet Smith et al. 2025 (section 5.3, Figure 3) reach 99 % at deep cuts. Only
    classes that occur in both sets count, and the first follows the last: with `k` = 1 and the classes 0, 3 and 7, a 7
    is shown for a 0. It works for every matching, as samples are paired and labels stay the receiver's.
    """

    name = "shifted_labels"
    paper = "Smith, Mannering, Marcu 2025, section 5.3"
    formula = "tail(stitch(head(x′))),  x of class i + k,  x′ of class i"
    about = "the receiver's own front, shown a sample of class i in place of one of class i + k"
    known = "nothing"
    origin = "mispaired"
    own_weights = True
    of_sender = False
    least = {"k": 1}

    k: int = 1

    def stitches(self, case: Case) -> int:
        """One per seed."""
        return len(case.seeds)

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The receiver, with other pairs for each seed."""
        self.require_fit(case, case.receiver.cut)
        for part in (case.fit, case.test):
            if part.receiver.per_token:
                raise InapplicableError(f"{part.name} has a label for each token, so no sample has a class to shift.")
        kinds = torch.arange(case.fit.classes)
        kinds = kinds[torch.isin(kinds, case.fit.labels) & torch.isin(kinds, case.test.labels)]
        if len(kinds) < 2 or self.k % len(kinds) == 0:
            raise InapplicableError(
                f"{case.fit.name} and {case.test.name} have {len(kinds)} classes in common, among which a shift by "
                f"{self.k} changes nothing. Choose another k, or samples of more classes."
            )
        for seed in case.seeds:
            fit, test = (shift_classes(part.receiver, kinds, k=self.k, seed=seed) for part in (case.fit, case.test))
            yield Counterpart(f"class i for class i + {self.k}", seed, case.receiver, fit, test)


def shift_classes(samples: Samples, kinds: Tensor, *, k: int, seed: int) -> Paired:
    """The samples of these classes; the sender is shown one of the class `k` places before each, drawn by seed.

    A sample is shown twice only where its class has fewer samples than the other.

    >>> six = Samples("six", torch.arange(6.0)[:, None], torch.tensor([0, 1, 2, 0, 1, 2]), torch.arange(6), 3)
    >>> shift_classes(six, torch.tensor([0, 1, 2]), k=1, seed=0).sender.labels
    tensor([2, 0, 1, 2, 0, 1])
    """
    used = samples.take(torch.isin(samples.labels, kinds))
    generator = torch.Generator().manual_seed(seed)
    shown = torch.empty(len(used), dtype=torch.int64)
    for place, kind in enumerate(kinds):
        rows = (used.labels == kind).nonzero().flatten()
        pool = (used.labels == kinds[(place - k) % len(kinds)]).nonzero().flatten()
        pool = pool[torch.randperm(len(pool), generator=generator)]
        shown[rows] = pool[torch.arange(len(rows)) % len(pool)]
    return Paired(used.take(shown), used)
