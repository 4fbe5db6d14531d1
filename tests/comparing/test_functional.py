"""Functional matrices: each cell is what match and evaluate give, and a finished cell is not computed again."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import seamripper as sr
from seamripper.comparing import Rule, Stitching, compare, functional, stitched as stitched_column
from seamripper.comparing.forms import forms
from seamripper.comparing.functional import fit_and_held_out
from seamripper.comparing.order import order_of
from seamripper.comparing.stitched import by_moments, carrier
from seamripper.cut.many import heads
from seamripper.data import Samples
from seamripper.errors import CutError, DataError, FileError, MeasureError
from seamripper.matching import Direct, Functional, Match, Task, Training, evaluate, match
from seamripper.matching.solve import least_squares
from seamripper.measures import Pair, Side, choose_measures, measures
from seamripper.measures.base import DIRECT, FUNCTIONAL, TASK
from seamripper.models import Progress
from seamripper.models.zoo.vit import ViT
from seamripper.stitches import stitches

RULE = Rule(batch=16, folds=3, optimise=False)
CUTS = ("a", "b", "c")
QUICK = Stitching(Task(Training(epochs=2, batch=32, lr=0.01), init="direct"))


class Net(nn.Module):
    """Three blocks, on grids of 12, 6 and 3."""

    def __init__(self, act: type[nn.Module] = nn.ReLU, classes: int = 3) -> None:
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), act())
        self.b = nn.Sequential(nn.Conv2d(6, 8, 3, 2, 1), nn.BatchNorm2d(8), act())
        self.c = nn.Sequential(nn.Conv2d(8, 10, 3, 2, 1), act())
        self.out = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(10, classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.c(self.b(self.a(x))))


def images(n: int = 90, *, seed: int = 0) -> Samples:
    """Noise with a bright stripe, a place a class; hard enough that no network gets all of them."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 3, (n,), generator=generator)
    pixels = 1.5 * torch.randn(n, 1, 12, 12, generator=generator)
    for row, label in enumerate(labels.tolist()):
        pixels[row, :, 4 * label : 4 * label + 2] += 1
    return Samples("stripes", pixels, labels, torch.arange(n), classes=3)


@functools.cache
def net(seed: int, act: type[nn.Module] = nn.ReLU) -> Net:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = Net(act)
        data, optimiser = images(128, seed=99), torch.optim.Adam(module.parameters(), 0.01)
        for _ in range(25):
            optimiser.zero_grad()
            F.cross_entropy(module(data.inputs), data.labels).backward()
            optimiser.step()
    return module.eval()


def alone(
    a: nn.Module, b: nn.Module, cuts: tuple[str, str], samples: Samples, rule: Rule = RULE
) -> tuple[Match, Functional]:
    """One cell in the long way."""
    fit, held_out = fit_and_held_out(samples, rule)
    front, back = (sr.split(m, cut, samples.batch(slice(0, 2))) for m, cut in zip((a, b), cuts, strict=True))
    found = match(front, back, fit, matching=Direct(), held_out=held_out)
    return found, evaluate(found, held_out)


def same(got: sr.Estimate, expected: Functional) -> None:
    figure = expected.relative_accuracy
    assert (got.value, got.low, got.high) == pytest.approx((figure.value, figure.low, figure.high), abs=1e-6)
    assert got.rule["sides"] == pytest.approx((expected.top1.value, expected.receiver_here.value))
    assert (got.n, got.rule["sampling"], got.rule["direction"]) == (expected.n, "positions", "similarity")


