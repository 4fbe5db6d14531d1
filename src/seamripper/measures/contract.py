"""The contract: what every measure is held to, clause by clause, on data whose answer is known.

A claim is tested, and so is its absence: a measure that does not say that it is symmetric, or invariant to something,
must show on at least one draw of generic data that it is not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.base import TRANSFORMATIONS, Claims, Measure, Transformation
from seamripper.measures.draws import as_batches, as_moments, draws, few_rows, transform
from seamripper.measures.pair import Pair

TOLERANCE = 1e-6
"""What counts as rounding, relative to the value, or to 1 where that is larger."""
_SINGLE = 1e-3
"""How far float32 may lead away from float64."""


@dataclass(frozen=True)
class ClauseResult:
    """What came of one clause: whether the measure keeps it, and a sentence with what was expected and what came."""

    clause: str
    passed: bool
    sentence: str

    def as_record(self) -> dict[str, Any]:
        """The finding as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class _Clause:
    """A clause by name, what it expects, and a function that says what came if that is not it."""

    name: str
    expected: str
    broken: Callable[[Measure], str | None]


def check(measure: Measure) -> tuple[ClauseResult, ...]:
    """Hold the measure to every clause.

    >>> from seamripper.measures.linear_cka import LinearCKA
    >>> findings = check(LinearCKA())
    >>> len(findings), all(finding.passed for finding in findings)
    (27, True)
    >>> print(findings[1].sentence)
    Expected 1.0 for any representation with itself.
    """
    # Not even its claims are trusted: without sound ones there is nothing to hold it to.
    first = _result(_Clause("claims", "claims that make sense", _claims), measure)
    if not first.passed:
        return (first,)
    return (first, *(_result(clause, measure) for clause in _clauses(measure.claims)))


def _result(clause: _Clause, measure: Measure) -> ClauseResult:
    before = _randomness()
    try:
        came = clause.broken(measure)
    except MeasureError as e:
        came = f"it refused: {e}"
    # A user's own code may raise anything, and the other clauses are still worth knowing.
    except Exception as e:
        came = f"it raised {type(e).__name__}: {e}"
    finally:
        _restore(before)
    ending = "." if came is None else f", but {came.rstrip('.')}."
    return ClauseResult(clause.name, came is None, f"Expected {clause.expected}{ending}")


def _clauses(claims: Claims) -> Iterator[_Clause]:
    own = f"{claims.self_score} for any representation with itself"
    better = "higher" if claims.direction == "similarity" else "lower"
    low, high = claims.range
    yield _Clause("self-score", own, _self_score)
    yield _Clause("symmetry", _SAME if claims.symmetric else "another value with the sides changed over", _symmetry)
    moves = "to change the value" if claims.paired else "not to change the value, as it pairs no samples"
    yield _Clause("pairing", f"another order of the receiver's samples {moves}", _pairing)
    for side in ("x", "y"):
        for how in TRANSFORMATIONS:
            yield _transformation(claims, side, how)
    yield _Clause("range", f"values between {low} and {high}", _range)
    yield _Clause("direction", f"related data to score {better} than unrelated, and nearer the self-score", _direction)
    needs = "a refusal of moments without rows" if claims.needs == "rows" else f"{claims.needs} to give what rows give"
    yield _Clause("needs", needs, _needs)
    yield _Clause("dtype", "float32 and whole numbers to give the value of float64", _dtype)
    yield _Clause("device", "a Python float on every device, and the same one", _device)
    yield _Clause("fewer rows than columns", f"a refusal, or a value that is not {claims.self_score}", _few_rows)
    constant = "a refusal of a side that is constant" if claims.varying else "a value also for a side that is constant"
    yield _Clause("constant side", constant, _constant_side)
    yield _Clause("constant column", "a refusal or a finite value with one constant column", _constant_column)
    yield _Clause("duplicated columns", f"a value in range with duplicated columns, and {own}", _duplicate_columns)
    yield _Clause("not finite", "a refusal of NaN and Inf", _not_finite)
    yield _Clause("determinism", "the same value twice, to the last bit", _determinism)
    yield _Clause("global randomness", "the global generators to be left alone", _global_randomness)
    yield _Clause("inputs", "the rows and the pair to be left as they were", _inputs)


