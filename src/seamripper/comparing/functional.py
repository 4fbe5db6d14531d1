"""Functional matrices: what the stitched network of each cell can do.

They need the models and not only their activations, so they are no measures, and `all` does not stand for them. The
last fold of the pass is held out: stitches are found on the other folds, and scored on that one.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from seamripper._devices import to_memory, widen
from seamripper._fingerprint import join_fingerprints, tensor_fingerprint
from seamripper._progress import Progress
from seamripper.activations.collect import require_finite
from seamripper.comparing.cells import CellFiles
from seamripper.comparing.comparison import Matrix
from seamripper.comparing.forms import forms
from seamripper.comparing.moments import CutMoments
from seamripper.comparing.order import order_of
from seamripper.comparing.request import Request, Rule
from seamripper.comparing.stitched import Column, by_moments, carrier, sender_activations, solve_stitch
from seamripper.cut.fast import TOLERANCE
from seamripper.cut.frozen import seal
from seamripper.cut.many import Heads
from seamripper.cut.split import split
from seamripper.data.padding import padded_length
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import CutError, DataError, MatchError, MeasureError, StitchError
from seamripper.estimate import Estimate
from seamripper.matching import Direct, Matching, evaluate, match
from seamripper.matching.rows import Rows
from seamripper.matching.task import targets_by
from seamripper.measures.base import DIRECT, TASK
from seamripper.measures.score import rule_of
from seamripper.models.running import answer_of, versions
from seamripper.models.targets import predicts_next_token, require_causal, targets_for

_DIRECT = Direct()
_FAILURES = (CutError, StitchError, MatchError, MeasureError, DataError)
"""What may stop one cell and let the others go on."""

_MakeCell = Callable[[int, Column], Estimate]


class FunctionalMatrices:
    """The functional matrices of two models, made before the pass, of which it may need moments, and filled after it.

    A score is accuracy(stitched) / accuracy(receiver) on the same held-out samples, with a paired interval; its `sides`
    are the two accuracies. With a folder, every finished cell is kept there at once, and found again by all that it is
    made from.
    """

    def __init__(
        self,
        words: Sequence[str],
        senders: Heads,
        receivers: Heads,
        request: Request,
        rule: Rule,
    ) -> None:
        self.words, self.senders, self.receivers, self.rule = tuple(words), senders, receivers, rule
        self.stitching, self.watch, self.announce = request.stitching, request.watch, request.announce
        if not words:
            return
        # A stream was taken into memory for it.
        assert isinstance(request.samples, Samples)
        self.samples = request.samples
        self._require()
        self.fit, self.held_out = fit_and_held_out(self.samples, rule)
        self._shown = receivers.model.present(self.held_out)
        self.cells = CellFiles(request.folder, request.announce)
        x, y = forms(senders.cuts, receivers.cuts, rule.sampling, padded=padded_length(self.samples))
        self.all = [(i, j) for i in range(len(x)) for j in range(len(y))]
        self.solvable = {(i, j) for i, j in self.all if by_moments(x[i], y[j])}
        """The cells whose stitch comes from the moments of the pass."""
        self.finished = {word: self._finished_cells(word) for word in self.words}

    def _require(self) -> None:
        rule = self.rule
        if rule.sampling != "positions":
            raise MeasureError(
                f"A stitch maps position by position, so {self.words[0]!r} needs the sampling 'positions', but got "
                f"{rule.sampling!r}. Use 'positions', or leave the functional matrices out."
            )
        with torch.no_grad():
            inputs = self.receivers.model.present(self.samples).batch(slice(0, 2))
            answer = answer_of(self.receivers.model.module, inputs)
        for word in self.words:
            targets_by(_DIRECT if word == DIRECT else self.stitching.task, answer, self.samples)
        if predicts_next_token(answer, self.samples):
            for role, half in (("sender", self.senders), ("receiver", self.receivers)):
                model = half.model
                require_causal(
                    functools.partial(answer_of, model.module),
                    model.present(self.samples),
                    f"The {role} ({model.source})",
                )

    @property
    def needs_moments(self) -> bool:
        """Whether there are cells to be filled from the moments of the pass."""
        return DIRECT in self.words and bool(self.solvable - self.finished[DIRECT].keys())

    def as_record(self) -> dict[str, Any]:
        """How the matrices are made, as JSON has it; nothing, if there are none."""
        if not self.words:
            return {}
        sizes = {"fitted": len(self.fit), "held_out": len(self.held_out)}
        return {"functional": sizes | {word: self._matching(word) for word in self.words}}

    def _matching(self, word: str) -> dict[str, Any]:
        """What decides a cell of this matrix, beside the models, the data and the rule."""
        if word == DIRECT:
            return _DIRECT.as_record()
        return {**self.stitching.task.as_record(), "samples": self.stitching.samples}

    def matrices(self, moments: CutMoments | None) -> dict[str, Matrix]:
        """Every matrix, cell by cell; those that were finished before are not computed again."""
        return {word: self._matrix(word, moments) for word in self.words}

    def _matrix(self, word: str, moments: CutMoments | None) -> Matrix:
        scores: dict[tuple[int, int], Estimate] = dict(self.finished[word])
        failed: dict[str, str] = {}
        a, b = self.senders.cuts, self.receivers.cuts
        if scores:
            self.watch(Progress(word, len(scores), len(self.all)))
        make = self._task_cell if word == TASK else self._direct_cells(moments)
        # Grid by grid, as a sender has one side for all the receivers of a grid.
        for j in sorted(range(len(b)), key=lambda j: b[j].grid):
            for i, outcome in self._column(j, [i for i in range(len(a)) if (i, j) not in scores], make):
                figures = {}
                if isinstance(outcome, Estimate):
                    self.cells.write(self._made_from(word, i, j), outcome)
                    scores[i, j] = outcome
                    figures = {"accuracy": outcome.rule["sides"][0]}
                else:
                    failed[f"{a[i].name} × {b[j].name}"] = outcome
                self.watch(Progress(word, len(scores) + len(failed), len(self.all), figures))
            if moments is not None:
                moments.forget(j)
        cells = tuple(tuple(scores.get((i, j)) for j in range(len(b))) for i in range(len(a)))
        return Matrix(word, "similarity", cells, failed)

    def _column(self, j: int, senders: list[int], make: _MakeCell) -> Iterator[tuple[int, Estimate | str]]:
        """The cells of one receiver cut: scores, or the reasons why there are none."""
        if not senders:
            return
        try:
            half = split(self.receivers.model, self.receivers.cuts[j].name, self.receivers.example)
            column = Column(j, half, self.rule.optimise)
            self._prove_tail(column)
        except CutError as e:
            yield from ((i, str(e)) for i in senders)
            return
        with seal({"receiver": column.tail.tail}):
            for i in senders:
                outcome: Estimate | str
                try:
                    self._require_baseline()
                    outcome = make(i, column)
                except _FAILURES as e:
                    outcome = str(e)
                yield i, outcome

    def _direct_cells(self, moments: CutMoments | None) -> _MakeCell:
        """Makes cells of the direct matrix, from the sender's activations at all cuts, which are computed here."""
        missing = self.solvable - self.finished[DIRECT].keys()
        wanted = sorted({i for i, _ in missing})
        batch = self.rule.batch
        sent: dict[int, Tensor] = {}
        if wanted:
            sent = sender_activations(
                self.senders, wanted, self.held_out, batch=batch, announce=self.announce, watch=self.watch
            )

        def make(i: int, column: Column) -> Estimate:
            j = column.number
            if (i, j) not in missing:
                return self._match_cell(DIRECT, i, column, _DIRECT, self.fit)
            assert moments is not None
            source, target = self.senders.cuts[i], column.half.cut
            layer = solve_stitch(moments.pair(i, j).without(self.rule.folds - 1), source, target, column.native)
            answers = column.answers(sent[i], carrier(layer, source, target), self._shown, batch=batch)
            require_finite(answers, "the end of the stitched network", self.held_out.ids)
            rows = Rows.of(answers, self._native, self._targets, self._targets)
            relative = rows.comparison(lambda mine, theirs: mine / theirs)
            return self._score(DIRECT, relative, *(float(h.double().mean()) for h in (rows.hits, rows.receiver_hits)))

        return make

    def _task_cell(self, i: int, column: Column) -> Estimate:
        n, fit = self.stitching.samples, self.fit
        fit = fit if n is None else fit.draw(n, seed=self.rule.seed)
        return self._match_cell(TASK, i, column, self.stitching.task, fit)

    def _match_cell(self, word: str, i: int, column: Column, matching: Matching, fit: Samples) -> Estimate:
        """A cell whose stitch is found by a matching of its own."""
        half = split(self.senders.model, self.senders.cuts[i].name, self.senders.example)
        # Without samples held out, direct matching would put some of the fit aside.
        held_out = self.held_out if matching is _DIRECT else None
        stitched = match(
            half, column.half, fit, matching=matching, held_out=held_out, seed=self.rule.seed, watch=self.watch
        )
        result = evaluate(stitched, self.held_out, batch=self.rule.batch, watch=self.watch)
        return self._score(word, result.relative_accuracy, result.top1.value, result.receiver_here.value)

    def _score(self, word: str, relative: Estimate, stitched: float, receiver: float) -> Estimate:
        low, high = (relative.low, relative.high) if self.rule.interval else (math.nan, math.nan)
        sides = (stitched, receiver)
        rule = rule_of(word, self.rule.sampling, "similarity", sides)
        return Estimate(relative.value, low, high, relative.n, "held-out samples", rule=rule)

    @functools.cached_property
    def _native(self) -> Tensor:
        """The receiver's own answers to the held-out samples."""
        with torch.no_grad():
            batches = (x for x, _ in self._shown.batches(self.rule.batch))
            answers = [widen(to_memory(answer_of(self.receivers.model.module, x))) for x in batches]
        return torch.cat(answers)

    @functools.cached_property
    def _targets(self) -> Tensor:
        """What is right for the held-out samples: their labels, or their next tokens."""
        return targets_for(self._native, self.held_out)

    @functools.cached_property
    def _first(self) -> tuple[Inputs, tuple[Tensor, ...]]:
        """The first held-out batch, and what the receiver shows of it at each cut."""
        inputs = self._shown.batch(slice(0, self.rule.batch))
        return inputs, self.receivers(inputs)

    def _prove_tail(self, column: Column) -> None:
        """Refuse a tail that does not make of the receiver's own activations, on real data, what the receiver does."""
        inputs, activations = self._first
        with torch.no_grad():
            got = widen(to_memory(column.tail.tail(activations[column.number], column.half.beside(inputs))))
        expected = self._native[: len(got)]
        gap = float((got - expected).abs().max() / expected.abs().max().clamp(min=1e-30))
        if not gap <= TOLERANCE:
            raise CutError(
                f"Behind {column.half.cut.name!r} the receiver's back does not give the receiver's answers on the "
                f"first samples of {self.samples.name} (relative difference {gap:.1e}): its path depends on the values "
                "of its inputs or on the size of the batch. Compare with receiver_cuts that leave this one out."
            )

    def _require_baseline(self) -> None:
        if not Rows.of(self._native, self._native, self._targets, self._targets).hits.any():
            raise MeasureError(
                f"The receiver gets none of the {len(self.held_out)} held-out samples right, so no accuracy can be "
                "given relative to its own. Choose data that it was trained for."
            )

    def _finished_cells(self, word: str) -> dict[tuple[int, int], Estimate]:
        read = {cell: self.cells.read(self._made_from(word, *cell)) for cell in self.all}
        return {cell: score for cell, score in read.items() if score is not None}

    def _made_from(self, word: str, i: int, j: int) -> dict[str, Any]:
        """All that decides a cell."""
        cuts = {"sender": self.senders.cuts[i], "receiver": self.receivers.cuts[j]}
        return {
            "measure": word,
            **{role: {**self._models[role], "cut": cut.as_record()} for role, cut in cuts.items()},
            "data": self.samples.fingerprint,
            "rule": asdict(self.rule),
            "matching": self._matching(word),
            "versions": versions(),
        }

    @functools.cached_property
    def _models(self) -> dict[str, dict[str, str]]:
        models = {"sender": self.senders, "receiver": self.receivers}
        return {role: {"weights": half.fingerprint, "modules": _modules(half)} for role, half in models.items()}


