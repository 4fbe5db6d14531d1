"""Audits: a question each, put to a comparison and answered against controls. One file each."""

from seamripper.audits.audit import Audited, audit, matching_of
from seamripper.audits.base import Audit, Evidence, Verdict, audits, chosen_audits
from seamripper.audits.rank import ranks_behind
from seamripper.audits.rule import Judgement

__all__ = [
    "Audit",
    "Audited",
    "Evidence",
    "Judgement",
    "Verdict",
    "audit",
    "audits",
    "chosen_audits",
    "matching_of",
    "ranks_behind",
]
