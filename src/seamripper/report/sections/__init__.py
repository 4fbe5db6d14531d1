"""The sections of a report, in the order in which they are told. A section is a file here."""

from __future__ import annotations

from seamripper.report.sections.accuracy import accuracy
from seamripper.report.sections.conflict import conflict
from seamripper.report.sections.controls import controls
from seamripper.report.sections.distribution import distribution
from seamripper.report.sections.judgements import judgements
from seamripper.report.sections.losses import losses
from seamripper.report.sections.matrices import matrices
from seamripper.report.sections.pictures import pictures
from seamripper.report.sections.provenance import provenance
from seamripper.report.sections.rank import rank
from seamripper.report.sections.table import table

SECTIONS = (
    judgements,
    accuracy,
    rank,
    matrices,
    distribution,
    controls,
    conflict,
    losses,
    pictures,
    table,
    provenance,
)
