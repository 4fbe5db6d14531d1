"""Pieces: the stitches that an audit has found so far, in a folder, so that a stopped audit goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from seamripper._files import load_tensors, save_tensors, understood
from seamripper.cut.split import Split
from seamripper.errors import FileError
from seamripper.matching.base import Matching
from seamripper.matching.match import Match, saved_layer
from seamripper.models.running import versions
from seamripper.stitches import stitches

_KIND = "stitch of an audit"


class Pieces:
    """Stitches by what decided them: networks, samples, matching, seed and versions.

    The networks themselves are not written. A file that cannot be read counts as none, and its stitch is found again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, key: str, match: Match) -> None:
        """Write the stitch of a match."""
        tensors = {f"stitch.{name}": value for name, value in match.layer.state_dict().items()}
        tensors |= {f"curve.{name}": curve for name, curve in match.curves.items()} | {"fitted": match.fitted}
        whole = match.as_record()
        record = {name: whole[name] for name in ("stitch", "status", "figures", "made_from")}
        save_tensors(self._path(key), tensors, record, kind=_KIND)

    def find(self, key: str, sender: Split, receiver: Split, matching: Matching) -> Match | None:
        """The match that was kept under this key, between these two; None if there is none."""
        path = self._path(key)
        if not path.is_file():
            return None
        try:
            tensors, record = load_tensors(path, kind=_KIND)
            with understood(path):
                stitch = stitches.from_record(record["stitch"])
                layer = saved_layer(stitch, sender, receiver, tensors)
                said = (record["status"], record["figures"], _with_prefix(tensors, "curve."), record["made_from"])
                return Match(sender, receiver, stitch, layer, matching, "all", *said, tensors["fitted"])
        except FileError:
            return None

    def _path(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(f'{key} {versions()}'.encode()).hexdigest()[:32]}.safetensors"


def _with_prefix(tensors: Mapping[str, Tensor], start: str) -> dict[str, Tensor]:
    return {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}
