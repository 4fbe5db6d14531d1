"""Every measure is held to the contract, with every option that is a word; so are planted ones that break a clause."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
import torch

from seamripper.errors import MeasureError
from seamripper.measures import Claims, Measure, Pair, Side, choose_measures, measures
from seamripper.measures.base import SHAPE, TRANSFORMATIONS, Transformation
from seamripper.measures.contract import check
from seamripper.measures.draws import as_moments

NUMBERS = ("gulp?ridge=0", "svcca?dims=3", "svcca?keep=0.8", "minibatch_cka?batch=32", "mutual_knn?k=3")
"""Some measures with other numbers than their defaults."""


def every() -> list[Measure]:
    """All variants of all measures, and each with every other word or switch that one option may be set to."""
    found = {measure.label: measure for measure in (*choose_measures(["all"]), *choose_measures(NUMBERS))}
    for cls in measures.values():
        hints = get_type_hints(cls)
        for field in fields(cls):
            hint = hints[field.name]
            words = get_args(hint) if get_origin(hint) is Literal else (True, False) if hint is bool else ()
            for word in words:
                made = cls(**{field.name: word})
                found.setdefault(made.label, made)
    return list(found.values())


@pytest.mark.parametrize("measure", every(), ids=lambda measure: measure.label)
def test_contract(measure: Measure) -> None:
    assert [finding.sentence for finding in check(measure) if not finding.passed] == []


@pytest.mark.parametrize("measure", every(), ids=lambda measure: measure.label)
def test_a_label_is_read_back(measure: Measure) -> None:
    assert measures.make(measure.label) == measure


# ---- the contract itself ----


@dataclass(frozen=True)
class Good(Measure):
    """Linear CKA, written apart from the library's; its children break one clause each."""

    name = "planted"
    paper = "none"

    @property
    def claims(self) -> Claims:
        return Claims("similarity", symmetric=True, range=(0.0, 1.0), self_score=1.0, invariant_to=SHAPE)

    def of(self, pair: Pair) -> float:
        own = [float(torch.linalg.matrix_norm(s)) for s in (pair.x.s, pair.y.s)]
        return float(torch.linalg.matrix_norm(pair.sxy)) ** 2 / (own[0] * own[1])


@dataclass(frozen=True)
class GoodCCA(Good):
    """Mean squared canonical correlation: invariant to everything."""

    @property
    def claims(self) -> Claims:
        return replace(super().claims, invariant_to=frozenset(TRANSFORMATIONS), spans=True)

    def of(self, pair: Pair) -> float:
        return float((pair.canonical[1] ** 2).sum()) / max(pair.x.rank, pair.y.rank)


@dataclass(frozen=True)
class GoodRows(Good):
    """A distance from rows that does not care for constants: how much longer the rows of one side are."""

    @property
    def claims(self) -> Claims:
        turns = frozenset[Transformation]({"orthogonal", "permutation"})
        return Claims("distance", True, (0.0, math.inf), 0.0, turns, needs="rows", varying=False, paired=False)

    def of(self, pair: Pair) -> float:
        a, b = (float(side.matrix.norm(dim=1).mean()) for side in (pair.x, pair.y))
        return abs(a - b)


@dataclass(frozen=True)
class GoodWidth(Good):
    """The mean correlation of column with column: for equal widths only."""

    @property
    def claims(self) -> Claims:
        to = frozenset[Transformation]({"translation", "scaling"})
        return Claims("similarity", True, (-1.0, 1.0), 1.0, to, same_width=True)

    def of(self, pair: Pair) -> float:
        lengths = [side.s.diag().clamp(min=1e-12).sqrt() for side in (pair.x, pair.y)]
        return float((pair.sxy.diag() / (lengths[0] * lengths[1])).mean())


@pytest.mark.parametrize("measure", [Good(), GoodCCA(), GoodRows(), GoodWidth()])
def test_planted_good_ones_pass(measure: Measure) -> None:
    findings = check(measure)
    assert [finding.sentence for finding in findings if not finding.passed] == []
    assert len({finding.clause for finding in findings}) == len(findings) == 27


# Claims that are not true.


@dataclass(frozen=True)
class OutOfRange(Good):
    @property
    def claims(self) -> Claims:
        return replace(super().claims, range=(0.0, 0.9))


@dataclass(frozen=True)
class NotTurned(Good):
    @property
    def claims(self) -> Claims:
        return replace(super().claims, invariant_to=frozenset({"rotation"}))  # type: ignore[arg-type]


