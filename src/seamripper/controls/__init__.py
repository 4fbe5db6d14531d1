"""Controls: the same comparison with a counterpart whose answer is known. One file each."""

from seamripper.controls.base import Case, Control, Counterpart, Known, Outcome
from seamripper.controls.choosing import control_named, controls

__all__ = ["Case", "Control", "Counterpart", "Known", "Outcome", "control_named", "controls"]
