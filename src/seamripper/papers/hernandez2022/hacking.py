"""Does the stitch hack the receiver? The distribution, conflict and mixing audits on pairs of Fig. 2."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from seamripper.experiment import AuditPart, Experiment
from seamripper.papers.claims import Claim, Clause, Gate
from seamripper.papers.hernandez2022.derived import triangle, unit_of
from seamripper.papers.hernandez2022.fig_2 import REGIONS, grids, matrices, mean_accuracy
from seamripper.papers.hernandez2022.setting import AUDITED, LAYERS, NAMES, STEM, good_enough, rounds
from seamripper.papers.items import Item, PaperGrid, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Row, Select

_VALUES = {"yes": 1.0, "unknown": 0.5, "no": 0.0}
"""The answers of the audits as numbers: does the stitched network answer as the receiver does?"""
AUDITS = ("conflict", "mixing")
REAL, DRIVEN = "share_real", "share_driven"


def stage_ends(name: str) -> tuple[str, ...]:
    """The stem of a network and the last block of each of its stages.

    >>> stage_ends("R_1212")
    ('before:layer1', 'layer1.0', 'layer2.1', 'layer3.0', 'layer4.1')
    """
    return (STEM, *{cut.partition(".")[0]: cut for cut in LAYERS[name][1:]}.values())


def _cells(sender: str, receiver: str) -> tuple[str, ...]:
    """Backwards and at the same stage: from the end of a stage into the end of the same or of an earlier one."""
    ends = list(enumerate(stage_ends(sender)))
    return tuple(f"{a} -> {b}" for i, a in ends for j, b in enumerate(stage_ends(receiver)) if j <= i)


def _experiment(own: Profile) -> Experiment:
    study = matrices(own, "hacking", "whether stitches backwards are real (Hernandez et al. 2022, section 3.2)")
    audits = tuple(
        AuditPart(senders=(f"{sender}/{a}",), receivers=(f"{receiver}/{b}",), pairing="all",
            cuts=_cells(sender, receiver), matching="vanilla", stitch="strided", others=(receiver,), seeds=(0,),
            controls=("other_seed", "random_sender"), audits=(own.conflict, own.mixing))
        for sender, receiver in own.audited
        for a, b in rounds(own.seeds)
    )  # fmt: skip
    return study.model_copy(update={"audit": audits})


def stage(cut: str) -> int:
    """The stage of a layer; the stem has none before it."""
    return 0 if cut == STEM else int(cut[5])


def answers(rows: Sequence[Row]) -> Iterator[Row]:
    """What both audits say of every cell, as a number; and for each receiver shares of the answers.

    A cell is driven by something else if either audit says so, and real if one says that it is and neither that it is
    not. Cells are "same" where both layers end the same stage, and "backwards" where the sender's stage is the later
    one.
    """
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    said: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    labels = ("sender", "receiver", "sender_cut", "receiver_cut", "receiver_seed")
    for row in rows:
        if row.get("kind") == "audit" and row.get("audit") in AUDITS and row["figure"] == "observed":
            said[tuple(row[name] for name in labels)].append(_VALUES[row["status"]])
    for cell, values in said.items():
        row = dict(zip(labels, cell, strict=True))
        value = 0.0 if 0.0 in values else max(values)
        yield {**row, "figure": "audit_answer", "value": value}
        steps = stage(row["sender_cut"]) - stage(row["receiver_cut"])
        shares[unit_of(row), "backwards" if steps else "same"].append(value)
    for (unit, cells), values in shares.items():
        for figure, answer in ((REAL, "yes"), (DRIVEN, "no")):
            value = float(np.mean([value == _VALUES[answer] for value in values]))
            yield {"figure": figure, "cells": cells, "receiver_seed": unit, "value": value, "n": len(values)}


def _derive(rows: Sequence[Row]) -> Iterator[Row]:
    yield from triangle(rows)
    yield from answers(rows)


def _ood(layers: str, matching: str = "vanilla") -> Select:
    select = Select("mean_ood", case="trained", shape="any", matching=matching, layers=layers)
    return select.with_name(f"mean AUROC of stitched against the receiver's own activations {REGIONS[layers]}")


def share_of_cells(figure: str, cells: str) -> Select:
    """The share of cells of which the conflict and mixing audits say so."""
    words = {REAL: "in which the stitched network answers as the receiver does where inputs are changed or mixed",
             DRIVEN: "in which it follows something else there"}  # fmt: skip
    return Select(figure, cells=cells).with_name(f"the share of {cells} cells {words[figure]}")


_NETWORKS = tuple(dict.fromkeys(name for pair in AUDITED for name in pair))
_GATES = (good_enough(*_NETWORKS),)
_TOLD = Gate(
    "detectors tell held-out activations from auxiliary ones with 0.8 or more",
    Select("detector_auxiliary", kind="functional", receiver=_NETWORKS, detector="fast"),
    "at least",
    bound=0.8,
)
_ASK: dict[str, Any] = {"beyond": True, "answers": ("yes", "no")}
CLAIMS = (
    Claim("Stitches give the receiver representations that differ from the expected ones and yet yield high accuracy",
        "the authors' bet; section 3.2", _ood("below"), "at least", bound=0.9,
        also=(Clause(mean_accuracy("below"), "at least", bound=0.8),), gates=(*_GATES, _TOLD),
        remark="A weak test of difference: a detector tells most stitched activations, on the diagonal as well."),
    Claim("Are activations of backwards stitches out of distribution any more than those on the diagonal?", "",
        _ood("below"), "differs", Select(layers="diagonal").with_name("that on the diagonal"), bound=0.01,
        gates=(*_GATES, _TOLD), **_ASK),
    Claim("Is it the vanilla training that drives them there, and not the pair of layers?", "",
        _ood("below"), "differs", Select(matching="direct").with_name("that of least squares stitches"), bound=0.01,
        gates=(*_GATES, _TOLD), **_ASK),
    Claim("Are most stitches backwards real, as the stitched network answers like the receiver where inputs are "
        "changed or mixed?", "", share_of_cells(REAL, "backwards"), "at least", bound=0.5, gates=_GATES, **_ASK),
    Claim("Is the receiver driven by something else in most stitches backwards?", "",
        share_of_cells(DRIVEN, "backwards"), "at least", bound=0.5, gates=_GATES, **_ASK),
    Claim("Are stitches backwards real less often than those at the same stage?", "", share_of_cells(REAL, "backwards"),
        "below", Select(cells="same").with_name("that of same-stage cells"), gates=_GATES, **_ASK),
)  # fmt: skip


def _shows() -> Iterator[PaperTable | PaperGrid]:
    rows = tuple(
        (cells, *(share_of_cells(figure, cells) for figure in (REAL, DRIVEN))) for cells in ("same", "backwards")
    )
    yield PaperTable("What the conflict and mixing audits say, by cell",
        ("cells", "real", "driven by something else"), rows,
        "Shares of cells, the mean over receivers; the rest is not decided.")  # fmt: skip
    ood = tuple((NAMES["matching"][way], *(_ood(place, way) for place in ("below", "diagonal", "above")))
        for way in ("vanilla", "similarity", "direct"))  # fmt: skip
    yield PaperTable("AUROC of stitched against the receiver's own activations",
        ("stitch", "below the diagonal", "on the diagonal", "above the diagonal"), ood,
        "0.5: they look native. 1: they can always be told.")  # fmt: skip
    for sender, receiver in AUDITED:
        place: dict[str, Any] = {"sender": sender, "receiver": receiver, "sender_cut": stage_ends(sender),
            "receiver_cut": stage_ends(receiver)}  # fmt: skip
        title = f"{sender} into {receiver}"
        yield PaperGrid(f"{title}: does the stitched network follow the receiver?", Select("audit_answer", **place),
            caption="1: yes. 0: it follows something else. 0.5: not decided. Means over seeds.")  # fmt: skip
        kept = Select("effect", kind="audit", audit="conflict", **place)
        yield PaperGrid(f"{title}: kept of the control's agreement where cues are changed", kept)
    yield from grids("ood_fast", "vanilla", "AUROC of vanilla stitches", AUDITED)


_DEPARTS = (
    "The paper asks this question and has no test that answers it. The audits are this library's: `distribution` at "
    "every pair of layers; and `conflict` and `mixing`, against the receiver of another seed and an untrained sender, "
    "from the end of each stage into the end of the same and of every earlier one. In a first run with `conflict` "
    "alone, 54 of 60 cells stayed undecided; `mixing` was added after that had been seen."
)
ITEM = Item("hacking", ("Section 3.2",),
    "Whether stitches hack the receiver: the distribution audit on every cell, and the conflict and mixing audits on "
    "stitches backwards.", _experiment, CLAIMS, tuple(_shows()), (_DEPARTS,), NAMES, derive=_derive)  # fmt: skip
