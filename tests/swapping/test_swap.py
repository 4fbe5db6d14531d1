"""swap: a planted rotation may be swapped, a blind front may not, and nothing is chosen on the test samples."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seamripper.audits.rule import DIFFERENT, NOISE, UNKNOWN
from seamripper.cli.swap_command import EXIT
from seamripper.data import Samples
from seamripper.errors import DataError
from seamripper.matching.moments import Moments
from seamripper.matching.solve import least_squares, ridge_path
from seamripper.paired_estimate import paired_difference, paired_difference_p
from seamripper.swapping import JoinedNetwork, SwapVerdict, swap
from seamripper.swapping.curve import LearningCurve, Point
from seamripper.swapping.export import _export
from seamripper.swapping.joints import Trial, choose
from seamripper.swapping.loss import Loss, count_flips, flips_of, loss_of
from seamripper.swapping.page import page
from seamripper.swapping.verdict import ANSWERS

WIDTH = 12


def chain(seed: int = 0) -> nn.Sequential:
    """A network that gives each of its three answers about as often as the others."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(6, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 3))
        with torch.no_grad():
            scores = net(torch.randn(500, 6))
            net[4].weight /= scores.std(0)[:, None]
            net[4].bias.copy_((net[4].bias - scores.mean(0)) / scores.std(0))
    return net


def rotated(net: nn.Sequential) -> nn.Sequential:
    """The same function, with the values in front of its last layer turned."""
    turn = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(5)))[0]
    front, last = copy.deepcopy(net[:4]), copy.deepcopy(net[4])
    mixer = nn.Linear(WIDTH, WIDTH, bias=False)
    with torch.no_grad():
        mixer.weight.copy_(turn)
        last.weight.copy_(last.weight @ turn.T)
    return nn.Sequential(*front, mixer, last)


