"""Papers: their tables and figures as experiments, the paper's own numbers beside ours, their claims as checks.

::

    Paper → Item → Experiment → Store → Cells → Finding (tables, figures, claims) → Reproduction

A paper is a package here that has `PAPER`; an item of it is a file.
"""

from __future__ import annotations

import functools

from seamripper._words import did_you_mean
from seamripper.errors import ExperimentError
from seamripper.papers.base import Claim, Finding, Item, Paper
from seamripper.papers.reproduce import Reproduction, reproduce
from seamripper.papers.smith2025 import PAPER as SMITH

__all__ = ["Claim", "Finding", "Item", "Paper", "Reproduction", "chosen", "papers", "reproduce"]


@functools.cache
def papers() -> dict[str, Paper]:
    """Every paper that can be reproduced, by name.

    >>> list(papers())
    ['smith2025']
    """
    return {paper.name: paper for paper in (SMITH,)}


def chosen(word: str) -> tuple[Paper, tuple[Item, ...]]:
    """The paper that `word` names, and the items: `smith2025` is all of them, `smith2025/fig-3` is one.

    A figure or table that shares its experiments with others goes by its own name too.

    >>> paper, items = chosen("smith2025/fig-2b")
    >>> paper.name, [item.name for item in items]
    ('smith2025', ['table-c1'])
    """
    name, slash, item = word.partition("/")
    if name not in papers():
        raise ExperimentError(f"There is no paper {name!r}: {did_you_mean(name, list(papers()))}")
    paper = papers()[name]
    return paper, paper.chosen(item) if slash else paper.items
