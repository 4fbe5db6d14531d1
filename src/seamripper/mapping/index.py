"""map_embeddings: fit maps on some documents, choose one on others, and test on others yet if the index can stay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import torch
from torch import Tensor

from seamripper._doors import require_function, require_whole
from seamripper._frames import Row
from seamripper._progress import Progress, Watcher, nobody
from seamripper.cards import WithMethods
from seamripper.errors import DataError
from seamripper.estimate import Estimate, fold_interval
from seamripper.mapping.embeddings import Embeddings, Given, open_pair
from seamripper.mapping.linear import EmbeddingMap, Fit, best_fits, fit, label_of, sum_of_moments
from seamripper.mapping.methods import FIGURES, map_method, map_sentences
from seamripper.mapping.retrieval import DEPTHS, Retrieval, Search, overlap, own_retrieval, same_results, search, share
from seamripper.mapping.rule import Answer, Condition, answer_of, conditions_of, doubt_of, sentence_of
from seamripper.matching.moments import Moments
from seamripper.measures.pair import FOLDS
from seamripper.measures.retrieval import Nearness
from seamripper.models.running import versions

BLOCK = 1 << 14
"""Pairs that are added to the moments at a time."""
SHUFFLED = 20_000
"""The most pairs that the control is fitted on: their order is random, so they are held in memory."""
_R2_FOLDS = 20


@dataclass(frozen=True)
class Candidate:
    """A kind of map at its best option: R² by cross-validation, and what the queries that choose between kinds find.

    `recall` is Recall@10 of the old query's results: own documents are soon found by all maps, and tell them apart no
    more.
    """

    kind: str
    option: float | None
    r2: float
    recall: Estimate

    @property
    def label(self) -> str:
        """The kind with its ridge or rank."""
        return label_of(self.kind, self.option)


@dataclass(frozen=True)
class QueryTest:
    """What one set of test queries finds in the old index: its own documents, the old results, those of a new index."""

    name: str
    r2: Estimate | None
    own: Retrieval
    old: Retrieval
    again: Retrieval

    def figures(self) -> dict[str, dict[str, Estimate]]:
        """Every figure, by what is looked for and by its name; that of no search is R²."""
        searches = {part: getattr(self, part).figures for part in ("own", "old", "again")}
        return {**({} if self.r2 is None else {"": {"R²": self.r2}}), **searches}

    def as_record(self) -> dict[str, Any]:
        """All figures as JSON has them."""
        parts = {part: by_name for part, by_name in self.figures().items() if part}
        figures = {part: {name: e.as_record() for name, e in by_name.items()} for part, by_name in parts.items()}
        return {"queries": self.name, "r2": self.r2 and self.r2.as_record(), **figures}


@dataclass(frozen=True, eq=False)
class IndexVerdict(WithMethods):
    """Whether the index can be kept, why, and what speaks against it, with the map and all figures."""

    kind: ClassVar[str] = "map"
    axes: ClassVar[tuple[str, ...]] = ("queries", "found", "figure")
    answer: Answer
    sentence: str
    doubt: str
    conditions: tuple[Condition, ...]
    map: EmbeddingMap
    candidates: tuple[Candidate, ...]
    tests: Mapping[str, QueryTest]
    """By name: `no map` (if both have one width), `map`, `shuffled pairs`, `old queries`."""
    record: Mapping[str, Any] = field(repr=False)
    """Sizes and choices: documents, how many of them to fit, choose and test on, metric, tolerance, seed, widths."""

    def rows(self) -> list[Row]:
        """One row for each set of queries, what is looked for (own, old, again) and figure; R² is of no search."""
        return [
            {"queries": name, "found": part, "figure": figure, **estimate.as_row()}
            for name, test in self.tests.items()
            for part, by_name in test.figures().items()
            for figure, estimate in by_name.items()
        ]

    def method(self) -> dict[str, Any]:
        """All that decides the figures."""
        return map_method(self.record, {"kind": self.map.kind, "option": self.map.option})

    def sentences(self) -> list[str]:
        """How the maps were fitted, chosen and tested."""
        return map_sentences(self.record, self.map.label)

    def figure_sentences(self) -> dict[str, str]:
        """What is looked for, and what each figure is."""
        return FIGURES

    def as_record(self) -> dict[str, Any]:
        """All but the map's numbers, as JSON has it."""
        return {
            "answer": self.answer,
            "sentence": self.sentence,
            "doubt": self.doubt,
            "conditions": [condition.as_record() for condition in self.conditions],
            "map": {"kind": self.map.kind, "option": self.map.option},
            "candidates": [
                {"kind": c.kind, "option": c.option, "r2": c.r2, "recall": c.recall.as_record()}
                for c in self.candidates
            ],
            "tests": {name: test.as_record() for name, test in self.tests.items()},
            **self.record,
        }


