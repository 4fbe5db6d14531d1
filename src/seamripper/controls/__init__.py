"""Controls: the same comparison with a counterpart whose answer is known. One file each."""

from seamripper.controls.base import Case, Control, Counterpart, Known, Outcome, controls

__all__ = ["Case", "Control", "Counterpart", "Known", "Outcome", "controls"]
