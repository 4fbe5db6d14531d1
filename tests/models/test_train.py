"""train: it learns, by its seed to the bit, through kills; and predict."""

from __future__ import annotations

import math
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seamripper._files import load_tensors, read_record, save_tensors
from seamripper.data.samples import Samples, batch_bounds
from seamripper.errors import CheckpointError, DataError, DivergedError, FileError, ModelError
from seamripper.models import Architecture, Progress, Training, load, predict, train

LENET = "lenet?channels=1&classes=3"
RESNET = "R_1111?channels=1&classes=3&width=0.0625"
QUICK = Training.make("smith?lr=0.05&batch=32&epochs=3")


class StoppedError(Exception):
    """Raised by a watcher, as a Ctrl-C would be."""


def stopping_at(step: int) -> Callable[[Progress], None]:
    def watch(progress: Progress) -> None:
        if progress.done == step:
            raise StoppedError

    return watch


def accuracy(module: nn.Module, samples: Samples) -> float:
    return float((predict(module, samples).argmax(1) == samples.labels).float().mean())


# It learns


@pytest.mark.parametrize("architecture", [LENET, RESNET])
def test_a_classifier_learns(blobs: Samples, architecture: str) -> None:
    model = train(architecture, blobs, training=replace(QUICK, epochs=8))
    assert accuracy(model.module, blobs) > 0.9
    assert model.record["losses"][-1] < model.record["losses"][0]
    assert not model.module.training


def test_the_digits_of_scikit_learn_are_learnt() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    digits = datasets.load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    samples = Samples("digits", images, torch.tensor(digits.target), torch.arange(len(images)), classes=10)
    fit, held = samples.take(slice(0, 1200)), samples.take(slice(1200, None))
    model = train("R_1111?channels=1&width=0.125&stem=3x3", fit, training="smith?epochs=6")
    assert accuracy(model.module, held) > 0.85


@pytest.mark.slow
def test_an_autoencoder_learns_to_reconstruct(blobs: Samples) -> None:
    training = replace(Training.make("autoencoder"), lr=1e-3, batch=32, epochs=8)
    model = train("autoencoder", blobs, training=training)
    assert model.record["losses"][-1] < 0.5 * model.record["losses"][0]
    assert model.classes is None
    error = (predict(model.module, blobs) - blobs.batch(slice(None))).square().mean()  # type: ignore[operator]
    assert float(error) < 2 * model.record["losses"][-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "architecture",
    [
        "resnet34?width=0.0625",
        "resnet50?width=0.0625",
        "resnet50?width=0.0625&form=keras&normalise=caffe",
        "mobilenet_v2?width=0.125&normalise=torchvision",
        "efficientnet_lite0?width=0.125",
        "vgg19?width=0.03125",
        "vit_tiny?patch=16",
        "R_1212?stem=3x3&width=0.0625",
    ],
)
def test_every_kind_of_classifier_can_be_trained(architecture: str, tmp_path: Path) -> None:
    images = torch.randn(5, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    samples = Samples("five", images, torch.arange(5), torch.arange(5), classes=10)
    out = tmp_path / "m.safetensors"
    model = train(architecture, samples, training="smith?lr=0.01&batch=4&epochs=1", out=out)
    assert torch.equal(predict(load(str(out)).module, samples), predict(model.module, samples))


def test_the_default_training_follows_the_architecture(blobs: Samples) -> None:
    few = blobs.first(4)
    assert train(LENET, few).record["recipe"]["epochs"] == 4
    training = train("autoencoder", few).record["recipe"]
    assert (training["optimiser"], training["lr"], training["epochs"]) == ("adam", 1e-4, 25)


def test_the_trainings_of_the_papers() -> None:
    assert Training.make("smith") == Training("sgd", lr=0.1, momentum=0.9, weight_decay=1e-4, batch=128, epochs=4)
    assert Training.make("balogh") == Training("adam", lr=1e-3, momentum=0.9, weight_decay=1e-5, batch=64, epochs=100)


def test_a_cosine_brings_the_learning_rate_down_to_nothing(blobs: Samples) -> None:
    """By the optimiser itself, asked before each step."""
    training = Training("sgd", lr=0.2, momentum=0.0, weight_decay=0.0, batch=48, epochs=4, schedule="cosine")
    half, steps = blobs.first(96), 8
    rates = [0.2 * 0.5 * (1 + math.cos(math.pi * step / steps)) for step in range(steps)]
    assert [training.rate(step, steps) for step in range(steps)] == pytest.approx(rates)
    assert rates[0] == 0.2
    assert rates[-1] < 0.01
    seen: list[float] = []
    build = Training.build

    def watched(self: Training, parameters: Any) -> torch.optim.Optimizer:
        found = build(self, parameters)
        found.register_step_pre_hook(lambda one, *_: seen.append(one.param_groups[0]["lr"]))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "build", watched)
        train(LENET, half, training=training)
        steady = list(seen)
        seen.clear()
        train(LENET, half, training=replace(training, schedule="constant"))
    assert steady == pytest.approx(rates)
    assert set(seen) == {0.2}


