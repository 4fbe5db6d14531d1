"""A pass in parts: sums that were added up apart, kept in files and merged are those of one pass."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import seamripper as sr
from seamripper._files import load_tensors, save_tensors
from seamripper.comparing import PreparedPass, Request, Rule, Sums
from seamripper.comparing.accumulate import lanes_of
from seamripper.errors import DataError, MeasureError
from seamripper.models import Architecture, Progress

RULE = Rule(batch=16, folds=3, keep=40, products="float64", optimise=False)
ASKED = ["linear_cka", "opd", "cca_mean", "minibatch_cka", "mutual_knn", "regression_r2", "effective_rank"]
CUTS = ["layer1", "layer2", "layer3"]


@functools.cache
def prepared(rule: Rule = RULE, n: int = 100) -> PreparedPass:
    """Cut once for all tests: a comparison before its pass keeps nothing of the passes that are made with it."""
    pixels = torch.randn(n, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    samples = sr.Samples("noise", pixels, torch.arange(n) % 4, torch.arange(n), classes=4)
    nets = [Architecture.parse("resnet18?width=0.125&stem=3x3&classes=4").build(seed=seed) for seed in (0, 1)]
    return PreparedPass.of(Request(*nets, samples, measures=ASKED, sender_cuts=CUTS, receiver_cuts=CUTS[:2], rule=rule))


def by_files(ready: PreparedPass, parts: int, folder: Path) -> Sums:
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


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("sampling", ["positions", "pool", "flatten"])
def test_parts_come_to_what_one_pass_does(parts: int, sampling: str, tmp_path: Path) -> None:
    ready = prepared(replace(RULE, sampling=sampling))  # type: ignore[arg-type]
    whole = Sums(ready.plan)
    ready.add_to(whole)
    expected, found = ready.comparison(whole), ready.comparison(by_files(ready, parts, tmp_path))
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


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["positions", "pool"])
def test_lanes_come_to_what_one_lane_does(sampling: str) -> None:
    threads = torch.get_num_threads()
    found = {}
    for n in (1, 2, 3):
        torch.set_num_threads(n)
        try:
            rule = replace(RULE, sampling=sampling, optimise=True)  # type: ignore[arg-type]
            ready, seen = prepared(rule), list[Progress]()
            ready = replace(ready, request=replace(ready.request, watch=seen.append))
            assert lanes_of(ready.a, ready.b, ready.plan, 7) == min(n, 2)
            sums = Sums(ready.plan)
            ready.add_to(sums)
            found[n] = ready.comparison(sums)
            assert torch.get_num_threads() == n
        finally:
            torch.set_num_threads(threads)
        assert sorted(now.done for now in seen if now.task == "the pass") == list(range(1, 8))
    for n in (2, 3):
        assert found[n].record["n"] == 100
        for name in found[1].matrices:
            for a, b in zip(found[n][name].values, found[1][name].values, strict=True):
                assert a == pytest.approx(b, abs=1e-9, nan_ok=True), name


def test_the_plain_way_and_too_little_room_leave_one_lane() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        plain, fused = prepared(), prepared(replace(RULE, optimise=True))
        assert lanes_of(plain.a, plain.b, plain.plan, 7) == 1
        assert lanes_of(fused.a, fused.b, fused.plan, 1) == 1
        assert lanes_of(fused.a, fused.b, fused.plan, 7) == 2
        tight = replace(fused.plan, room=fused.plan.footprint.total + 1)
        assert lanes_of(fused.a, fused.b, tight, 7) == 1
        assert lanes_of(fused.a, fused.b, tight.within(tight.footprint.total - 1), 7) == 1
    finally:
        torch.set_num_threads(threads)


@pytest.mark.slow
def test_a_lane_that_fails_ends_the_others_and_is_told() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ready = prepared(replace(RULE, optimise=True), n=16 * 40)
        counted: list[Progress] = []

        def watch(now: Progress) -> None:
            counted.append(now)
            if now.done == 5:
                raise DataError("enough")

        with pytest.raises(DataError, match="enough"):
            replace(ready, request=replace(ready.request, watch=watch)).add_to(Sums(ready.plan))
        assert len(counted) == 5
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