@dataclass(frozen=True)
class NoClaims(Good):
    @property
    def claims(self) -> Claims:
        raise ZeroDivisionError("division by zero")


@dataclass(frozen=True)
class NotSymmetric(Good):
    def of(self, pair: Pair) -> float:
        return super().of(pair) ** (2 if pair.x.width > pair.y.width else 1)


@dataclass(frozen=True)
class SecretlySymmetric(Good):
    @property
    def claims(self) -> Claims:
        return replace(super().claims, symmetric=False)


@dataclass(frozen=True)
class SaysItPairs(GoodRows):
    """Does not say that any order of the samples is the same to it."""

    @property
    def claims(self) -> Claims:
        return replace(super().claims, paired=True)


@dataclass(frozen=True)
class SaysItDoesNotPair(Good):
    @property
    def claims(self) -> Claims:
        return replace(super().claims, paired=False)


@dataclass(frozen=True)
class WrongDirection(Good):
    @property
    def claims(self) -> Claims:
        return replace(super().claims, direction="distance")


@dataclass(frozen=True)
class BlindToData(Good):
    """The same for related and unrelated data."""

    def of(self, pair: Pair) -> float:
        value = super().of(pair)
        same = pair.x.width == pair.y.width and torch.equal(pair.x.s, pair.y.s)
        return value if same or pair.x.width != pair.y.width or pair.n < pair.x.width else 0.5


@dataclass(frozen=True)
class Sees(Good):
    """Says that it does not see what is done to one side, and does: a figure of that side is its exponent."""

    what: str = "translation"
    side: str = "x"

    @property
    def claims(self) -> Claims:
        to = set(SHAPE)
        if self.what == "permutation":
            to -= {"orthogonal"}
        sides = (frozenset(to), SHAPE) if self.side == "x" else (SHAPE, frozenset(to))
        return replace(super().claims, symmetric=False, invariant_to=sides[0], receiver_invariant_to=sides[1])

    def of(self, pair: Pair) -> float:
        side = pair.x if self.side == "x" else pair.y
        return super().of(pair) ** (1 + _figure(side, self.what))


def _figure(side: Side, what: str) -> float:
    """A number between 0 and 1 that changes with a transformation, and with as few others as there can be."""
    if what == "translation":
        square = side.n * float(side.mean @ side.mean)
        return square / (square + side.total)
    if what == "scaling":
        return side.total / (side.n + side.total)
    share = side.s.diag() / side.total
    return float((share**2).sum() if what == "orthogonal" else share[0])


@dataclass(frozen=True)
class ClaimsInvertible(Good):
    side: str = "x"

    @property
    def claims(self) -> Claims:
        to = [SHAPE | {"invertible"} if side == self.side else SHAPE for side in ("x", "y")]
        return replace(super().claims, invariant_to=to[0], receiver_invariant_to=to[1])


@dataclass(frozen=True)
class Secretly(Good):
    """Does not say that it is invariant, and is."""

    what: str = "translation"
    side: str = "x"

    @property
    def claims(self) -> Claims:
        to = [SHAPE - {self.what} if side == self.side else SHAPE for side in ("x", "y")]
        return replace(super().claims, invariant_to=to[0], receiver_invariant_to=to[1])


@dataclass(frozen=True)
class SecretlyInvertible(GoodCCA):
    side: str = "x"

    @property
    def claims(self) -> Claims:
        whole = super().claims.invariant_to
        to = [whole - {"invertible"} if side == self.side else whole for side in ("x", "y")]
        return replace(super().claims, invariant_to=to[0], receiver_invariant_to=to[1])


# Values that are not right.


@dataclass(frozen=True)
class NotItself(Good):
    def of(self, pair: Pair) -> float:
        value = super().of(pair)
        return value - 0.01 if value > 1 - 1e-9 and pair.x.rank == pair.x.width else value


@dataclass(frozen=True)
class BelowZero(Good):
    def of(self, pair: Pair) -> float:
        value = super().of(pair)
        return value if value > 0.3 else value - 0.5


@dataclass(frozen=True)
class OtherByMoments(Good):
    def of(self, pair: Pair) -> float:
        return super().of(pair) * (1 - 1e-3 * (pair.x.rows is None))


@dataclass(frozen=True)
class TakesMoments(GoodRows):
    def value(self, pair: Pair) -> float:
        return super().value(pair) if pair.x.rows is not None else 0.5


@dataclass(frozen=True)
class SeesDtype(Good):
    def of(self, pair: Pair) -> float:
        return super().of(pair) * (0.99 if pair.x.grain > 1e-10 else 1)


