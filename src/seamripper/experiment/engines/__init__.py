"""Engines: where the jobs of an experiment are carried out."""

from __future__ import annotations

from seamripper.experiment.engines.base import Engine, Terms, engines
from seamripper.experiment.engines.local import Local
from seamripper.experiment.engines.ray import Ray

__all__ = ["Engine", "Local", "Ray", "Terms", "engines"]
