"""seamripper check: hold a measure to the contract."""

from __future__ import annotations

import sys

import click

from seamripper.cli.inputs import json_option, registry_of
from seamripper.cli.output import print_json, print_table, say

BROKEN = 1
"""The exit code if the measure breaks a clause."""


@click.command("check")
@click.argument("measure")
@json_option
def command(measure: str, as_json: bool) -> None:
    """Test MEASURE against the contract: do its claims hold, and does it refuse what it must refuse?

    MEASURE is a class of your own, FILE.py:CLASS (the file is run), or a name such as linear_cka or svcca?dims=20. The
    exit code is 0 if every clause is kept, 1 if one is broken, 2 if there is no such measure.
    """
    from seamripper.measures.contract import check

    checked = registry_of("measures").make(measure)
    findings = check(checked)
    broken = [finding for finding in findings if not finding.passed]
    if as_json:
        clauses = [finding.as_record() for finding in findings]
        print_json({"measure": checked.label, "passed": not broken, "clauses": clauses})
    else:
        rows = [[f.clause, "kept" if f.passed else "BROKEN", f.sentence] for f in findings]
        print_table(f"The contract of measures, for {checked.label}", ["clause", "", "what was found"], rows, left=3)
        say(f"{len(broken)} of {len(findings)} clauses broken" if broken else f"all {len(findings)} clauses kept")
    if broken:
        sys.exit(BROKEN)
