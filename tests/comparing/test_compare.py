"""compare: one pass gives what each pair measured apart gives, and says by which rule."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import seamripper as sr
from seamripper.comparing import Comparison, Rule, Sums, compare
from seamripper.comparing.accumulate import accumulate
from seamripper.comparing.comparison import FILE
from seamripper.comparing.forms import forms
from seamripper.comparing.memory import Footprint, available, plan_memory
from seamripper.comparing.order import order_of
from seamripper.comparing.sums import PassPlan
from seamripper.comparing.values import score_matrices
from seamripper.cut import Cut, split
from seamripper.cut.many import heads
from seamripper.data import Samples
from seamripper.errors import CutError, DataError, FileError, MeasureError
from seamripper.measures import Claims, Measure, Pair, choose_measures, measures, score
from seamripper.measures.score import Sampling
from seamripper.models import Architecture, Progress

QUICK = Rule(batch=16, folds=3, keep=40)
NAMES = ("layer1", "layer2", "layer3")
ROUNDING = torch.finfo(torch.float32).eps / 2 * math.sqrt(4096)
"""What is left of rounding in a float32 sum of the 4,096 rows of one product, one term after the other (3.8e-6). How
much of it shows is the processor's choice of kernel: 1e-6 with AVX2, 2.7e-6 with AVX-512."""


