"""A paper of nobody's whose runs take no time: its experiments call a function of a little file."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from seamripper.experiment import CallPart, Experiment
from seamripper.figures import Lines, Picture, Pictures, Series, Sheet, png
from seamripper.papers import (
    Claim,
    DecidedClaim,
    Item,
    ItemReading,
    ItemReport,
    Paper,
    PaperPlot,
    PaperTable,
    Profile,
    Reproduction,
    Results,
    Select,
    Size,
)

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
SIZES = {
    "seeds": Size("{#} seeds", (0, 1, 2), (0, 1, 2, 3)),
    "more": Size("sizes beside those of the claims: {}", (), (9,)),
    "training": Size("trained with {}", "?lr=0.1&epochs=2", "?lr=0.1&epochs=20"),
}


def study(own: Profile, folder: Path, name: str, sizes: tuple[int, ...]) -> Experiment:
    """An experiment that calls the function for these sizes and the seeds of the profile."""
    (folder / "mine.py").write_text(MINE)
    part = CallPart(function="mine.py:measure", grid={"size": (*sizes, *own.more)}, seeds=own.seeds)
    return Experiment(name=name, folder=str(folder), call=(part,))


def item(folder: Path, name: str, covers: tuple[str, ...], sizes: tuple[int, ...], **more: Any) -> Item:
    """An item whose claim is that the first size has a higher value than the last."""
    first, last = sizes[0], sizes[-1]
    says = more.pop("says", f"The smaller, the better ({name})")
    claims = [Claim(says, "", Select("top1", size=first), "above", Select(size=last))]
    if more.pop("beyond", False):
        claims.append(
            Claim(f"{says}, reversed", "", Select("top1", size=last), "above", Select(size=first), beyond=True)
        )
    table = PaperTable(
        f"Figures by size | {first} to {last}",
        ("size", "top1"),
        tuple((str(size), Select("top1", size=size)) for size in sizes),
    )
    plot = PaperPlot(f"Lines by size, {first} to {last}", (Select("top1", size=sizes).with_name(EVIL),), along="size")
    return Item(
        name,
        covers,
        f"What {name} shows.",
        lambda own: study(own, folder, name, sizes),
        tuple(claims),
        (table, plot),
        ("Smaller than any paper's.",),
        **more,
    )


def paper(folder: Path, *items: Item) -> Paper:
    """A paper of two items that share a size; or of others, if given."""
    own = (
        item(folder, "table-1", ("Table 1", "Fig. 2"), (1, 5), beyond=True),
        item(folder, "fig-3", ("Fig. 3",), (5, 1)),
    )
    return Paper("nobody2020", "Nobody's Paper (Nobody 2020)", items or own, SIZES)


def called(folder: Path) -> list[str]:
    """Which calls were made, in order."""
    return (folder / "called").read_text().split() if (folder / "called").exists() else []


ROWS = [
    {"figure": "top1", "size": size, "seed": seed, "value": 0.9 - 0.1 * size + 0.001 * seed * (1 + size)}
    for size in (1, 2, 3)
    for seed in range(3)
]
"""Results of three sizes that nobody has run."""


def decided(says: str, status: str, figure: str, *, rule: str = "It is.", beyond: bool = False) -> DecidedClaim:
    """A claim that was decided somehow."""
    return DecidedClaim(Claim(says, "", Select("top1"), "at least", beyond=beyond), rule, status, figure)


def hostile(folder: Path) -> Reproduction:
    """A reproduction whose names, claims, cells, errors and titles are HTML that would run."""
    bad = dataclasses.replace(item(folder, "table-1", (f"Table {EVIL}",), (1, 2, 3), says=EVIL), about=EVIL)
    reading = bad.read(Results(ROWS), "quick")
    claims = (*reading.claims, decided(EVIL, "not reproduced", EVIL, rule=EVIL))
    dot = Picture(png(np.zeros((1, 2, 2), dtype=np.uint8)), EVIL, EVIL)
    lines = Lines(EVIL, ("a",), (Series(EVIL, (reading.claims[0].cells[0].value,)),), EVIL)
    figures = (*reading.figures, lines, Sheet(EVIL, (EVIL,), ((EVIL,),), EVIL), Pictures(EVIL, ((EVIL, (dot,)),), EVIL))
    report = ItemReport(bad, ItemReading(claims, figures, (EVIL,)), 1.0, 3, EVIL)
    return Reproduction(Paper(EVIL, EVIL, (bad,)), "quick", folder, (report,))
