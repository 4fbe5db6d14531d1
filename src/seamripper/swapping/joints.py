"""Joints: pairs of cuts, stitched in several ways on some samples, and the one that is chosen on others."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from seamripper._progress import Progress, Watcher
from seamripper.cut import Cut, Split
from seamripper.cut.frozen import seal
from seamripper.data.samples import Samples
from seamripper.errors import SeamripperError
from seamripper.mapping.linear import best_ridge, label_of
from seamripper.matching import Direct, Downstream, Match, Task, Training, answers_of, stitched_answers
from seamripper.matching.base import Natives
from seamripper.matching.evaluate import functional
from seamripper.matching.match import Choices, Prepared, prepare
from seamripper.measures.pair import FOLDS
from seamripper.stitches import Stitch
from seamripper.swapping.loss import Loss, Yardstick, loss_of
from seamripper.swapping.sides import ModelSide, pair_name, pairs_that_fit

WAYS = ("direct", "downstream", "task")
"""The matchings that are tried, from the plainest on."""
TRAININGS = {
    "downstream": Downstream(Training(batch=64, epochs=5), init="direct"),
    "task": Task(Training(batch=64, epochs=5), init="direct"),
}
"""The matchings that train: from the direct match on, with a learning rate that leaves a good start where it is."""


@dataclass(frozen=True, eq=False)
class Joint:
    """A cut of the new model and one of the old, ready to be stitched; activations were computed before."""

    prepared: Prepared
    sender: Split
    """The new model's half that computes; that of `prepared` hands on what was computed."""

    def find(self, way: str, n: int | None = None) -> Match:
        """The stitch that this matching finds on the first `n` samples to fit on (all, if None)."""
        part = self._first(n)
        matching = Direct(ridge=cross_validated_ridge(part)) if way == "direct" else TRAININGS[way]
        return replace(replace(part, matching=matching).find(), sender=self.sender)

    def _first(self, n: int | None) -> Prepared:
        """With a layer of its own, so that every way starts where the first did."""
        whole = self.prepared
        problem = replace(whole.problem, layer=copy.deepcopy(whole.problem.layer))
        if n is None:
            return replace(whole, problem=problem)
        used = whole.used.take(slice(0, n))
        problem = replace(problem, fit=problem.fit.take(slice(0, n)))
        return replace(whole, problem=problem, used=used, made_from={**whole.made_from, "fit": used.as_record()})