_SAME = "the same value with the sides changed over"


def _claims(measure: Measure) -> str | None:
    claims = measure.claims
    if not isinstance(claims, Claims):
        return f"`claims` is a {type(claims).__name__} and not a Claims"
    sides = (claims.invariant_to, claims.receiver_invariant_to or frozenset())
    unknown = sorted(frozenset[str]().union(*sides) - set(TRANSFORMATIONS))
    low, high = claims.range
    if claims.direction not in ("similarity", "distance") or claims.needs not in ("moments", "batches", "rows"):
        return f"the direction is {claims.direction!r} and it needs {claims.needs!r}"
    if unknown:
        return f"it claims to be invariant to {', '.join(unknown)}, and what there is is {', '.join(TRANSFORMATIONS)}"
    if not low < high or not low <= claims.self_score <= high:
        return f"the self-score {claims.self_score} is not in the range from {low} to {high}"
    return None


def _self_score(measure: Measure) -> str | None:
    for draw in draws(measure.claims):
        for rows in (draw.x, draw.y):
            value = _value(measure, rows, rows)
            if _differ(value, measure.claims.self_score):
                return f"{_size(rows)} gave {value!r}"
    return None


def _symmetry(measure: Measure) -> str | None:
    both = [(_value(measure, d.x, d.y), _value(measure, d.y, d.x)) for d in draws(measure.claims)]
    return _all_alike(both) if measure.claims.symmetric else _some_differ(both)


def _pairing(measure: Measure) -> str | None:
    both = [(_value(measure, d.x, d.y), _value(measure, d.x, d.y.flip(0))) for d in draws(measure.claims)]
    return _some_differ(both) if measure.claims.paired else _all_alike(both)


def _transformation(claims: Claims, side: str, how: Transformation) -> _Clause:
    own, other = claims.invariant_to, claims.receiver_invariant_to
    invariant = how in (own if side == "x" or other is None else other)

    def violation(measure: Measure) -> str | None:
        both = []
        for d in draws(claims):
            x = transform(d.x, how, d.seed) if side == "x" else d.x
            y = transform(d.y, how, d.seed) if side == "y" else d.y
            both.append((_value(measure, d.x, d.y), _value(measure, x, y)))
        return _all_alike(both) if invariant else _some_differ(both)

    does = "not to change the value" if invariant else "to change the value, as no invariance is claimed"
    return _Clause(f"{how} of {side}", f"{_WORDS[how]} of {side} {does}", violation)


_WORDS: dict[Transformation, str] = {
    "translation": "a shift",
    "scaling": "a scaling by a positive number",
    "orthogonal": "a rotation",
    "permutation": "a permutation of the columns",
    "invertible": "an invertible map",
}


def _range(measure: Measure) -> str | None:
    for d in draws(measure.claims):
        for x, y in ((d.x, d.y), (d.y, d.x), (d.x, d.near), (d.x, d.far), (d.far, d.x), (d.x, d.x), (d.far, d.far)):
            value = _value(measure, x, y)
            if not _within(measure.claims, value):
                return f"{_size(x)} and {_size(y)} gave {value!r}"
    return None


def _direction(measure: Measure) -> str | None:
    claims = measure.claims
    sign = 1 if claims.direction == "similarity" else -1
    tells_apart = False
    for d in draws(claims):
        near, far = _value(measure, d.x, d.near), _value(measure, d.x, d.far)
        gain = sign * (near - far)
        if gain < 0 or abs(near - claims.self_score) > abs(far - claims.self_score):
            return f"related gave {near!r} and unrelated {far!r}"
        tells_apart |= gain > 0
    return None if tells_apart else "it gives both the same"