def map_embeddings(
    old: Given,
    new: Given,
    *,
    metric: Nearness = "cosine",
    tolerance: float = 0.05,
    queries: int = 1000,
    seed: int = 0,
    watch: Watcher = nobody,
) -> IndexVerdict:
    """Can an index of the `old` embeddings be kept, if queries are embedded by the `new` encoder?

    Both hold the same documents in the same order. `queries` documents, at most a fifth of all, are drawn by the `seed`
    to choose the map on, and as many others to test it on; maps are fitted on the rest.

    >>> g = torch.Generator().manual_seed(0)
    >>> old = torch.randn(500, 8, generator=g)
    >>> turn = torch.linalg.qr(torch.randn(8, 8, generator=g)).Q
    >>> verdict = map_embeddings(old, old @ turn)
    >>> verdict.answer, verdict.map.kind, verdict.tests["map"].own.recall[1].value
    ('keep with the map', 'orthogonal', 1.0)
    """
    _require_choices(metric, tolerance)
    count = require_whole(queries, "queries", least=10, error=DataError)
    require_whole(seed, "seed", least=0, error=DataError)
    require_function(watch, "watch", error=DataError)
    index, newer = open_pair(old, new)
    rows = _Split.draw(len(index), count, seed)
    folds, prints = _fold_moments(index, newer, rows.held, watch)
    moments = sum_of_moments(folds)
    if moments.syy <= 0 or float(torch.trace(moments.sxx)) <= 0:
        raise DataError("Expected rows that differ, but all rows of one side are the same. Look at what was embedded.")
    candidates, maps = _candidates(index, newer, folds, moments, rows.choice, metric, watch)
    best = max(range(len(maps)), key=lambda k: candidates[k].recall.value)
    control = fit(maps[best].kind, maps[best].option, _shuffled_moments(index, newer, rows, seed))
    tested = _Tested.run(index, newer, rows.test, {"map": maps[best], "shuffled pairs": control}, metric, watch)
    tests = {name: tested.figures(name, moments.mean_y) for name in tested.searches}
    known: list[str] = [name for name in ("no map", "map") if name in tests]
    checked = {name: conditions_of(name, *tested.margins(name), tolerance) for name in known}
    answer, conditions = answer_of(checked)
    record = {
        **_sizes(index, newer, rows, prints),
        "metric": metric,
        "tolerance": tolerance,
        "seed": seed,
        "twins": tested.twins,
        "versions": versions(),
    }
    doubt = doubt_of(answer, conditions, {name: (test.own, test.again) for name, test in tests.items()}, record)
    sentence = sentence_of(answer, conditions, maps[best].label)
    return IndexVerdict(answer, sentence, doubt, conditions, maps[best], tuple(candidates), tests, record)


def _sizes(old: Embeddings, new: Embeddings, rows: _Split, prints: tuple[str, str]) -> dict[str, Any]:
    n, sides = len(old), {"old": (old, prints[0]), "new": (new, prints[1])}
    return {
        # An encoder has the fingerprint of its weights: other machines round its embeddings otherwise.
        **{
            role: {"name": side.name, "width": side.width, "fingerprint": rows_print, **side.made_from}
            for role, (side, rows_print) in sides.items()
        },
        "documents": n,
        "fit": n - int(rows.held.sum()),
        "choice": len(rows.choice),
        "test": len(rows.test),
        "chance": {str(k): k / n for k in DEPTHS if k < n},
    }


def _require_choices(metric: str, tolerance: float) -> None:
    if metric not in get_args(Nearness):
        raise DataError(f"Expected metric to be 'cosine' or 'euclidean', but got {metric!r}.")
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 < tolerance < 1:
        raise DataError(f"Expected tolerance to be a number between 0 and 1, but got {tolerance!r}. Try 0.05.")


