"""Cell files: finished scores, one file each, so that an interruption loses only the score in work."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seamripper._files import write_json
from seamripper.errors import FileError
from seamripper.estimate import Estimate

FOLDER = "cells"
"""The folder, in a run's, that holds the cells."""

_KIND = "cell"


class CellFiles:
    """Scores kept in `folder`/cells by all that they are made from; without a folder, nowhere.

    A cell that was made from anything else goes by another name, and is left alone.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, announce: Callable[[str], None]) -> None:
        self.folder = None if folder is None else Path(folder) / FOLDER
        self.announce = announce
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as e:
                raise FileError(
                    f"The folder {self.folder}, where finished cells are kept, cannot be made: {e.strerror}."
                ) from e

    def read(self, made_from: Mapping[str, Any]) -> Estimate | None:
        """The score that was made from just this; None if there is none, or if its file is damaged."""
        path = self._path(made_from)
        if path is None or not path.exists():
            return None
        try:
            record = json.loads(path.read_bytes())
            score = Estimate.from_record(record["score"])
            whole = record["seal"] == _digest([_KIND, made_from, record["score"]]) and math.isfinite(score.value)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            whole = False
        if not whole:
            self.announce(f"{path} is damaged: that cell is computed again.")
            return None
        return score

    def write(self, made_from: Mapping[str, Any], score: Estimate) -> None:
        """Keep a finished score: its file is whole, or not there."""
        path = self._path(made_from)
        if path is None:
            return
        seal = _digest([_KIND, made_from, score.as_record()])
        record = {"kind": _KIND, "made_from": made_from, "score": score.as_record(), "seal": seal}
        write_json(path, record, indent=1)

    def _path(self, made_from: Mapping[str, Any]) -> Path | None:
        """A name with words for people, and the digest of all that the cell is made from."""
        if self.folder is None:
            return None
        cuts = (made_from[side]["cut"]["name"] for side in ("sender", "receiver"))
        words = [re.sub(r"[^\w.-]", "_", word)[:60] for word in (made_from["measure"], *cuts)]
        return self.folder / f"{'-'.join(words)}-{_digest(made_from)[:16]}.json"


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()
