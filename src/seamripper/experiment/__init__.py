"""Experiments: thousands of jobs that survive anything, on one machine or on a cluster.

::

    Experiment → plan → jobs → engine → Store
"""

from __future__ import annotations

from seamripper.experiment.drive import Standing, Summary, run, store_of
from seamripper.experiment.engines import Engine, Local, Ray
from seamripper.experiment.plan import Plan, plan
from seamripper.experiment.results import as_arrow, as_pandas, export, table
from seamripper.experiment.spec import Experiment
from seamripper.experiment.store import Store

__all__ = [
    "Engine",
    "Experiment",
    "Local",
    "Plan",
    "Ray",
    "Standing",
    "Store",
    "Summary",
    "as_arrow",
    "as_pandas",
    "export",
    "plan",
    "run",
    "store_of",
    "table",
]
