"""Engines: where the jobs of an experiment are carried out."""

from __future__ import annotations

from seamripper._doors import require
from seamripper._words import did_you_mean
from seamripper.errors import ExperimentError
from seamripper.experiment.engines.base import Ending, Engine, Order, Terms
from seamripper.experiment.engines.local import Local
from seamripper.experiment.engines.ray import Ray

__all__ = ["Ending", "Engine", "Local", "Order", "Ray", "Terms", "engine_named"]


def engine_named(engine: Engine | str) -> Engine:
    """The engine, or the one that a word means: `local` or `ray`."""
    require(engine, (Engine, str), "engine", error=ExperimentError)
    if isinstance(engine, Engine):
        return engine
    known: dict[str, type[Local] | type[Ray]] = {"local": Local, "ray": Ray}
    if engine not in known:
        raise ExperimentError(f"There is no engine {engine!r}: {did_you_mean(engine, list(known))}")
    return known[engine]()
