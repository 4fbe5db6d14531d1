"""Our measures against values that other people's implementations computed: see tests/golden/measures/README.md."""

from __future__ import annotations

import functools
import json
import math
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

from seamripper.measures import Pair, measures

GOLDEN = Path(__file__).parents[1] / "golden" / "measures"
TIGHT, APART = 1e-10, 1e-8
"""How close a value is to be, relative or absolute; and how far one that is on file as different."""


def on_file() -> dict[str, list[tuple[str, Any]]]:
    """Records of who agrees and who differs, with the measure's name."""
    found: dict[str, list[tuple[str, Any]]] = {"agrees": [], "differs": []}
    for path in sorted(GOLDEN.glob("*.json")):
        contents = json.loads(path.read_text(encoding="utf-8")) if path.stem != "inputs" else {}
        for measure, kinds in contents.items():
            for kind, records in kinds.items():
                found[kind] += [(measure, record) for record in records]
    return found


RECORDS = on_file()


def cases(kind: str) -> list[Any]:
    return [pytest.param(name, record, id=f"{name} by {record['by'].split()[0]}") for name, record in RECORDS[kind]]


@functools.cache
def pairs() -> dict[str, Pair]:
    drawn = runpy.run_path(str(GOLDEN / "inputs.py"))["inputs"]()
    return {name: Pair.of(torch.from_numpy(x), torch.from_numpy(y)) for name, (x, y) in drawn.items()}


@functools.cache
def ours(measure: str, name: str, reads: str) -> tuple[float, ...]:
    made, pair = measures.make(measure), pairs()[name]
    if reads == "sides":
        sides = made.sides(pair)
        assert sides is not None
        return sides
    if reads == "both orders":
        return ((made.value(pair) + made.value(pair.swapped)) / 2,)
    return (made.value(pair),)


def theirs(value: float | list[float]) -> tuple[float, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def close(a: tuple[float, ...], b: tuple[float, ...], tolerance: float) -> bool:
    return all(math.isclose(v, w, rel_tol=tolerance, abs_tol=tolerance) for v, w in zip(a, b, strict=True))


@pytest.mark.parametrize(("measure", "record"), cases("agrees"))
def test_agrees(measure: str, record: dict[str, Any]) -> None:
    tolerance = record.get("tolerance", TIGHT)
    for name, value in record["values"].items():
        found = ours(measure, name, record["reads"])
        assert close(found, theirs(value), tolerance), f"{measure} on {name}: ours {found}, {record['by']} {value}"


@pytest.mark.parametrize(("measure", "record"), cases("differs"))
def test_what_is_said_to_differ_does(measure: str, record: dict[str, Any]) -> None:
    for name, value in record["values"].items():
        found = ours(measure, name, record["reads"])
        assert not close(found, theirs(value), APART), f"{measure} on {name} agrees, so this is not so: {record['why']}"


def test_no_tolerance_hides_a_disagreement() -> None:
    for measure, record in RECORDS["agrees"]:
        tolerance = record.get("tolerance", TIGHT)
        assert tolerance <= 1e-6, measure
        assert tolerance == TIGHT or record["note"], measure
        assert not close(theirs(1.0), theirs(1.0 + 3 * tolerance), tolerance)


def test_every_measure_has_an_oracle() -> None:
    own = {name for name, cls in measures.items() if cls.__module__.startswith("seamripper.")}
    assert own <= {measures.make(measure).name for measure, _ in RECORDS["agrees"]}


def test_inputs_are_those_of_the_oracles() -> None:
    known = json.loads((GOLDEN / "inputs.json").read_text(encoding="utf-8"))
    assert known.keys() == pairs().keys()
    for name, sides in known.items():
        for side, expected in zip((pairs()[name].x, pairs()[name].y), sides, strict=True):
            assert list(side.matrix.shape) == expected["shape"], name
            assert float(side.matrix.sum()) == pytest.approx(expected["sum"], abs=1e-9), name
            assert float(side.matrix.square().sum()) == pytest.approx(expected["squares"], rel=1e-12), name
