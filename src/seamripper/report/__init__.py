"""Reports: a run as one HTML file, and its figures on paper. It reads records only, never a model."""

from __future__ import annotations

from seamripper.report.html import page, report
from seamripper.report.paper import figures
from seamripper.report.run import Run

__all__ = ["Run", "figures", "page", "report"]
