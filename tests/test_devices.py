"""Any device: every public path on a pretended GPU, with no stray tensor and no hidden transfer."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from stitch_contract import TABLE, case_id
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import pretend_device
import seamripper as sr
from pretend_device import HiddenTransferError, OnDevice, Pretend, StrayTensorError
from seamripper import _devices
from seamripper.cli import COMMANDS, cli
from seamripper.comparing import diff
from seamripper.mapping import map_embeddings
from seamripper.matching import matchings
from seamripper.measures import measures
from seamripper.models import Progress
from seamripper.stitches import LinearLayer, Stitch
from seamripper.swapping import swap

N = 80
KINDS = ["cuda", "mps"]


@contextlib.contextmanager
def pretend(kind: str) -> Iterator[torch.device]:
    """A pretended device, by its word too; whatever was refused within, even if somebody caught it, fails the test."""
    place = torch.device("cuda", 0) if kind == "cuda" else torch.device("mps")
    with Pretend(kind), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_devices, "usable_devices", lambda: [place, _devices.MAIN_MEMORY])
        yield place
    refused = list(pretend_device.violations)
    pretend_device.violations.clear()
    assert not refused, refused[0]


@pytest.fixture(params=KINDS)
def device(request: pytest.FixtureRequest) -> Iterator[torch.device]:
    with pretend(request.param) as place:
        yield place


@pytest.fixture
def cuda() -> Iterator[torch.device]:
    with pretend("cuda") as place:
        yield place


def network(seed: int, width: int = 6) -> nn.Module:
    """Two maps of different size, a pooling, two linear layers."""
    generator = torch.Generator().manual_seed(seed)
    net = nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, width, 3, stride=2, padding=1),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(width, 5),
    )
    for parameter in net.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.4
    return net.eval()


def pictures(n: int = N, *, first: int = 0) -> sr.Samples:
    """Noise on a background of some colour, as bytes, with a normalisation of its own for each channel."""
    generator = torch.Generator().manual_seed(1 + first)
    background = torch.randint(200, (n, 3, 1, 1), generator=generator)
    pixels = (background + torch.randint(56, (n, 3, 8, 8), generator=generator)).to(torch.uint8)
    labels = torch.randint(5, (n,), generator=generator)
    channels = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)
    return sr.Samples("pixels", pixels, labels, torch.arange(first, first + n), 5, *channels)


def halves(*devices: torch.device | None) -> list[sr.Split]:
    """Sender and receiver, cut behind maps of different size, each on its device."""
    made = []
    for seed, (cut, device) in enumerate(zip(("2", "4"), devices, strict=True)):
        net = network(seed, 6 - seed)
        net = net if device is None else net.to(device)
        model = sr.Model(net, f"net-{seed}", (3, 8, 8), 5)
        made.append(sr.split(model, cut))
    return made


WORDS = [
    "direct",
    "task?epochs=2&batch=32",
    "task?epochs=1&batch=32&augment=flip_crop",
    "regression?epochs=2&batch=32",
    "downstream?epochs=1&batch=32",
    "embedding_mapping?epochs=1&batch=32",
]


@pytest.mark.parametrize("word", WORDS)
def test_every_matching_finds_on_the_device_what_it_finds_in_main_memory(word: str, device: torch.device) -> None:
    fit, test = pictures(), pictures(64, first=1000)
    stitch = "resize" if not word.startswith("embedding") else "auto"
    found = {}
    for where, places in {"memory": (None, None), "device": (device, device)}.items():
        match = sr.match(*halves(*places), fit, matching=matchings.make(word), stitch=stitch)
        found[where] = match, sr.evaluate(match, test)
    (plain, expected), (there, got) = found.values()
    assert {p.device for p in there.layer.parameters()} == {device}
    assert got.kl is not None
    assert expected.kl is not None
    assert got.kl.value == pytest.approx(expected.kl.value, rel=1e-3)
    assert got.agreement.value == pytest.approx(expected.agreement.value, abs=1 / 64)
    for (name, ours), (_, theirs) in zip(
        there.layer.state_dict().items(), plain.layer.state_dict().items(), strict=True
    ):
        torch.testing.assert_close(_devices.to_memory(ours), theirs, rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.parametrize(("stitch", "source", "target"), TABLE, ids=case_id)
def test_every_stitch_computes_on_the_device(
    stitch: Stitch, source: sr.Cut, target: sr.Cut, cuda: torch.device
) -> None:
    """With every policy, padding where it takes some, rows for the closed form, and a gradient."""
    x, y = (torch.randn(4, *cut.shape, generator=torch.Generator().manual_seed(1)) for cut in (source, target))
    mask = torch.ones(4, source.shape[0], dtype=torch.bool) if source.layout == "ntd" else None
    if mask is not None:
        mask[0, 0] = mask[1, -1] = False
    outcomes = []
    for place in (_devices.MAIN_MEMORY, cuda):
        torch.manual_seed(0)
        layer = stitch.build(source, target).live_with(place, torch.float32)
        given, wanted = _devices.move(x, place), _devices.move(y, place)
        counts = None if mask is None or layer.with_padding == "refused" else _devices.move(mask, place)
        out = layer.carry(given, counts)
        assert {tensor.device for tensor in (out, *layer.parameters())} == {place}
        values = [out]
        if isinstance(layer, LinearLayer):
            values += layer.rows_and_targets(given, wanted, counts)
        loss = (out - wanted).square().mean()
        if loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
            values += [p.grad for p in layer.parameters() if p.grad is not None]
        outcomes.append([_devices.to_memory(value.detach()) for value in values])
    for there, plain in zip(*outcomes[::-1], strict=True):
        torch.testing.assert_close(there, plain, rtol=1e-4, atol=1e-5)


STREAMS: dict[str, Callable[[sr.Samples], object]] = {
    "a DataLoader": lambda samples: DataLoader(_dataset(samples), batch_size=24),
    "a DataLoader with workers": lambda samples: DataLoader(_dataset(samples), batch_size=24, num_workers=1),
    "a function of a generator": lambda samples: sr.load_data(lambda: iter(_dataset(samples)), stream=True),
    "a Stream": lambda samples: sr.load_data(_dataset(samples), stream=True, mean=0.5, std=0.25),
}


def _dataset(samples: sr.Samples) -> TensorDataset:
    assert isinstance(samples.inputs, torch.Tensor)
    return TensorDataset(samples.inputs, samples.labels)


@pytest.mark.parametrize("way", STREAMS)
def test_what_is_read_as_it_comes_is_shown_on_the_device(way: str, device: torch.device) -> None:
    """In main memory it is read, with workers too; each batch goes to the device as it is shown."""
    fit, test = STREAMS[way](pictures()), STREAMS[way](pictures(64, first=1000))
    results = []
    for place in (None, device):
        match = sr.match(*halves(place, place), fit, matching="direct", stitch="resize")
        models = [half.model for half in halves(place, place)]
        cuts = {"sender_cuts": ["2", "4"], "receiver_cuts": ["4"]}
        compared = sr.compare(*models, fit, measures=["linear_cka", "mutual_knn"], rule="pool", **cuts)
        results.append((sr.evaluate(match, test), [compared[name].values for name in ("linear_cka", "mutual_knn")]))
    (expected, plain), (got, there) = results
    assert got.kl is not None
    assert expected.kl is not None
    assert got.kl.value == pytest.approx(expected.kl.value, rel=1e-3)
    assert got.top1.value == pytest.approx(expected.top1.value, abs=1 / 64)
    for ours, theirs in zip(there, plain, strict=True):
        assert [list(row) for row in ours] == [pytest.approx(list(row), abs=2e-3) for row in theirs]


def test_the_pretended_device_refuses_what_a_device_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretend_device, "violations", [])
    with Pretend("cuda"):
        here, there = torch.randn(2, 3), torch.zeros(2, 3, device="cuda")
        assert isinstance(there, OnDevice)
        for stray in (lambda: here + there, lambda: there[torch.tensor([0])], lambda: nn.Linear(3, 1)(there)):
            with pytest.raises(StrayTensorError):
                stray()
        for hidden in (there.cpu, lambda: here.to("cuda"), lambda: here.copy_(there), lambda: here.to(there)):
            with pytest.raises(HiddenTransferError):
                hidden()
        with pytest.raises(TypeError, match="numpy"):
            there.numpy()
        assert float((there + torch.tensor(1.0)).sum()) == 6.0
        assert torch.equal(_devices.to_memory(_devices.move(here, there.device)), here)
    assert len(pretend_device.violations) == 7
    with Pretend("mps"), pytest.raises(TypeError, match="float64"):
        torch.zeros(2, device="mps").double()


def test_the_pretended_device_finds_a_planted_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `collect` that forgets to bring a batch to the model is found out."""
    monkeypatch.setattr(pretend_device, "violations", [])
    monkeypatch.setattr(sr.Samples, "_show", lambda samples, rows: rows)
    with Pretend("cuda"), pytest.raises(StrayTensorError):
        sr.collect(halves(torch.device("cuda", 0), None)[0], pictures(8))