@dataclass(frozen=True)
class GivesTensor(Good):
    def of(self, pair: Pair) -> float:
        return torch.tensor(super().of(pair), dtype=torch.float64)  # type: ignore[return-value]


@dataclass(frozen=True)
class GivesNumpy(Good):
    def of(self, pair: Pair) -> float:
        return np.float64(super().of(pair))


@dataclass(frozen=True)
class SilentlyOne(Good):
    """As a CCA without a thought for fewer rows than columns."""

    def of(self, pair: Pair) -> float:
        return 1.0 if pair.x.rank >= pair.n - 1 else super().of(pair)


@dataclass(frozen=True)
class TakesConstants(Good):
    def value(self, pair: Pair) -> float:
        constant = min(pair.x.total, pair.y.total) < 1e-20
        return 0.0 if constant else super().value(pair)


@dataclass(frozen=True)
class NanForConstants(GoodRows):
    def of(self, pair: Pair) -> float:
        constant = min(pair.x.total, pair.y.total) < 1e-20
        return math.nan if constant else super().of(pair)


@dataclass(frozen=True)
class FailsOnDeadColumns(Good):
    def of(self, pair: Pair) -> float:
        for side in (pair.x, pair.y):
            if pair.n > side.width:
                1 / min(round(square, 9) for square in side.s.diag().tolist())
        return super().of(pair)


@dataclass(frozen=True)
class NanForDeadColumns(Good):
    def value(self, pair: Pair) -> float:
        dead = float(min(pair.x.s.diag().min(), pair.y.s.diag().min())) < 1e-20
        return math.nan if dead and min(pair.x.total, pair.y.total) > 1e-20 else super().value(pair)


@dataclass(frozen=True)
class FailsOnTwins(Good):
    """An inverse of a covariance that has none."""

    def of(self, pair: Pair) -> float:
        if pair.x.rank < pair.x.width < pair.n and float(pair.x.s.diag().min()) > 1e-20:
            raise ZeroDivisionError("singular")
        return super().of(pair)


@dataclass(frozen=True)
class TwinsAreNotThemselves(Good):
    def of(self, pair: Pair) -> float:
        value = super().of(pair)
        return value / 2 if value > 1 - 1e-9 and pair.x.rank < pair.x.width else value


# Manners.


@dataclass(frozen=True)
class NotTwice(Good):
    def of(self, pair: Pair) -> float:
        return super().of(pair) * (1 - 1e-9 * random.SystemRandom().random())


@dataclass(frozen=True)
class Draws(Good):
    whose: str = "torch"

    def of(self, pair: Pair) -> float:
        {"torch": lambda: torch.rand(1), "numpy": lambda: np.random.rand(), "random": random.random}[self.whose]()
        return super().of(pair)


@dataclass(frozen=True)
class CentresInPlace(Good):
    def of(self, pair: Pair) -> float:
        value = super().of(pair)
        if pair.x.rows is not None:
            pair.x.rows.sub_(pair.x.mean)
        return value


@dataclass(frozen=True)
class SpoilsThePair(Good):
    def of(self, pair: Pair) -> float:
        value = super().of(pair)
        pair.sxy.mul_(2)
        return value


@dataclass(frozen=True)
class SpoilsMoments(Good):
    def of(self, pair: Pair) -> float:
        value = super().of(pair)
        if pair.crosses:
            pair.y.s.fill_diagonal_(0)
        return value


def violators() -> Iterator[tuple[Measure, str]]:
    yield from ((OutOfRange(), "claims"), (NotTurned(), "claims"), (NoClaims(), "claims"))
    yield from ((NotItself(), "self-score"), (NotSymmetric(), "symmetry"), (SecretlySymmetric(), "symmetry"))
    yield from ((SaysItPairs(), "pairing"), (SaysItDoesNotPair(), "pairing"))
    for side in ("x", "y"):
        for what in ("translation", "scaling", "orthogonal", "permutation"):
            yield Sees(what, side), f"{what} of {side}"
        for what in ("translation", "scaling", "orthogonal", "permutation"):
            yield Secretly(what, side), f"{what} of {side}"
        yield ClaimsInvertible(side), f"invertible of {side}"
        yield SecretlyInvertible(side), f"invertible of {side}"
    yield from ((BelowZero(), "range"), (WrongDirection(), "direction"), (BlindToData(), "direction"))
    yield from ((OtherByMoments(), "needs"), (TakesMoments(), "needs"), (SeesDtype(), "dtype"))
    yield from ((GivesTensor(), "device"), (GivesNumpy(), "device"), (SilentlyOne(), "fewer rows than columns"))
    yield from ((TakesConstants(), "constant side"), (NanForConstants(), "constant side"))
    yield from ((FailsOnDeadColumns(), "constant column"), (NanForDeadColumns(), "constant column"))
    yield from ((FailsOnTwins(), "duplicated columns"), (TwinsAreNotThemselves(), "duplicated columns"))
    yield NotTwice(), "determinism"
    yield from ((Draws(whose), "global randomness") for whose in ("torch", "numpy", "random"))
    yield from ((CentresInPlace(), "inputs"), (SpoilsThePair(), "inputs"), (SpoilsMoments(), "inputs"))


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "clause"), list(violators()), ids=str)
def test_a_planted_violator_fails_its_clause_and_no_other(measure: Measure, clause: str) -> None:
    broken = [finding for finding in check(measure) if not finding.passed]
    assert [finding.clause for finding in broken] == [clause], [finding.sentence for finding in broken]
    assert broken[0].sentence.startswith("Expected ")
    assert ", but " in broken[0].sentence


