"""The control `other_seed`: networks trained as the receiver was, from other seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from seamripper.controls.base import Case, Control, Counterpart, Known, require_fit
from seamripper.data.paired import Paired
from seamripper.errors import AuditError, InapplicableError


@dataclass(frozen=True)
class OtherSeed(Control):
    """A network trained as the receiver was, from another seed, in the place of the sender.

    The same information, learnt anew: what it misses of the receiver is what two runs of one training differ by
    (Bansal et al. 2021). Such networks are `Case.others`; each is one counterpart, matched with the first of the case's
    seeds. With the networks of the seeds 1 and 2 as others there are two outcomes.
    """

    name: ClassVar[str] = "other_seed"
    about: ClassVar[str] = "a network trained as the receiver was, from another seed: the same information, learnt anew"
    known: ClassVar[Known] = "same"

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """Each other network, once."""
        if not case.others:
            raise InapplicableError(
                "No network trained as the receiver was, from another seed, was given: give one or more, cut where the "
                "receiver is, and the answer will be worth more."
            )
        fit, test = (Paired.of(pair.receiver) for pair in (case.fit, case.test))
        for number, other in enumerate(case.others, 1):
            if other.fingerprint == case.receiver.fingerprint:
                raise AuditError(
                    f"Expected a network from another seed than the receiver's, but {other.model.source} has the "
                    "receiver's own weights: the control 'self' is for that. Give another network, or none."
                )
            if case.looks and other.fingerprint == case.sender.fingerprint:
                raise AuditError(
                    f"Expected a network other than the sender, but {other.model.source} has the sender's weights: a "
                    "sender cannot be its own control. Give another network, or none."
                )
            require_fit(case, other.cut, self.name)
            yield Counterpart(f"other seed {number}: {other.model.source}", case.seeds[0], other, fit, test)
