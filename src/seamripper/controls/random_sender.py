"""The control `random_sender`: the sender's architecture, untrained."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from seamripper._fingerprint import tensors_of
from seamripper._options import require_options
from seamripper.controls._reinitialised import reinitialised
from seamripper.controls.base import Case, Control, Counterpart, Known
from seamripper.cut.split import Split, split
from seamripper.errors import AuditError, CutError, InapplicableError
from seamripper.models import Model


@dataclass(frozen=True)
class RandomSender(Control):
    """The sender with every parameter and buffer drawn anew: it has learnt nothing (Bansal 2021; Smith 2025, G).

    What it does is what the stitch, the receiver and an untrained network's sight of the input can do together: on
    Correlated digits it brought Smith's Digit receiver from 97.8 % to 99. `seeds` is how many are drawn; None means one
    for each of the case's seeds. With n of them no p-value is below 1 / (n + 1).

    >>> RandomSender(seeds=5).drawn((0, 4))
    (0, 4, 1, 2, 3)
    """

    name: ClassVar[str] = "random_sender"
    about: ClassVar[str] = "the sender with every parameter and buffer drawn anew: it has learnt nothing"
    known: ClassVar[Known] = "nothing"
    draws: ClassVar[bool] = True

    seeds: int | None = None

    def __post_init__(self) -> None:
        require_options(self, f"the control {self.name!r}", error=AuditError, seeds=1)

    def drawn(self, given: tuple[int, ...]) -> tuple[int, ...]:
        """The seeds to draw from: the given ones, then the least that are not among them."""
        more = (seed for seed in itertools.count() if seed not in given)
        return tuple(itertools.islice(itertools.chain(given, more), len(given) if self.seeds is None else self.seeds))

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """An untrained sender for each seed."""
        if not (case.looks and tensors_of(case.sender.model.module)):
            raise InapplicableError(
                f"The sender ({case.sender.model.source}) is no network, so there is nothing in it to draw anew."
            )
        for seed in self.drawn(case.seeds):
            sender, label = _untrained(case.sender, seed)
            yield Counterpart(label, seed, sender, case.fit, case.test)


def _untrained(sender: Split, seed: int) -> tuple[Split, str]:
    """The sender drawn anew and cut where it was, and what to call it."""
    model = sender.model
    module, left = reinitialised(model, seed)
    recipe = model.rebuild()
    record = {} if recipe is None else {"architecture": recipe}
    source = f"untrained {model.source} of seed {seed}"
    try:
        new = split(
            Model(module, source, model.input, model.classes, record, model.wants),
            sender.cut.name,
            sender.example,
            way=sender.way,
        )
    except CutError as e:
        raise InapplicableError(f"The sender, drawn anew, could not be cut where it was. {e}") from e
    return new, "untrained sender" + (f", with its own {', '.join(left)}" if left else "")