def _needs(measure: Measure) -> str | None:
    needs = measure.claims.needs
    for d in draws(measure.claims):
        pair = Pair.of(d.x.clone(), d.y.clone())
        if needs == "rows":
            refused = _attempt(measure, as_moments(pair))
            if refused is not None:
                return f"it gave {refused!r}"
            continue
        # A measure over minibatches says in an option how large they are.
        less = as_moments(pair) if needs == "moments" else as_batches(pair, batch=getattr(measure, "batch", 64))
        value, same = measure.value(less), measure.value(pair)
        if _differ(value, same):
            return f"{needs} gave {value!r} and rows {same!r}"
    return None


def _dtype(measure: Measure) -> str | None:
    for d in draws(measure.claims):
        double, single = _value(measure, d.x, d.y), _value(measure, d.x.float(), d.y.float())
        if _differ(double, single, _SINGLE):
            return f"float64 gave {double!r} and float32 {single!r}"
        x, y = (20 * d.x).round(), (20 * d.y).round()
        double, whole = _value(measure, x, y), _value(measure, x.long(), y.long())
        if _differ(double, whole):
            return f"whole numbers gave {whole!r} and as float64 {double!r}"
    return None


def _device(measure: Measure) -> str | None:
    d = draws(measure.claims)[0]
    pair = Pair.of(d.x.clone(), d.y.clone())
    value = measure.value(pair)
    # What it returns itself, before `value` makes it a float. Not isinstance: numpy's floats pass for Python's.
    returned: object = measure.of(pair)
    if type(returned) is not float:
        return f"it returned a {type(returned).__name__}"
    for device in ["cuda"] * torch.cuda.is_available():
        there = _value(measure, d.x.to(device), d.y.to(device))
        if _differ(there, value):
            return f"it gave {value!r} on the CPU and {there!r} on {device}"
    return None


def _few_rows(measure: Measure) -> str | None:
    x, y = few_rows(measure.claims)
    value = _attempt(measure, Pair.of(x, y))
    if value is None:
        return None
    if not math.isfinite(value) or not _differ(value, measure.claims.self_score):
        return f"unrelated data, {_size(x)} and {_size(y)}, gave {value!r}"
    return None


def _constant_side(measure: Measure) -> str | None:
    d = draws(measure.claims)[0]
    x, y = d.x[:1].expand_as(d.x), d.y[:1].expand_as(d.y)
    for a, b, which in ((x, d.y, "x"), (d.x, y, "y"), (x, y, "both")):
        value = _attempt(measure, Pair.of(a.clone(), b.clone()))
        if measure.claims.varying and value is not None:
            return f"with {which} constant it gave {value!r}"
        if not measure.claims.varying and (value is None or not math.isfinite(value)):
            return f"with {which} constant it gave none"
    return None


def _constant_column(measure: Measure) -> str | None:
    for d in draws(measure.claims):
        x, y = d.x.clone(), d.y.clone()
        x[:, 0], y[:, 0] = x[0, 0], y[0, 0]
        for a, b in ((x, d.y), (d.x, y), (x, y)):
            value = _attempt(measure, Pair.of(a.clone(), b.clone()))
            if value is not None and not math.isfinite(value):
                return f"it gave {value!r}"
    return None


def _duplicate_columns(measure: Measure) -> str | None:
    for d in draws(measure.claims):
        x, y = torch.cat([d.x, d.x[:, :2]], 1), torch.cat([d.y, d.y[:, :2]], 1)
        value, own = _value(measure, x, y), _value(measure, x, x)
        if not _within(measure.claims, value):
            return f"it gave {value!r}"
        if _differ(own, measure.claims.self_score):
            return f"such a representation with itself gave {own!r}"
    return None


