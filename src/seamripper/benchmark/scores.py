"""Scores: the rows of a study by what the tests look them up by."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seamripper.benchmark.contestants import MATCHINGS, Contestant
from seamripper.benchmark.statistics import Array

Row = Mapping[str, Any]
Net = tuple[str, int | None]
"""A network: its family and its training seed; a model that is loaded has none."""
Pair = tuple[Net, Net]
_LABELS = {matching: label for label, matching in MATCHINGS.items()}


def net_of(row: Row, role: str) -> Net:
    """The sender or the receiver of a row."""
    return row[role], row.get(f"{role}_seed")


@dataclass(frozen=True, eq=False)
class StudyScores:
    """The rows of a study that have a value, indexed when they are first looked up."""

    rows: Sequence[Row]

    @functools.cached_property
    def _cells(self) -> dict[tuple[str, str], dict[Pair, dict[tuple[str, str], float]]]:
        """By measure and data, then by pair, then by cuts."""
        cells: dict[Any, dict[Pair, dict[tuple[str, str], float]]] = defaultdict(lambda: defaultdict(dict))
        for row in self.rows:
            label = _label(row)
            if label is not None and row.get("value") is not None:
                pair = net_of(row, "sender"), net_of(row, "receiver")
                cells[label, row["data"]][pair][row["sender_cut"], row["receiver_cut"]] = row["value"]
        return cells

    def cells(self, contestant: Contestant, data: str) -> dict[Pair, dict[tuple[str, str], float]]:
        """Similarities by pair and cuts: of a distance, the negative."""
        known = self._cells.get((contestant.label, data), {})
        return {
            pair: {cuts: contestant.similarity(value) for cuts, value in cells.items()} for pair, cells in known.items()
        }

    def grids(self, contestant: Contestant, data: str, nets: Sequence[Net], cuts: Sequence[str]) -> Array:
        """Similarities with the axes sender, receiver, sender's cut, receiver's cut; NaN where there is none."""
        cells = self.cells(contestant, data)
        grids = np.full((len(nets), len(nets), len(cuts), len(cuts)), np.nan)
        for a, sender in enumerate(nets):
            for b, receiver in enumerate(nets):
                known = cells.get((sender, receiver), {})
                grids[a, b] = [[known.get((i, j), np.nan) for j in cuts] for i in cuts]
        return grids

    @functools.cached_property
    def _probes(self) -> dict[Any, float]:
        """By figure (for a score, its measure), network, cut and rank."""
        return {
            (row["figure"], row.get("measure"), net_of(row, "receiver"), row["receiver_cut"], row.get("rank")): row[
                "value"
            ]
            for row in self.rows
            if row.get("kind") == "probe" and row.get("value") is not None
        }

    def accuracy(self, net: Net, cut: str, rank: int | None = None, *, figure: str = "probe") -> float:
        """The probing accuracy of a layer or of its approximation of a rank; NaN if there is none."""
        return self._probes.get((figure, None, net, cut, rank), np.nan)

    def distance_to_rank(self, contestant: Contestant, net: Net, cut: str, rank: int) -> float:
        """The dissimilarity of a layer and its approximation of a rank; NaN if there is none."""
        return -contestant.similarity(self._probes.get(("score", contestant.label, net, cut, rank), np.nan))

    @functools.cached_property
    def ranks(self) -> dict[tuple[Net, str], list[int]]:
        """The ranks of the approximations that were probed, by network and cut, the smallest first."""
        ranks: dict[tuple[Net, str], list[int]] = defaultdict(list)
        for figure, _, net, cut, rank in self._probes:
            if figure == "probe" and rank is not None:
                ranks[net, cut].append(rank)
        return {place: sorted(some) for place, some in ranks.items()}

    @functools.cached_property
    def probed_cuts(self) -> dict[Net, tuple[str, ...]]:
        """The cuts with probes, by network, in the order in which they are met."""
        return _by_net((net, cut) for _, _, net, cut, _ in self._probes)

    @functools.cached_property
    def compared_cuts(self) -> dict[Net, tuple[str, ...]]:
        """The cuts at which each network was a sender, in the order in which they are met."""
        return _by_net((net_of(row, "sender"), row["sender_cut"]) for row in self.rows if _label(row) is not None)


def _by_net(places: Iterable[tuple[Net, str]]) -> dict[Net, tuple[str, ...]]:
    cuts: dict[Net, dict[str, None]] = defaultdict(dict)
    for net, cut in places:
        cuts[net].setdefault(cut)
    return {net: tuple(some) for net, some in cuts.items()}


def cuts_of(nets: Sequence[Net], cuts: Mapping[Net, tuple[str, ...]]) -> tuple[str, ...]:
    """The cuts that any of these networks has, in order: where a job has failed, another has its cut."""
    return tuple(dict.fromkeys(cut for net in nets for cut in cuts[net]))


def _label(row: Row) -> str | None:
    """The measure that a row is a score of; None if it is none."""
    if row.get("kind") == "compare" and row.get("figure") == "score":
        return str(row["measure"])
    if row.get("kind") in ("functional", "stitch") and row.get("figure") == "relative_accuracy":
        return _LABELS.get(str(row.get("matching")))
    return None


def families_of(nets: Sequence[Net]) -> dict[str, list[Net]]:
    """The networks of each family, in order."""
    families: dict[str, list[Net]] = defaultdict(list)
    for net in nets:
        families[net[0]].append(net)
    return dict(families)