def test_every_clause_has_a_violator() -> None:
    # Of NaN and Inf below: a pair refuses them before a measure can do wrong.
    assert {clause for _, clause in violators()} == {f.clause for f in check(Good())} - {"not finite"}


@dataclass(frozen=True)
class Uncentred(Good):
    """CKA of Gram matrices that somebody forgot to centre."""

    @property
    def claims(self) -> Claims:
        return replace(super().claims, needs="rows")

    def of(self, pair: Pair) -> float:
        k, l = (side.matrix @ side.matrix.T for side in (pair.x, pair.y))  # noqa: E741
        return float((k * l).sum() / (k.norm() * l.norm()))


def test_a_cka_without_centring_is_caught() -> None:
    broken = [finding for finding in check(Uncentred()) if not finding.passed]
    assert [finding.clause for finding in broken] == ["translation of x", "translation of y"]
    assert broken[0].sentence.startswith("Expected a shift of x not to change the value, but 0.")
    assert " became 0." in broken[0].sentence


def test_nan_that_gets_through_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(rows: torch.Tensor, *, fold_of: object = None, name: str = "x") -> Side:
        return Side(1e-16, rows=rows.double().nan_to_num(posinf=0), fold_of=torch.arange(len(rows)) % 5)

    monkeypatch.setattr(Side, "of", careless)
    found = {finding.clause: finding for finding in check(Good())}
    assert not found["not finite"].passed
    assert found["not finite"].sentence.startswith("Expected a refusal of NaN and Inf, but nan gave 0.")


@dataclass(frozen=True)
class Broken(Good):
    def of(self, pair: Pair) -> float:
        raise KeyError("weights")


def test_whatever_is_raised_becomes_a_sentence() -> None:
    found = {finding.clause: finding for finding in check(Broken())}
    assert not found["self-score"].passed
    assert found["self-score"].sentence == (
        "Expected 1.0 for any representation with itself, but it raised KeyError: 'weights'."
    )
    assert found["claims"].passed


@dataclass(frozen=True)
class Refuses(Good):
    def of(self, pair: Pair) -> float:
        raise MeasureError("Not today.")


def test_a_measure_that_always_refuses_does_not_pass() -> None:
    found = {finding.clause: finding for finding in check(Refuses())}
    assert found["range"].sentence == "Expected values between 0.0 and 1.0, but it refused: Not today."
    assert found["fewer rows than columns"].passed


def test_the_check_itself_leaves_the_generators_alone() -> None:
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index]
    check(Draws("torch")), check(Draws("numpy")), check(Draws("random"))
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (np.random.get_state()[1].tolist(), random.getstate())  # type: ignore[index]


# ---- moments from rows


def test_moments_are_those_of_the_rows() -> None:
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(37, 4, generator=g).double() + 2, torch.randn(37, 3, generator=g).double() - 1
    fold_of = torch.randint(0, 4, (37,), generator=g) * 10
    pair = Pair.of(x, y, fold_of=fold_of)
    made = as_moments(pair)
    assert made.x.rows is None
    assert (made.n, made.folds, made.x.grain) == (37, 4, pair.x.grain)
    for one, other in ((made, pair), (made.without(2), pair.without(2)), (made.fold(1), pair.fold(1))):
        assert one.n == other.n
        torch.testing.assert_close(one.x.mean, other.x.mean, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(one.y.s, other.y.s, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(one.sxy, other.sxy, rtol=1e-12, atol=1e-12)