def images(n: int = 60, *, seed: int = 0) -> Samples:
    pixels = torch.randn(n, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
    return Samples("noise", pixels, torch.arange(n) % 4, torch.arange(n) + 100, classes=4)


def net(seed: int, spec: str = "zoo:resnet18?width=0.125&stem=3x3&classes=4") -> nn.Module:
    module = Architecture.parse(spec).build(seed=seed)
    with torch.no_grad():
        for m in module.modules():
            if isinstance(m, nn.BatchNorm2d):
                # Away from 0 and 1, so that folding them matters.
                m.running_mean.uniform_(-0.2, 0.2, generator=torch.Generator().manual_seed(seed))
                m.running_var.uniform_(0.5, 2.0, generator=torch.Generator().manual_seed(seed))
    return module


@pytest.fixture(scope="module")
def found() -> sr.Comparison:
    return compare(
        net(0), net(1), images(), measures=["linear_cka", "cca_mean", "minibatch_cka", "mutual_knn?k=3"],
        sender_cuts=NAMES, receiver_cuts=NAMES[:2], rule=QUICK,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear_cka", "cca_mean"])
@pytest.mark.parametrize("i", range(3))
@pytest.mark.parametrize("j", range(2))
def test_a_cell_is_the_score_of_the_pair_alone(found: sr.Comparison, name: str, i: int, j: int) -> None:
    samples = images()
    inputs = samples.batch(order_of(samples.ids, seed=0))
    x, y = (split(net(s), NAMES[k], inputs[:2]).head(inputs).double() for s, k in ((0, i), (1, j)))
    x = nn.functional.interpolate(x, size=y.shape[2:], mode="bilinear", align_corners=False)
    fold_of = (torch.arange(60) // 16 % 3).repeat_interleave(y.shape[2] * y.shape[3])
    rows = [v.permute(0, 2, 3, 1).flatten(0, 2) for v in (x, y)]
    expected = score(measures.make(name), Pair.of(rows[0], rows[1], fold_of=fold_of))
    got = found.score(name, NAMES[i], NAMES[j])
    # The fused forward differs from the plain one in the sixth digit, and so do the scores.
    assert got.value == pytest.approx(expected.value, abs=1e-5)
    assert (got.low, got.high) == (pytest.approx(expected.low, abs=1e-4), pytest.approx(expected.high, abs=1e-4))
    assert (got.n, got.rule["sampling"]) == (len(rows[0]), "positions")


def test_measures_of_rows_and_batches_say_their_own_n(found: sr.Comparison) -> None:
    assert found.score("mutual_knn?k=3", "layer1", "layer2").n == 40
    assert found.score("minibatch_cka", "layer1", "layer2").n == 60


def test_the_record_has_the_rule(found: sr.Comparison) -> None:
    record = found.record
    assert record["n"] == 60
    assert record["rule"]["sampling"] == "positions"
    assert record["rule"]["folds"] == 3
    assert record["sender"]["fingerprint"] != record["receiver"]["fingerprint"]
    assert record["sender"]["forward"].startswith("fused")
    assert record["data"]["fingerprint"] == images().fingerprint
    assert record["dtype"] == "activations float32, products float32, sums float64"
    assert set(record["versions"]) >= {"seamripper", "torch"}
    assert [len(record["ranks"][side]) for side in ("sender", "receiver")] == [3, 2]


@pytest.mark.slow
def test_a_model_and_itself() -> None:
    module = net(0)
    calls = []
    module.layer1.register_forward_hook(lambda *_: calls.append(1))
    for products, tolerance in (("float64", 1e-9), ("float32", ROUNDING)):
        rule = replace(QUICK, products=products)  # type: ignore[arg-type]
        same = compare(module, module, images(), measures=["linear_cka", "opd"], rule=rule)
        for k in range(len(same.senders)):
            assert same["linear_cka"].values[k][k] == pytest.approx(1.0, abs=tolerance)
            assert same["opd"].values[k][k] == pytest.approx(0.0, abs=tolerance)


@pytest.mark.slow
def test_products_in_float32_move_scores_in_the_sixth_digit_at_most() -> None:
    asked = [m for m in choose_measures(["moments"]) if m.name != "numerical_rank"]
    found = {
        products: compare(
            net(0),
            net(1),
            images(200),
            measures=asked,
            sender_cuts=NAMES,
            receiver_cuts=NAMES,
            rule=replace(QUICK, products=products),
        )
        for products in ("float32", "float64")
    }
    for measure in asked:
        for fast, exact in zip(*(f[measure.label].scores for f in found.values()), strict=True):
            for a, b in zip(fast, exact, strict=True):
                assert a is not None
                assert b is not None
                assert a.value == pytest.approx(b.value, rel=ROUNDING, abs=ROUNDING), measure.label


def test_several_threads_measure_what_one_does() -> None:
    # A last batch that is not full waits to be added up when measuring begins.
    samples, threads = images(70), torch.get_num_threads()
    asked = [measures.make(name) for name in ("linear_cka", "minibatch_cka", "procrustes", "rsa")]
    a, b = (heads(net(s), NAMES, samples.batch(slice(0, 2))) for s in (0, 1))
    found = []
    try:
        for count in (1, 4, 4, 4):
            torch.set_num_threads(count)
            sums = Sums(PassPlan.of(a.cuts, b.cuts, asked, Rule(batch=32, folds=2, keep=50)))
            accumulate(sums, a, b, samples)
            found.append(
                [[s.value for s in row if s] for m in score_matrices(sums, asked).values() for row in m.scores]
            )
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(threads)
    for other in found[1:]:
        assert other == [pytest.approx(row, abs=1e-6) for row in found[0]]


@pytest.mark.parametrize("sampling", ["positions", "pool", "flatten"])
def test_two_halves_accumulated_apart_are_one_pass(sampling: str) -> None:
    samples, rule = images(64), Rule(sampling, batch=8, folds=3, keep=50, products="float64")  # type: ignore[arg-type]
    asked = [measures.make(name) for name in ("linear_cka", "minibatch_cka", "rsa")]
    a, b = (heads(net(s), NAMES, samples.batch(slice(0, 2))) for s in (0, 1))
    plan = PassPlan.of(a.cuts, b.cuts, asked, rule)
    whole, first, second = Sums(plan), Sums(plan), Sums(plan)
    order = order_of(samples.ids, seed=0)
    accumulate(whole, a, b, samples)
    accumulate(first, a, b, samples, order=order[:24])
    accumulate(second, a, b, samples, order=order[24:], first=3)
    first.merge(second)
    found = score_matrices(whole, asked), score_matrices(first, asked)
    for measure in asked:
        for i, j in ((0, 0), (0, 2), (2, 1)):
            one, two = (matrices[measure.label].scores[i][j] for matrices in found)
            assert one is not None
            assert two is not None
            assert two.value == pytest.approx(one.value, abs=1e-10)
            assert (two.low, two.high) == (pytest.approx(one.low, abs=1e-9), pytest.approx(one.high, abs=1e-9))
            assert two.n == one.n


def test_flattened_maps_are_measured_by_their_rows() -> None:
    samples = images()
    flat = compare(net(0), net(1), samples, measures=["linear_cka"], sender_cuts=["layer1"], receiver_cuts=["layer2"],
                   rule=Rule(sampling="flatten", keep=50))  # fmt: skip
    inputs = samples.batch(order_of(samples.ids, seed=0)[:50])
    x, y = (
        split(net(s), cut, inputs[:2]).head(inputs).flatten(1).double() for s, cut in ((0, "layer1"), (1, "layer2"))
    )
    k, m = ((r - r.mean(0)) @ (r - r.mean(0)).T for r in (x, y))
    expected = float((k * m).sum() / ((k * k).sum() * (m * m).sum()).sqrt())
    got = flat.score("linear_cka", "layer1", "layer2")
    assert got.value == pytest.approx(expected, abs=1e-5)
    assert (got.n, got.rule["sampling"]) == (50, "flatten")


@pytest.mark.slow
def test_networks_of_different_kinds() -> None:
    """A CNN's maps against a ViT's tokens, which lose their CLS, and pooled."""
    vit = Architecture.parse("zoo:vit_tiny?size=16&patch=4&classes=4").build(seed=0)
    for sampling in ("positions", "pool"):
        rule = Rule(sampling=sampling, batch=16)  # type: ignore[arg-type]
        blocks = ["blocks.0", "blocks.5"]
        got = compare(net(0), vit, images(), sender_cuts=NAMES, receiver_cuts=blocks, rule=rule)
        assert all(0 <= value <= 1 for row in got["linear_cka"].values for value in row)
        n = 60 * 16 if sampling == "positions" else 60
        assert got.score("linear_cka", "layer1", "blocks.0").n == n


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["positions", "pool", "flatten"])
def test_the_order_in_which_samples_come_does_not_matter(sampling: str) -> None:
    """Data may be sorted by class: folds, minibatches and kept rows go by the samples' ids."""
    samples = images()
    rule = Rule(sampling, batch=16, folds=3, keep=30)  # type: ignore[arg-type]
    cuts = {"sender_cuts": NAMES[:2], "receiver_cuts": NAMES[:2]}
    asked = ["linear_cka", "minibatch_cka", "debiased_cka", "regression_r2"]
    by_label = samples.take(samples.labels.argsort(stable=True))
    one, other = (compare(net(0), net(1), s, measures=asked, rule=rule, **cuts).matrices for s in (samples, by_label))
    assert one == other


def test_models_with_the_same_weights_are_not_the_same_model() -> None:
    relu = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2))
    tanh = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2))
    tanh.load_state_dict(relu.state_dict())
    rows = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))
    samples = Samples("rows", rows, torch.zeros(50, dtype=torch.int64), torch.arange(50), classes=1)
    got = compare(relu, tanh, samples)
    assert got.score("linear_cka", "0", "0").value == pytest.approx(1.0, abs=1e-6)
    assert got.score("linear_cka", "1", "1").value < 0.99


