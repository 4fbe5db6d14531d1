"""Audits: a question each, put to a comparison and answered against controls. One file each."""

from seamripper.audits.agreement import answers
from seamripper.audits.audit import Audited, audit, deciding_mixtures, deciding_set, matching_of
from seamripper.audits.base import DEFAULT_CONTROLS, Audit, Evidence, Verdict, audits, chosen_audits
from seamripper.audits.detectors import DetectorAtCut
from seamripper.audits.distribution import Distribution
from seamripper.audits.rank import ranks_behind
from seamripper.audits.rule import Judgement

__all__ = [
    "DEFAULT_CONTROLS",
    "Audit",
    "Audited",
    "DetectorAtCut",
    "Distribution",
    "Evidence",
    "Judgement",
    "Verdict",
    "answers",
    "audit",
    "audits",
    "chosen_audits",
    "deciding_mixtures",
    "deciding_set",
    "matching_of",
    "ranks_behind",
]
