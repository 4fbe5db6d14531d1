"""Activations: one pass in the order of the samples, in memory or on disk, finite or refused."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from seamripper.activations import collect
from seamripper.activations.collect import require_finite
from seamripper.cut import Split, split
from seamripper.data import Samples
from seamripper.errors import DataError, FileError


def samples(n: int, *, width: int = 5, first_id: int = 0) -> Samples:
    inputs = torch.randn(n, width, generator=torch.Generator().manual_seed(0))
    return Samples("toy", inputs, torch.arange(n) % 3, torch.arange(first_id, first_id + n), classes=3)


def halves(dtype: torch.dtype = torch.float32) -> Split:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).to(dtype)
    return split(net, "1", torch.zeros(2, 5, dtype=dtype))


@pytest.mark.parametrize("batch", [1, 7, 64, 1000])
def test_a_row_a_sample_in_their_order(batch: int) -> None:
    data, half = samples(65, first_id=300), halves()
    found = collect(half, data, batch=batch)
    torch.testing.assert_close(found.values, half.head(data.inputs), rtol=1e-6, atol=1e-6)
    assert torch.equal(found.labels, data.labels)
    assert torch.equal(found.ids, data.ids)
    assert (len(found), found.kept, found.cut.name) == (65, "memory", "1")
    assert not found.values.requires_grad


def test_one_pass() -> None:
    data, half = samples(65), halves()
    sizes: list[int] = []
    half.head.register_forward_hook(lambda module, args, out: sizes.append(len(out)))
    collect(half, data, batch=30)
    assert sizes == [30, 30, 5]


def test_watchers_see_the_last_batch() -> None:
    told = []
    collect(halves(), samples(65), batch=30, watch=told.append)
    assert [(p.done, p.total) for p in told] == [(1, 3), (2, 3), (3, 3)]
    assert told[0].task == "activations at 1"


def test_bytes_become_what_the_model_reads() -> None:
    pixels = torch.randint(0, 256, (9, 5), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    data = Samples("bytes", pixels, torch.zeros(9, dtype=torch.int64), torch.arange(9), classes=1, mean=0.5, std=0.25)
    half = halves()
    expected = half.head((pixels.float() / 255 - 0.5) / 0.25)
    torch.testing.assert_close(collect(half, data).values, expected)


# ---- on disk ----


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_large_activations_go_to_disk_and_are_the_same(tmp_path: Path, dtype: torch.dtype) -> None:
    data, half = samples(65), halves(dtype)
    data = Samples("toy", data.inputs.to(dtype), data.labels, data.ids, classes=3)
    size = 65 * 4 * torch.finfo(dtype).bits // 8
    kept = collect(half, data, memory=size)
    spilled = collect(half, data, memory=size - 1, folder=tmp_path)
    assert (kept.kept, spilled.kept) == ("memory", "disk")
    assert torch.equal(kept.values, spilled.values)
    assert spilled.values.dtype == dtype
    index = torch.tensor([3, 60, 3])
    assert torch.equal(spilled.values[index], kept.values[index])


def test_the_file_has_no_name_and_vanishes(tmp_path: Path) -> None:
    """A deleted file of the folder is mapped, as long as there are the activations."""

    def mapped() -> bool:
        lines = Path("/proc/self/maps").read_text().splitlines()
        return any(str(tmp_path) in line and line.endswith("(deleted)") for line in lines)

    found = collect(halves(), samples(100), memory=0, folder=tmp_path)
    assert found.kept == "disk"
    assert mapped()
    assert list(tmp_path.iterdir()) == []
    del found
    gc.collect()
    assert not mapped()


TOO_MUCH = """
import resource, sys, torch
from torch import nn
from seamripper.activations import collect
from seamripper.cut import split
from seamripper.data import Samples
from seamripper.errors import FileError
torch.set_num_threads(1)
data = Samples("toy", torch.ones(1000, 5), torch.zeros(1000, dtype=torch.int64), torch.arange(1000), classes=1)
half = split(nn.Sequential(nn.Linear(5, 1000), nn.Linear(1000, 1)), "0", torch.zeros(2, 5))
if sys.argv[2] == "limited":
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
calls = []
half.head.register_forward_hook(lambda *args: calls.append(1))
try:
    collect(half, data, memory=0, batch=10, folder=sys.argv[1])
except FileError as e:
    print(len(calls), e)
