"""A pass in parts: sums that were added up apart, kept in files and merged are those of one pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import seamripper as sr
from seamripper._files import load_tensors, save_tensors
from seamripper.errors import MeasureError
from seamripper.measures import Rule
from seamripper.measures.compare import Prepared, Sums
from seamripper.models import Architecture

RULE = Rule(batch=16, folds=3, keep=40, products="float64", optimise=False)
ASKED = ["linear_cka", "opd", "cca_mean", "minibatch_cka", "mutual_knn", "regression_r2", "effective_rank"]
CUTS = ["layer1", "layer2", "layer3"]


def prepared(rule: Rule = RULE, n: int = 100) -> Prepared:
    pixels = torch.randn(n, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    samples = sr.Samples("noise", pixels, torch.arange(n) % 4, torch.arange(n), classes=4)
    nets = [Architecture.parse("resnet18?width=0.125&stem=3x3&classes=4").build(seed=seed) for seed in (0, 1)]
    return Prepared.of(*nets, samples, measures=ASKED, sender_cuts=CUTS, receiver_cuts=CUTS[:2], rule=rule)


def by_files(ready: Prepared, parts: int, folder: Path) -> Sums:
    """Each part added up apart and written to a file; then all are read and merged."""
    for part in range(parts):
        sums = Sums(ready.plan)
        ready.add_to(sums, part=part, parts=parts)
        tensors, record = sums.as_tensors()
        save_tensors(folder / f"{part}.safetensors", tensors, record, kind="pass")
    read = [load_tensors(folder / f"{part}.safetensors", kind="pass") for part in range(parts)]
    first, *others = (Sums.of_tensors(ready.plan, *one) for one in read)
    for other in others:
        first.merge(other)
    return first


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("sampling", ["positions", "pool", "flatten"])
def test_parts_come_to_what_one_pass_does(parts: int, sampling: str, tmp_path: Path) -> None:
    ready = prepared(replace(RULE, sampling=sampling))  # type: ignore[arg-type]
    whole = Sums(ready.plan)
    ready.add_to(whole)
    expected, found = ready.finished(whole), ready.finished(by_files(ready, parts, tmp_path))
    assert found.record["n"] == expected.record["n"] == 100
    assert found.record["ranks"] == expected.record["ranks"]
    for name in expected.matrices:
        for a, b in zip(found[name].scores, expected[name].scores, strict=True):
            for ours, theirs in zip(a, b, strict=True):
                assert (ours is None) == (theirs is None)
                if ours is not None and theirs is not None:
                    assert ours.value == pytest.approx(theirs.value, abs=1e-10), name
                    assert ours.low == pytest.approx(theirs.low, abs=1e-8, nan_ok=True), name
                    assert ours.n == theirs.n


def test_a_part_that_there_is_not_is_refused() -> None:
    ready = prepared()
    for part, parts in ((3, 3), (-1, 2), (0, 8)):
        with pytest.raises(MeasureError, match=r"no more parts than the 7 batches of 16 that the 100 samples make"):
            ready.add_to(Sums(ready.plan), part=part, parts=parts)
