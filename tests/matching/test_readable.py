"""Accuracies are compared in words where they can be read, and nowhere else."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import seamripper as sr
from seamripper.audits.rule import NOT_STITCHABLE
from seamripper.matching import Direct
from seamripper.matching.evaluate import functional


def answers(named: Tensor, classes: int = 10, sure: float = 4.0) -> Tensor:
    """Scores of a network that names these classes."""
    noise = torch.rand(len(named), classes, generator=torch.Generator().manual_seed(int(named.sum())))
    return noise + sure * nn.functional.one_hot(named, classes)


def samples(labels: Tensor, classes: int = 10) -> sr.Samples:
    return sr.Samples("photographs", torch.zeros(len(labels), 1), labels, torch.arange(len(labels)), classes)


def cycle(n: int, classes: int) -> Tensor:
    return torch.arange(n) % classes


def test_labels_that_are_not_the_receivers_make_accuracy_unreadable() -> None:
    """Five groups of photographs, and a network of a thousand classes that names none of them: 0.000 against 0.000."""
    labels = cycle(500, 5)
    receiver = answers(100 + cycle(500, 50), 1000)
    for stitched in (receiver, answers(labels, 1000)):
        result = functional(stitched, receiver, samples(labels, 5))
        assert result.receiver_here.value == 0.0
        assert result.unreadable is not None
        words = result.in_words()
        assert words.startswith("Accuracy is unreadable: the receiver itself reaches 0.000")
        assert "where chance is 0.200" in words
        assert "as well" not in words
        assert "better" not in words
        assert f"agrees on {result.agreement}" in words


def test_a_receiver_at_chance_is_unreadable_and_one_above_it_is_not() -> None:
    labels = cycle(1000, 10)
    chance = answers(torch.randint(10, (1000,), generator=torch.Generator().manual_seed(0)))
    assert functional(chance, chance, samples(labels)).unreadable is not None
    good = answers(torch.where(torch.arange(1000) % 3 == 0, labels, (labels + 1) % 10))
    assert functional(good, good, samples(labels)).unreadable is None


def test_a_part_of_the_receivers_classes_can_be_read() -> None:
    labels = cycle(300, 3)
    right = answers(labels, 10)
    result = functional(right, right, samples(labels, 3))
    assert result.unreadable is None
    assert result.in_words() == "The stitched network does as well as the receiver alone, within the interval."


def test_too_few_samples_are_compared_in_no_words() -> None:
    labels = cycle(40, 10)
    worse = torch.where(torch.arange(40) % 8 == 0, (labels + 1) % 10, labels)
    result = functional(answers(worse), answers(labels), samples(labels))
    assert result.unreadable is None
    assert result.in_words().startswith("40 samples are too few to detect a difference of 0.05")
    assert "percentage points" in result.in_words()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ((10, 10), "does as well as the receiver alone, within the interval"),
        ((400, 20), r"loses 38.0 \[.*\] percentage points against the receiver alone"),
        ((10, 300), "does better than the receiver alone"),
    ],
)
def test_what_can_be_told_is_told(wrong: tuple[int, int], words: str) -> None:
    labels = cycle(1000, 10)
    ours, theirs = (torch.where(torch.arange(1000) < n, (labels + 1) % 10, labels) for n in wrong)
    result = functional(answers(ours), answers(theirs), samples(labels))
    assert result.unreadable is None
    assert re.search(words, result.in_words())


def test_figures_without_labels_are_plain_arithmetic() -> None:
    generator = torch.Generator().manual_seed(3)
    ours, theirs = (3 * torch.randn(200, 12, generator=generator) for _ in range(2))
    result = functional(ours, theirs, samples(cycle(200, 12), 12))
    p, q = (np.exp(x - x.max(1, keepdims=True)) for x in (theirs.double().numpy(), ours.double().numpy()))
    p, q = p / p.sum(1, keepdims=True), q / q.sum(1, keepdims=True)
    assert result.kl is not None
    assert result.kl.value == pytest.approx(float((p * np.log(p / q)).sum(1).mean()), rel=1e-9)
    tops = [set(np.argsort(-x)[:5]) & set(np.argsort(-y)[:5]) for x, y in zip(p, q, strict=True)]
    assert result.top5_overlap is not None
    assert result.top5_overlap.value == pytest.approx(sum(map(len, tops)) / 1000)
    a, b = ours.argmax(1), theirs.argmax(1)
    shares = [float((a == k).double().mean() * (b == k).double().mean()) for k in range(12)]
    assert result.agreement_chance == pytest.approx(sum(shares))
    assert result.kl.low < result.kl.value < result.kl.high
    same = functional(ours, ours, samples(cycle(200, 12), 12))
    assert same.kl is not None
    assert same.top5_overlap is not None
    assert same.kl.value == 0.0
    assert same.top5_overlap.value == 1.0


def test_records_say_that_it_is_unreadable_row_by_row() -> None:
    from seamripper.experiment.parts.base import functional_rows

    labels = cycle(500, 5)
    receiver = answers(100 + cycle(500, 50), 1000)
    record = functional(receiver, receiver, samples(labels, 5)).as_record()
    rows = {row["figure"]: row for row in functional_rows(record, status="ok")}
    assert rows["top1"]["status"].startswith("unreadable: the receiver itself reaches 0.000")
    assert rows["agreement"]["status"] == "ok"
    assert rows["kl"]["value"] == 0.0


class Net(nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.front, self.back = nn.Linear(8, 6), nn.Linear(6, 20)

    def forward(self, x: Tensor) -> Tensor:
        return self.back(self.front(x).relu())


def test_an_audit_goes_by_the_receivers_own_answers_where_accuracy_is_unreadable() -> None:
    inputs = torch.randn(600, 8, generator=torch.Generator().manual_seed(0))
    data = sr.Samples("vectors", inputs, cycle(600, 5), torch.arange(600), 20)
    fit, test = data.take(slice(0, 400)), data.take(slice(400, 600))
    receiver, other = (sr.split(Net(seed), "front", inputs[:2]) for seed in (0, 1))
    audited = sr.audit(receiver, receiver, fit, test, matching=Direct(), seeds=(0,), audits=["margin", "symmetry"])
    assert audited.judgement.figures["own_answers"].value == 1.0
    assert audited.judgement.figures["stitched"].value < 0.5  # accuracy, which tells nothing here
    assert not audited.verdicts
    assert all("Accuracy is unreadable" in audited.skipped[name] for name in ("margin", "symmetry"))
    judged = sr.audit(other, receiver, fit, test, matching=Direct(), seeds=(0,), audits=["margin"])
    assert judged.conclusion == NOT_STITCHABLE
    assert "receiver's own answers above chance" in judged.judgement.reason
    assert "Accuracy is unreadable" in judged.judgement.reason


def test_nothing_is_said_of_a_stitch_that_diverged() -> None:
    from seamripper.cli.stitch_command import sentence

    data = sr.Samples(
        "vectors", torch.randn(64, 8, generator=torch.Generator().manual_seed(0)), cycle(64, 4), torch.arange(64), 20
    )
    half = sr.split(Net(0), "front", torch.zeros(2, 8))
    match = sr.match(half, half, data, stitch="identity")
    ruined = dataclasses.replace(match, status="diverged: the loss rose from 2.3 to 4.8e+30")
    result = functional(answers(cycle(64, 4)), answers(cycle(64, 4)), samples(cycle(64, 4)))
    assert "has diverged" in sentence(ruined, result)
    assert "as well" not in sentence(ruined, result)
    assert "as well" in sentence(match, result) or "too few" in sentence(match, result)
    assert not math.isnan(result.top1.value)