def fit_and_held_out(samples: Samples, rule: Rule) -> tuple[Samples, Samples]:
    """The samples to fit on and those held out: the last fold, batch k of the pass's order being in fold k mod folds.

    >>> toy = Samples("toy", torch.zeros(7, 1), torch.zeros(7).long(), torch.arange(7), classes=1)
    >>> [part.ids.tolist() for part in fit_and_held_out(toy, Rule(batch=2, folds=3))]
    [[1, 2, 3, 4, 6], [0, 5]]
    """
    order = order_of(samples.ids, seed=rule.seed)
    last = torch.zeros(len(samples), dtype=torch.bool)
    last[order[torch.arange(len(samples)) // rule.batch % rule.folds == rule.folds - 1]] = True
    if int(last.sum()) < 2:
        least = (rule.folds - 1) * rule.batch + 2 if rule.batch > 1 else 2 * rule.folds
        raise MeasureError(
            f"A functional matrix is scored on the last of {rule.folds} folds, and {len(samples)} samples in batches "
            f"of {rule.batch} leave that fold with one sample or none. Give at least {least}, a smaller batch, or "
            "fewer folds."
        )
    return samples.take(~last), samples.take(last)


def _modules(half: Heads) -> str:
    """A digest of what the model is made of and answers: activation functions, say, which no weight tells of."""
    with torch.no_grad():
        answer = answer_of(half.model.module, half.example)
    return join_fingerprints([re.sub(r" at 0x[0-9a-f]+", "", repr(half.model.module)), tensor_fingerprint(answer)])
