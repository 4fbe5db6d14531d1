"""Experiments: thousands of jobs that survive anything, on one machine or on a cluster.

::

    Experiment → plan → jobs → engine → Store
"""

from __future__ import annotations

from seamripper.experiment.drive import Standing, Summary, run, store_of
from seamripper.experiment.engines import Engine, Local, Ray
from seamripper.experiment.experiment import Experiment
from seamripper.experiment.parts.audit import AuditPart
from seamripper.experiment.parts.base import Part, parts
from seamripper.experiment.parts.call import CallPart
from seamripper.experiment.parts.compare import ComparePart
from seamripper.experiment.parts.control import ControlPart
from seamripper.experiment.parts.functional import FunctionalPart
from seamripper.experiment.parts.noise import NoisePart
from seamripper.experiment.parts.pictures import PicturesPart
from seamripper.experiment.parts.probe import ProbePart
from seamripper.experiment.parts.stitch import StitchPart
from seamripper.experiment.plan import Plan, plan
from seamripper.experiment.results import as_arrow, as_pandas, export, table
from seamripper.experiment.store import Store
from seamripper.experiment.tables import Data, Network

__all__ = [
    "AuditPart",
    "CallPart",
    "ComparePart",
    "ControlPart",
    "Data",
    "Engine",
    "Experiment",
    "FunctionalPart",
    "Local",
    "Network",
    "NoisePart",
    "Part",
    "PicturesPart",
    "Plan",
    "ProbePart",
    "Ray",
    "Standing",
    "StitchPart",
    "Store",
    "Summary",
    "as_arrow",
    "as_pandas",
    "export",
    "parts",
    "plan",
    "run",
    "store_of",
    "table",
]