def cross_validated_ridge(prepared: Prepared) -> float:
    """The ridge that predicts the old model's activations best, each fifth of the samples from the others."""
    problem, samples = prepared.problem, prepared.problem.fit
    parts = torch.arange(len(samples)).tensor_split(FOLDS)
    with seal({"receiver": problem.receiver.model.module}):
        return best_ridge(
            [Direct().moments(problem, samples.take(part), "ridge by cross-validation") for part in parts]
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """One stitch that was tried: where, how, and what it loses on the samples that choose."""

    new_cut: Cut
    old_cut: Cut
    match: Match = field(repr=False)
    loss: Loss
    way: str

    @property
    def pair(self) -> str:
        """Its two cuts."""
        return pair_name(self.new_cut, self.old_cut)

    @property
    def label(self) -> str:
        """The matching with its ridge, if it has one."""
        matching = self.match.matching
        return f"direct, {label_of('ridge', matching.ridge)}" if isinstance(matching, Direct) else self.way

    def as_record(self) -> dict[str, Any]:
        """The trial as JSON has it."""
        return {
            "new_cut": self.new_cut.as_record(),
            "old_cut": self.old_cut.as_record(),
            "stitch": self.match.stitch.as_record(),
            "matching": self.match.matching.as_record(),
            "status": self.match.status,
            "loss": self.loss.as_record(),
        }


@dataclass(frozen=True, eq=False)
class Fitting:
    """The two models and the samples: the first `fitted` of them to fit on, the others to choose on."""

    new: ModelSide
    old: ModelSide
    samples: Samples
    fitted: int
    tolerance: float
    seed: int
    watch: Watcher

    @property
    def choice(self) -> Samples:
        """The samples that choose."""
        return self.samples.take(slice(self.fitted, None))

    def joint(self, source: Cut, target: Cut, stitch: Stitch) -> Joint:
        """The two cuts, ready to be stitched."""
        half, fit = self.new.replay(source.name, slice(0, self.fitted))
        _, held_out = self.new.replay(source.name, slice(self.fitted, len(self.samples)))
        natives = Natives(collected=self.old.activations[target.name])
        choices = Choices(stitch, Direct(), "all", self.seed, self.watch, natives)
        return Joint(prepare(half, self.old.split(target.name), fit, held_out, choices), self.new.split(source.name))

    def trials(self, failed: dict[str, str]) -> list[Trial]:
        """Direct matching for each pair of cuts; then, if that loses something, for the best pair those that train.

        What could not be tried is entered in `failed`, with the reason.
        """
        pairs, misfits = pairs_that_fit(self.new, self.old)
        failed |= misfits
        native = answers_of(self.old.split(self.old.heads.cuts[-1].name), self.choice)
        yardstick = yardstick_of(native, self.choice)
        joints: dict[str, Joint] = {}
        trials: list[Trial] = []
        for number, (source, target, stitch) in enumerate(pairs, 1):
            name = pair_name(source, target)
            try:
                joints[name] = self.joint(source, target, stitch)
                trials.append(self._trial(joints[name], source, target, "direct", native, yardstick))
            except SeamripperError as e:
                failed[name] = str(e)
            self.watch(Progress("pairs of cuts", number, len(pairs)))
        if not trials or min(trial.loss.penalty.value for trial in trials) <= self.tolerance / 2:
            return trials
        best = choose(trials, self.tolerance)
        for way in WAYS[1:]:
            try:
                joint = joints[best.pair]
                trials.append(self._trial(joint, best.new_cut, best.old_cut, way, native, yardstick))
            except SeamripperError as e:
                failed[f"{best.pair}, {way}"] = str(e)
        return trials

    def _trial(self, joint: Joint, source: Cut, target: Cut, way: str, native: Tensor, yardstick: Yardstick) -> Trial:
        match, choice = joint.find(way), self.choice
        half, shown = self.new.replay(source.name, slice(self.fitted, len(self.samples)))
        answers = stitched_answers(replace(match, sender=half), shown)
        loss = loss_of(answers, native, choice, tolerance=self.tolerance, yardstick=yardstick)
        return Trial(source, target, match, loss, way)


def yardstick_of(native: Tensor, samples: Samples) -> Yardstick:
    """The labels, if the old network is better than chance on them; else its own answers."""
    return "old answers" if why_unreadable(native, samples) else "labels"


def why_unreadable(native: Tensor, samples: Samples) -> str:
    """Why labels say nothing about the old network, which answers `native`; empty if they do."""
    if not samples.labelled:
        return f"{samples.name} has none"
    return functional(native, native, samples).unreadable or ""


def choose(trials: Sequence[Trial], tolerance: float) -> Trial:
    """Among those that lose no more than half the tolerance more than the best: the plainest, then the deepest cut.

    The plainest matching is direct, then downstream, then task: the more a stitch is trained, the less its success
    says. The deepest cut of the old model leaves the least of it, and so swaps the most. An answer of the new model
    that is a vector comes last: it may be that of a head which is not wanted.
    """
    least = min(trial.loss.penalty.value for trial in trials)
    near = [trial for trial in trials if trial.loss.penalty.value <= least + tolerance / 2]
    return min(near, key=lambda t: (WAYS.index(t.way), t.old_cut.after, _is_scores(t.new_cut), t.loss.penalty.value))


def _is_scores(cut: Cut) -> bool:
    return cut.after == 0 and cut.layout == "nd"