def _not_finite(measure: Measure) -> str | None:
    d = draws(measure.claims)[0]
    for bad in (math.nan, math.inf):
        for which in (0, 1):
            rows = [d.x.clone(), d.y.clone()]
            rows[which][3, 1] = bad
            try:
                value = measure.value(Pair.of(*rows))
            except MeasureError:
                continue
            return f"{bad} gave {value!r}"
    return None


def _determinism(measure: Measure) -> str | None:
    for d in draws(measure.claims):
        first, second = _value(measure, d.x, d.y), _value(measure, d.x, d.y)
        if first != second:
            return f"it gave {first!r} and then {second!r}"
    return None


def _global_randomness(measure: Measure) -> str | None:
    d = draws(measure.claims)[0]
    before = _randomness()
    _value(measure, d.x, d.y)
    moved = [name for name, state in _randomness().items() if state != before[name]]
    return f"it moved that of {' and '.join(moved)}" if moved else None


def _inputs(measure: Measure) -> str | None:
    d = draws(measure.claims)[0]
    x, y = d.x.clone(), d.y.clone()
    pair, fresh = Pair.of(x, y), Pair.of(d.x.clone(), d.y.clone())
    forms = [(pair, fresh)]
    if measure.claims.needs == "moments":
        forms.append((as_moments(pair), as_moments(fresh)))
    for used, new in forms:
        _quantities(used)
        _attempt(measure, used)
        untouched = _quantities(new)
        changed = [name for name, tensor in _quantities(used).items() if not torch.equal(tensor, untouched[name])]
        if changed:
            return f"it changed {' and '.join(changed)}"
    return None


def _quantities(pair: Pair) -> dict[str, Tensor]:
    """What a pair holds, or has computed and will not compute again."""
    quantities = {"sxy": pair.sxy, "the directions": pair.canonical[0]}
    for name, side in (("x", pair.x), ("y", pair.y)):
        quantities |= {f"the mean of {name}": side.mean, f"the covariance of {name}": side.s}
        quantities |= {f"the eigenvectors of {name}": side.eigen[1]}
        if side.rows is not None:
            quantities |= {f"the rows of {name}": side.rows, f"the centred rows of {name}": side.centred}
    return quantities


def _value(measure: Measure, x: Tensor, y: Tensor) -> float:
    # Copies: one clause must not suffer from what a measure did to its inputs in another.
    return measure.value(Pair.of(x.clone(), y.clone()))


def _attempt(measure: Measure, pair: Pair) -> float | None:
    """The value, or None if it was refused."""
    try:
        return measure.value(pair)
    except MeasureError:
        return None


def _differ(a: float, b: float, tolerance: float = TOLERANCE) -> bool:
    # Not >, or NaN would pass for anything.
    return not abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def _within(claims: Claims, value: float) -> bool:
    low, high = claims.range
    return math.isfinite(value) and low - TOLERANCE <= value <= high + TOLERANCE


def _all_alike(both: list[tuple[float, float]]) -> str | None:
    return next((f"{a!r} became {b!r}" for a, b in both if _differ(a, b)), None)


def _some_differ(both: list[tuple[float, float]]) -> str | None:
    if any(abs(a - b) > TOLERANCE * max(abs(a), abs(b)) for a, b in both):
        return None
    return f"it did not on any of {len(both)} draws, {both[0][0]!r} on the first"


def _size(rows: Tensor) -> str:
    return f"{rows.shape[0]} rows of {rows.shape[1]} columns"


def _randomness() -> dict[str, Any]:
    """The states of the global generators, in a form that can be compared."""
    return {
        "random": random.getstate(),
        "numpy": tuple(np.asarray(part).tolist() for part in np.random.get_state()),
        "torch": torch.get_rng_state().tolist(),
    }


def _restore(states: dict[str, Any]) -> None:
    random.setstate(states["random"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(torch.tensor(states["torch"], dtype=torch.uint8))