@dataclass(frozen=True, eq=False)
class _Split:
    """Which documents choose and test, by number; the others are for the fit, so `held` marks those that are not."""

    choice: Tensor
    test: Tensor
    held: Tensor

    @classmethod
    def draw(cls, n: int, queries: int, seed: int) -> _Split:
        size = min(queries, n // 5)
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
        held = torch.zeros(n, dtype=torch.bool)
        held[order[: 2 * size]] = True
        return cls(order[:size].sort().values, order[size : 2 * size].sort().values, held)


def _fold_moments(
    old: Embeddings, new: Embeddings, held: Tensor, watch: Watcher
) -> tuple[list[Moments], tuple[str, str]]:
    """Moments of the pairs to fit on, dealt to folds in turn, and both fingerprints, in one pass over both files."""
    folds = [Moments(new.width, old.width) for _ in range(FOLDS)]
    prints = old.hasher(), new.hasher()
    for block in old.blocks(BLOCK):
        for side, digest in zip((old, new), prints, strict=True):
            digest.update(side.bytes_of(block))
        x, y, free = new.take(block), old.take(block), ~held[block]
        turn = torch.arange(block.start, block.stop) % FOLDS
        for k, moments in enumerate(folds):
            chosen = free & (turn == k)
            if bool(chosen.any()):
                moments.add(x[chosen], y[chosen])
        watch(Progress("moments", block.stop, len(old)))
    return folds, (prints[0].hexdigest(), prints[1].hexdigest())


def _shuffled_moments(old: Embeddings, new: Embeddings, rows: _Split, seed: int) -> Moments:
    """Moments of pairs to fit on whose partners were changed at random."""
    g = torch.Generator().manual_seed(seed + 1)
    free = (~rows.held).nonzero()[:, 0]
    drawn = free[torch.randperm(len(free), generator=g)[:SHUFFLED]]
    partners = drawn[torch.randperm(len(drawn), generator=g)]
    moments = Moments(new.width, old.width)
    for start in range(0, len(drawn), BLOCK):
        part = slice(start, start + BLOCK)
        moments.add(new.take(drawn[part]), old.take(partners[part]))
    return moments


def _candidates(
    old: Embeddings,
    new: Embeddings,
    folds: list[Moments],
    moments: Moments,
    choice: Tensor,
    metric: Nearness,
    watch: Watcher,
) -> tuple[list[Candidate], list[EmbeddingMap]]:
    """Of each kind the map at its best option, with what the queries that choose find."""
    fits: list[Fit] = list(best_fits(folds))
    maps = [fit(best.kind, best.option, moments) for best in fits]
    rows = new.take(choice)
    queries = {map_.kind: map_(rows) for map_ in maps} | {"old queries": old.take(choice)}
    searches = search(queries, choice, old, metric=metric, watch=watch)
    truth = searches["old queries"]
    return [Candidate(f.kind, f.option, f.r2, share(overlap(searches[f.kind], truth, 10))) for f in fits], maps


@dataclass(frozen=True, eq=False)
class _Tested:
    """The test queries in the old index, by name, those of a new index beside them, and the rows that R² is of."""

    searches: Mapping[str, Search]
    again: Search
    mapped: Mapping[str, Tensor]
    target: Tensor

    @classmethod
    def run(
        cls,
        old: Embeddings,
        new: Embeddings,
        test: Tensor,
        maps: Mapping[Literal["map", "shuffled pairs"], EmbeddingMap],
        metric: Nearness,
        watch: Watcher,
    ) -> _Tested:
        rows, target = new.take(test), old.take(test)
        mapped = {"no map": rows} if new.width == old.width else {}
        mapped |= {name: map_(rows) for name, map_ in maps.items()}
        searches = search({**mapped, "old queries": target}, test, old, metric=metric, watch=watch)
        again = search({"new": rows}, test, new, metric=metric, watch=watch)["new"]
        return cls(searches, again, mapped, target)

    @property
    def twins(self) -> int:
        """How many test documents have another one in the old index that is the same to the search."""
        return int((self.searches["old queries"].rank > 1).sum())

    def figures(self, name: str, mean: Tensor) -> QueryTest:
        """All figures of one set of queries; `mean` is that of the old rows that were fitted on."""
        results = self.searches[name]
        r2 = _r2(self.mapped[name], self.target, mean) if name in self.mapped else None
        as_old = same_results(results, self.searches["old queries"])
        return QueryTest(name, r2, own_retrieval(results), as_old, same_results(results, self.again))

    def margins(self, name: str) -> tuple[Tensor, Tensor]:
        """Of each query: whether it finds its own document among ten; and how much more than the old query it shares
        of the ten documents that a new index would give."""
        results, today = self.searches[name], self.searches["old queries"]
        return (results.rank <= 10).double(), overlap(results, self.again, 10) - overlap(today, self.again, 10)


def _r2(mapped: Tensor, target: Tensor, mean: Tensor) -> Estimate:
    """1 − Σ|y − ŷ|² / Σ|y − mean|² with a jackknife interval over groups of queries."""
    errors = (target.double() - mapped.double()).square().sum(1)
    spread = (target.double() - mean).square().sum(1)
    group = torch.arange(len(errors)) % min(_R2_FOLDS, len(errors))
    value = float(1 - errors.sum() / spread.sum())
    parts = [float(1 - errors[group != k].sum() / spread[group != k].sum()) for k in range(int(group.max()) + 1)]
    low, high = fold_interval(value, parts, left_out=True, within=(-math.inf, 1.0))
    return Estimate(value, low, high, len(errors), "queries")
