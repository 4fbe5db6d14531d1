"""Half precision: it runs everywhere, and is as near to float32 as docs/yours.md says."""

from __future__ import annotations

import pytest
import torch

import seamripper as sr
from test_devices import labelled, network, pictures

HALVES = [torch.bfloat16, torch.float16]
NEAR = {torch.bfloat16: 0.005, torch.float16: 0.001}
"""How far a score may be from that of the same networks in float32."""
CUTS = ["2", "4", "6"]


def model(seed: int, dtype: torch.dtype) -> sr.Model:
    return sr.Model(network(seed).to(dtype), f"net-{seed}", (3, 8, 8), 5)


@pytest.mark.parametrize("dtype", HALVES)
def test_scores_are_near_those_of_float32(dtype: torch.dtype) -> None:
    names, fit = ["linear_cka", "procrustes_angular", "svcca", "direct_structural"], pictures(160)
    plain, half = (
        sr.compare(model(9, kind), model(6, kind), fit, measures=names, sender_cuts=CUTS, receiver_cuts=CUTS)
        for kind in (torch.float32, dtype)
    )
    for name in names:
        for ours, theirs in zip(half[name].scores, plain[name].scores, strict=True):
            assert [s.value for s in ours] == pytest.approx([s.value for s in theirs], abs=NEAR[dtype]), name


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("word", ["direct", "task?epochs=2&batch=32&init=direct", "regression?epochs=2&batch=32"])
def test_matches_are_near_those_of_float32(word: str, dtype: torch.dtype) -> None:
    fit, test = (labelled(pictures(n, first=first), network(6)) for n, first in ((160, 0), (120, 1000)))
    results = {}
    for kinds in ((torch.float32, torch.float32), (dtype, torch.float32), (torch.float32, dtype), (dtype, dtype)):
        match = sr.match(sr.split(model(9, kinds[0]), "2"), sr.split(model(6, kinds[1]), "4"), fit, matching=word)
        assert {p.dtype for p in match.layer.parameters()} == {torch.float32}
        results[kinds] = sr.evaluate(match, test)
    expected = results.pop((torch.float32, torch.float32))
    for result in results.values():
        assert result.kl.value == pytest.approx(expected.kl.value, rel=0.02)
        assert result.agreement.value == pytest.approx(expected.agreement.value, abs=0.03)


def test_words_for_devices_and_precisions() -> None:
    assert sr.load("zoo:lenet?channels=1", device="cpu", dtype="float16").dtype == torch.float16
    with pytest.raises(
        sr.SeamripperError, match=r"Expected a device to be auto, cpu, cuda, cuda:1 or mps, but got 'gpu'"
    ):
        sr.load("zoo:lenet?channels=1", device="gpu")
    with pytest.raises(
        sr.SeamripperError, match=r"Expected dtype to be float64, float32, bfloat16, float16, but got 'int8'"
    ):
        sr.load("zoo:lenet?channels=1", dtype="int8")
    if not torch.cuda.is_available():
        with pytest.raises(sr.SeamripperError, match=r"There is no device 'cuda:7' that torch .* can use here"):
            sr.load("zoo:lenet?channels=1", device="cuda:7")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
@pytest.mark.parametrize("word", ["direct", "task?epochs=2&batch=32", "regression?epochs=2&batch=32"])
def test_on_a_real_gpu(word: str) -> None:
    fit, test = pictures(160), pictures(120, first=1000)
    results = []
    for device in ("cpu", "cuda"):
        nets = [sr.Model(network(seed).to(device), "net", (3, 8, 8), 5) for seed in (9, 6)]
        match = sr.match(sr.split(nets[0], "2"), sr.split(nets[1], "4"), fit, matching=word)
        results.append((sr.evaluate(match, test), sr.compare(*nets, fit, measures=["linear_cka"])))
    (expected, plain), (got, there) = results
    assert got.kl.value == pytest.approx(expected.kl.value, rel=0.01)
    for ours, theirs in zip(there["linear_cka"].scores, plain["linear_cka"].scores, strict=True):
        assert [s.value for s in ours] == pytest.approx([s.value for s in theirs], abs=1e-4)
