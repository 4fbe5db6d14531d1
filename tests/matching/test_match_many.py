"""match_many: what each stitch is in a batch of many, against what `match` finds for it alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seamripper.activations import collect, replay
from seamripper.cut import Split, split
from seamripper.data import Paired, Samples
from seamripper.errors import CutError, DataError, DivergedError, MatchError, SeamripperError, StitchError
from seamripper.matching import Match, Matching, Task, Training, match, match_many
from seamripper.matching.base import Natives
from seamripper.matching.many import group_size
from seamripper.models import Architecture, Progress

FEW = Training(epochs=3, batch=32, lr=0.01)
TASK = Task(FEW)


class Convolutions(nn.Sequential):
    """Maps of 3×8×8, 4×8×8 and 6×4×4, then a tail that averages first."""

    def __init__(self) -> None:
        super().__init__(
            nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()),
            nn.Sequential(nn.Conv2d(4, 6, 3, stride=2, padding=1), nn.BatchNorm2d(6), nn.ReLU()),
            nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU()),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(6, 3),
        )


def networks(kind: str, make: Any) -> tuple[list[nn.Module], Samples, list[str], list[str]]:
    """A sender and a receiver in float64, samples, and cuts of each."""
    if kind == "nd":
        return [make.mlp(0), make.mlp(1)], make.samples((8,), 80, dtype=torch.float64), ["0", "1", "3"], ["1", "3"]
    if kind == "ntd":
        vit = Architecture.parse("vit_tiny?dim=12&depth=3&patch=8&size=16&classes=3")
        data = make.samples((3, 16, 16), 80, dtype=torch.float64)
        return [vit.build(0), vit.build(1)], data, ["patch_embed", "blocks.0", "blocks.2"], ["blocks.0", "blocks.1"]
    nets = []
    for seed in (0, 1):
        with make.seeded(seed):
            net = Convolutions()
            net(torch.randn(40, 3, 8, 8))  # statistics that are not the initial ones
        nets.append(net)
    return nets, make.samples((3, 8, 8), 80, dtype=torch.float64), ["0", "1", "2"], ["0", "1", "2"]


def halves(kind: str, make: Any, *, dtype: torch.dtype = torch.float64) -> tuple[list[Split], list[Split], Samples]:
    (a, b), data, senders, receivers = networks(kind, make)
    data = replace(data, inputs=data.inputs.to(dtype))
    return (
        [make.halves(a.eval().to(dtype), cut, data) for cut in senders],
        [make.halves(b.eval().to(dtype), cut, data) for cut in receivers],
        data,
    )


def matches(outcomes: Sequence[Match | SeamripperError]) -> list[Match]:
    assert all(isinstance(outcome, Match) for outcome in outcomes), outcomes
    return outcomes  # type: ignore[return-value]


def assert_figures(one: Match, alone: Match, *, rel: float) -> None:
    assert one.figures.keys() == alone.figures.keys()
    for name, figure in alone.figures.items():
        same = one.figures[name] == figure
        assert same or one.figures[name] == pytest.approx(figure, rel=rel, abs=rel, nan_ok=True), name


def assert_same(one: Match, alone: Match, *, rel: float) -> None:
    """The same match, but for the order in which sums were added up."""
    assert (one.status, one.stitch, one.matching) == (alone.status, alone.stitch, alone.matching)
    assert one.made_from == alone.made_from
    assert torch.equal(one.fitted, alone.fitted)
    assert_figures(one, alone, rel=rel)
    assert one.curves["loss"].tolist() == pytest.approx(alone.curves["loss"].tolist(), rel=rel)
    for name, weight in alone.layer.state_dict().items():
        gap = (one.layer.state_dict()[name] - weight).abs().max() / weight.abs().max()
        assert float(gap) <= rel, name
    assert not one.layer.training
    assert not any(p.requires_grad for p in one.layer.parameters())


@pytest.mark.parametrize("kind", ["nd", "ntd", "nchw"])
def test_each_is_what_it_is_alone(kind: str, make) -> None:
    """In float64 to nine digits: loss, steps, figures and weights; at a tail that averages first, too."""
    senders, receivers, data = halves(kind, make)
    assert group_size(receivers[0].cut, FEW.batch) >= 3, "all in one batch"
    for receiver in receivers:
        for sender, one in zip(senders, matches(match_many(senders, receiver, data, matching=TASK)), strict=True):
            assert_same(one, match(sender, receiver, data, matching=TASK), rel=1e-9)


def test_stitches_of_one_batch_come_to_rest_each_at_its_own_time(make) -> None:
    senders, receivers, data = halves("nd", make)
    matching = Task(replace(FEW, epochs=60, rest=6, lr=0.03))
    together = matches(match_many(senders, receivers[1], data, matching=matching))
    alone = [match(sender, receivers[1], data, matching=matching) for sender in senders]
    lengths = [len(one.curves["loss"]) for one in together]
    assert lengths == [len(one.curves["loss"]) for one in alone]
    assert len(set(lengths)) > 1, "otherwise nothing is seen here"
    assert min(lengths) < 180
    for one, other in zip(together, alone, strict=True):
        assert_same(one, other, rel=1e-6)
        assert one.figures["falling"] == 0 or len(one.curves["loss"]) == 180


@pytest.mark.parametrize("kind", ["nd", "ntd", "nchw"])
def test_in_float32_they_differ_by_rounding_alone(kind: str, make) -> None:
    """By less than a thousandth of the largest weight after nine steps of Adam, whose steps have one size."""
    senders, (receiver, *_), data = halves(kind, make, dtype=torch.float32)
    for sender, one in zip(senders, matches(match_many(senders, receiver, data, matching=TASK)), strict=True):
        assert_same(one, match(sender, receiver, data, matching=TASK), rel=1e-3)


@pytest.mark.parametrize(
    "matching",
    [
        Task(replace(FEW, optimiser="sgd", momentum=0.5, schedule="cosine", warmup=0.2, l1=1e-3), init="direct"),
        Task(replace(FEW, batch=79), loss="bce", label_map=(2, 0, 1), optimise=False),
        Task(replace(FEW, epochs=0)),
        Task(replace(FEW, epochs=30, rest=9)),
        "direct",
        "regression?epochs=2",
        Task(replace(FEW, epochs=1), augment="flip_crop"),
    ],
    ids=["sgd", "bce", "nothing learnt", "to rest", "direct", "regression", "augmented"],
)
def test_by_any_matching(matching: Matching | str, make) -> None:
    senders, receivers, data = halves("nchw", make)
    for sender, one in zip(senders, matches(match_many(senders, receivers[1], data, matching=matching)), strict=True):
        alone = match(sender, receivers[1], data, matching=matching)
        assert one.status == alone.status
        assert_figures(one, alone, rel=1e-8)
        assert one.curves.keys() == alone.curves.keys()


def test_a_start_that_training_spoils_is_kept_for_that_stitch_alone(make) -> None:
    senders, receivers, data = halves("nd", make)
    task = Task(Training(epochs=4, batch=80, lr=0.02, optimiser="sgd", momentum=0.0), init="direct")
    # Ten thousand times the activations: the same step is far too long for that stitch, and right for the others.
    loud = nn.Sequential(networks("nd", make)[0][0], nn.Linear(3, 8)).double().eval()
    with torch.no_grad():
        loud[1].weight.mul_(1e4)
    senders = [senders[0], make.halves(loud, "1", data), senders[2]]
    found = matches(match_many(senders, receivers[0], data, matching=task))
    assert [one.status.startswith("kept the direct start") for one in found] == [False, True, False]
    for sender, one in zip(senders, found, strict=True):
        assert_same(one, match(sender, receivers[0], data, matching=task), rel=1e-8)


def test_one_that_diverges_leaves_the_others_as_they_are(make) -> None:
    senders, receivers, data = halves("nchw", make, dtype=torch.float32)
    (net, _), *_ = networks("nchw", make)
    with torch.no_grad():
        # One step of SGD, as long as its gradient, takes this stitch to weights whose products float32 does not hold.
        net[1][1].weight.mul_(1e25)
        net[2][0].weight.zero_()
    wild = make.halves(net.eval().float(), "1", data)
    task = Task(replace(FEW, optimiser="sgd"))
    outcomes = match_many([senders[0], wild, senders[2]], receivers[1], data, matching=task)
    with pytest.raises(DivergedError) as alone:
        match(wild, receivers[1], data, matching=task)
    assert alone.value.step > 1, "it began as the others did"
    assert isinstance(outcomes[1], DivergedError)
    assert str(outcomes[1]) == str(alone.value)
    for k in (0, 2):
        (one,) = matches([outcomes[k]])
        assert_same(one, match(senders[k], receivers[1], data, matching=task), rel=1e-4)


def test_one_that_cannot_be_stitched_has_its_own_error(make) -> None:
    senders, receivers, data = halves("nchw", make)
    outcomes = match_many(senders, receivers[0], data, stitch="affine", matching=TASK)
    assert [type(outcome) for outcome in outcomes] == [Match, StitchError, StitchError]
    outcomes = match_many(senders, receivers[1], data, matching=Task(FEW, init="identity"))
    assert [type(outcome) for outcome in outcomes] == [MatchError, Match, Match]


class LooksAround(nn.Module):
    """Each answer depends on the whole batch, in eval mode, too."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0)


