"""Whether the stitch of a case can join another cut than the sender's to the receiver."""

from __future__ import annotations

from seamripper.controls.base import Case
from seamripper.cut.place import Cut
from seamripper.errors import InapplicableError, StitchError
from seamripper.stitches import Stitch, auto, stitches


def stitch_of(case: Case, source: Cut) -> Stitch:
    """The stitch that the case chooses between this cut and the receiver's."""
    if case.stitch == "auto":
        return auto(source, case.receiver.cut)
    return case.stitch if isinstance(case.stitch, Stitch) else stitches.make(case.stitch)


def misfit(case: Case, source: Cut) -> str | None:
    """Why the case's stitch cannot join `source` to the receiver's cut; None if it can."""
    target = case.receiver.cut
    try:
        stitch = stitch_of(case, source)
    except StitchError as e:
        return str(e)
    why = stitch.misfit(source, target)
    return None if why is None else f"The stitch {stitch.name!r} cannot join {source} to {target}: {why}."


def require_fit(case: Case, source: Cut, control: str) -> None:
    """Refuse a counterpart that the case's stitch cannot join to the receiver."""
    why = misfit(case, source)
    if why is not None:
        raise InapplicableError(f"The control {control!r} keeps the stitch of the comparison. {why}")
