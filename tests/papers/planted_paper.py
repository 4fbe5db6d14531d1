"""A paper of nobody's: its experiments call a function of a little file, its claims are about what that gives."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from seamripper.experiment.spec import Calling

from seamripper.experiment import Experiment
from seamripper.figures import Lines, Picture, Pictures, Series, Sheet, png
from seamripper.papers import Claim, Finding, Item, Paper, Reproduction
from seamripper.papers.cells import Cells
from seamripper.papers.checks import above, claim
from seamripper.papers.reproduce import Outcome
from seamripper.papers.smith2025._setting import share

MINE = '''
"""Called for a size and a seed, it says so; 13 it does not like, and longer ones take their time."""
import pathlib, time

HERE = pathlib.Path(__file__).parent

def measure(size, seed=0):
    with open(HERE / "called", "a") as file:
        file.write(f"{size}/{seed}\\n")
    if size == 13 and not (HERE / "forgiven").exists():
        raise ValueError("thirteen is not liked")
    time.sleep(0 if size < 100 else 0.4)
    value = 0.9 - 0.01 * size + 0.001 * (seed + size % 2 * seed)
    return {"top1": {"value": value, "interval": [value - 0.01, value + 0.01], "n": 100}}
'''
EVIL = "<script>document.title = 'ran'</script>"


def study(folder: Path, name: str, sizes: tuple[int, ...]) -> Experiment:
    """An experiment that calls the function for these sizes and three seeds."""
    (folder / "mine.py").write_text(MINE)
    called = Calling(function="mine.py:measure", grid={"size": sizes}, seeds=(0, 1, 2))
    return Experiment(name=name, folder=str(folder), call=(called,))


def read(cells: Cells, sizes: tuple[int, ...], *, says: str, beyond: bool = False) -> Finding:
    """Whether the figure of the first size is above that of the last; a table and a figure."""
    found = {size: cells.of("top1", size=size) for size in sizes}
    first, last = found[sizes[0]], found[sizes[-1]]
    claims = [claim(says, "The first is above the last (interval over seeds).", above(first, last))]
    if beyond:
        claims.append(claim(f"{says}, turned round", "The last is above the first.", above(last, first), beyond=True))
    names = tuple(map(str, sizes))
    sheet = Sheet(f"Figures by size | {names[0]} to {names[-1]}", ("size", "top1"),
                  tuple((size, share(one)) for size, one in found.items()))  # fmt: skip
    lines = Lines(
        f"Lines by size, {names[0]} to {names[-1]}",
        names,
        (Series(EVIL, tuple(one.as_share for one in found.values())),),
        "accuracy",
        x="size",
    )
    return Finding(tuple(claims), (sheet, lines), ("Smaller than any paper's.",))


def item(folder: Path, name: str, covers: tuple[str, ...], sizes: tuple[int, ...], **more: Any) -> Item:
    """An item of these sizes; in the paper's profile, of these and 9."""
    says = more.pop("says", f"The smaller, the better ({name})")

    def of(profile: str) -> tuple[int, ...]:
        return sizes if profile == "quick" else (*sizes, 9)

    return Item(
        name,
        covers,
        f"What {name} shows.",
        lambda profile: study(folder, name, of(profile)),
        lambda cells, profile: read(cells, of(profile), says=says, **more),
        minutes=0.1,
        times=10.0,
    )


def paper(folder: Path, *items: Item) -> Paper:
    """A paper of two items that share a size; or of others, if given."""
    own = (
        item(folder, "table-1", ("Table 1", "Fig. 2"), (1, 5), beyond=True),
        item(folder, "fig-3", ("Fig. 3",), (5, 1)),
    )
    return Paper("nobody2020", "Nobody's Paper (Nobody 2020)", items or own)


def called(folder: Path) -> list[str]:
    """Which calls were made, in order."""
    return (folder / "called").read_text().split() if (folder / "called").exists() else []


ROWS = [
    {"figure": "top1", "size": size, "seed": seed, "value": 0.9 - 0.1 * size + 0.001 * seed * (1 + size)}
    for size in (1, 2, 3)
    for seed in range(3)
]
"""Results of three sizes that nobody has run."""


def hostile(folder: Path) -> Reproduction:
    """A reproduction whose names, claims, cells, errors and titles are HTML that would run."""
    bad = dataclasses.replace(item(folder, "table-1", (f"Table {EVIL}",), (1, 2, 3)), about=EVIL)
    finding = read(Cells(ROWS), (1, 2, 3), says=EVIL)
    claims = (*finding.claims, Claim(EVIL, EVIL, "not reproduced", EVIL))
    dot = Picture(png(np.zeros((1, 2, 2), dtype=np.uint8)), EVIL, EVIL)
    figures = (*finding.figures, Sheet(EVIL, (EVIL,), ((EVIL,),), EVIL), Pictures(EVIL, ((EVIL, (dot,)),), EVIL))
    outcome = Outcome(bad, Finding(claims, figures, (EVIL,)), 1.0, 3, EVIL)
    return Reproduction(Paper(EVIL, EVIL, (bad,)), "quick", folder, (outcome,))
