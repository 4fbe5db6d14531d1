"""Task matching: what it reaches, what it keeps, what it computes once, and what it leaves alone."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper.cut import Split
from seamripper.data import Samples
from seamripper.errors import DataError, DivergedError, FrozenError, MatchError
from seamripper.matching import Direct, Match, Matching, Regression, Task, Training, match
from seamripper.stitches import Stitch, stitches

QUICK = Training(epochs=3, batch=64, lr=0.01)


def loss_on(found: Match, samples: Samples) -> float:
    """The cross-entropy of the stitched network, computed outright."""
    with torch.no_grad():
        return float(F.cross_entropy(found(samples.batch(slice(None))), samples.labels))


def accuracy(found: Match, samples: Samples, labels: Tensor | None = None) -> float:
    answers = found(samples.batch(slice(None))).argmax(1)
    return float((answers == (samples.labels if labels is None else labels)).double().mean())


class Rows:
    """How many samples each call of a module was given."""

    def __init__(self, module: nn.Module) -> None:
        self.sizes: list[int] = []
        self.handle = module.register_forward_hook(lambda m, args, out: self.sizes.append(len(out)))

    def taken(self) -> list[int]:
        sizes, self.sizes = self.sizes, []
        return sizes


# ---- what it reaches ----


def test_reaches_the_task(make, pair, stitched: Match) -> None:
    test = make.blobs(300, seed=7, first_id=9000)
    assert accuracy(stitched, test) > 0.95
    assert stitched.figures["loss_end"] < stitched.figures["loss_start"]
    assert stitched.figures["loss_end"] == pytest.approx(loss_on(stitched, make.blobs(300)), rel=1e-4)
    assert len(stitched.curves["loss"]) == 20 * 2  # twenty epochs of 256 + 44
    assert stitched.status == "ok"


def test_only_the_stitch_is_trained(make, pair) -> None:
    before = [half.fingerprint for half in pair]
    found = match(*pair, make.blobs(100), matching=Task(QUICK))
    for half, was in zip((found.sender, found.receiver), before, strict=True):
        assert replace(half).fingerprint == was  # of a new object: the fingerprint is kept once computed
        assert all(p.grad is None and not p.requires_grad for p in half.model.module.parameters())
    assert all(not p.requires_grad for p in found.layer.parameters())


def test_bce(make, pair) -> None:
    fit = make.blobs(300)
    found = match(*pair, fit, matching=Task(replace(QUICK, epochs=10), loss="bce"))
    assert accuracy(found, make.blobs(300, seed=7)) > 0.95
    with torch.no_grad():
        answer, wanted = found(fit.inputs), F.one_hot(fit.labels, 3).float()
    outright = float(F.binary_cross_entropy_with_logits(answer, wanted))
    assert found.figures["loss_end"] == pytest.approx(outright, rel=1e-4)


def test_a_label_map_reaches_the_shifted_labels(make, pair) -> None:
    """The receiver stitched to itself, asked to say the next class: an early stitch can do that, an honest one not."""
    _, receiver = pair
    fit, test = make.blobs(300), make.blobs(300, seed=7)
    shifted = (1, 2, 0)
    found = match(
        receiver, receiver, fit, matching=Task(Training(epochs=30, batch=64, lr=0.02), label_map=shifted), seed=1
    )
    assert accuracy(found, test, torch.tensor(shifted)[test.labels]) > 0.95
    assert accuracy(found, test) < 0.05


def test_l1_makes_weights_small(make, pair) -> None:
    fit = make.blobs(200)
    sizes, losses = [], []
    for l1 in (0.0, 0.003, 0.03):
        found = match(*pair, fit, matching=Task(replace(QUICK, epochs=20, l1=l1), init="direct"))
        sizes.append(sum(float(p.abs().sum()) for p in found.layer.parameters()))
        losses.append(loss_on(found, fit))
        assert found.status == "ok"
        assert found.figures["loss_end"] == pytest.approx(losses[-1] + l1 * sizes[-1], rel=1e-3)
    assert sizes[0] > 1.3 * sizes[1] > 1.3 * 1.3 * sizes[2]


def test_the_stitch_may_have_batch_norms(make, pair) -> None:
    found = match(*pair, make.blobs(257), stitch="bn_affine", matching=Task(replace(QUICK, epochs=8)))
    assert not any(m.training for m in found.layer.modules())
    assert found.layer.state_dict()["before.num_batches_tracked"] == 8 * 4  # they take their statistics as they train
    assert accuracy(found, make.blobs(300, seed=7)) > 0.9


# ---- starts ----


@pytest.mark.parametrize("lr", [1e-4, 1e-2, 1.0, 1e3])
def test_from_a_direct_start_it_is_never_worse(make, pair, lr: float) -> None:
    fit = make.blobs(200)
    start = match(*pair, fit, matching=Task(Training(epochs=0), init="direct"))
    found = match(*pair, fit, matching=Task(Training(epochs=2, lr=lr), init="direct"))
    assert loss_on(found, fit) <= loss_on(start, fit) * (1 + 1e-6)
    assert found.figures["loss_start"] == pytest.approx(loss_on(start, fit), rel=1e-5)
    assert found.figures["loss_end"] <= found.figures["loss_start"]
    if lr == 1e3:
        assert found.status.startswith("kept the direct start: training did not lower the loss")
        assert all(torch.equal(a, b) for a, b in zip(found.layer.map(), start.layer.map(), strict=True))
    if lr == 1e-2:
        assert found.status == "ok"
        assert found.figures["loss_end"] < found.figures["loss_start"]


@pytest.mark.parametrize("options", [{"augment": "flip_crop"}, {"freeze": "weights"}], ids=str)
def test_never_worse_also_when_the_head_runs_each_step(make, options: dict[str, str]) -> None:
    """A network stitched to itself, labelled by itself: any training makes it worse, all the more at such a rate."""
    model, fit = make.resnet(0), make.images(48)
    with torch.no_grad():
        model.module.fc.weight.mul_(100)
    halves = make.halves(model, "layer1", fit)
    inputs = fit.batch(slice(None))
    fit = replace(fit, labels=halves.answer(inputs).argmax(1))
    freeze, augment = options.get("freeze", "all"), options.get("augment", "none")
    task = Task(Training(epochs=2, lr=1e3, batch=16), init="direct", augment=augment)
    found = match(halves, halves, fit, matching=task, freeze=freeze)
    start = match(halves, halves, fit, matching=Task(Training(epochs=0), init="direct"))
    assert found.status.startswith("kept the direct start")
    assert torch.equal(found(inputs), start(inputs))


def test_direct_start_is_the_direct_match(make, pair) -> None:
    fit, other = make.blobs(200), make.blobs(50, seed=5, first_id=5000)
    start = match(*pair, fit, matching=Task(Training(epochs=0), init="direct"))
    direct = match(*pair, fit, matching=Direct(), held_out=other)
    assert all(torch.equal(a, b) for a, b in zip(start.layer.map(), direct.layer.map(), strict=True))
    assert len(start.curves["loss"]) == 0


def test_identity_start(make, pair) -> None:
    _, receiver = pair
    fit = make.blobs(100)
    found = match(receiver, receiver, fit, matching=Task(Training(epochs=0), init="identity"))
    weight, bias = found.layer.map()
    assert torch.equal(weight, torch.eye(16))
    assert not bias.any()
    torch.testing.assert_close(found(fit.inputs), receiver.answer(fit.inputs))
    trained = match(receiver, receiver, fit, matching=Task(QUICK, init="identity"))
    assert trained.figures["loss_end"] <= trained.figures["loss_start"]


def test_starts_that_a_stitch_cannot_take(make, pair) -> None:
    fit = make.blobs(50)
    with pytest.raises(MatchError, match=r"init='direct' needs a stitch that is one linear map.*Use init='random'"):
        match(*pair, fit, stitch="bn_affine", matching=Task(init="direct"))
    sender = make.halves(make.mlp(5, width=12), "1", fit)
    with pytest.raises(MatchError, match="as many inputs as outputs, but this stitch maps 12 to 16"):
        match(sender, pair[1], fit, matching=Task(init="identity"))


def test_an_identity_stitch_has_nothing_to_train(make, pair) -> None:
    _, receiver = pair
    fit = make.blobs(50)
    found = match(receiver, receiver, fit, stitch="identity", matching=Task())
    assert found.status == "nothing to find: the stitch has no parameters"
    assert torch.equal(found(fit.inputs), receiver.answer(fit.inputs))


# ---- divergence ----


def test_a_diverging_run_stops_with_step_and_rate(make, pair) -> None:
    with pytest.raises(DivergedError, match="at step 2 of 4, with learning rate 1e") as told:
        match(*pair, make.blobs(128), matching=Task(Training(epochs=2, batch=64, lr=1e37)))
    assert (told.value.step, told.value.lr) == (2, 1e37)


def test_a_run_that_is_lost_at_its_end(make, pair) -> None:
    """One step, after which every weight is finite and no loss is: an error, unless there is a start to keep."""
    once = Training(epochs=1, batch=128, lr=1e37)
    with pytest.raises(DivergedError, match="The loss over all samples is"):
        match(*pair, make.blobs(128), matching=Task(once))
    kept = match(*pair, make.blobs(128), matching=Task(once, init="direct"))
    assert kept.status.startswith("kept the direct start")


# ---- computed once ----


def test_activations_are_computed_once_and_reused(make) -> None:
    sender, receiver = make.pair()
    fit = make.blobs(300)
    front, own = Rows(sender.head), Rows(receiver.head)
    for epochs, proof in ((1, [256]), (7, [])):
        found = match(sender, receiver, fit, matching=Task(Training(epochs=epochs)))
        # The receiver's head sees its example, which tells its precision and device, and the fast tail's proof. On
        # the first real batch each is seen to be whole, once for these samples.
        assert front.taken() == [*proof, 256, 44]
        assert own.taken() == [2, *proof, 2, 3]
        assert found.figures["activations"] == "computed once, in memory"


def test_with_augmentation_the_head_runs_at_each_step(make) -> None:
    fit = make.images(40)
    sender, receiver = (make.halves(make.resnet(seed), "layer1", fit) for seed in (0, 1))
    front = Rows(sender.head)
    found = match(sender, receiver, fit, matching=Task(Training(epochs=3, batch=16), augment="flip_crop"))
    epoch = [16, 16, 8]
    # The proof on real data, a trial of the layout, the loss before, three epochs, the loss after.
    assert front.taken() == [40, 2, 40, *epoch * 3, 40]
    assert found.figures["activations"] == "computed at each step (inputs are augmented)"
    assert found.figures["tail"] == "plain"
    untrained = match(sender, receiver, fit, matching=Task(Training(epochs=0), augment="flip_crop"))
    assert untrained.figures["loss_start"] == untrained.figures["loss_end"]  # on the same crops and flips
    plain = match(sender, receiver, fit, matching=Task(Training(epochs=3, batch=16), optimise=False))
    assert not torch.equal(found.curves["loss"], plain.curves["loss"])


def test_augmentation_is_for_images(make, pair) -> None:
    with pytest.raises(MatchError, match="'flip_crop' is for images"):
        match(*pair, make.blobs(50), matching=Task(augment="flip_crop"))


@pytest.mark.parametrize("cut", ["layer1", "layer4"])
def test_spilled_to_disk_it_is_the_same(make, cut: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)  # tempfile reads TMPDIR once a process
    fit = make.images(48)
    sender, receiver = (make.halves(make.resnet(seed), cut, fit) for seed in (0, 1))
    training = Training(epochs=2, batch=16)
    kept = match(sender, receiver, fit, matching=Task(training, optimise=False))
    monkeypatch.setattr(sys.modules["seamripper.activations.collect"], "MEMORY", 0)
    spilled = match(sender, receiver, fit, matching=Task(training, optimise=False))
    assert (kept.figures["activations"], spilled.figures["activations"]) == (
        "computed once, in memory",
        "computed once, on disk",
    )
    assert torch.equal(kept.curves["loss"], spilled.curves["loss"])
    assert all(torch.equal(a, b) for a, b in zip(kept.layer.map(), spilled.layer.map(), strict=True))
    assert list(tmp_path.iterdir()) == []


# ---- seeds ----


def test_same_seed_same_bits_other_seed_other_bits(make, pair) -> None:
    fit = make.blobs(200)
    first, again, other = (match(*pair, fit, matching=Task(QUICK), seed=seed) for seed in (3, 3, 4))
    assert all(torch.equal(a, b) for a, b in zip(first.layer.map(), again.layer.map(), strict=True))
    assert torch.equal(first.curves["loss"], again.curves["loss"])
    assert not torch.equal(first.layer.map()[0], other.layer.map()[0])
    start = [match(*pair, fit, matching=Task(Training(epochs=0)), seed=seed).layer.map()[0] for seed in (3, 3, 4)]
    assert torch.equal(start[0], start[1])
    assert not torch.equal(start[0], start[2])


@pytest.mark.parametrize("augment", ["none", "flip_crop"])
def test_the_global_generator_is_left_alone(make, augment: str) -> None:
    fit = make.images(32)
    sender, receiver = (make.halves(make.resnet(seed), "layer1", fit) for seed in (0, 1))
    before = torch.get_rng_state()
    first = match(sender, receiver, fit, matching=Task(Training(epochs=1), augment=augment))
    assert torch.equal(torch.get_rng_state(), before)
    with make.seeded(77):
        again = match(sender, receiver, fit, matching=Task(Training(epochs=1), augment=augment))
    assert torch.equal(first.curves["loss"], again.curves["loss"])


# ---- optimised tails ----


@pytest.mark.slow
@pytest.mark.parametrize("stitch", ["affine", "bn_affine", "low_rank"])
@pytest.mark.parametrize("cut", ["layer1", "layer3", "layer4"])
def test_an_optimised_tail_gives_the_same_result(make, cut: str, stitch: str) -> None:
    """At layer4 the tail is average and one linear map: activations are averaged once, the two maps multiplied."""
    fit = make.images(64)
    sender, receiver = (make.halves(make.resnet(seed), cut, fit) for seed in (0, 1))
    found = {}
    for optimise in (True, False):
        task = Task(Training(epochs=3, batch=32, optimiser="sgd", lr=0.02), optimise=optimise)
        found[optimise] = match(sender, receiver, fit, stitch=stitch, matching=task)
    assert found[False].figures["tail"] == "plain"
    assert found[True].figures["tail"] != "plain" or stitch == "bn_affine"
    if (cut, stitch) == ("layer4", "affine"):
        assert found[True].figures["tail"] == "plain, averages kept, stitch and tail multiplied"
    if cut == "layer1":
        assert found[True].figures["tail"].startswith("BN folded (differs from the plain tail by ")
    torch.testing.assert_close(found[True].curves["loss"], found[False].curves["loss"], rtol=2e-3, atol=2e-3)
    inputs = make.images(20, seed=4).batch(slice(None))
    torch.testing.assert_close(found[True](inputs), found[False](inputs), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("stitch", [stitches.make("affine"), stitches.make("affine", bias=False)])
def test_stitch_and_tail_are_multiplied_only_where_that_is_cheaper(make, stitch: Stitch) -> None:
    fit = make.images(64)
    halves = [make.halves(make.resnet(seed), "layer4", fit) for seed in (0, 1)]
    for batch in (2, 16):
        few = Task(Training(epochs=1, batch=batch, optimiser="sgd", lr=0.02))
        found = match(*halves, fit, stitch=stitch, matching=few)
        # The receiver has 3 classes: more than a batch of 2 has samples.
        assert ("multiplied" in found.figures["tail"]) is (batch == 16)
        plainly = match(*halves, fit, stitch=stitch, matching=replace(few, optimise=False))
        torch.testing.assert_close(found.curves["loss"], plainly.curves["loss"], rtol=1e-4, atol=1e-5)


def test_the_stitched_network_uses_the_plain_tail(make) -> None:
    fit = make.images(32)
    halves = make.halves(make.resnet(0), "layer1", fit)
    found = match(halves, halves, fit, stitch="identity", matching=Task(Training(epochs=1)))
    inputs = fit.batch(slice(None))
    assert torch.equal(found(inputs), halves.answer(inputs))


# ---- frozen, and not ----


def test_statistics_adapt_in_private_copies(make) -> None:
    fit = make.images(64)
    sender, receiver = (make.halves(make.resnet(seed), "layer2", fit) for seed in (0, 1))
    before = sender.fingerprint, receiver.fingerprint
    found = match(sender, receiver, fit, matching=Task(Training(epochs=2, batch=32)), freeze="weights")
    assert (replace(sender).fingerprint, replace(receiver).fingerprint) == before
    assert found.freeze == "weights"
    assert found.figures["activations"] == "computed at each step (BN statistics adapt)"
    assert (found.made_from["sender"], found.made_from["receiver"]) == before
    for mine, given in ((found.sender, sender), (found.receiver, receiver)):
        ours, theirs = mine.model.module.state_dict(), given.model.module.state_dict()
        changed = {name for name in ours if not torch.equal(ours[name], theirs[name])}
        assert changed
        assert all("running_" in name or "num_batches" in name for name in changed)
        assert not any(module.training for module in mine.model.module.modules())
    # The sender's statistics adapt before the cut, the receiver's after it: no other part ran.
    state, given = found.receiver.model.module.state_dict(), receiver.model.module.state_dict()
    assert torch.equal(state["bn1.running_mean"], given["bn1.running_mean"])
    assert not torch.equal(state["layer3.0.bn1.running_mean"], given["layer3.0.bn1.running_mean"])


def test_frozen_all_keeps_the_statistics(make) -> None:
    fit = make.images(32)
    sender, receiver = (make.halves(make.resnet(seed), "layer2", fit) for seed in (0, 1))
    before = sender.fingerprint, receiver.fingerprint
    found = match(sender, receiver, fit, matching=Task(Training(epochs=2)))
    assert (replace(found.sender).fingerprint, replace(found.receiver).fingerprint) == before


class Drifting(nn.BatchNorm2d):
    """A batch normalisation that adapts to every batch of more samples than an example has."""

    def forward(self, x: Tensor) -> Tensor:
        self.training = len(x) > 3
        try:
            return super().forward(x)
        finally:
            self.training = False


def drifting(make, where: str) -> tuple[Split, Split, Samples]:
    fit = make.samples((2, 4, 4), 64)
    nets = {}
    for role, norm in (("sender", Drifting), ("receiver", Drifting)):
        kind = norm if role == where else nn.BatchNorm2d
        with make.seeded(1):
            front, back = (nn.Sequential(nn.Conv2d(2, 2, 1), kind(2), nn.ReLU()) for _ in range(2))
            net = nn.Sequential(front, back, nn.Flatten(), nn.Linear(32, 3)).eval()
        nets[role] = make.halves(net, "0", fit)
    return nets["sender"], nets["receiver"], fit


@pytest.mark.parametrize("matching", [Task(QUICK), Direct(), Regression(QUICK)], ids=lambda m: m.name)
@pytest.mark.parametrize("where", ["sender", "receiver"])
def test_a_planted_drift_of_statistics_is_caught(make, where: str, matching: Matching) -> None:
    sender, receiver, fit = drifting(make, where)
    with pytest.raises(FrozenError, match=f"The {where} should have stayed frozen, but '.*running_mean'") as told:
        match(sender, receiver, fit, matching=matching)
    assert all(name.rpartition(".")[2].startswith(("running_", "num_batches")) for name in told.value.changed)


def test_without_the_plant_nothing_is_caught(make) -> None:
    sender, receiver, fit = drifting(make, "nobody")
    assert match(sender, receiver, fit, matching=Task(QUICK)).status == "ok"


def test_a_normalisation_that_cannot_be_put_in_eval_mode_is_refused_when_it_is_cut(make) -> None:
    class Stubborn(nn.BatchNorm2d):
        def train(self, mode: bool = True) -> nn.Module:
            return super().train(True)

    with pytest.raises(FrozenError, match=r"The model should have stayed frozen, but '1\.num_batches_tracked'"):
        make.halves(nn.Sequential(nn.Conv2d(2, 2, 1), Stubborn(2), nn.Flatten()), "0", make.samples((2, 4, 4), 64))


def test_adapting_statistics_go_with_task_only(make, pair) -> None:
    with pytest.raises(MatchError, match="freeze='weights' works only with the matching 'task', not with 'direct'"):
        match(*pair, make.blobs(50), matching=Direct(), freeze="weights")
    with pytest.raises(MatchError, match="Expected freeze to be 'all' or 'weights', but got 'weight'"):
        match(*pair, make.blobs(50), freeze="weight")


# ---- options ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "mse"}, "Expected loss of the matching 'task' to be 'cross_entropy' or 'bce', but got 'mse'"),
        ({"init": "driect"}, "'random', 'identity' or 'direct', but got 'driect'"),
        ({"augment": "flip"}, "'none' or 'flip_crop', but got 'flip'"),
        ({"training": 3}, "to be Training, but got 3"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, object], message: str) -> None:
    with pytest.raises(MatchError, match=message):
        Task(**options)


def test_a_label_map_must_cover_the_classes(make, pair) -> None:
    with pytest.raises(DataError, match="label_map to have an entry for each of the 3 classes of blobs, but it has 2"):
        match(*pair, make.blobs(50), matching=Task(label_map=(1, 0)))
    with pytest.raises(DataError, match=r"go from 0 to 5, but the receiver has 3 classes \(0 … 2\)"):
        match(*pair, make.blobs(50), matching=Task(label_map=(1, 0, 5)))


@pytest.mark.parametrize("stitch", ["affine", stitches.make("affine", bias=False), "orthogonal"], ids=str)
def test_any_linear_stitch_can_be_trained_from_direct(make, pair, stitch) -> None:
    found = match(*pair, make.blobs(200), stitch=stitch, matching=Task(QUICK, init="direct"))
    assert found.figures["loss_end"] < found.figures["loss_start"]
