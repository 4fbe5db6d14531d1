"""TensorBoard: figures as scalars of an event file, how they were made as text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from time import strftime

from seamripper._words import need
from seamripper.loggers.base import Entry, Logger


@dataclass(frozen=True)
class TensorBoard(Logger):
    """Event files in a folder, one run for each command; `tensorboard --logdir FOLDER` shows them."""

    name = "tensorboard"
    about = "Event files in a folder: tensorboard?folder=runs."
    folder: str = "tensorboard"

    def require(self) -> None:
        """Refuse if tensorboard is not installed."""
        need("tensorboard", extra="tensorboard", what="The logger 'tensorboard'")

    def write(self, entry: Entry) -> str:
        """Write an event file of its own."""
        self.require()
        from torch.utils.tensorboard import SummaryWriter

        place = _new_folder(Path(self.folder), entry.command)
        with SummaryWriter(str(place)) as writer:
            for name, value in entry.figures.items():
                writer.add_scalar(name, value, 0)
            # Indented by four, as Markdown has what is to be shown as it is.
            method = json.dumps(entry.method, indent=1, default=str).replace("\n", "\n    ")
            writer.add_text("method", f"{entry.text}\n\n    {method}", 0)
            if entry.files:
                writer.add_text("files", "\n\n".join(map(str, entry.files)), 0)
        return f"event file in {place}; tensorboard --logdir {self.folder}"


def _new_folder(parent: Path, command: str) -> Path:
    """A folder for one run, whose name no other has."""
    start, number = f"{command}-{strftime('%Y%m%d-%H%M%S')}", 0
    while True:
        place = parent / (f"{start}-{number}" if number else start)
        try:
            place.mkdir(parents=True)
            return place
        except FileExistsError:
            if not place.is_dir():
                raise
            number += 1