def test_activations_of_few_digits_do_not_make_rank() -> None:
    """Three dimensions shown in thirty, in bfloat16: its rounding is no dimension of its own."""
    wide = nn.Sequential(nn.Linear(20, 3), nn.Linear(3, 30), nn.Linear(30, 2)).bfloat16()
    rows = torch.randn(400, 20, generator=torch.Generator().manual_seed(0)).bfloat16()
    samples = Samples("rows", rows, torch.zeros(400, dtype=torch.int64), torch.arange(400), classes=1)
    got = compare(wide, wide, samples, sender_cuts=["1"], receiver_cuts=["1"])
    assert got.record["ranks"] == {"sender": [3], "receiver": [3]}
    assert got.record["dtype"].startswith("activations bfloat16")


class Reader(nn.Module):
    """Words, and an average over those that are not padding."""

    def __init__(self) -> None:
        super().__init__()
        self.word, self.mix, self.head = nn.Embedding(20, 6), nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        rows = self.mix(self.word(input_ids))
        shown = attention_mask.unsqueeze(-1).to(rows)
        return self.head((rows * shown).sum(1) / shown.sum(1))


@pytest.mark.parametrize("sampling", ["pool", "positions"])
def test_padding_does_not_count(sampling: Sampling) -> None:
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(1, 20, (40, 7), generator=generator)
    mask = (torch.arange(7) < torch.randint(2, 8, (40, 1), generator=generator)).long()
    torch.manual_seed(0)
    pair = Reader(), Reader()
    found = []
    for padding in (0, 13):
        inputs = {"input_ids": torch.where(mask.bool(), words, padding), "attention_mask": mask}
        text = Samples("text", inputs, torch.zeros(40, dtype=torch.int64), torch.arange(40), classes=3)
        rule = Rule(sampling=sampling, batch=8, folds=2)
        found.append(compare(*pair, text, sender_cuts=["mix"], receiver_cuts=["mix"], rule=rule)["linear_cka"])
    assert found[0].scores[0][0].n == (40 if sampling == "pool" else int(mask.sum()))
    assert found[0].values[0][0] == pytest.approx(found[1].values[0][0], abs=1e-12)


