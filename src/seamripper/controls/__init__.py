"""Controls: the same comparison with a counterpart whose answer is known. One file each."""

from seamripper.controls.base import Case, Control, Counterpart, Known, Origin, Outcome, controls
from seamripper.controls.probe import Probed, halves, probe, readable
from seamripper.controls.stand_in import AsTheyAre, stand_in

__all__ = [
    "AsTheyAre",
    "Case",
    "Control",
    "Counterpart",
    "Known",
    "Origin",
    "Outcome",
    "Probed",
    "controls",
    "halves",
    "probe",
    "readable",
    "stand_in",
]