"""
"""Four megabytes of activations, for a folder that cannot take them."""


def told_of_a_full_disk(command: list[str], folder: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"1 Keeping 0.0 GB of activations in {folder} failed: "), done.stderr
    assert "set TMPDIR to another disk" in done.stdout
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_limit_on_the_size_of_a_file_is_told_before_the_pass(tmp_path: Path) -> None:
    told_of_a_full_disk([sys.executable, "-c", TOO_MUCH, str(tmp_path), "limited"], tmp_path)


def own_disk(folder: Path, command: list[str]) -> list[str]:
    """The command with a disk of one megabyte of its own at `folder`, which no other process sees."""
    script = 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"'
    return ["unshare", "-rm", "sh", "-c", script, str(folder), *command]


@pytest.mark.slow
def test_a_full_disk_is_told_before_the_pass(tmp_path: Path) -> None:
    """Met later, through the map, it would be a bus error and the end of the process."""
    if shutil.which("unshare") is None or subprocess.run(own_disk(tmp_path, ["true"]), capture_output=True).returncode:
        pytest.skip("a disk of one's own needs Linux, and leave to mount one")
    command = [sys.executable, "-c", TOO_MUCH, str(tmp_path), "full"]
    told_of_a_full_disk(own_disk(tmp_path, command), tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="nowhere failed: No such file or directory"):
        collect(halves(), samples(10), memory=0, folder=tmp_path / "nowhere")


# ---- context ----


def test_context_is_kept_beside(make_text: Split) -> None:
    """Masks of a text model pass beside the cut, a row a sample, and the tail gives the model's answer from them."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 20, (11, 6), generator=generator)
    mask = (torch.rand(11, 6, generator=generator) < 0.7).long()
    mask[:, 0] = 1
    data = Samples(
        "text",
        {"input_ids": ids, "attention_mask": mask},
        torch.zeros(11, dtype=torch.int64),
        torch.arange(11),
        classes=1,
    )
    found = collect(make_text, data, batch=4)
    assert torch.equal(found.context["attention_mask"], mask)
    index = torch.tensor([7, 0, 10])
    answer = make_text.tail(found.values[index], found.beside(index))
    whole = make_text.answer({"input_ids": ids[index], "attention_mask": mask[index]})
    torch.testing.assert_close(answer, whole)


class Reader(nn.Module):
    """Embeds tokens, mixes them where the mask allows, and averages over the mask."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.mix = nn.Linear(8, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.mix(self.embed(input_ids))
        weights = attention_mask[:, :, None].to(hidden.dtype)
        return self.out((hidden * weights).sum(1) / weights.sum(1))


@pytest.fixture(scope="module")
def make_text() -> Split:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Reader()
    ids = torch.arange(12).reshape(2, 6)
    mask = torch.ones(2, 6, dtype=torch.int64)
    mask[1, 4:] = 0
    return split(model, "mix", {"input_ids": ids, "attention_mask": mask})


# ---- finite ----


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_told_by_layer_and_sample(bad: float) -> None:
    rows = torch.zeros(6, 3, 2)
    rows[4, 1, 1] = bad
    rows[5, 0, 0] = bad
    with pytest.raises(DataError, match="activations at 'layer2' hold NaN or Inf, first for the sample with id 104"):
        require_finite(rows, "layer2", torch.arange(100, 106))


def test_infinities_of_both_signs_do_not_cancel() -> None:
    rows = torch.zeros(3, 2)
    rows[1] = torch.tensor([float("inf"), -float("inf")])
    with pytest.raises(DataError, match="id 1"):
        require_finite(rows, "x", torch.arange(3))


def test_large_numbers_are_finite() -> None:
    """Their sum is not, but they are."""
    rows = torch.full((4, 4), 3e38)
    assert not torch.isfinite(rows.sum())
    require_finite(rows, "x", torch.arange(4))
    assert torch.isfinite(rows).all()


def test_collect_names_the_sample_in_a_later_batch() -> None:
    class Root(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.sqrt()

    half = split(nn.Sequential(Root(), nn.Linear(5, 2)), "0", torch.ones(2, 5))
    data = Samples("roots", torch.ones(50, 5), torch.zeros(50, dtype=torch.int64), torch.arange(200, 250), classes=1)
    data.inputs[33] = -1
    with pytest.raises(DataError, match="at '0' hold NaN or Inf, first for the sample with id 233"):
        collect(half, data, batch=8)