def test_activations_too_large_for_the_sums_are_told() -> None:
    chain = nn.Sequential(nn.Linear(4, 3, bias=False), nn.Identity(), nn.Linear(3, 2))
    rows = 1e21 * torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    samples = Samples("large", rows, torch.zeros(60, dtype=torch.int64), torch.arange(60), classes=1)
    got = compare(chain, chain, samples, sender_cuts=["0"], receiver_cuts=["0"])
    assert "too large for torch.float32" in got["linear_cka"].failed["0 × 0"]
    exact = compare(chain, chain, samples, sender_cuts=["0"], receiver_cuts=["0"], rule=Rule(products="float64"))
    assert exact["linear_cka"].values[0][0] == pytest.approx(1.0)


def test_what_cannot_be_computed_is_a_reason_and_not_an_end() -> None:
    few = compare(net(0), net(1), images(12), measures=["cca_mean", "linear_cka"], sender_cuts=NAMES,
                  receiver_cuts=NAMES, rule=Rule(sampling="pool", batch=4, folds=3))  # fmt: skip
    assert math.isnan(few["cca_mean"].values[2][2])
    assert "needs more samples than columns" in few["cca_mean"].failed["layer3 × layer3"]
    assert few["cca_mean"].scores[0][0] is not None
    with pytest.raises(MeasureError, match="layer3 × layer3: cca_mean needs more samples"):
        few.score("cca_mean", "layer3", "layer3")
    assert not few["linear_cka"].failed


@dataclass(frozen=True)
class Faulty(Measure):
    """A measure with a fault of its own."""

    name, paper = "faulty", "none"

    @property
    def claims(self) -> Claims:
        """Enough for a test."""
        return Claims("similarity", symmetric=False, range=(-1.0, 1.0), self_score=0.0, invariant_to=frozenset())

    def of(self, pair: Pair) -> float:
        """Divides by zero."""
        return 1 / 0


@dataclass(frozen=True)
class OfNumpy(Faulty):
    """Gives a number of numpy's."""

    name = "of_numpy"

    def of(self, pair: Pair) -> float:
        """A half."""
        return np.float32(0.5)  # type: ignore[return-value]


def test_a_number_of_numpys_can_be_saved(tmp_path: Path) -> None:
    cuts = {"sender_cuts": ["layer1"], "receiver_cuts": ["layer1"]}
    compare(net(0), net(1), images(), measures=[OfNumpy()], rule=QUICK, **cuts).save(tmp_path)
    assert Comparison.load(tmp_path).score("of_numpy", "layer1", "layer1").value == 0.5


def test_a_fault_of_ones_own_measure_does_not_take_the_others_along() -> None:
    cuts = {"sender_cuts": ["layer1"], "receiver_cuts": ["layer1"]}
    got = compare(net(0), net(1), images(), measures=[Faulty(), "linear_cka"], rule=QUICK, **cuts)
    assert got["faulty"].failed == {"layer1 × layer1": "faulty raised ZeroDivisionError: division by zero."}
    assert got["linear_cka"].scores[0][0] is not None


