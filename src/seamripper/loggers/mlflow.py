"""MLflow: figures as metrics of a run, how they were made as its parameters and an artifact."""

from __future__ import annotations

import itertools
import json
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamripper._words import need
from seamripper.loggers.base import Entry, Logger

_AT_ONCE = 500
"""Metrics in one request; MLflow takes 1,000 at most."""
_LONGEST = 240
"""Characters of a name; MLflow takes 250, and a number may follow."""
_QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true"}
"""Otherwise MLflow tells its makers that it is used."""


@dataclass(frozen=True)
class MLflow(Logger):
    """A run in an SQLite store of a folder, or on the server that `uri` names."""

    name = "mlflow"
    about = "A run of MLflow, in an SQLite store: mlflow?folder=logs&experiment=mine. uri=… names a server."
    folder: str = "mlflow"
    experiment: str = "seamripper"
    uri: str = ""

    def require(self) -> None:
        """Refuse if MLflow, or what its SQLite store needs, is not installed."""
        for module in ("mlflow", *(() if self.uri else ("sqlalchemy", "alembic"))):
            _import(module)

    def write(self, entry: Entry) -> str:
        """One run, begun and finished."""
        self.require()
        entities, place = _import("mlflow.entities"), Path(self.folder).resolve()
        uri = self.uri or f"sqlite:///{place / 'mlflow.db'}"
        if not self.uri:
            place.mkdir(parents=True, exist_ok=True)
        client = _import("mlflow.tracking").MlflowClient(tracking_uri=uri)
        known = client.get_experiment_by_name(self.experiment)
        where = None if self.uri else (place / "artifacts").as_uri()
        number = known.experiment_id if known else client.create_experiment(self.experiment, artifact_location=where)
        run = client.create_run(number, run_name=entry.command, tags={"mlflow.note.content": entry.text}).info.run_id
        try:
            _write(client, entities, run, entry)
        except BaseException:
            client.set_terminated(run, "FAILED")
            raise
        client.set_terminated(run)
        return f"run {run} of the experiment {self.experiment!r} in {uri}"


def _write(client: Any, entities: Any, run: str, entry: Entry) -> None:
    """All of an entry, into an open run."""
    now = int(time.time() * 1000)
    named = metric_names(entry.figures).items()
    metrics = [entities.Metric(short, entry.figures[name], now, 0) for name, short in named]
    function = str(entry.method.get("function", entry.command))
    client.log_batch(run, params=[entities.Param("command", entry.command), entities.Param("function", function)])
    for start in range(0, len(metrics), _AT_ONCE):
        client.log_batch(run, metrics=metrics[start : start + _AT_ONCE])
    client.log_dict(run, json.loads(json.dumps(entry.method, default=str)), "method.json")
    for file in entry.files:
        if file.is_file():
            client.log_artifact(run, str(file))


def metric_names(names: Iterable[str]) -> dict[str, str]:
    """For each name one that MLflow takes, and no other has.

    >>> metric_names(["cka?k=1", "cka&k=1"])
    {'cka?k=1': 'cka_k_1', 'cka&k=1': 'cka_k_1_2'}
    """
    taken: dict[str, str] = {}
    for name in names:
        plain = metric_name(name)
        numbered = (f"{plain}_{number}" for number in itertools.count(2))
        taken[next(word for word in itertools.chain([plain], numbered) if word not in taken)] = name
    return {name: plain for plain, name in taken.items()}


def metric_name(name: str) -> str:
    """A name that MLflow takes: letters, digits, and some marks.

    >>> metric_name("svcca?dims=20/conv1/R²")
    'svcca_dims_20/conv1/R2'
    """
    plain = re.sub(r"[^\w\-. :/]", "_", name.replace("²", "2"), flags=re.ASCII)
    return plain[-_LONGEST:]


def _import(module: str) -> Any:
    """A module of MLflow, or one that it needs, imported without its telemetry unless the user has asked for it."""
    before = {name: os.environ.get(name) for name in _QUIET}
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        return need(module, extra="mlflow", what="The logger 'mlflow'")
    finally:
        for name, known in before.items():
            if known is None:
                os.environ.pop(name, None)