def counted(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> list[Any]:
    """What a function returned, call by call."""
    calls: list[Any] = []
    real = getattr(where, name)

    def spy(*given: Any, **more: Any) -> Any:
        calls.append(real(*given, **more))
        return calls[-1]

    monkeypatch.setattr(where, name, spy)
    return calls


def stitched(words: str = DIRECT, *, samples: Samples | None = None, **more: Any) -> sr.Comparison:
    given = {"sender_cuts": CUTS, "receiver_cuts": CUTS, "rule": RULE, "stitching": QUICK, **more}
    return compare(given.pop("a", net(0)), given.pop("b", net(1)), samples or images(), measures=[words], **given)


# ---- the direct matrix


@pytest.mark.slow
@pytest.mark.parametrize("optimise", [True, False])
def test_a_direct_cell_is_what_match_and_evaluate_give(optimise: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, matched = Rule(batch=16, folds=3, optimise=optimise), counted(monkeypatch, functional, "match")
    found = stitched(rule=rule)
    assert matched == []
    values = {round(value, 6) for row in found[DIRECT].values for value in row}
    assert len(values) > 3, "cells that are all alike would prove nothing"
    for a in CUTS:
        for b in CUTS:
            same(found.score(DIRECT, a, b), alone(net(0), net(1), (a, b), images())[1])


def test_fitted_and_held_out_samples_are_different_ones_and_told() -> None:
    fit, held_out = fit_and_held_out(images(), RULE)
    order = order_of(images().ids, seed=0)
    assert sorted(held_out.ids.tolist()) == sorted([*order[32:48].tolist(), *order[80:90].tolist()])
    assert sorted([*fit.ids.tolist(), *held_out.ids.tolist()]) == list(range(90))
    record = stitched().record["functional"]
    assert (record["fitted"], record["held_out"]) == (64, 26)
    assert record[DIRECT]["name"] == "direct"


def test_what_is_held_out_does_not_move_the_stitch() -> None:
    samples = images()
    moved = samples.inputs.clone()  # type: ignore[union-attr]
    moved[fit_and_held_out(samples, RULE)[1].ids] += 100
    weights = []
    for inputs in (samples.inputs, moved):
        found: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            found = counted(patch, functional, "solve_stitch")
            stitched(samples=Samples("toy", inputs, samples.labels, samples.ids, classes=3), sender_cuts=["a"])
        weights.append([layer.map()[0] for layer in found])
    assert all(torch.equal(x, y) for x, y in zip(*weights, strict=True))


def test_directions_that_float32_products_cannot_tell_are_not_fitted() -> None:
    """Rows that differ by 1e-5 of their size in one direction: in it, such products hold nothing but rounding."""
    rows = torch.randn(20_000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = torch.stack([rows[:, 0], rows[:, 0] + 1e-5 * rows[:, 1]], 1)
    pair = Pair.of(x.float(), rows[:, 1:2] + rows[:, :1])
    fine = least_squares(pair.moments)
    assert fine.rank == 2
    assert float(fine.weight.abs().max()) > 1e4
    rounded = Side(pair.x.grain, rows=pair.x.rows, fold_of=pair.x.fold_of, rounding=1e-7)
    moments = Pair(rounded, pair.y).moments
    assert moments.noise == pytest.approx(rounded.noise, rel=1e-12)
    assert least_squares(moments).rank == 1
    assert least_squares(moments).weight.sum() == pytest.approx(1, abs=0.05)


def test_a_model_joined_to_itself_is_the_model() -> None:
    found = stitched(b=net(0))
    assert [found[DIRECT].values[k][k] for k in range(3)] == pytest.approx([1, 1, 1], abs=1e-9)


def test_without_intervals_there_are_none() -> None:
    found = stitched(rule=Rule(batch=16, folds=3, interval=False, optimise=False))
    assert found.score(DIRECT, "a", "b").as_record()["interval"] is None


def test_beside_other_measures_and_back_from_a_file(tmp_path: Path) -> None:
    found = stitched(f"linear_cka,{DIRECT}")
    assert list(found.matrices) == ["linear_cka", DIRECT]
    found.save(tmp_path)
    assert sr.Comparison.load(tmp_path).score(DIRECT, "c", "a") == found.score(DIRECT, "c", "a")


@pytest.mark.parametrize(("small", "large"), [((2, 3), (5, 7)), ((1, 1), (4, 4)), ((3, 3), (3, 8))])
def test_a_map_that_grows_may_be_mapped_before_it_is_resized(small: tuple[int, int], large: tuple[int, int]) -> None:
    source, target = sr.Cut("x", (5, *small), "nchw"), sr.Cut("y", (4, *large), "nchw")
    layer = stitches.make("resize").build(source, target).double()
    x = torch.randn(3, 5, *small, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    carry = carrier(layer, source, target)  # type: ignore[arg-type]
    with torch.no_grad():
        torch.testing.assert_close(carry(x), layer(x), rtol=0, atol=1e-12)
    back, y = stitches.make("resize").build(target, source).double(), torch.randn(3, 4, *large, dtype=torch.float64)
    with torch.no_grad():
        assert torch.equal(carrier(back, target, source)(y), back(y))  # type: ignore[arg-type]


def test_activations_may_be_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said: list[str] = []
    before = stitched(announce=said.append)
    assert any("26 held-out samples are kept in memory" in line for line in said)
    monkeypatch.setattr(stitched_column, "_memory", lambda: 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert stitched(announce=said.append)[DIRECT] == before[DIRECT]
    assert any(f"26 held-out samples are kept in {tmp_path}" in line for line in said)
    assert list(tmp_path.iterdir()) == []


# ---- cuts of other kinds


MAP, VECTOR = sr.Cut("m", (6, 4, 4), "nchw"), sr.Cut("v", (6,), "nd")
TOKENS, CLS = sr.Cut("t", (16, 6), "ntd"), sr.Cut("s", (17, 6), "ntd")


@pytest.mark.parametrize(
    ("source", "target", "among", "expected"),
    [
        (MAP, MAP, (), True),
        (MAP, sr.Cut("n", (3, 9, 9), "nchw"), (), True),
        (VECTOR, VECTOR, (), True),
        (TOKENS, TOKENS, (), True),
        (CLS, CLS, (), True),
        # Beside maps the pass leaves a CLS token out, and the stitch does not.
        (CLS, CLS, (MAP,), False),
        (TOKENS, TOKENS, (MAP,), True),
        (MAP, CLS, (), False),
        (MAP, TOKENS, (), False),
        (MAP, VECTOR, (), False),
        (VECTOR, MAP, (), False),
    ],
    ids=str,
)
def test_where_the_rows_of_the_pass_are_those_of_the_stitch(
    source: sr.Cut, target: sr.Cut, among: tuple[sr.Cut, ...], expected: bool
) -> None:
    x, y = forms((source, *among), (target,), "positions")
    assert by_moments(x[0], y[0]) is expected


def small_vit(seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ViT(patch=4, size=12, classes=3, dim=12, depth=3, heads=2).eval()


def test_cuts_of_other_kinds_are_matched_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    vit = small_vit(0)
    colour = Samples("c", images().inputs.repeat(1, 3, 1, 1), images().labels, images().ids, classes=3)  # type: ignore[union-attr]
    cnn = nn.Sequential(nn.Conv2d(3, 1, 1), *net(0).children())
    matched = counted(monkeypatch, functional, "match")
    found = compare(cnn, vit, colour, measures=[DIRECT], sender_cuts=["1", "2"], receiver_cuts=["blocks.1"], rule=RULE)
    assert len(matched) == 2
    for k, cut in enumerate(("1", "2")):
        same(found.score(DIRECT, cut, "blocks.1"), alone(cnn, vit, (cut, "blocks.1"), colour)[1])
        assert matched[k].stitch.name == "map_to_tokens"
    assert not found.record["ranks"], "no moments are needed for these"


def test_tokens_go_with_their_cls(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = small_vit(0), small_vit(1)
    colour = Samples("c", images().inputs.repeat(1, 3, 1, 1), images().labels, images().ids, classes=3)  # type: ignore[union-attr]
    matched = counted(monkeypatch, functional, "match")
    found = compare(
        one, two, colour, measures=[DIRECT], sender_cuts=["blocks.0"], receiver_cuts=["blocks.2"], rule=RULE
    )
    assert matched == []
    same(found.score(DIRECT, "blocks.0", "blocks.2"), alone(one, two, ("blocks.0", "blocks.2"), colour)[1])


class Reader(nn.Module):
    """Reads tokens, and averages those that the mask leaves in: the mask passes beside the cut."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.block, self.out = nn.Embedding(20, 6), nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        x = self.block(self.embed(input_ids)).relu()
        mask = attention_mask[..., None].to(x)
        return self.out((x * mask).sum(1) / mask.sum(1))


def test_masks_pass_beside_the_cut() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        one, two = Reader(), Reader()
        mask = (torch.arange(5) <= torch.randint(0, 5, (90, 1))).long()
        inputs = {"input_ids": torch.randint(0, 20, (90, 5)), "attention_mask": mask}
        text = Samples("text", inputs, torch.randint(0, 3, (90,)), torch.arange(90), classes=3)
    found = compare(one, two, text, measures=[DIRECT], sender_cuts=["block"], receiver_cuts=["block"], rule=RULE)
    assert sr.split(two, "block", text.batch(slice(0, 2))).context == ("attention_mask",)
    same(found.score(DIRECT, "block", "block"), alone(one, two, ("block", "block"), text)[1])


# ---- the task matrix


def test_a_task_cell_starts_from_the_direct_stitch(monkeypatch: pytest.MonkeyPatch) -> None:
    matched = counted(monkeypatch, functional, "match")
    found = stitched(TASK, receiver_cuts=["b"])
    fit, held_out = fit_and_held_out(images(), RULE)
    assert len(matched) == 3
    for one in matched:
        direct, _ = alone(net(0), net(1), (one.sender.cut.name, "b"), images())
        start = float(F.cross_entropy(direct(fit.inputs), fit.labels))
        assert one.figures["loss_start"] == pytest.approx(start, rel=1e-4)
        assert float(F.cross_entropy(one(fit.inputs), fit.labels)) <= start
        assert one.fitted.tolist() == fit.ids.tolist()
        same(found.score(TASK, one.sender.cut.name, "b"), evaluate(one, held_out))
    assert any(one.figures["loss_end"] < one.figures["loss_start"] for one in matched)
    assert found.record["functional"][TASK]["training"]["epochs"] == 2


def test_a_task_stitch_is_trained_on_as_many_samples_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    matched, passes = counted(monkeypatch, functional, "match"), list[str]()
    some = Stitching(QUICK.task, samples=20)
    stitched(TASK, stitching=some, sender_cuts=["a"], receiver_cuts=["b"], watch=lambda now: passes.append(now.task))
    assert len(matched[0].fitted) == 20
    assert set(matched[0].fitted.tolist()) <= set(fit_and_held_out(images(), RULE)[0].ids.tolist())
    assert "the pass" not in passes, "a trained stitch needs nothing of a pass"
    with pytest.raises(MeasureError, match="at least 2 samples to train a stitch on, but got 1"):
        Stitching(samples=1)


# ---- finished cells


class Stop(BaseException):
    """What Ctrl-C raises, to a test."""


def stopping(word: str, after: int) -> Callable[[Progress], None]:
    def watch(now: Progress) -> None:
        if now.task == word and now.done == after:
            raise Stop

    return watch


@pytest.mark.slow
@pytest.mark.parametrize(("word", "work"), [(DIRECT, "solve_stitch"), (TASK, "match")])
def test_a_run_that_was_stopped_goes_on(word: str, work: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = stitched(word, receiver_cuts=["a", "c"])
    with pytest.raises(Stop):
        stitched(word, receiver_cuts=["a", "c"], folder=tmp_path, watch=stopping(word, 4))
    assert len(list((tmp_path / "cells").iterdir())) == 4
    done, seen = counted(monkeypatch, functional, work), list[Progress]()
    second = stitched(word, receiver_cuts=["a", "c"], folder=tmp_path, watch=seen.append)
    assert len(done) == 2
    assert second[word] == whole[word]
    told = [now for now in seen if now.task == word]
    assert [(now.done, now.total) for now in told] == [(4, 6), (5, 6), (6, 6)]
    assert all(0 <= now.figures["accuracy"] <= 1 for now in told[1:])
    third = stitched(word, receiver_cuts=["a", "c"], folder=tmp_path)
    assert (len(done), third[word]) == (2, whole[word])


def test_all_finished_nothing_runs(tmp_path: Path) -> None:
    first, seen = stitched(folder=tmp_path), list[str]()
    again = stitched(folder=tmp_path, watch=lambda now: seen.append(now.task))
    assert seen == [DIRECT]
    assert again[DIRECT] == first[DIRECT]


def with_tanh() -> nn.Module:
    """The same weights behind another activation function."""
    other = Net(nn.Tanh)
    other.load_state_dict(net(1).state_dict())
    return other.eval()


OTHERS: dict[str, Callable[[], dict[str, Any]]] = {
    "weights": lambda: {"a": net(7)},
    "modules": lambda: {"b": with_tanh()},
    "data": lambda: {"samples": images(seed=5)},
    "rule": lambda: {"rule": Rule(batch=16, folds=3, optimise=False, seed=1)},
    "version": dict,
}


@pytest.mark.parametrize("what", OTHERS)
def test_cells_of_anything_else_are_left_alone(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"sender_cuts": ["b"], "receiver_cuts": ["c"], "folder": tmp_path}
    stitched(**small)  # type: ignore[arg-type]
    before = {path: path.read_bytes() for path in (tmp_path / "cells").iterdir()}
    if what == "version":
        monkeypatch.setattr(functional, "versions", lambda: {"seamripper": "9", "torch": "9"})
    done = counted(monkeypatch, functional, "solve_stitch")
    found = stitched(**small | OTHERS[what]())
    assert len(done) == 1
    monkeypatch.undo()
    if what != "version":
        assert found[DIRECT] == stitched(**small | OTHERS[what]() | {"folder": None})[DIRECT]
    assert {path: path.read_bytes() for path in before} == before
    assert len(list((tmp_path / "cells").iterdir())) == 2


def test_the_options_of_the_task_belong_to_its_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"sender_cuts": ["b"], "receiver_cuts": ["c"], "folder": tmp_path}
    stitched(TASK, **small)  # type: ignore[arg-type]
    done = counted(monkeypatch, functional, "match")
    stitched(TASK, **small, stitching=Stitching(QUICK.task, samples=30))  # type: ignore[arg-type]
    stitched(TASK, **small, stitching=Stitching(Task(Training(epochs=3), init="direct")))  # type: ignore[arg-type]
    assert len(done) == 2
    stitched(TASK, **small)  # type: ignore[arg-type]
    assert len(done) == 2


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def shortened(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def changed(path: Path) -> None:
    record = json.loads(path.read_bytes())
    record["score"]["value"] += 0.01
    path.write_text(json.dumps(record))


def replaced(path: Path) -> None:
    path.write_text("[1, 2]")


@pytest.mark.parametrize("damage", [emptied, shortened, changed, replaced])
def test_a_damaged_cell_is_computed_anew_and_told(
    damage: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = stitched(folder=tmp_path)
    path = next((tmp_path / "cells").glob("direct_functional-b-a-*.json"))
    whole = path.read_bytes()
    damage(path)
    done, said = counted(monkeypatch, functional, "solve_stitch"), list[str]()
    second = stitched(folder=tmp_path, announce=said.append)
    assert len(done) == 1
    assert [line for line in said if "damaged" in line] == [f"{path} is damaged: that cell is computed again."]
    assert second[DIRECT] == first[DIRECT]
    assert path.read_bytes() == whole


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(FileError, match="cells, where finished cells are kept, cannot be made"):
        stitched(folder=tmp_path / "run")


# ---- what cannot be


class Sevens(nn.Module):
    """Seven tokens, which fill no square."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.out = nn.Conv1d(1, 7, 12, 12), nn.Linear(7 * 12, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.tokens(x.flatten(1)[:, None]).relu().flatten(1))


def test_a_cell_that_no_stitch_fits_is_a_reason_and_not_an_end() -> None:
    found = stitched(a=Sevens(), sender_cuts=["tokens", "out"], receiver_cuts=CUTS[:2])
    assert [[math.isnan(v) for v in row] for row in found[DIRECT].values] == [[True, True], [False, False]]
    assert set(found[DIRECT].failed) == {"tokens × a", "tokens × b"}
    assert "No plain stitch can join tokens (7x12, ntd) to a" in found[DIRECT].failed["tokens × a"]


def test_a_cut_that_cannot_be_split_takes_its_column_along(monkeypatch: pytest.MonkeyPatch) -> None:
    real = functional.split

    def refusing(model: Any, cut: str, example: Any) -> sr.Split:
        if cut == "b":
            raise CutError("'b' could not be cut.")
        return real(model, cut, example)

    monkeypatch.setattr(functional, "split", refusing)
    found = stitched()
    assert found[DIRECT].failed == {f"{a} × b": "'b' could not be cut." for a in CUTS}
    assert sum(score is not None for row in found[DIRECT].scores for score in row) == 6


def test_networks_of_different_precision_are_stitched() -> None:
    class Precise(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net(0).double()

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x.double())

    found = compare(
        net(0), Precise(), images(), measures=[DIRECT], sender_cuts=["b"], receiver_cuts=["net.b"], rule=RULE
    )
    same = compare(net(0), net(0), images(), measures=[DIRECT], sender_cuts=["b"], receiver_cuts=["b"], rule=RULE)
    assert found[DIRECT].scores[0][0].value == pytest.approx(same[DIRECT].scores[0][0].value, abs=0.05)


def test_a_receiver_that_gets_nothing_right_has_no_relative_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, done = images(), counted(monkeypatch, functional, "solve_stitch")
    with torch.no_grad():
        wrong = (net(1)(samples.inputs).argmax(1) + 1) % 3
    found = stitched(samples=Samples("wrong", samples.inputs, wrong, samples.ids, classes=3))
    assert done == []
    assert len(found[DIRECT].failed) == 9
    assert "The receiver gets none of the 26 held-out samples right" in found[DIRECT].failed["a × a"]


@pytest.mark.parametrize("word", FUNCTIONAL)
def test_refusals(word: str) -> None:
    with pytest.raises(MeasureError, match=f"'{word}' needs the sampling 'positions', but got 'pool'"):
        stitched(word, rule=Rule(sampling="pool", batch=16))
    few = Samples("few", images().inputs, images().labels + 1, images().ids, classes=4)
    with pytest.raises(DataError, match="labels of few go from 1 to 3, but the receiver has 3 classes"):
        stitched(word, samples=few)
    with pytest.raises(DataError, match="Expected the receiver to answer with a score for each class"):
        stitched(word, b=net(1).a, receiver_cuts=["0"])


@pytest.mark.parametrize(("batch", "folds", "least"), [(16, 3, 34), (1, 3, 6), (2, 2, 4)])
def test_too_few_samples_says_how_many(batch: int, folds: int, least: int) -> None:
    rule = Rule(batch=batch, folds=folds)
    with pytest.raises(MeasureError, match=f"scored on the last of {folds} folds.* Give at least {least}, a smaller"):
        fit_and_held_out(images(least - 1), rule)
    assert len(fit_and_held_out(images(least), rule)[1]) == 2


def test_the_words() -> None:
    assert set(FUNCTIONAL) == {DIRECT, TASK}
    assert not set(FUNCTIONAL) & {measure.name for measure in choose_measures(["all"])}
    with pytest.raises(MeasureError, match="did you mean 'direct_functional'"):
        stitched("direct_functionl")
    with pytest.raises(MeasureError, match="'task_functional' stitches the models themselves: `seamripper compare`"):
        measures.make(TASK)
    assert all(10 < len(line) <= 120 for line in FUNCTIONAL.values())


def test_a_tail_that_changes_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = stitched_column.Column.answers

    def meddling(self: Any, *given: Any, **more: Any) -> Tensor:
        next(self.tail.tail.parameters()).add_(1)
        return real(self, *given, **more)

    monkeypatch.setattr(stitched_column.Column, "answers", meddling)
    with pytest.raises(sr.SeamripperError, match="The receiver should have stayed frozen"):
        stitched()


def test_one_forward_pass_shows_every_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender runs once over the held-out samples, whatever the number of cells."""
    a = heads(net(0), CUTS, images().batch(slice(0, 2)))
    calls = counted(monkeypatch, type(a), "__call__")
    held_out = fit_and_held_out(images(), RULE)[1]
    sent = stitched_column.sender_activations(a, [0, 2], held_out, batch=16, announce=print, watch=lambda _: None)
    assert len(calls) == 2
    assert {i: tuple(values.shape) for i, values in sent.items()} == {0: (26, 6, 12, 12), 2: (26, 10, 3, 3)}
    torch.testing.assert_close(sent[2][16:], calls[1][2])


class Steps(nn.Module):
    """An activation function with a threshold that neither a weight nor the printed model shows."""

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self.threshold = threshold

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x - self.threshold)


def test_cells_are_of_the_model_that_answers_as_it_did(tmp_path: Path) -> None:
    rows = torch.randn(90, 4, generator=torch.Generator().manual_seed(0))
    samples = Samples("rows", rows, torch.arange(90) % 3, torch.arange(90), classes=3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        linear, last = nn.Linear(4, 5), nn.Linear(5, 3)
    for k, threshold in enumerate((0.0, 0.5)):
        model = nn.Sequential(linear, Steps(threshold), last)
        compare(
            model, model, samples, measures=[DIRECT], sender_cuts=["0"], receiver_cuts=["0"], rule=RULE, folder=tmp_path
        )
        assert len(list((tmp_path / "cells").iterdir())) == k + 1