def test_sender_and_receiver_on_two_devices(cuda: torch.device) -> None:
    fit, test = pictures(), pictures(64, first=1000)
    expected = sr.evaluate(sr.match(*halves(None, None), fit, matching="direct"), test)
    for places in ((cuda, None), (None, cuda), (torch.device("cuda", 1), cuda)):
        match = sr.match(*halves(*places), fit, matching="direct")
        assert _devices.device_of(match.layer) == (places[1] or torch.device("cpu"))
        assert sr.evaluate(match, test).kl.value == pytest.approx(expected.kl.value, rel=1e-3)
        cuts = {"sender_cuts": ["2", "4"], "receiver_cuts": ["4", "6"]}
        nets = [
            net if place is None else net.to(place) for net, place in zip((network(0), network(1)), places, strict=True)
        ]
        assert sr.compare(*nets, fit, measures=["linear_cka"], **cuts).matrices


def test_cuts_activations_and_a_saved_match(device: torch.device, tmp_path) -> None:
    net = network(0)
    there = copy.deepcopy(net).to(device)
    example = torch.zeros(1, 3, 8, 8)
    assert sr.cuts(there, example) == sr.cuts(net, example)
    plain, on_device = (sr.split(sr.Model(m, "net", (3, 8, 8), 5), "4") for m in (net, there))
    fit = pictures(40)
    expected, got = sr.collect(plain, fit), sr.collect(on_device, fit)
    assert got.values.device.type == "cpu"
    torch.testing.assert_close(got.values, expected.values)
    match = sr.match(on_device, on_device, fit, matching="direct")
    match.save(tmp_path / "match.safetensors")
    again = type(match).load(tmp_path / "match.safetensors", sender=network(0), receiver=network(0))
    inputs = torch.rand(3, 3, 8, 8)
    torch.testing.assert_close(again(inputs), _devices.to_memory(match(inputs)), rtol=1e-4, atol=1e-5)
    # Models that are given are copied where they are.
    there = type(match).load(
        tmp_path / "match.safetensors", sender=network(3).to(device), receiver=network(4).to(device)
    )
    assert (
        {half.model.device for half in (there.sender, there.receiver)} == {_devices.device_of(there.layer)} == {device}
    )
    torch.testing.assert_close(_devices.to_memory(there(inputs)), again(inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sampling", [pytest.param("positions", marks=pytest.mark.slow), "pool"])
def test_compare_gives_the_same_matrices(device: torch.device, sampling: str) -> None:
    from seamripper.comparing import Rule

    names = [name for name in measures if measures.make(name).claims.needs != "rows"]
    asked = [*names, "mutual_knn", "rsa", *(["direct_functional"] if sampling == "positions" else [])]
    rule = Rule(batch=32, folds=3, keep=48, sampling=sampling)
    results = []
    for place in (None, device):
        models = [network(seed) if place is None else network(seed).to(place) for seed in (0, 1)]
        cuts = ["2", "4", "6"]
        results.append(sr.compare(*models, pictures(), measures=asked, rule=rule, sender_cuts=cuts, receiver_cuts=cuts))
    plain, there = results
    assert plain.matrices.keys() == there.matrices.keys()
    for name, matrix in plain.matrices.items():
        for ours, theirs in zip(there.matrices[name].scores, matrix.scores, strict=True):
            assert [s and s.value for s in ours] == pytest.approx([s and s.value for s in theirs], abs=2e-3), name


@pytest.mark.parametrize("name", ["linear_cka", "rsa", "mutual_knn", "permutation_procrustes"])
def test_measures_score_rows_of_a_device(name: str, device: torch.device) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 4, generator=generator)
    y = x @ torch.randn(4, 3, generator=generator) + 0.3 * torch.randn(60, 3, generator=generator)
    expected = sr.score(name, sr.Pair.of(x, y), null=19)
    got = sr.score(name, sr.Pair.of(_devices.move(x, device), _devices.move(y, device)), null=19)
    assert got == expected


def test_diff(device: torch.device) -> None:
    base, changed = network(0), network(0)
    changed[3].weight.data *= 1.1
    options = {"cuts": ["2", "4"], "null": 0}
    expected = diff(base, changed, pictures(40), **options)
    got = diff(base.to(device), changed.to(device), pictures(40), **options)
    assert [layer.name for layer in got.layers] == [layer.name for layer in expected.layers]
    for ours, theirs in zip(got.cuts, expected.cuts, strict=True):
        assert not ours.failed
        assert ours.cka.value == pytest.approx(theirs.cka.value, abs=1e-5)


def labelled(samples: sr.Samples, by: nn.Module) -> sr.Samples:
    """The samples with a network's own answers as labels, so that it is always right."""
    with torch.no_grad():
        return replace(samples, labels=by(samples.batch(slice(None))).argmax(1))


@pytest.mark.slow
def test_audit(cuda: torch.device) -> None:
    sender, receiver = network(6), network(6)
    sender[0].weight.data += 0.05 * torch.randn(sender[0].weight.shape, generator=torch.Generator().manual_seed(5))
    fit, test = (labelled(pictures(n, first=first), receiver) for n, first in ((120, 0), (80, 1000)))
    results = []
    for place in (None, cuda):
        pair = [
            sr.split(sr.Model(m if place is None else m.to(place), "net", (3, 8, 8), 5), "4")
            for m in (sender, receiver)
        ]
        asked = {"matching": "direct", "seeds": (0, 1), "interventions": ["greyscale"], "mixtures": ["mean"]}
        results.append(sr.audit(*pair, fit, test, **asked))
    plain, there = results
    assert there.verdicts.keys() == plain.verdicts.keys()
    assert len(there.verdicts) >= 5
    assert there.skipped == plain.skipped
    assert str(there.judgement) == str(plain.judgement)


def test_map_of_encoders(cuda: torch.device) -> None:
    documents = pictures(300)
    rows = [sr.collect(half, documents) for half in halves(cuda, cuda)]
    plain = [sr.collect(half, documents) for half in halves(None, None)]
    assert map_embeddings(*rows, queries=30).answer == map_embeddings(*plain, queries=30).answer


@pytest.mark.parametrize("training", ["?epochs=2&batch=32&lr=0.02", "stitch?epochs=2&batch=32"])
def test_training(training: str, device: torch.device, tmp_path: Path) -> None:
    """On a device: the weights of main memory within rounding, and a run that was stopped goes on."""
    spec, data = "lenet?classes=5", replace(pictures(), inputs=torch.randint(256, (N, 3, 28, 28)).to(torch.uint8))
    plain = sr.train(spec, data, training=training)
    there = sr.train(spec, data, training=training, device=device.type, out=tmp_path / "net.safetensors")
    assert there.device == device
    for (name, ours), theirs in zip(there.module.state_dict().items(), plain.module.state_dict().values(), strict=True):
        torch.testing.assert_close(_devices.to_memory(ours), theirs, rtol=1e-3, atol=1e-4, msg=name)
    assert sr.load(tmp_path / "net.safetensors").fingerprint == there.fingerprint

    def stop(progress: Progress) -> None:
        if progress.figures["epoch"] == 2:
            raise KeyboardInterrupt

    half = tmp_path / "half.safetensors"
    with pytest.raises(KeyboardInterrupt):
        sr.train(spec, data, training=training, device=device.type, out=half, watch=stop)
    assert sr.train(spec, data, training=training, device=device.type, out=half).fingerprint == there.fingerprint
    assert sr.train(spec, data, training=training, device=device.type, out=half).device == device


def test_commands_that_run_models_take_a_device_and_a_precision() -> None:
    told = {name for name in COMMANDS if any(p.name == "device" for p in cli.get_command(None, name).params)}
    without = {"card", "check", "doctor", "list", "measure", "papers", "plan", "report"}
    assert set(COMMANDS) - told == without | {"results", "sbatch", "serve", "status", "store"}


@pytest.mark.slow
def test_a_command_trains_on_a_device_in_a_precision(
    cuda: torch.device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--data", "digits/digit", "--n", "64", "--training", "?batch=32&epochs=1", "--device", "cuda"]
    out = str(tmp_path / "net.safetensors")
    run = partial(cli.main, standalone_mode=False)
    run(["train", "zoo:lenet", *words, "--dtype", "bfloat16", "--out", out, "--json"])
    record = json.loads(capsys.readouterr().out)["record"]
    assert (record["device"], record["dtype"]) == ("cuda:0", "bfloat16")
    assert sr.load(out).dtype == torch.bfloat16
    with pytest.raises(sr.SeamripperError, match=r"other than this training \(what differs: dtype\)"):
        run(["train", "zoo:lenet", *words, "--out", out])
    with pytest.raises(sr.SeamripperError, match="but got float16, in which gradients underflow"):
        run(["train", "zoo:lenet", *words, "--dtype", "float16", "--out", out])


@contextlib.contextmanager
def watched() -> Iterator[list[tuple[int, ...]]]:
    """Which networks have weights on the device whenever anything runs, by the channels of their first layer."""
    seen: list[tuple[int, ...]] = []

    def there() -> list[OnDevice]:
        kernels = [t for t in pretend_device.alive if isinstance(t, nn.Parameter) and t.shape[1:] == (3, 3, 3)]
        return [kernel for kernel in kernels if kernel.place.type == "cuda"]

    others = {id(kernel): kernel for kernel in there()}  # What earlier tests have left behind.

    def look(*_: object) -> None:
        seen.append(tuple(len(kernel) for kernel in there() if id(kernel) not in others))

    handle = nn.modules.module.register_module_forward_pre_hook(look)
    try:
        yield seen
    finally:
        handle.remove()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["compare", "direct", "task?epochs=1&batch=32", "audit", "swap"])
def test_one_model_is_resident_at_a_time(what: str, cuda: torch.device) -> None:
    """Two networks are never on the device together, nor is a copy of either; without turns, they are."""
    fit, test = pictures(64), pictures(48, first=1000)

    def run(models: list[sr.Model]) -> list[float]:
        if what == "compare":
            cuts = {"sender_cuts": ["2", "4"], "receiver_cuts": ["4", "6"]}
            compared = sr.compare(*models, fit, measures=["linear_cka"], **cuts)["linear_cka"].scores
            return [score.value for row in compared for score in row if score]
        if what == "swap":
            verdict = swap(*models[::-1], fit, test, audit=False, old_cuts="4", new_cuts="2")
            return [point.loss.penalty.value for point in verdict.curve.points]
        pair = [sr.split(model, cut) for model, cut in zip(models, ("2", "4"), strict=True)]
        if what == "audit":
            chosen = {"audits": ["margin", "conflict", "mixing"], "interventions": ["greyscale"], "mixtures": ["mean"]}
            audited = sr.audit(*pair, fit, test, matching="direct", seeds=(0,), **chosen)
            return [outcome.result.kl.value for outcome in audited.outcomes]
        return [sr.evaluate(sr.match(*pair, fit, matching=what), test).kl.value]

    plain = [sr.Model(network(seed, 6 - seed), f"net-{seed}", (3, 8, 8), 5) for seed in (0, 1)]
    expected = run(plain)
    for model in plain:
        _devices.take_turns(model.module, cuda)
    with watched() as seen:
        assert run(plain) == pytest.approx(expected, rel=1e-3)
    assert set(seen) - {()} == {(5,), (6,)}
    with watched() as seen:
        halves(cuda, cuda)
    assert max(map(len, seen)) > 1
