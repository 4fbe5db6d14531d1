"""Cutting models: the legal cuts, the halves, and the proof that they are whole and frozen."""

from seamripper.cut.frozen import frozen_copy, seal
from seamripper.cut.many import heads
from seamripper.cut.place import Cut
from seamripper.cut.split import Split, cuts, require_cuts, split

__all__ = ["Cut", "Split", "cuts", "frozen_copy", "heads", "require_cuts", "seal", "split"]
