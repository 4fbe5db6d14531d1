"""Every exception that seamripper raises on purpose.

::

    SeamripperError
    ├── ModelError          a model that is unknown, cannot be built, or is not fit to be used
    │   └── CheckpointError     weights with missing, extra or misshapen keys, or no weights at all
    ├── DataError           a data set that is unknown, damaged, empty, not finite or wrongly labelled
    │   └── UnfetchedError      no source gave its files with the right bytes
    ├── CutError            a cut that does not exist or cannot be made
    │   └── LeakError           a value computed before the cut is still used after it
    ├── FrozenError         a frozen network changed
    ├── StitchError         a stitch that does not fit between two cuts
    ├── MatchError          a matching that cannot be carried out
    │   └── DivergedError       its loss stopped being finite
    ├── MeasureError        a measure that is unknown, or not defined for what it was given
    ├── AuditError          a control, intervention or audit that is unknown, or cannot be carried out
    │   └── InapplicableError   it does not apply to what is compared; an audit goes on without it and says so
    ├── ExperimentError     an experiment whose description is wrong, or that cannot be carried out here
    ├── StoreError          a store that cannot be read or written, or is not what it says
    │   └── DamagedError        a tensor of it is not as it was written
    ├── LogError            a logger that is unknown, or could not keep what it was given
    ├── FileError           a file that cannot be read or written, or is not what it says
    └── MissingExtraError   an optional library is needed and not installed

A message says what was expected, what came, and what to do next.
"""

from __future__ import annotations


class SeamripperError(Exception):
    """The root: catch this to catch everything that seamripper raises on purpose."""


class ModelError(SeamripperError):
    """A model that is unknown, cannot be built, or is not fit to be used."""


class CheckpointError(ModelError):
    """Weights with missing, extra or misshapen keys, or a file that holds no weights."""


class DataError(SeamripperError):
    """A data set that is unknown, damaged, empty, not finite or wrongly labelled."""


class UnfetchedError(DataError):
    """No source gave a data set's files with the right bytes."""


class CutError(SeamripperError):
    """A cut that does not exist or cannot be made."""


class LeakError(CutError):
    """A value computed before the cut is still used after it; `around` names such values."""

    def __init__(self, message: str, *, around: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.around = around


class FrozenError(SeamripperError):
    """A frozen network changed; `changed` names its tensors that did."""

    def __init__(self, message: str, *, changed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.changed = changed


class StitchError(SeamripperError):
    """A stitch that does not fit between two cuts."""


class MatchError(SeamripperError):
    """A matching that cannot be carried out."""


class DivergedError(MatchError):
    """The loss stopped being finite at `step`, with learning rate `lr`."""

    def __init__(self, message: str, *, step: int, lr: float) -> None:
        super().__init__(message)
        self.step = step
        self.lr = lr


class MeasureError(SeamripperError):
    """A measure that is unknown, or not defined for what it was given."""


class AuditError(SeamripperError):
    """A control, intervention or audit that is unknown, or cannot be carried out."""


class InapplicableError(AuditError):
    """A control, intervention or audit that does not apply to what is compared; the message says why."""


class ExperimentError(SeamripperError):
    """An experiment whose description is wrong, or that cannot be carried out here."""


class StoreError(SeamripperError):
    """A store that cannot be read or written, or is not what it says."""


class DamagedError(StoreError):
    """A tensor of a store is gone, or not as it was written; `name` is its name there."""

    def __init__(self, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.name = name


class LogError(SeamripperError):
    """A logger that is unknown, or could not keep what it was given."""


class FileError(SeamripperError):
    """A file that cannot be read or written, or is not what it says."""


class MissingExtraError(SeamripperError):
    """An optional library is needed and not installed."""