# Checkpoints of one training


def test_a_training_that_stops_is_the_whole_one_at_that_time(blobs: Samples) -> None:
    """The schedule is that of all epochs: another training of as many epochs is another one."""
    whole = replace(QUICK, epochs=4, schedule="cosine")
    models = {stop: train(LENET, blobs, training=replace(whole, stop=stop)) for stop in (1, 2, None)}
    assert [len(model.record["losses"]) for model in models.values()] == [1, 2, 4]
    assert models[2].record["losses"] == models[None].record["losses"][:2]
    short = train(LENET, blobs, training=replace(whole, epochs=2))
    assert short.record["losses"] != models[2].record["losses"]
    assert models[1].fingerprint != models[2].fingerprint


def test_a_training_without_a_stop_has_the_record_that_it_always_had() -> None:
    assert "stop" not in QUICK.as_record()
    assert replace(QUICK, stop=2).as_record() == {**QUICK.as_record(), "stop": 2}


@pytest.mark.parametrize(("stop", "wanted"), [(0, "of at least 1"), (4, "at most its 3 epochs")])
def test_a_training_stops_within_its_epochs(stop: int, wanted: str) -> None:
    with pytest.raises(ModelError, match=f"Expected stop of a training to be .*{wanted}.*, but got {stop}"):
        replace(QUICK, stop=stop)


# By its seed, to the bit


@pytest.mark.parametrize("architecture", [LENET, RESNET])
def test_a_seed_decides_every_bit(blobs: Samples, architecture: str) -> None:
    first, again, other = (train(architecture, blobs, training=QUICK, seed=seed) for seed in (1, 1, 2))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.record["losses"] == again.record["losses"]


