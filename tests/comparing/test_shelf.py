"""Sums that do not fit into memory stand on disk: the numbers are the same, and memory holds one fold of them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import seamripper as sr
from seamripper.comparing import PreparedPass, Request, Rule, Sums, compare
from seamripper.comparing.forms import Batch, RowForm
from seamripper.comparing.memory import slice_for
from seamripper.comparing.moments import CutMoments
from seamripper.comparing.order import order_of
from seamripper.comparing.shelf import Shelf
from seamripper.cut.place import Cut
from seamripper.errors import FileError, MeasureError
from seamripper.measures.null import sample_orders
from seamripper.models import Architecture

RULE = Rule(batch=16, folds=3, keep=40, products="float64", optimise=False)
ASKED = ["linear_cka", "opd", "cca_mean", "mutual_knn", "minibatch_cka", "regression_r2", "effective_rank"]


def request(**changes: object) -> Request:
    pixels = torch.randn(100, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    samples = sr.Samples("noise", pixels, torch.arange(100) % 4, classes=4)
    nets = [Architecture.parse("resnet18?width=0.125&stem=3x3&classes=4").build(seed=seed) for seed in (0, 1)]
    given = {
        "measures": ASKED,
        "sender_cuts": ["layer1", "layer3"],
        "receiver_cuts": ["layer1", "layer2"],
        "rule": RULE,
    }
    return Request(*nets, samples, **given | changes)  # type: ignore[arg-type]


def room_for_one_fold() -> int:
    """Less than the sums of all folds take, and enough for those of one."""
    footprint = PreparedPass.of(request(measures="linear_cka")).plan.footprint
    return (footprint.total + footprint.on_disk(RULE.folds).total) // 2


@pytest.mark.parametrize("sampling", ["positions", "pool"])
def test_sums_on_disk_are_those_in_memory(sampling: str) -> None:
    rule = replace(RULE, sampling=sampling)  # type: ignore[arg-type]
    inside = PreparedPass.of(request(rule=rule))
    outside = replace(inside, plan=replace(inside.plan, footprint=inside.plan.footprint.on_disk(RULE.folds)))
    assert (inside.plan.on_disk, outside.plan.on_disk) == (False, True)
    values = []
    for ready in (inside, outside):
        sums = Sums(ready.plan)
        for part in (0, 1):
            ready.add_to(sums, part=part, parts=2)
        values.append(ready.comparison(sums))
    for name in values[0].matrices:
        for ours, theirs in zip(values[1][name].scores, values[0][name].scores, strict=True):
            for a, b in zip(ours, theirs, strict=True):
                assert (a is None) == (b is None)
                if a is not None and b is not None:
                    assert (a.value, a.low) == (
                        pytest.approx(b.value, abs=1e-10),
                        pytest.approx(b.low, abs=1e-8, nan_ok=True),
                    )
    assert values[0].record["ranks"] == values[1].record["ranks"]


def test_a_null_is_the_same_from_sums_on_disk() -> None:
    """The pass then takes the samples fold by fold, and its order of permuted samples is not that of the kept rows."""
    rule = replace(RULE, sampling="pool", keep=200, interval=False)
    inside = PreparedPass.of(request(rule=rule, measures=["rsa", "debiased_cka", "linear_cka"], null=19))
    outside = replace(inside, plan=replace(inside.plan, footprint=inside.plan.footprint.on_disk(RULE.folds)))
    for ready in (inside, outside):
        sums = Sums(ready.plan)
        ready.add_to(sums)
        numbers = torch.cat([batch.ids for batch in sums.kept])
        order = next(sample_orders(sums.fold_of, permutations=1, seed=0))
        known, permuted = sums.pair("rows", 0, 1), sums.in_order(order).pair("rows", 0, 1)
        at = {int(number): row for row, number in enumerate(order_of(numbers.sort().values, seed=0))}
        expected = torch.empty_like(known.y.matrix)
        for number, other in zip(numbers.tolist(), numbers[order].tolist(), strict=True):
            expected[at[number]] = known.y.matrix[at[other]]
        assert torch.equal(permuted.y.matrix, expected)
        assert torch.equal(permuted.x.matrix, known.x.matrix)


def test_sums_on_disk_and_in_memory_merge() -> None:
    """Machines that share a comparison may have different memories."""
    inside = PreparedPass.of(request())
    outside = replace(inside, plan=replace(inside.plan, footprint=inside.plan.footprint.on_disk(RULE.folds)))
    whole, half, rest = Sums(inside.plan), Sums(inside.plan), Sums(outside.plan)
    inside.add_to(whole)
    inside.add_to(half, part=0, parts=2)
    outside.add_to(rest, part=1, parts=2)
    half.merge(rest)
    together, alone = (inside.comparison(sums)["linear_cka"].values for sums in (half, whole))
    for ours, theirs in zip(together, alone, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-10)


def test_a_pass_goes_to_disk_where_memory_is_short_and_says_so() -> None:
    said: list[str] = []
    room = room_for_one_fold()
    on_disk, in_memory = (
        compare(**vars(request(measures="linear_cka", memory=memory, announce=said.append))) for memory in (room, None)
    )
    assert "on disk" in said[0]
    assert on_disk.record["memory"] <= room
    in_memory = compare(
        **{k: v for k, v in vars(request(measures="linear_cka", announce=said.append)).items() if k != "_"}
    )
    assert "on disk" not in said[1]
    for ours, theirs in zip(on_disk["linear_cka"].values, in_memory["linear_cka"].values, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-10)


def test_what_fits_neither_way_is_refused() -> None:
    ready = PreparedPass.of(request(memory=1000))
    with pytest.raises(MeasureError, match=r"The pass would take .* but there is room for 0 MB"):
        ready.require_memory()
    with pytest.raises(FileError, match=r"Keeping 8000000000\.0 GB of sums in .* failed: .*set TMPDIR to another disk"):
        Shelf().zeros(10**18)
    with pytest.raises(MeasureError, match="Expected memory to be a number of bytes above 0, such as 6e9, but got 0"):
        request(memory=0)


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_what_is_let_go_of_takes_no_memory_and_is_still_there() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    shelf, size = Shelf(), 64 * 2**20
    before = resident()
    sums = shelf.zeros(2, size // 16)
    sums[:] = torch.arange(size // 16)
    assert resident() - before > 0.9 * size
    shelf.let_go()
    assert resident() - before < 0.1 * size
    assert sums[1, 12345].item() == 12345
    assert shelf.zeros(2, 0).numel() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_pairs_that_are_read_one_after_another_leave_no_sums_in_memory() -> None:
    def of_files() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssFile"))

    before = of_files()
    wide = [RowForm(Cut(f"v{k}", (1024,), "nd"), 1024, (1, 1), "vector") for k in range(3)]
    sums = CutMoments(wide, wide, folds=2, products=torch.float32, shelf=Shelf())
    values = torch.randn(8, 1024, 1, 1, generator=torch.Generator().manual_seed(0))
    for fold in (0, 1):
        sums.add(Batch([values] * 3, [values] * 3, torch.arange(8), fold))
    sums.settle()
    for i in range(3):
        assert sums.pair(i, 0).x.width == 1024
    # Of all sums, of which a fold takes 126 MB.
    assert of_files() - before < 60e6


def test_large_activations_are_shown_a_few_at_a_time() -> None:
    assert slice_for([3 * 32 * 32]) == 32
    assert slice_for([256 * 56 * 56] * 16) == 8
