"""The control `other_seed`: networks trained like the receiver, from other seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seamripper.controls.base import Case, Control, Counterpart
from seamripper.errors import AuditError, InapplicableError


@dataclass(frozen=True)
class OtherSeed(Control):
    """A network trained like the receiver from another seed, in place of the sender.

    It has learnt the same information anew: what it loses is the difference between two runs of one training (Bansal et
    al. 2021). Such networks are `Case.others`; each is one counterpart, matched with the first of the case's seeds.
    """

    name = "other_seed"
    paper = "Bansal, Nakkiran, Barak 2021"
    formula = "tail(stitch(head′(x))),  head′ of a network trained like the receiver"
    about = "a network trained like the receiver from another seed: the same information, learnt independently"
    known = "same"

    def stitches(self, case: Case) -> int:
        """One per network."""
        return len(case.others)

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """Each other network, once."""
        if not case.others:
            raise InapplicableError(
                "No network trained like the receiver from another seed was given: pass one or more as `others`, cut "
                "where the receiver is cut, and the answer will be worth more."
            )
        for number, other in enumerate(case.others, 1):
            if other.fingerprint == case.receiver.fingerprint:
                raise AuditError(
                    f"Expected a network from another seed than the receiver's, but {other.model.source} has the "
                    "receiver's own weights, which the control 'self' is for. Pass another network, or none."
                )
            if case.looks and other.fingerprint == case.sender.fingerprint:
                raise AuditError(
                    f"Expected a network other than the sender, but {other.model.source} has the sender's weights, and "
                    "a sender cannot be its own control. Pass another network, or none."
                )
            self.require_fit(case, other.cut)
            label = f"other seed {number}: {other.model.source}"
            yield Counterpart(label, case.seeds[0], other, *case.receiver_samples)
