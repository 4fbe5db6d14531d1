"""Figures that are derived from the rows of many jobs: shares of layers identified, and rank correlations."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seamripper._ranks import kendall, spearman
from seamripper.audits.identification import Ranking
from seamripper.estimate import CORRELATION
from seamripper.papers.balogh2025.setting import CUTS, DISTANCES, FUNCTIONAL, INDICES, LOW_RANK
from seamripper.papers.results import Row

Pair = tuple[Any, Any, Any]
"""A family of networks, and the seeds of sender and receiver."""
Cells = Mapping[tuple[Any, Any], float]
"""Similarities by the cuts of sender and receiver."""


def cuts_of(family: str) -> tuple[str, ...]:
    """The cuts of a family of networks: `vit-fashion` has those of `vit`."""
    return CUTS[family.partition("-")[0]]


def cuts_in(cells: Iterable[tuple[Any, Any]], family: str) -> tuple[str, ...]:
    """The cuts of a family that occur among cells, in the order of depth."""
    names = {name for cell in cells for name in cell}
    return tuple(cut for cut in cuts_of(family) if cut in names)


def similarities(rows: Iterable[Row]) -> dict[tuple[str, str], dict[Pair, dict[tuple[Any, Any], float]]]:
    """Similarities of all cuts of all pairs within a family, by index and rule; distances are turned round.

    Rules: "positions" has every index by positions; "authors" has LCKA of flattened maps, and PWCCA and OPD by
    positions where two maps have the same shape and by averages over the map elsewhere, as in the authors' code.
    """
    tables: dict[tuple[str, str], dict[Pair, dict[tuple[Any, Any], float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if row.get("kind") not in ("compare", "functional") or row["sender"] != row["receiver"]:
            continue
        pair = row["receiver"], row.get("sender_seed"), row.get("receiver_seed")
        cell = row.get("sender_cut"), row.get("receiver_cut")
        if row["kind"] == "compare" and row["measure"] in INDICES:
            value = -row["value"] if row["measure"] in DISTANCES else row["value"]
            for rule in _rules(str(row["measure"]), str(row["sampling"]), row["receiver"], cell):
                tables[INDICES[row["measure"]], rule][pair][cell] = value
        elif row["kind"] == "functional" and row["figure"] == "relative_accuracy":
            for rule in ("positions", "authors"):
                tables[FUNCTIONAL[row["matching"]], rule][pair][cell] = row["value"]
    return tables


def _rules(measure: str, sampling: str, family: str, cell: tuple[Any, Any]) -> Iterator[str]:
    """The rules by which a score that was made with this sampling is the score of its cell."""
    if sampling == "positions":
        yield "positions"
    # Blocks of one stage have maps of the same shape; tokens have one shape throughout.
    alike = family.startswith("vit") or str(cell[0]).partition(".")[0] == str(cell[1]).partition(".")[0]
    theirs = "flatten" if measure == "linear_cka" else "positions" if alike or measure.startswith("direct") else "pool"
    if sampling == theirs:
        yield "authors"


def identification_rates(rows: Sequence[Row]) -> Iterator[Row]:
    """The share of layers whose counterpart is the most similar one, for each receiver, by each index.

    The layers are the sender's, for each of which one of the receiver's is found, or the other way round (`of`). The
    two differ where an index is not symmetric: a residual is relative to the receiver's layer, so that of those of one
    sender's layer each has a divisor of its own. Between networks it is the mean over all senders of other seeds, so
    that the receiver's seed is the unit.
    """
    for (index, rule), pairs in similarities(rows).items():
        shares: dict[tuple[str, str, str, Any], list[float]] = defaultdict(list)
        for (family, sender, receiver), cells in pairs.items():
            grid = _grid(cells, cuts_in(cells, family))
            if grid is not None:
                ranking, where = Ranking.of(grid), "within" if sender == receiver else "between"
                for of, best in (("sender", ranking.rows), ("receiver", ranking.columns)):
                    hits = [i == j for i, j in enumerate(best)]
                    shares[family, where, of, receiver].append(float(np.mean(hits)))
        for (family, where, of, seed), values in shares.items():
            labels = {
                "receiver": family,
                "where": where,
                "of": of,
                "measure": index,
                "rule": rule,
                "receiver_seed": seed,
            }
            yield {**labels, "figure": "identified", "value": float(np.mean(values)), "n": len(values)}


def _grid(cells: Cells, cuts: Sequence[str]) -> Any:
    """The similarities as a matrix; None if some are missing."""
    if any(cell not in cells for cell in itertools.product(cuts, cuts)):
        return None
    return np.array([[cells[a, b] for b in cuts] for a in cuts])


def sensitive(rows: Sequence[Row]) -> Iterator[Row]:
    """Rank correlations over low-rank approximations of each network, the mean over its cuts, by each index."""
    full = {_place(row): row["value"] for row in rows if row["figure"] == "probe" and row.get("rank") is None}
    low: dict[Any, dict[Any, float]] = defaultdict(dict)
    scores: dict[Any, dict[Any, float]] = defaultdict(dict)
    for row in rows:
        if row.get("rank") is None:
            continue
        if row["figure"] == "probe":
            low[_place(row)][row["rank"]] = row["value"]
        elif row.get("measure") in LOW_RANK:
            similar = row["measure"] in ("linear_cka", "direct_functional")
            scores[*_place(row), LOW_RANK[row["measure"]]][row["rank"]] = -row["value"] if similar else row["value"]
    groups: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    for (family, seed, cut, measure), distances in scores.items():
        place = family, seed, cut
        ranks = sorted(distances.keys() & low[place].keys())
        losses = [abs(full[place] - low[place][rank]) for rank in ranks]
        groups[family, seed, measure].append(_correlations(losses, [distances[rank] for rank in ranks]))
    for (family, seed, measure), pairs in groups.items():
        yield from _correlation_rows("sensitivity", family, seed, measure, np.nanmean(np.array(pairs), axis=0))


def specific(rows: Sequence[Row]) -> Iterator[Row]:
    """Rank correlations over all cuts of each network with the reference, by each index and rule.

    The reference is the cut of all networks of a family with the best probe on the half of the samples that is set
    aside for this choice; accuracies are those on the other half.
    """
    accuracy = {_place(row): row["value"] for row in rows if row["figure"] == "probe" and row.get("rank") is None}
    choice = {_place(row): row["value"] for row in rows if row["figure"] == "probe_choose" and row.get("rank") is None}
    best = {
        family: max((place for place in choice if place[0] == family), key=lambda place: choice[place])
        for family in {place[0] for place in choice}
    }
    for (index, rule), pairs in similarities(rows).items():
        for (family, sender, receiver), cells in pairs.items():
            if family not in best or sender != best[family][1] or index == FUNCTIONAL["task"]:
                continue
            reference = best[family]
            places = [place for place in accuracy if place[:2] == (family, receiver) and place != reference]
            known = [place for place in places if (reference[2], place[2]) in cells]
            losses = [abs(accuracy[reference] - accuracy[place]) for place in known]
            distances = [-cells[reference[2], place[2]] for place in known]
            yield from _correlation_rows(
                "specificity", family, receiver, index, _correlations(losses, distances), rule=rule
            )


def _place(row: Row) -> tuple[Any, Any, Any]:
    """A family, a seed and a cut."""
    return row["receiver"], row.get("receiver_seed"), row["receiver_cut"]


def _correlations(losses: Sequence[float], distances: Sequence[float]) -> tuple[float, float]:
    """Kendall's τ and Spearman's ρ; 0 where the distances are all the same."""
    return kendall(losses, distances)[0], spearman(losses, distances)[0]


def _correlation_rows(
    test: str, family: str, seed: Any, measure: str, values: Iterable[float], **more: Any
) -> Iterator[Row]:
    """The rows of both correlations; nothing where there is no value."""
    labels = {"receiver": family, "receiver_seed": seed, "measure": measure, "range": CORRELATION, **more}
    for name, value in zip(("kendall", "spearman"), values, strict=True):
        if np.isfinite(value):
            yield {**labels, "figure": f"{test}_{name}", "value": float(value)}
