"""Engines: where the jobs of an experiment are carried out."""

from __future__ import annotations

from seamripper.experiment.engines.base import Answer, Engine, Order, Terms
from seamripper.experiment.engines.local import Local
from seamripper.experiment.engines.ray import Ray

__all__ = ["Answer", "Engine", "Local", "Order", "Ray", "Terms"]