def test_saved_and_read_back(found: sr.Comparison, tmp_path: Path) -> None:
    path = found.save(tmp_path / "run")
    assert path == tmp_path / "run" / FILE
    again = Comparison.load(tmp_path / "run")
    assert again.as_record() == found.as_record()
    assert again.score("linear_cka", "layer1", "layer1") == found.score("linear_cka", "layer1", "layer1")


def test_progress_and_footprint_are_told(tmp_path: Path) -> None:
    said: list[str] = []
    seen: list[Progress] = []
    compare(net(0), net(1), images(), sender_cuts=["layer1"], receiver_cuts=["layer1"], rule=QUICK,
            announce=said.append, watch=seen.append)  # fmt: skip
    assert "memory for 1 × 1 cuts, whatever the number of samples: " in said[0]
    assert [p.done for p in seen if p.task == "the pass"] == [1, 2, 3, 4]
    assert seen[-1].done == seen[-1].total


# ---- memory


def test_a_footprint_that_would_not_fit_is_refused() -> None:
    print_out = Footprint(10**12, 10**9, 0)
    with pytest.raises(MeasureError, match=r"would take 1001.00 GB.*room for 2.00 GB. Choose fewer cuts, the sampling"):
        print_out.require(2 * 10**9)
    with pytest.raises(MeasureError, match="Use a smaller batch"):
        Footprint(1, 10**10, 2).require(10**9)
    with pytest.raises(MeasureError, match="Keep fewer rows"):
        Footprint(1, 1, 10**10).require(10**9)
    with pytest.raises(MeasureError, match="Keep fewer rows, choose fewer cuts"):
        Footprint(1, 1, 2, 10**10).require(10**9)
    Footprint(1, 1, 1).require(3)
    Footprint(10**15, 1, 1).require(None)
    room = available()
    assert room is None or room > 10**8


def test_compare_refuses_before_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    # By the module's own entry: as an attribute of the package, `compare` is the function.
    monkeypatch.setattr(sys.modules[compare.__module__], "available", lambda: 1000)
    seen: list[Progress] = []
    with pytest.raises(MeasureError, match=r"there is room for 0 MB"):
        compare(net(0), net(1), images(), rule=QUICK, watch=seen.append)
    assert not seen


def test_kept_sides_are_let_go_when_their_receiver_is_done() -> None:
    samples = images()
    a, b = (heads(net(s), NAMES, samples.batch(slice(0, 2))) for s in (0, 1))
    sums = Sums(PassPlan.of(a.cuts, b.cuts, [measures.make("rsa"), measures.make("linear_cka")], QUICK))
    accumulate(sums, a, b, samples)
    for j in (0, 1, 2):
        for i in (0, 1, 2):
            for kind in ("rows", "moments"):
                sums.pair(kind, i, j)
        sums.forget(j)
        assert sums.moments is not None
        for held in (sums.sample_rows._sides, sums.moments._sides):
            assert {k for which, k, _ in held if which == "y"} == {j}
            assert {grid for _, _, grid in held} == {sums.plan.receivers[j].grid}


def test_the_plan_counts_what_the_sums_take() -> None:
    samples = images()
    a, b = (heads(net(s), None, samples.batch(slice(0, 2))) for s in (0, 1))
    x, y = forms(a.cuts, b.cuts, "positions")
    plan = PassPlan.of(a.cuts, b.cuts, [measures.make("linear_cka")], QUICK)
    sums = Sums(plan)
    assert sums.moments is not None
    assert plan.footprint.sums == sums.moments.bytes
    assert plan_memory(x, y, batch=16, folds=3, moments=False, keep=0).sums == 0


def test_maps_that_are_averaged_take_the_memory_of_maps() -> None:
    large = [Cut(f"layer{k}", (256, 56, 56), "nchw") for k in range(16)]
    plans = {
        s: PassPlan.of(large, large, [measures.make("linear_cka")], Rule(sampling=s)) for s in ("pool", "positions")
    }
    assert plans["pool"].slice == plans["positions"].slice == 8
    shown = 4 * 8 * 32 * 256 * 56 * 56
    assert plans["pool"].footprint.batch > shown
    assert plans["positions"].footprint.batch > 2 * shown


