"""Audits: a question each, put to a comparison and answered against controls. One file each."""

from seamripper.audits.base import Audit, Evidence, Verdict

__all__ = ["Audit", "Evidence", "Verdict"]
