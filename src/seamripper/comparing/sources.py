"""Sources: what the activations of a streaming score are of, so that its methods card can name it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamripper._doors import require, require_path
from seamripper._files import sha256_of
from seamripper.activations import Activations
from seamripper.cut import Split
from seamripper.data import Samples
from seamripper.data.paired import Paired
from seamripper.errors import MeasureError

Source = Split | str | os.PathLike[str]
"""A model that is cut somewhere, or a file of activations."""


@dataclass(frozen=True)
class Sources:
    """What the activations of the sender and of the receiver are: those of a split model on `data`, or of a file.

    They are read when a score is made of them, so that a score holds no models.
    """

    sender: Source
    receiver: Source
    data: Samples | None = None

    def __post_init__(self) -> None:
        if self.data is not None:
            require(self.data, Samples, "data", error=MeasureError, advice="load_data(name) makes them.")
        elif any(isinstance(side, Split) for side in (self.sender, self.receiver)):
            raise MeasureError(
                "Expected the samples that the models are shown, but got none: Sources(sender, receiver, data=samples)."
            )

    def as_record(self) -> dict[str, Any]:
        """Both sides and the samples, with their fingerprints, as JSON has them."""
        sides = {role: _side(getattr(self, role), role) for role in ("sender", "receiver")}
        return sides | ({} if self.data is None else {"data": Paired.of(self.data).as_record()})


def _side(source: Source, role: str) -> dict[str, Any]:
    if isinstance(source, Split):
        model = {"source": source.model.source, "fingerprint": source.fingerprint}
        return {"kind": "model", **model, "cut": source.cut.as_record()}
    path = Path(require_path(source, role, error=MeasureError))
    cut = Activations.load(path).cut.as_record()
    return {"kind": "file", "source": str(path), "fingerprint": sha256_of(path), "cut": cut}