# ---- bad input


def test_bad_input() -> None:
    samples = images()
    with pytest.raises(MeasureError, match="did you mean 'linear_cka'"):
        compare(net(0), net(1), samples, measures=["linear_ckaa"])
    with pytest.raises(CutError, match="The receiver: No cut matches 'stage"):
        compare(net(0), net(1), samples, receiver_cuts=["stage*"])
    with pytest.raises(MeasureError, match="sampling of 'positions', 'flatten' or 'pool', but got 'pixels'"):
        Rule(sampling="pixels")  # type: ignore[arg-type]
    with pytest.raises(MeasureError, match="Minibatches need 4 samples or more, but the rule's batch is 3"):
        compare(net(0), net(1), samples, measures=["minibatch_cka"], rule=Rule(batch=3))
    with pytest.raises(MeasureError, match="folds to be a whole number of at least 2, but got 1"):
        Rule(folds=1)
    with pytest.raises(CutError, match="The sender: The model does not run on inputs of shape 3x16x16"):
        compare(Architecture.parse("zoo:lenet").build(seed=0), net(1), samples)


def test_activations_that_are_not_finite_name_layer_and_sample() -> None:
    samples = images()
    pixels = samples.inputs.clone()  # type: ignore[union-attr]
    pixels[37] = 1e38
    broken = Samples("broken", pixels, samples.labels, samples.ids, classes=4)
    with pytest.raises(DataError, match=r"activations at 'layer\d' hold NaN or Inf, first for the sample with id 137"):
        compare(net(0), net(1), broken, sender_cuts=NAMES, receiver_cuts=NAMES, rule=QUICK)


class _Standardised(nn.Module):
    """Divides each image by its own deviation, which an image of one colour does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.net = net(0)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.net(pixels / pixels.std(dim=(1, 2, 3), keepdim=True, correction=0))
        return answer


@pytest.mark.parametrize("optimise", [True, False])
def test_a_division_by_zero_inside_a_model_names_layer_and_sample(optimise: bool) -> None:
    """Finite images, and a network that makes NaN of one of them, which fused kernels used to turn into numbers."""
    samples = images()
    pixels = samples.inputs.clone()  # type: ignore[union-attr]
    pixels[37] = 0.5
    plain = Samples("one colour", pixels, samples.labels, samples.ids, classes=4)
    with pytest.raises(
        DataError, match=r"activations at 'net\.layer1' hold NaN or Inf, first for the sample with id 137"
    ):
        compare(_Standardised(), net(1), plain, sender_cuts=["net.layer1"], receiver_cuts=["layer1"],
                rule=dataclasses.replace(QUICK, optimise=optimise))  # fmt: skip


def test_files_that_are_no_comparison(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="Could not read"):
        Comparison.load(tmp_path)
    (tmp_path / FILE).write_text("{")
    with pytest.raises(FileError, match="damaged, or not a comparison"):
        Comparison.load(tmp_path)
    (tmp_path / FILE).write_text(json.dumps({"kind": "match"}))
    with pytest.raises(FileError, match="not a comparison that seamripper wrote"):
        Comparison.load(tmp_path)
    (tmp_path / FILE).write_text(json.dumps({"kind": "comparison", "matrices": 3}))
    with pytest.raises(FileError, match="damaged"):
        Comparison.load(tmp_path)


def test_names_that_a_comparison_does_not_have(found: sr.Comparison) -> None:
    with pytest.raises(MeasureError, match="no 'linear_ckb'"):
        found["linear_ckb"]
    with pytest.raises(MeasureError, match="no cut 'layer9'"):
        found.score("linear_cka", "layer9", "layer1")


def test_a_flattened_map_is_too_wide_for_columns_against_columns() -> None:
    wide = torch.zeros(5, 20_000)
    wide[0] = 1
    with pytest.raises(MeasureError, match=r"20000 × 20000 of them would take 3 GB.*'positions' or 'pool'"):
        measures.make("permutation_procrustes").value(Pair.of(wide, wide))
    assert measures.make("linear_cka").value(Pair.of(wide, wide)) == pytest.approx(1.0)
