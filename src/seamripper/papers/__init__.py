"""Papers: their tables and figures as experiments, the paper's own numbers beside ours, their claims as checks.

::

    Paper → Item → Experiment → Store → Results → ItemReading (claims, tables, figures) → Reproduction

A paper is a package here that has `PAPER`, or an entry point in the group `seamripper.papers`.
"""

from __future__ import annotations

from seamripper.errors import ExperimentError
from seamripper.papers.checks import Variants
from seamripper.papers.claims import COUNTS, Claim, Clause, Gate
from seamripper.papers.decisions import DecidedClaim
from seamripper.papers.findings import Finding
from seamripper.papers.items import Item, ItemReading, Paper, PaperGrid, PaperPlot, PaperTable
from seamripper.papers.profiles import PROFILES, Profile, Size, with_options
from seamripper.papers.reproduce import ItemReport, Reproduction, reproduce
from seamripper.papers.results import ALONE, OWN, TRAINED, Range, Results, Select, Units
from seamripper.registry import Registry

__all__ = [
    "ALONE",
    "COUNTS",
    "OWN",
    "PROFILES",
    "TRAINED",
    "Claim",
    "Clause",
    "DecidedClaim",
    "Finding",
    "Gate",
    "Item",
    "ItemReading",
    "ItemReport",
    "Paper",
    "PaperGrid",
    "PaperPlot",
    "PaperTable",
    "Profile",
    "Range",
    "Reproduction",
    "Results",
    "Select",
    "Size",
    "Units",
    "Variants",
    "choose",
    "papers",
    "reproduce",
    "with_options",
]

papers: Registry[Paper] = Registry(Paper, "seamripper.papers", what="paper", error=ExperimentError, values=True)
"""Every paper that can be reproduced, by name."""


def choose(word: str) -> tuple[Paper, tuple[Item, ...]]:
    """The paper that `word` names, and the items: `smith2025` is all of them, `smith2025/fig-3` is one.

    A figure or table that shares its experiments with others goes by its own name too.

    >>> paper, items = choose("smith2025/fig-2b")
    >>> paper.name, [item.name for item in items]
    ('smith2025', ['table-c1'])
    """
    name, slash, item = word.partition("/")
    paper = papers.make(name)
    return paper, paper.choose(item) if slash else paper.items