def points(net: nn.Module, n: int, first: int = 0, seed: int = 1) -> Samples:
    """Samples that the network itself has labelled."""
    inputs = torch.randn(n, 6, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        labels = net(inputs).argmax(1)
    return Samples("toy", inputs, labels, torch.arange(first, first + n), classes=3)


def asked(old: nn.Module, new: nn.Module, n: int = 300, n_test: int = 400, **choices: object) -> SwapVerdict:
    fit, test = points(old, n), points(old, n_test, first=n, seed=2)
    return swap(old, new, fit, test, **{"audit": False, **choices})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def undone() -> SwapVerdict:
    return asked(chain(), rotated(chain()))


def test_what_a_linear_map_can_undo_may_be_swapped(undone: SwapVerdict) -> None:
    assert undone.answer == "swap"
    assert undone.loss.equivalent
    assert (undone.loss.penalty.value, undone.flips) == (0.0, ())
    assert undone.chosen.way == "direct"
    # Nothing was left to be won, so nothing was trained.
    assert {trial.way for trial in undone.trials} == {"direct"}
    assert undone.curve.needed is not None
    assert undone.curve.needed < 240
    assert "the two are equivalent" in undone.sentence
    assert "leave out --no-audit" in undone.doubt


def test_the_joined_network_stands_alone(undone: SwapVerdict) -> None:
    """It answers as the match does, holds no weight that it does not need, and costs what it is made of."""
    inputs = torch.randn(7, 6)
    assert torch.equal(undone.network(inputs), undone.match(inputs))
    cut = undone.chosen
    stitch = sum(p.numel() for p in undone.match.layer.parameters())
    parameters = sum(p.numel() for p in undone.network.parameters())
    assert parameters == cut.new_cut.before + stitch + cut.old_cut.after == undone.costs["joined"].parameters
    assert undone.costs["old"].parameters == sum(p.numel() for p in chain().parameters())
    assert undone.costs["old"].flops == 2 * (6 * WIDTH + WIDTH * WIDTH + WIDTH * 3)
    seconds = undone.costs["joined"].seconds
    assert 0 < seconds.low <= seconds.value <= seconds.high


def test_a_front_that_sees_nothing_must_not_be_swapped() -> None:
    blind = chain(3)
    with torch.no_grad():
        blind[0].weight.zero_()
        blind[2].weight[:, 1:] = 0
        blind[0].weight[0, 0] = 1e-3
    verdict = asked(chain(), blind)
    assert verdict.answer == "do not swap"
    assert verdict.loss.penalty.low > 0.1
    assert {trial.way for trial in verdict.trials} == {"direct", "downstream", "task"}
    assert verdict.curve.needed is None
    assert "--old-cuts" in verdict.doubt
    assert len(verdict.flips) == sum(count_flips(verdict.flips).values())
    assert all(flip.id >= 300 and flip.old != flip.new for flip in verdict.flips)


def test_too_few_test_samples_show_nothing() -> None:
    verdict = asked(chain(), rotated(chain()), n_test=20)
    assert verdict.loss.penalty.value == 0
    assert verdict.answer == "not shown"
    assert "20 test samples are too few" in verdict.doubt
    assert "a loss of 1 or more is not rejected (p = 0.33)" in verdict.sentence


def test_nothing_is_fitted_or_chosen_on_the_test_samples() -> None:
    old, new = chain(), chain(4)
    fit, test = points(old, 200), points(old, 200, first=200, seed=2)
    shuffled = replace(test, labels=test.labels.roll(1), inputs=test.inputs.flip(0))  # type: ignore[union-attr]
    first, second = (swap(old, new, fit, each, audit=False) for each in (test, shuffled))
    assert first.chosen.pair == second.chosen.pair
    assert [t.loss for t in first.trials] == [t.loss for t in second.trials]
    assert first.loss != second.loss
    chosen_on = set(fit.ids.tolist()) - set(first.match.fitted.tolist())
    assert len(chosen_on) == first.record["choice"] == 40
    assert not set(first.match.fitted.tolist()) & set(test.ids.tolist())
    with pytest.raises(DataError, match="200 of the 200 test samples are among those to fit"):
        swap(old, new, fit, fit)


def test_labels_that_say_nothing_give_way_to_the_old_answers() -> None:
    old = chain()
    fit, test = points(old, 300), points(old, 300, first=300, seed=2)
    wrong = [replace(s, labels=torch.arange(len(s)) % 3) for s in (fit, test)]
    verdict = swap(old, rotated(old), *wrong, audit=False)
    assert verdict.loss.yardstick == "old answers"
    assert verdict.answer == "swap"
    assert verdict.loss.old.value == 1.0
    assert "another answer than the old network" in verdict.sentence
    assert "chance" in verdict.consequence
    nameless = [Samples("mine", s.inputs, ids=s.ids) for s in (fit, test)]
    assert swap(old, rotated(old), *nameless, audit=False).loss.penalty.value == 0.0


def test_the_audit_says_whether_the_reason_is_right() -> None:
    old = chain()
    verdict = asked(old, copy.deepcopy(old), audit=True, old_cuts="1", new_cuts="1")
    assert verdict.audit is not None
    assert verdict.answer == "swap"
    # What works by other information, or for a reason that nobody could tell, is not called fine.
    for conclusion, answer in ((DIFFERENT, "other reason"), (NOISE, "reason unknown"), (UNKNOWN, "reason unknown")):
        judgement = replace(verdict.audit.judgement, conclusion=conclusion)
        other = replace(verdict, audit=replace(verdict.audit, judgement=judgement))
        assert (other.answer, other.loss.answer, EXIT[other.answer]) == (answer, "swap", {"o": 1, "r": 3}[answer[0]])
        assert ANSWERS[other.answer] in page(other)
    assert replace(verdict, audit=None, no_audit="it failed").answer == "reason unknown"
    assert ("audit conflict", "effect") in {(row["part"], row["figure"]) for row in verdict.rows()}
    assert verdict.reason.startswith("Same information, by an audit with 240 samples to fit on")
    assert verdict.doubt.startswith("Only data like this was tested")
    assert "Does it work for the right reason?" in page(verdict)


# ---- the test


def test_the_interval_and_the_tests_are_those_of_the_literature() -> None:
    """Fagerland, Lydersen & Laake 2014, airway hyper-responsiveness: Tango's interval of 1/21 − 7/21."""
    estimate = paired_difference(1, 7, 21)
    assert (round(estimate.low, 3), round(estimate.high, 3)) == (-0.517, -0.026)
    mirrored = paired_difference(7, 1, 21)
    assert (mirrored.low, mirrored.high) == pytest.approx((-estimate.high, -estimate.low))
    # The ends of the 95 % interval are where a one-sided test has p = 0.025.
    assert paired_difference_p(1, 7, 21, estimate.high) == pytest.approx(0.025, abs=1e-6)
    assert paired_difference_p(1, 7, 21, estimate.low, above=True) == pytest.approx(0.025, abs=1e-6)
    # Without margin it is McNemar's test.
    assert paired_difference_p(1, 7, 21, 0.0) == pytest.approx(0.0169, abs=1e-3)


def test_a_loss_at_the_tolerance_is_let_pass_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(0)
    n, tolerance = 1500, 0.02
    draws = rng.multinomial(n, [0.05, 0.03, 0.92], size=2000)
    passed = np.mean([paired_difference_p(int(b), int(c), n, tolerance) < 0.05 for b, c, _ in draws])
    assert 0.035 < passed < 0.065


def test_losses_are_counted_on_the_same_samples() -> None:
    samples = Samples("four", torch.zeros(4, 1), torch.tensor([0, 1, 0, 1]), torch.tensor([7, 8, 9, 10]), classes=2)
    says = torch.eye(2)
    old, joined = says[[0, 1, 1, 1]], says[[1, 1, 0, 1]]
    loss = loss_of(joined, old, samples, tolerance=0.1, yardstick="labels")
    assert (loss.penalty.value, loss.old.value, loss.joined.value) == (0.0, 0.75, 0.75)
    assert [(f.id, f.old, f.new, f.label) for f in flips_of(joined, old, samples)] == [(7, 0, 1, 0), (9, 1, 0, 0)]
    assert loss_of(joined, old, samples, tolerance=0.1, yardstick="old answers").penalty.value == 0.5


def loss(value: float, n: int = 1000, tolerance: float = 0.05) -> Loss:
    lost = round(value * n)
    right = torch.arange(n) < n - lost
    both = torch.stack([~right, right], 1).float()
    samples = Samples("toy", torch.zeros(n, 1), torch.ones(n, dtype=torch.long), torch.arange(n), classes=2)
    return loss_of(both, torch.tensor([[0.0, 1.0]]).expand(n, 2), samples, tolerance=tolerance, yardstick="labels")


def test_sizes_are_tested_from_the_largest_down() -> None:
    curve = LearningCurve((Point(25, loss(0.01)), Point(50, loss(0.3)), Point(100, loss(0.02)), Point(200, loss(0.01))))
    assert curve.needed == 100
    assert curve.sentence.startswith("100 samples to fit on are enough")
    falling = LearningCurve((Point(100, loss(0.3)), Point(200, loss(0.1))))
    assert falling.needed is None
    assert falling.sentence.endswith("from 0.300 to 0.100: more may help.")
    flat = LearningCurve((Point(100, loss(0.1)), Point(200, loss(0.1))))
    assert flat.sentence.endswith("more alone will hardly help.")


def test_the_plainest_and_deepest_of_those_that_do_as_well_is_chosen(undone: SwapVerdict) -> None:
    trial = undone.chosen

    def tried(way: str, value: float, after: int) -> Trial:
        return replace(trial, way=way, loss=loss(value), old_cut=replace(trial.old_cut, after=after))

    plain, shallow = tried("direct", 0.012, 5), tried("direct", 0.0, 50)
    trained, worse = tried("task", 0.0, 5), tried("direct", 0.2, 1)
    assert choose([shallow, plain, trained, worse], 0.05) is plain
    assert choose([worse, trained], 0.05) is trained


# ---- its parts


def test_a_path_of_ridges_is_what_each_of_them_is_alone() -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    x, y = torch.randn(60, 5).double(), torch.randn(60, 3).double()
    moments = Moments(5, 3)
    moments.add(x, y)
    ridges = (0.0, 0.01, 1.0)
    for ridge, solution in zip(ridges, ridge_path(moments, ridges), strict=True):
        alone = least_squares(moments, ridge=ridge)
        assert torch.equal(alone.weight, solution.weight)
        other = sklearn.Ridge(alpha=ridge * float(torch.trace(moments.sxx)) / 5).fit(x.numpy(), y.numpy())
        assert np.allclose(other.coef_, solution.weight.numpy(), atol=1e-8)


def test_few_samples_for_many_columns_ask_for_a_ridge(undone: SwapVerdict) -> None:
    assert undone.match.matching.ridge == 0.0  # type: ignore[attr-defined]
    noisy = asked(chain(), chain(9), n=60, n_test=60, old_cuts="3", new_cuts="3")
    assert next(t for t in noisy.trials if t.way == "direct").match.matching.ridge > 0  # type: ignore[attr-defined]


class Tokens(nn.Module):
    """Reads tokens with padding: embeddings, one layer, the mean of those that count, a head."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.words, self.layer, self.head = nn.Embedding(20, 8), nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = torch.tanh(self.layer(self.words(input_ids)))
        counts = attention_mask[:, :, None].to(states.dtype)
        return self.head((states * counts).sum(1) / counts.sum(1))


def texts(net: nn.Module, n: int, first: int) -> Samples:
    g = torch.Generator().manual_seed(first)
    ids = torch.randint(1, 20, (n, 6), generator=g)
    mask = (torch.arange(6) < torch.randint(2, 7, (n, 1), generator=g)).long()
    with torch.no_grad():
        labels = net(ids, mask).argmax(1)
    return Samples(
        "texts", {"input_ids": ids * mask, "attention_mask": mask}, labels, torch.arange(first, first + n), 2
    )


def test_padded_texts_and_names_of_inputs(tmp_path: Path) -> None:
    old = Tokens(0)
    new = copy.deepcopy(old)
    with torch.no_grad():
        new.head.weight.zero_()
    fit, test = texts(old, 200, 0), texts(old, 200, 200)
    verdict = swap(
        old, new, fit, test, tolerance=0.05, audit=False, old_cuts=["layer", "before:head"], new_cuts="layer"
    )
    assert verdict.answer == "swap"
    named = test.batch(slice(0, 9))
    assert isinstance(named, dict)
    for wrong, more in ((list(named.values()) * 2, {}), ([named["input_ids"]], {"input_ids": named["input_ids"]})):
        with pytest.raises(TypeError, match="Expected 'input_ids' and 'attention_mask', by position or by name"):
            verdict.network(*wrong, **more)
    assert torch.equal(verdict.network(**named), verdict.network(named["input_ids"], named["attention_mask"]))
    assert torch.allclose(verdict.network(**named), old(**named), atol=1e-4)
    assert any(trial.match.stitch.name == "pool_linear" for trial in verdict.trials)
    # The file keeps inputs to cut by: nobody else knows which tokens there are.
    verdict.match.save(tmp_path / "joined.safetensors")
    again = JoinedNetwork.load(tmp_path / "joined.safetensors", old=Tokens(2), new=Tokens(3))
    assert torch.equal(again(**named), verdict.network(**named))


def test_a_file_that_cannot_be_used_is_not_left_behind(tmp_path: Path) -> None:
    export = _export("ONNX", tmp_path / "joined.onnx", wrong, torch.ones(2))
    assert export.file is None
    assert export.why == "Read back, its answers differ by 1 of the largest."
    assert not (tmp_path / "joined.onnx").exists()


def wrong(path: Path) -> Tensor:
    path.write_text("an answer of zeros")
    return torch.zeros(2)


def test_a_stitch_that_pools_is_told_the_padding() -> None:
    old = Tokens(0)
    fit, test = texts(old, 200, 0), texts(old, 60, 200)
    verdict = swap(old, Tokens(1), fit, test, old_cuts="before:head", new_cuts="layer")
    half, pair = verdict.match, test.batch(slice(0, 20))
    assert half.stitch.name == "pool_linear"
    # A stitch that pools cannot join the old model to itself, vector to vector: that control has one of its own.
    assert verdict.audit is not None
    assert "self" not in verdict.audit.skipped
    assert torch.allclose(verdict.network.run(pair), half(pair), atol=1e-6)


def test_the_models_of_a_user_keep_their_mode(undone: SwapVerdict) -> None:
    old = chain().train()
    old[1].eval()
    asked(old, rotated(chain()), n=60, n_test=40)
    assert [part.training for part in old] == [True, False, True, True, True]
    with pytest.raises(TypeError, match="Expected one tensor, but got 2 by position"):
        undone.network(torch.zeros(1, 6), torch.zeros(1, 6))


def test_a_model_without_classes_is_refused() -> None:
    fit, test = points(chain(), 60), points(chain(), 60, first=60)
    tokens = nn.Sequential(nn.Linear(6, 8), nn.Unflatten(1, (2, 4)))
    with pytest.raises(DataError, match=r"Expected the old model \(Sequential\) to answer with a score for each class"):
        swap(tokens, chain(), fit, test)


def test_the_page_names_nothing_as_script() -> None:
    fit, test = points(chain(), 60), points(chain(), 40, first=60, seed=2)
    hostile = [replace(s, name="<script>alert(1)</script>") for s in (fit, test)]
    text = page(swap(chain(), chain(2), *hostile, audit=False))
    assert "<script>alert" not in text
    assert "Which samples flip" in text