def test_a_tail_that_looks_at_the_whole_batch_is_run_for_one_at_a_time(make) -> None:
    """Run for all at once, it would give every stitch the mean over all of them."""
    data = make.blobs(64)
    with make.seeded(3):
        net = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), LooksAround(), nn.Linear(6, 3)).eval()
    senders = [make.halves(make.mlp(0), cut, data) for cut in ("0", "1", "3")]
    receiver = make.halves(net, "0", data)
    for sender, one in zip(senders, matches(match_many(senders, receiver, data, matching=TASK)), strict=True):
        assert_same(one, match(sender, receiver, data, matching=TASK), rel=1e-6)


class Gated(nn.Module):
    """The tail takes an input beside the cut."""

    def __init__(self) -> None:
        super().__init__()
        self.front, self.back = nn.Linear(8, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        return self.back(torch.tanh(self.front(x))) * gate[:, None]


def test_what_passes_beside_the_cut_goes_with_every_stitch(make) -> None:
    plain = make.blobs(64)
    inputs = {"x": plain.inputs.double(), "gate": torch.arange(64) % 5}
    data = replace(plain, inputs=inputs)
    nets = []
    for seed in (0, 1):
        with make.seeded(seed):
            nets.append(Gated().double().eval())
    senders = [split(net, "front", data.batch(slice(0, 4))) for net in nets]
    receiver = split(nets[1], "front", data.batch(slice(0, 4)))
    assert receiver.context == ("gate",)
    for sender, one in zip(senders, matches(match_many(senders, receiver, data, matching=TASK)), strict=True):
        assert_same(one, match(sender, receiver, data, matching=TASK), rel=1e-9)


def test_activations_that_were_computed_before(make) -> None:
    senders, receivers, data = halves("nchw", make)
    replayed = [replay(sender, data, collect(sender, data)) for sender in senders]
    found = match_many([half for half, _ in replayed], receivers[0], [pair for _, pair in replayed], matching=TASK)
    for sender, one in zip(senders, matches(found), strict=True):
        assert_figures(one, match(sender, receivers[0], data, matching=TASK), rel=1e-9)


@pytest.mark.parametrize("matching", ["direct", Task(FEW, init="direct")])
def test_the_receivers_own_activations_are_computed_once_for_all_senders(matching: Any, make) -> None:
    senders, receivers, data = halves("nchw", make)
    replayed = [replay(sender, data, collect(sender, data)) for sender in senders]
    front, shown = receivers[1].model.module[0], list[int]()
    handle = front.register_forward_hook(lambda module, given, out: shown.append(len(out)))

    def samples_shown(n: int) -> int:
        shown.clear()
        match_many([half for half, _ in replayed[:n]], receivers[1], [pair for _, pair in replayed[:n]],
            matching=matching, held_out=None)  # fmt: skip
        return sum(shown)

    try:
        first, all_three = samples_shown(1), samples_shown(3)
    finally:
        handle.remove()
    # The halves are proved for each match, on one batch; beyond that, the samples are shown once.
    assert first >= len(data) * 0.8
    assert all_three - first < len(data)


def test_activations_that_do_not_fit_are_computed_each_time(make) -> None:
    _, (receiver, *_), data = halves("nchw", make)
    inputs = data.batch(slice(0, 8))
    small, large = Natives(most=0), Natives()
    first, second = data.ids[:8], data.ids[8:16]
    assert torch.equal(small.of(receiver, inputs, data, first), receiver.head(inputs))
    assert small.of(receiver, inputs, data, first) is not small.of(receiver, inputs, data, first)
    assert large.of(receiver, inputs, data, first) is large.of(receiver, inputs, data, first)
    others = data.batch(slice(8, 16))
    assert torch.equal(large.of(receiver, others, data, second), receiver.head(others))


def test_samples_held_out_may_have_the_ids_of_those_to_fit_on(make) -> None:
    """As samples have that are numbered from 0: what the receiver makes of one set is not that of the other."""
    senders, receivers, data = halves("nd", make)
    held_out = replace(data, name="others", inputs=data.inputs * 3)  # type: ignore[operator]
    found = match_many(senders, receivers[0], data, matching="direct", held_out=held_out)
    for sender, one in zip(senders, matches(found), strict=True):
        alone = match(sender, receivers[0], data, matching="direct", held_out=held_out)
        assert one.figures["residual_held_out"] == pytest.approx(alone.figures["residual_held_out"])


def test_large_maps_go_in_groups(make) -> None:
    """What is held at once is bounded: the stitches of a group are trained to the end before the next begins."""
    with make.seeded(0):
        net = nn.Sequential(nn.Conv2d(1, 8, 1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 64 * 64, 2)).eval()
    data = make.samples((1, 64, 64), 12, classes=2)
    half = make.halves(net, "0", data)
    task = Task(Training(epochs=1, batch=12))
    assert group_size(half.cut, 12) == 2
    ends: list[Progress] = []

    def watch(now: Progress) -> None:
        if now.task == "task matching" and now.done == now.total:
            ends.append(now)

    assert len(matches(match_many([half] * 5, half, data, matching=task, watch=watch))) == 5
    assert len(ends) == 3


def test_no_senders_no_matches(make) -> None:
    assert match_many([], halves("nd", make)[1][0], make.blobs(4)) == []


def test_what_cannot_be_meant_is_refused(make) -> None:
    senders, (receiver, *_), data = halves("nd", make)
    with pytest.raises(CutError, match=r"Expected senders\[1\] to be a Split, but got 'zoo:lenet@pool1'"):
        match_many([senders[0], "zoo:lenet@pool1"], receiver, data)  # type: ignore[list-item]
    with pytest.raises(DataError, match="for all 3 senders, or a list with one for each, but got 2"):
        match_many(senders, receiver, [data, data])
    with pytest.raises(DataError, match="Expected fit to be Samples, but got 'mnist'"):
        match_many(senders, receiver, "mnist")  # type: ignore[arg-type]
    other = Paired(data.take(slice(0, 40)), data.take(slice(40, 80)))
    with pytest.raises(DataError, match="the same samples beside every sender"):
        match_many(senders, receiver, [data, data, other], matching=TASK)
    with pytest.raises(MatchError, match="did you mean 'task'"):
        match_many(senders, receiver, data, matching="tsk")
