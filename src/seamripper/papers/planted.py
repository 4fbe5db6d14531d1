"""Planted results, derived from a claim: rows in which it holds, in which it fails, and in which nothing is decided."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from seamripper.papers.checks import CHECKS
from seamripper.papers.claims import COUNTS, Claim, Clause
from seamripper.papers.results import Labels, Range, Row, Select, Several, Units

World = Literal["holds", "fails", "one seed", "wide", "gates fail"]
_SEEDS = (0, 1, 2)
_STEP, _BASE, _NOISE = 0.1, 0.5, 1e-4
"""How far values lie apart that differ, where those lie that nothing fixes, and how much seeds differ."""
_WIDE = 10
"""How much they differ in the wide world: by more than any bound."""
Place = tuple[str, tuple[tuple[str, Any], ...], int]
"""A cell of the results: a figure, its labels, and which unit it is of those that an estimate is over."""


def planted_rows(claim: Claim, world: World, profile: str = "") -> list[Row]:
    """Rows of results in which a claim holds, fails, or cannot be decided: of one seed, or of seeds far apart.

    A claim that asks whether it depends on something "holds" where it does. One that is answered by what audits
    conclude is given one answer in the world where it "holds" and another in the one where it "fails". Where "gates
    fail", the claim itself holds; in the other worlds the gates hold.
    """
    values: dict[Place, Callable[[int], float]] = {}
    for gate in claim.gates:
        for labels in gate.select.cells():
            _plant(gate.claim.clauses()[0], labels, values, holds=world != "gates fail")
    gates = list(_all_rows(values, world))
    if world == "gates fail":
        return _merge(gates, planted_rows(replace(claim, gates=()), "holds", profile))
    if claim.check == COUNTS:
        return [*gates, *_audits(claim, world)]
    if claim.depends is not None:
        first, second = (claim.variant(value) for value in claim.depends.values)
        other: World = "fails" if world == "holds" else "holds" if world == "fails" else world
        ways = (first, "holds" if world == "fails" else world), (second, other)
        return _merge(*(planted_rows(way, each, profile) for way, each in ways))
    for clause in claim.clauses(profile):
        for labels in clause.select.cells():
            _plant(clause, labels, values, holds=world != "fails")
    return list(_all_rows(values, world))


def _all_rows(values: Mapping[Place, Callable[[int], float]], world: World) -> Iterator[Row]:
    for k, (place, value) in enumerate(values.items()):
        yield from _rows(place, value, world, k)


def _plant(clause: Clause, labels: Labels, values: dict[Place, Callable[[int], float]], *, holds: bool) -> None:
    """Plant the value of a cell and of what stands against it, so that the check holds or fails."""
    check = CHECKS[clause.check]
    step = check.planted[0 if holds else 1]
    places = list(_places(clause.select, labels))
    if check.of_seeds:
        width = 2 * clause.bound * step
        values |= {place: lambda seed: _BASE + width * (seed - 1) for place in places}
        return
    if any(isinstance(value, Range) for value in labels.values()):
        span = 0.0 if holds else 2 * clause.bound
        values |= {place: _constant(_BASE + span * k) for k, place in enumerate(places)}
        return
    beside = [p for s in clause.beside for p in _places(s, s.beside(labels, clause.select.axes), clause.select)]
    gap = step * _STEP
    gap += (1 if gap > 0 else -1 if gap < 0 else 0) * (clause.bound if clause.beside else 0.0)
    if not beside:
        # Beyond a bound near 1 there is little room.
        room = (1 - clause.number) / 2 if 0 < clause.number < 1 else _STEP
        values |= {place: _constant(clause.number + (min(gap, room) if gap > 0 else gap)) for place in places}
        return
    known = next((values[place](1) for place in beside if place in values), None)
    base = known if known is not None else values[places[0]](1) - gap if places[0] in values else _BASE
    values |= {place: _constant(base) for place in beside if place not in values}
    values |= {place: _constant(base + gap) for place in places if place not in values}


def _constant(value: float) -> Callable[[int], float]:
    """Nearly the same for every seed; equal values have equal patterns, and others another."""
    pattern = zlib.crc32(f"{value:.6f}".encode()) % 5
    return lambda seed: value + _NOISE * ((3 * seed + pattern) % 5 - 2) / 2


def _places(select: Select, labels: Labels, other: Select | None = None) -> Iterator[Place]:
    """The cells of the results behind a cell: several, where labels have units or a range."""
    figures = select.figures or (other.figures if other else ())
    several = [(key, value) for key, value in labels.items() if isinstance(value, Several)]
    for key, values in several or [("", Units(("",)))]:
        for k, each in enumerate(values.values):
            whole = {**labels, key: each} if key else labels
            fixed = {k: min(v) if isinstance(v, frozenset) else v for k, v in whole.items() if v is not None}
            yield figures[0], tuple(sorted(fixed.items())), k if isinstance(values, Units) else 0


def _rows(place: Place, value: Callable[[int], float], world: World, k: int) -> Iterator[Row]:
    """The rows of a cell: of three seeds, or of one. In the wide world each cell has a width of its own."""
    figure, labels, unit = place
    # Of one network, stitches that started otherwise are the units.
    units = "seed" if "receiver_seed" in dict(labels) else "receiver_seed"
    for seed in _SEEDS if world != "one seed" else (0,):
        wide = _WIDE * (seed - 1 + unit) * (k + 1) if world == "wide" else 0
        yield {
            "figure": figure,
            "value": value(seed) + wide,
            **dict(labels),
            units: seed,
            "key": f"{k}/{seed}",
        }


def _audits(claim: Claim, world: World) -> Iterator[Row]:
    (clause,) = claim.clauses()
    (rule,) = clause.beside
    answer = "same information" if world == "holds" else "different information"
    for labels in clause.select.cells():
        row = {**labels, "value": 0.5, "receiver_seed": 0}
        yield {**row, "figure": clause.select.figures[0]}
        yield {**row, **rule.labels, "figure": rule.figures[0], "status": answer}


def _merge(*worlds: list[Row]) -> list[Row]:
    """The rows of both worlds; where both have a cell that does not depend on them, that of the first."""
    rows: dict[Any, Row] = {}
    for world in worlds:
        for row in world:
            known: Mapping[str, Any] = {key: v for key, v in row.items() if key not in ("value", "key")}
            rows.setdefault(tuple(sorted(known.items(), key=str)), row)
    return list(rows.values())