def test_a_trained_and_a_loaded_model_agree_to_the_bit(blobs: Samples, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    trained = train(RESNET, blobs, training=QUICK, out=out)
    loaded = load(str(out))
    assert loaded.fingerprint == trained.fingerprint
    assert torch.equal(predict(loaded.module, blobs), predict(trained.module, blobs))
    assert loaded.record == trained.record
    assert (loaded.input, loaded.classes, loaded.source) == (trained.input, trained.classes, trained.source)


def test_what_the_record_keeps(blobs: Samples) -> None:
    record = train(LENET, blobs, training=QUICK, seed=3).record
    assert record["architecture"] == "zoo:lenet?channels=1&classes=3"
    assert (record["data"], record["data_fingerprint"], record["n"]) == ("blobs", blobs.fingerprint, 97)
    assert (record["seed"], len(record["losses"]), record["recipe"]["lr"]) == (3, 3, 0.05)
    assert record["versions"]["torch"] == torch.__version__
    assert record["seconds"] > 0


# Stopped and resumed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "training"),
    [
        (RESNET, QUICK),
        (RESNET, replace(Training.make("balogh"), batch=32, epochs=3)),
        (RESNET, replace(QUICK, schedule="cosine")),
        # It has dropout.
        ("vgg19?channels=1&classes=3&width=0.03125", Training.make("smith?lr=0.01&batch=32&epochs=3")),
    ],
)
@pytest.mark.parametrize("step", [1, 4, 8])
def test_a_stopped_training_ends_with_the_same_bits(
    blobs: Samples, tmp_path: Path, architecture: str, training: Training, step: int
) -> None:
    if architecture.startswith("vgg"):
        padded = nn.functional.pad(blobs.inputs, (2, 2, 2, 2))  # type: ignore[arg-type]
        blobs = replace(blobs, inputs=padded)
    undisturbed = train(architecture, blobs, training=training)
    out = tmp_path / "m.safetensors"
    with pytest.raises(StoppedError):
        train(architecture, blobs, training=training, out=out, watch=stopping_at(step))
    assert not out.exists()
    seen: list[int] = []
    model = train(architecture, blobs, training=training, out=out, watch=lambda p: seen.append(p.done))
    assert seen == list(range((step - 1) // 3 * 3 + 1, 10))
    assert model.fingerprint == undisturbed.fingerprint
    assert model.record["losses"] == undisturbed.record["losses"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.safetensors"]


@pytest.mark.slow
def test_a_killed_process_ends_with_the_same_bits(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        "import sys, time, torch\n"
        "torch.set_num_threads(1)\n"
        "from seamripper.data.samples import Samples\n"
        "from seamripper.models import train\n"
        "def wait(now):\n"
        "    if now.figures['epoch'] > 2:\n"
        "        time.sleep(600)\n"
        "def job(out, watch=lambda now: None):\n"
        "    x = torch.randn(64, 1, 28, 28, generator=torch.Generator().manual_seed(0))\n"
        "    samples = Samples('noise', x, torch.arange(64) % 3, torch.arange(64), classes=3)\n"
        "    network = 'R_1111?channels=1&classes=3&width=0.0625'\n"
        "    return train(network, samples, training='smith?batch=8&epochs=6', out=out, watch=watch)\n"
        "if __name__ == '__main__':\n"
        "    job(sys.argv[1], wait)\n"
    )
    out, partial = tmp_path / "killed.safetensors", tmp_path / "killed.partial.safetensors"
    process = subprocess.Popen([sys.executable, script, out])
    while not partial.exists() and process.poll() is None:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it had ended before it could be killed"
    assert 0 < len(read_record(partial)[1]["losses"]) < 6
    job = runpy.run_path(str(script))["job"]
    assert job(out).fingerprint == job(None).fingerprint
    assert out.exists()
    assert not list(tmp_path.glob("*.partial.safetensors"))


@pytest.mark.parametrize("change", ["seed", "training", "data", "architecture"])
def test_a_partial_file_of_another_job_is_not_used(blobs: Samples, tmp_path: Path, change: str) -> None:
    out = tmp_path / "m.safetensors"
    with pytest.raises(StoppedError):
        train(LENET, blobs, training=QUICK, out=out, watch=stopping_at(7))
    architecture = "lenet?channels=1&classes=4" if change == "architecture" else LENET
    samples = blobs.first(96) if change == "data" else blobs
    training = replace(QUICK, lr=0.01) if change == "training" else QUICK
    seed = 1 if change == "seed" else 0
    model = train(architecture, samples, training=training, seed=seed, out=out)
    assert model.fingerprint == train(architecture, samples, training=training, seed=seed).fingerprint
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.safetensors"]


def test_a_damaged_partial_file_is_not_used(blobs: Samples, tmp_path: Path) -> None:
    whole = train(LENET, blobs, training=QUICK)
    for content in (b"", b"torn"):
        (tmp_path / "m.partial.safetensors").write_bytes(content)
        again = train(LENET, blobs, training=QUICK, out=tmp_path / "m.safetensors", resume=True)
        assert again.fingerprint == whole.fingerprint
        (tmp_path / "m.safetensors").unlink()


def test_a_finished_model_is_not_trained_again(blobs: Samples, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    model = train(LENET, blobs, training=QUICK, out=out)
    again = train(LENET, blobs, training=QUICK, out=out, watch=stopping_at(1))
    assert again.fingerprint == model.fingerprint
    assert again.record == model.record


def test_a_finished_model_of_another_job_is_kept(blobs: Samples, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    model = train(LENET, blobs, training=QUICK, out=out)
    with pytest.raises(FileError, match=r"what differs: seed\).*resume=False"):
        train(LENET, blobs, training=QUICK, seed=1, out=out)
    save_tensors(tmp_path / "stitch.safetensors", {"w": torch.zeros(1)}, {}, kind="stitch")
    with pytest.raises(FileError, match="already holds something other"):
        train(LENET, blobs, training=QUICK, out=tmp_path / "stitch.safetensors")
    replaced = train(LENET, blobs, training=QUICK, seed=1, out=out, resume=False)
    assert load(str(out)).fingerprint == replaced.fingerprint != model.fingerprint


def test_a_finished_model_of_before_trainings_had_a_schedule_is_known(blobs: Samples, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    first = train(LENET, blobs, training=QUICK, out=out)
    tensors, record = load_tensors(out, kind="model")
    del record["training"]["recipe"]["schedule"]
    save_tensors(out, tensors, record, kind="model")
    assert train(LENET, blobs, training=QUICK, out=out).fingerprint == first.fingerprint
    with pytest.raises(FileError, match="what differs: recipe"):
        train(LENET, blobs, training=replace(QUICK, schedule="cosine"), out=out)


def test_without_resume_it_starts_anew(blobs: Samples, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    with pytest.raises(StoppedError):
        train(LENET, blobs, training=QUICK, out=out, watch=stopping_at(7))
    seen: list[int] = []
    train(LENET, blobs, training=QUICK, out=out, resume=False, watch=lambda p: seen.append(p.done))
    assert seen == list(range(1, 10))


# Progress, batches


def test_progress_counts_every_step(blobs: Samples) -> None:
    seen: list[Progress] = []
    train(LENET, blobs, training=QUICK, watch=seen.append)
    # 97 samples in batches of 32 leave one over, which joins the third batch.
    assert [p.done for p in seen] == list(range(1, 10))
    assert {(p.task, p.total) for p in seen} == {("train", 9)}
    assert [p.figures["epoch"] for p in seen] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert all(p.figures["loss"] > 0 for p in seen)


@pytest.mark.parametrize("n", range(2, 40))
@pytest.mark.parametrize("size", [2, 3, 8])
def test_batches_cover_all_and_none_is_of_one(n: int, size: int) -> None:
    bounds = list(batch_bounds(n, size))
    assert [i for start, stop in bounds for i in range(start, stop)] == list(range(n))
    assert all(2 <= stop - start <= size + 1 for start, stop in bounds)


# What goes wrong


def test_a_divergence_is_told_with_its_step_and_lr(blobs: Samples) -> None:
    with pytest.raises(DivergedError, match="lr = 1e\\+30") as told:
        train(LENET, blobs, training="smith?lr=1e30&epochs=2")
    assert told.value.lr == 1e30
    assert told.value.step >= 1


@pytest.mark.parametrize(
    ("architecture", "message"),
    [
        ("lenet?channels=1&classes=2", "but the largest is 2. Give the architecture classes=3"),
        ("lenet?classes=3", "to have 3 channels, as zoo:lenet?classes=3 takes, but it has 1"),
        ("autoencoder?size=32", "Expected images of 1x32x32"),
        ("vgg19?channels=1&classes=3&width=0.03125", "cannot take images of 1x28x28, as blobs has"),
    ],
)
def test_samples_that_do_not_fit_are_told(blobs: Samples, architecture: str, message: str) -> None:
    with pytest.raises(DataError) as told:
        train(architecture, blobs)
    assert message in str(told.value)


def test_samples_that_are_no_images_or_too_few_are_told(blobs: Samples) -> None:
    vectors = Samples("vectors", torch.zeros(4, 3), torch.zeros(4).long(), torch.arange(4), classes=3)
    tokens = replace(vectors, inputs={"input_ids": torch.zeros(4, 3)})
    for samples in (vectors, tokens):
        with pytest.raises(DataError, match="to be images"):
            train(LENET, samples)
    with pytest.raises(DataError, match="at least 2 samples"):
        train(LENET, blobs.first(1))


@pytest.mark.parametrize(("option", "least"), [("batch", 2), ("epochs", 1)])
def test_a_network_needs_more_than_a_stitch(blobs: Samples, option: str, least: int) -> None:
    word = f"smith?{option}={least - 1}"
    with pytest.raises(ModelError, match=f"Expected {option} of a training to be at least {least} for a network"):
        train(LENET, blobs, training=word)


def test_the_name_of_the_file_is_checked_before_the_work(blobs: Samples, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"to end in \.safetensors"):
        train(LENET, blobs, out=tmp_path / "m.pt", watch=stopping_at(1))


# predict


def test_predict_keeps_order_and_puts_every_mode_back(blobs: Samples) -> None:
    module = Architecture.parse(RESNET).build(0).train()
    module.get_submodule("bn1").eval()
    before = {name: part.training for name, part in module.named_modules()}
    whole = predict(module, blobs)
    assert torch.allclose(predict(module, blobs, batch=10), whole, atol=1e-6)
    assert {name: part.training for name, part in module.named_modules()} == before
    assert whole.shape == (97, 3)
    assert not whole.is_inference()
    assert not whole.requires_grad


def test_predict_puts_modes_back_after_an_error(blobs: Samples) -> None:
    class Broken(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise RuntimeError("no")

    module = Broken()
    with pytest.raises(RuntimeError, match="no"):
        predict(module, blobs)
    assert module.training


def test_a_very_narrow_network_on_large_images_trains() -> None:
    # Channels last, the backward of its 8-channel strided shortcut ends the whole process in torch 2.13.
    images = torch.randn(4, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    few = Samples("large", images, torch.arange(4) % 2, torch.arange(4), classes=2)
    model = train("zoo:R_1111?width=0.125&classes=2", few, training="smith?lr=0.01&epochs=1&batch=4")
    assert len(model.record["losses"]) == 1


def test_a_seed_that_no_generator_takes_is_refused() -> None:
    few = Samples("toy", torch.zeros(4, 1, 28, 28), torch.arange(4) % 2, torch.arange(4), classes=2)
    with pytest.raises(DataError, match="Expected seed to be a whole number"):
        train("lenet?channels=1&classes=2", few, seed=2**70)
