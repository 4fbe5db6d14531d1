"""Weights & Biases: figures as the summary of a run, how they were made as its config."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seamripper._words import need
from seamripper.errors import LogError
from seamripper.loggers.base import Entry, Logger


@dataclass(frozen=True)
class WandB(Logger):
    """A run in a folder, offline unless asked otherwise; `wandb sync FOLDER` uploads it."""

    name = "wandb"
    about = "A run of Weights & Biases, offline: wandb?project=mine&folder=logs. mode=online sends it at once."
    project: str = "seamripper"
    folder: str = "."
    mode: Literal["offline", "online"] = "offline"

    def require(self) -> None:
        """Refuse if wandb is not installed."""
        need("wandb", extra="wandb", what="The logger 'wandb'")

    def write(self, entry: Entry) -> str:
        """One run, begun and finished."""
        wandb = need("wandb", extra="wandb", what="The logger 'wandb'")
        if wandb.run is not None:
            raise LogError("A run of wandb is open in this process. Finish it first: wandb.finish().")
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        # Nothing but what it is given: no console output, no code, no figures of the machine.
        quiet: dict[str, Any] = {"console": "off", "silent": True, "disable_git": True, "disable_code": True}
        settings = wandb.Settings(**quiet, save_code=False, x_disable_stats=True, x_disable_meta=True)
        run = wandb.init(
            project=self.project,
            dir=self.folder,
            mode=self.mode,
            job_type=entry.command,
            notes=entry.text,
            config={"command": entry.command, "method": json.loads(json.dumps(entry.method, default=str))},
            settings=settings,
        )
        place = Path(run.dir).parent
        try:
            run.log(dict(entry.figures))
            for file in entry.files:
                if file.is_file():
                    # A copy: `run.save` would leave a link to a file that may change.
                    shutil.copy(file, run.dir)
        except BaseException:
            run.finish(exit_code=1)
            raise
        run.finish()
        # Waits for wandb's own process: until then, the file may lack its end.
        wandb.teardown()
        return f"run in {place}" + (f"; wandb sync {place}" if self.mode == "offline" else "")
