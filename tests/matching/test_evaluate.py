"""The functional result: figures counted by hand, baselines, and samples that may not be scored."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seamripper.data import Samples
from seamripper.errors import DataError
from seamripper.estimate import proportion
from seamripper.matching import Direct, Match, Task, Training, evaluate, match


def linear(weight: Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    with torch.no_grad():
        layer.weight.copy_(weight)
    return layer


def permuting(make, permutation: list[int]) -> Match:
    """A match whose stitched network says class permutation[k] where the receiver says k.

    The receiver answers with its input; the sender's front moves the k-th input to the place permutation[k].
    """
    classes = len(permutation)
    moved = torch.eye(classes)[:, torch.tensor(permutation).argsort()]
    receiver = nn.Sequential(linear(torch.eye(classes)), linear(torch.eye(classes)))
    sender = nn.Sequential(linear(moved), linear(torch.eye(classes)))
    fit = make.samples((classes,), 4, classes=classes, name="fit")
    return match(
        make.halves(sender, "0", fit),
        make.halves(receiver, "0", fit),
        fit,
        stitch="identity",
        matching=Task(Training(epochs=0)),
    )


def saying(answers: list[int], labels: list[int], classes: int, *, first_id: int = 0) -> Samples:
    """Samples on which the receiver of `permuting` says `answers`; the other classes follow in their order."""
    inputs = -torch.arange(classes, dtype=torch.float32).repeat(len(answers), 1)
    inputs[torch.arange(len(answers)), answers] = 10.0
    ids = torch.arange(first_id, first_id + len(answers))
    return Samples("by hand", inputs, torch.tensor(labels), ids, classes=classes)


# ---- figures ----


def test_figures_against_a_count_by_hand(make) -> None:
    """Eight classes, 0 and 1 swapped on the way. Receiver: right on 5 of 8. Stitched: right on 3."""
    found = permuting(make, [1, 0, 2, 3, 4, 5, 6, 7])
    #            receiver says    label         stitched says: 1  0  2  3  1  0  4  7
    test = saying([0, 1, 2, 3, 0, 1, 4, 7], labels=[0, 1, 2, 3, 1, 1, 3, 6], classes=8)
    result = evaluate(found, test)
    # receiver right:  yes yes yes yes no yes no no -> 5; stitched right: no no yes yes yes no no no -> 3
    assert result.receiver_here == proportion(5, 8)
    assert result.top1 == proportion(3, 8)
    assert result.penalty.value == pytest.approx((8 - 3) / 8 - (8 - 5) / 8)
    assert result.relative_accuracy.value == pytest.approx(3 / 5)
    assert result.agreement == proportion(4, 8)  # where neither 0 nor 1 is said: 2, 3, 4, 7
    assert (result.n, result.data, result.receiver_own) == (8, "by hand", None)
    # top-5 of the stitched network: its answer and then 1, 0, 2, 3, 4 …: labels 0 … 3 are always among them,
    # label 3 the last of five when it says 4 (4 1 0 2 3); label 6 is not when it says 7 (7 1 0 2 3).
    assert result.top5 == proportion(7, 8)
    for estimate in (result.top1, result.penalty, result.relative_accuracy, result.agreement, result.receiver_here):
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.n == 8


@pytest.mark.parametrize(("classes", "has"), [(3, False), (5, False), (6, True)])
def test_no_top5_of_five_classes(make, classes: int, has: bool) -> None:
    result = evaluate(permuting(make, list(range(classes))), saying([0, 1], [0, 2], classes))
    assert (result.top5 is not None) == has


def test_the_penalty_is_negative_where_the_stitched_network_is_better(make) -> None:
    swapped = permuting(make, [1, 0, 2])
    better = evaluate(swapped, saying([0] * 20, [1] * 20, 3))
    worse = evaluate(swapped, saying([0] * 20, [0] * 20, 3))
    assert (better.penalty.value, better.penalty.high) == (-1.0, -1.0)
    assert (worse.penalty.value, worse.penalty.low) == (1.0, 1.0)
    assert worse.relative_accuracy.value == 0.0


def test_a_receiver_that_is_never_right_has_no_relative_accuracy(make) -> None:
    result = evaluate(permuting(make, [1, 0, 2]), saying([0] * 20, [1] * 20, 3))
    assert math.isnan(result.relative_accuracy.value)
    record = json.loads(json.dumps(result.as_record(), allow_nan=False))
    assert record["relative_accuracy"] == {"value": None, "interval": None, "n": 20, "unit": "samples"}
    assert record["top1"]["value"] == 1.0


def test_a_network_stitched_to_itself_is_itself(make, pair) -> None:
    _, receiver = pair
    found = match(receiver, receiver, make.blobs(50), stitch="identity", matching=Direct())
    result = evaluate(found, make.blobs(200, seed=3, first_id=8000))
    assert (result.penalty.value, result.penalty.low, result.penalty.high) == (0.0, 0.0, 0.0)
    assert result.relative_accuracy.value == result.agreement.value == 1.0
    assert result.top1 == result.receiver_here


def test_batches_do_not_matter_and_watchers_are_told(make, stitched: Match) -> None:
    test, told = make.blobs(101, seed=3, first_id=8000), []
    results = [evaluate(stitched, test, batch=batch, watch=told.append).as_record() for batch in (1, 7, 1000)]
    divergences = [result.pop("kl")["value"] for result in results]
    assert results[0] == results[1] == results[2]
    # The one figure that is not a count: it is as exact as the answers are, which are added up in another order.
    assert divergences == pytest.approx([divergences[0]] * 3, rel=1e-4)
    assert (told[-1].done, told[-1].total, told[0].total) == (1, 1, 101)


# ---- baselines ----


def test_the_receiver_on_its_own_task(make) -> None:
    """Own samples need not be unseen, and may number differently."""
    found = permuting(make, [1, 0, 2])
    own = saying([0, 1, 2, 2], [0, 1, 2, 0], 3)
    result = evaluate(found, saying([0, 0], [0, 1], 3), own=own)
    assert result.receiver_own == proportion(3, 4)
    assert result.receiver_here == proportion(1, 2)


def test_with_a_label_map_the_shifted_class_is_right(make, pair) -> None:
    fit, test = make.blobs(300), make.blobs(200, seed=3, first_id=8000)
    training = Training(epochs=30, batch=64, lr=0.02)
    found = match(pair[1], pair[1], fit, matching=Task(training, label_map=(1, 2, 0)), seed=1)
    result = evaluate(found, test)
    assert result.top1.value > 0.95
    assert result.receiver_here.value > 0.95  # the receiver by the labels as they are
    assert result.agreement.value < 0.05
    more = make.samples((8,), 20, classes=4, name="more classes")
    with pytest.raises(DataError, match="label_map to have an entry for each of the 4 classes of more classes"):
        evaluate(found, more)


# ---- samples that may not be scored ----


def test_the_samples_it_was_fitted_on(make, stitched: Match) -> None:
    with pytest.raises(
        DataError, match="300 of the 300 samples of blobs are among those that the stitch was fitted on"
    ):
        evaluate(stitched, make.blobs(300))


def test_the_same_bytes_under_another_name(make, stitched: Match) -> None:
    fit = make.blobs(300)
    renamed = Samples("other", fit.inputs, fit.labels, fit.ids, classes=3)
    with pytest.raises(DataError, match="300 of the 300 samples of other"):
        evaluate(stitched, renamed)


@pytest.mark.parametrize("kind", ["array", "tensor", "list", "function"])
def test_the_same_data_in_a_form_of_its_own(make, pair, kind: str) -> None:
    """A fifth is held out of the fit, so neither the bytes nor, of a list, the name are those that were fitted on."""
    rows = make.blobs(300).inputs
    some, other = (
        {"array": part.numpy(), "tensor": part, "list": list(part), "function": lambda part=part: iter(part)}[kind]
        for part in (rows, make.blobs(300, seed=3).inputs)
    )
    found = match(*pair, some, matching=Direct())
    with pytest.raises(DataError, match=r"(that|and) the stitch was fitted on"):
        evaluate(found, some)
    assert evaluate(found, other).n == 300
    if kind != "function":
        with pytest.raises(DataError, match="300 samples are both fitted and held out"):
            match(*pair, some, matching=Direct(), held_out=some)


def test_some_of_the_samples_it_was_fitted_on(make, stitched: Match) -> None:
    test = make.blobs(100, seed=3, first_id=290)
    with pytest.raises(DataError, match="10 of the 100 samples of blobs"):
        evaluate(stitched, test)
    assert evaluate(stitched, test.take(slice(10, None))).n == 90


def test_another_set_may_use_the_same_ids(make, stitched: Match) -> None:
    test = make.blobs(100, seed=3)
    other = Samples("elsewhere", test.inputs, test.labels, test.ids, classes=3)
    assert evaluate(stitched, other).n == 100


@pytest.mark.parametrize(
    ("fitted", "scored", "same"),
    [
        ("mnist/digit", "mnist/colour", True),
        ("mnist/digit", "mnist", True),
        ("mnist/digit", "fashion/digit", False),
        ("folder:data/cats", "folder:data/dogs", False),
        ("folder:data/cats", "folder:data/cats", True),
        ("cifar10?size=64", "cifar10", True),
        ("mnist?size=32", "mnist/digit", True),
        ("mnist/digit", "mnist/colour?size=32&classes=5", True),
        ("mnist?size=32", "fashion?size=32", False),
        ("folder:data/cats?size=64", "folder:data/cats", True),
        ("folder:data/cats?size=64", "folder:data/dogs?size=64", False),
    ],
)
def test_variants_of_a_set_show_the_same_samples(make, pair, fitted: str, scored: str, same: bool) -> None:
    data = [make.blobs(30, seed=seed) for seed in (0, 1)]
    fit, test = (
        Samples(name, d.inputs, d.labels, d.ids, classes=3) for name, d in zip((fitted, scored), data, strict=True)
    )
    found = match(*pair, fit, matching=Task(Training(epochs=0)))
    if same:
        with pytest.raises(DataError, match="30 of the 30 samples"):
            evaluate(found, test)
        with pytest.raises(DataError, match="30 samples are both fitted and held out"):
            match(*pair, fit, matching=Direct(), held_out=test)
    else:
        assert evaluate(found, test).n == 30


def test_held_out_samples_may_be_scored(make, pair) -> None:
    """A stitch was not fitted on the fifth that its residual is reported on."""
    fit = make.blobs(100)
    found = match(*pair, fit, matching=Direct())
    held = fit.take(~torch.isin(fit.ids, found.fitted))
    assert evaluate(found, held).n == 20


# ---- bad input ----


def test_samples_of_another_shape(make, stitched: Match) -> None:
    with pytest.raises(DataError, match=r"cut for inputs input 8 \(float32\), but wide has input 9 \(float32\)"):
        evaluate(stitched, make.samples((9,), 10, name="wide"))


def test_labels_that_the_receiver_has_no_class_for(make, stitched: Match) -> None:
    with pytest.raises(DataError, match=r"labels of many go from 0 to 6, but the receiver has 3 classes \(0 … 2\)"):
        evaluate(stitched, make.samples((8,), 14, classes=7, name="many"))


def test_answers_that_are_not_finite(make) -> None:
    class Root(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.sqrt()

    def positive(n: int, first_id: int) -> Samples:
        drawn = make.samples((4,), n, seed=first_id, first_id=first_id)
        return Samples("positive", drawn.inputs.abs() + 1, drawn.labels, drawn.ids, classes=3)

    with make.seeded(0):
        net = nn.Sequential(Root(), nn.Linear(4, 3))
    fit, test = positive(20, 0), positive(20, 500)
    found = match(make.halves(net, "0", fit), make.halves(net, "0", fit), fit, matching=Direct())
    assert evaluate(found, test).n == 20
    test.inputs[3] = -1.0
    with pytest.raises(DataError, match=r"at 'the end of the stitched network' hold NaN or Inf, .* id 503"):
        evaluate(found, test)


# ---- intervals, over repeated test sets ----


def test_intervals_cover_what_they_should(make, stitched: Match) -> None:
    """The figures of 60 small test sets against those of one large set of the same kind."""
    truth = evaluate(stitched, make.blobs(30_000, seed=77, first_id=10**6))
    results = [evaluate(stitched, make.blobs(60, seed=100 + k, first_id=10**7)) for k in range(60)]
    for name in ("top1", "agreement", "receiver_here"):
        wanted = getattr(truth, name).value
        covered = np.mean([getattr(r, name).low <= wanted <= getattr(r, name).high for r in results])
        assert covered >= 0.85, name
