"""train: a zoo model from samples and a seed, resumed where it was stopped; predict: a model's answers."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._devices import (
    MAIN_MEMORY,
    as_device,
    as_dtype,
    device_of,
    dtype_of,
    generators_of,
    move,
    to_memory,
    widen,
)
from seamripper._doors import require, require_function, require_path
from seamripper._files import read_record, understood
from seamripper._progress import Progress, Watcher, nobody
from seamripper._words import shape_text
from seamripper.data.base import check_seed
from seamripper.data.samples import Samples
from seamripper.data.yours import as_samples
from seamripper.errors import DataError, DivergedError, FileError, ModelError
from seamripper.models.checkpoint import (
    KIND,
    State,
    load_checkpoint,
    load_state,
    require_name,
    save_checkpoint,
    save_state,
)
from seamripper.models.contract import InputContract
from seamripper.models.model import Model
from seamripper.models.running import answer_of, derive_seed, layout_of, use_layout, use_seed, versions
from seamripper.models.training import Training, all_finite, shuffled_batches
from seamripper.models.zoo import Architecture


def train(
    architecture: Architecture | str,
    samples: Samples,
    *,
    training: Training | str | None = None,
    seed: int = 0,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = True,
    watch: Watcher = nobody,
) -> Model:
    """A zoo model trained on `samples`: cross-entropy for classifiers, mean squared error for autoencoders.

    Everything random comes from `seed`: the weights, the order of the samples in epoch e (from seed and e),
    and dropout. The global generator is left as it was. The same build of torch with the same number of
    threads gives the same bits.

    `device` is where it is trained and computes from then on, `dtype` the precision of its weights, in training too;
    without them, float32 on the CPU.

    With `out`, the model is saved there (.safetensors) and, after every epoch, the training itself beside it, as
    OUT.partial.safetensors. A run that was killed goes on from there and ends with the very same weights. A partial
    file of another job is ignored and replaced; a finished model of the same job is returned as it is; a finished model
    of another job is refused. `resume=False` ignores all of them and starts again.

    >>> pixels = torch.zeros(8, 1, 28, 28)
    >>> toy = Samples("toy", pixels, torch.arange(8) % 2, torch.arange(8), classes=2)
    >>> model = train("lenet?channels=1&classes=2", toy, training="smith?lr=0.01&epochs=2")
    >>> [round(loss, 2) for loss in model.record["losses"]]
    [0.69, 0.69]
    """
    require(resume, bool, "resume", error=ModelError)
    require_function(watch, "watch", error=ModelError)
    if out is not None:
        require_path(out, "out", error=FileError)
    task = _task_of(architecture, samples, training, seed, device, dtype)
    path = None if out is None else require_name(out)
    partial = None if path is None else path.with_suffix(".partial.safetensors")
    if path is not None and resume and path.exists():
        finished = _finished_model(path, task.job)
        finished.module.to(task.device)
        return finished
    if partial is not None and not resume:
        partial.unlink(missing_ok=True)
    module, state = _run(task, partial, watch)
    model = Model(
        module.eval(),
        task.architecture.spec if path is None else str(path),
        input=task.samples.shape,
        classes=task.architecture.classes,
        record={**task.job, **_circumstances(task, state)},
        wants=InputContract.of_training(task.samples),
    )
    if path is not None and partial is not None:
        save_checkpoint(model, path)
        partial.unlink(missing_ok=True)
    return model


def _task_of(
    architecture: Architecture | str,
    samples: Samples,
    training: Training | str | None,
    seed: int,
    device: str | torch.device | None,
    dtype: str | torch.dtype | None,
) -> _Task:
    """What is to be trained, from what a caller may say."""
    advice = "It names a network of the zoo: train('zoo:resnet18', samples)."
    require(architecture, (Architecture, str), "architecture", error=ModelError, advice=advice)
    architecture = Architecture.parse(architecture) if isinstance(architecture, str) else architecture
    samples, training = as_samples(samples, "samples"), training_for(architecture, training)
    require_for_networks(training)
    check_samples(architecture, samples)
    return _Task(architecture, samples, training, check_seed(seed), as_device(device or MAIN_MEMORY), _precision(dtype))


def training_for(architecture: Architecture, training: Training | str | None = None) -> Training:
    """The training that is asked for, or Smith's, the usual one; `?epochs=2` are options of the usual one."""
    usual = "autoencoder" if architecture.reconstructs else "smith"
    word = usual if training is None else training
    return Training.make(f"{usual}{word}" if isinstance(word, str) and word.startswith("?") else word)


def _precision(dtype: str | torch.dtype | None) -> torch.dtype:
    """The precision to train in; float16 is refused, as gradients underflow in it."""
    precision = as_dtype(dtype or torch.float32)
    if precision == torch.float16:
        raise ModelError(
            "Expected dtype of a training to be float32, float64 or bfloat16, but got float16, in which gradients "
            "underflow. Train in float32, and load the model in float16: load(FILE, dtype='float16')."
        )
    return precision


def require_for_networks(training: Training) -> None:
    """Refuse a training that is for stitches alone."""
    # A batch of one has no statistics for a batch norm to take.
    for name, least in (("batch", 2), ("epochs", 1)):
        value = getattr(training, name)
        if value < least:
            raise ModelError(f"Expected {name} of a training to be at least {least} for a network, but got {value}.")
    if training.rest is not None:
        raise ModelError(
            f"Expected rest of a training to be left out for a network, but got {training.rest}: stitches "
            "alone are trained until they rest."
        )


def predict(module: nn.Module, samples: Samples, *, batch: int = 512) -> Tensor:
    """The module's outputs on all samples, in their order, in eval mode; every mode is put back after.

    >>> two = Samples("toy", torch.tensor([[1.0], [2.0]]), torch.tensor([0, 1]), torch.arange(2), classes=2)
    >>> predict(nn.Identity(), two)
    tensor([[1.],
            [2.]])
    """
    modes = {part: part.training for part in module.modules()}
    module.eval()
    shown = _view_for(samples, module)
    try:
        # Not inference_mode: its tensors may not be trained on later, and these are handed out.
        with torch.no_grad():
            return torch.cat([to_memory(answer_of(module, inputs)) for inputs, _ in shown.batches(batch)])
    finally:
        for part, mode in modes.items():
            part.training = mode


def _view_for(samples: Samples, module: nn.Module) -> Samples:
    """The samples as a module is shown them that has no input contract: on its device, in its precision."""
    device, dtype = device_of(module), dtype_of(module)
    return samples.in_view(
        samples.dtype if dtype == torch.float32 else dtype, device=None if device == MAIN_MEMORY else device
    )


@dataclass(frozen=True)
class _Task:
    """What decides the weights."""

    architecture: Architecture
    samples: Samples
    training: Training
    seed: int
    device: torch.device
    dtype: torch.dtype

    @property
    def job(self) -> dict[str, Any]:
        """The same as a record: two trainings with equal jobs are the same training."""
        return {
            "architecture": self.architecture.spec,
            "data_fingerprint": self.samples.fingerprint,
            "seed": self.seed,
            "recipe": self.training.as_record(),
            # As records were before there was a choice.
            **({} if self.dtype == torch.float32 else {"dtype": str(self.dtype).removeprefix("torch.")}),
        }


def _run(task: _Task, partial: Path | None, watch: Watcher) -> tuple[nn.Module, State]:
    """All epochs, or those that `partial` says are left."""
    module = task.architecture.build(task.seed)
    check_runs(module, task.architecture, task.samples)
    module.to(task.device, task.dtype)
    job = task.job
    # Put back at the end: a trained and a loaded model agree to the bit.
    with use_layout(module), use_seed(task.seed, task.device):
        optimiser = task.training.build(module.parameters())
        state = State() if partial is None else load_state(partial, module, optimiser, job)
        for epoch in range(len(state.losses), task.training.length):
            start = time.perf_counter()
            state.losses.append(_epoch(task, module, optimiser, epoch, watch))
            state.seconds += time.perf_counter() - start
            if partial is not None:
                save_state(partial, state, module, optimiser, job)
    return module, state


def _epoch(task: _Task, module: nn.Module, optimiser: torch.optim.Optimizer, epoch: int, watch: Watcher) -> float:
    """One pass over the samples; the mean loss over them."""
    training, n = task.training, len(task.samples)
    # Reseeded at every epoch, so that dropout after a resume is what it would have been.
    for generator in generators_of(task.device):
        generator.manual_seed(derive_seed(task.seed, epoch, 0))
    batches = shuffled_batches(n, training.batch, seed=derive_seed(task.seed, epoch, 1))
    steps, total = training.epochs * len(batches), 0.0
    last = (epoch + 1) * len(batches)
    module.train()
    shown = _view_for(task.samples, module)
    for step, index in enumerate(batches, epoch * len(batches) + 1):
        training.set_rate(optimiser, step - 1, steps)
        loss = _loss(task, module, shown, index)
        if training.l1:
            loss = loss + training.penalty(module)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        value = loss.item()
        # The weights too at the last step, as no further loss would show what it did to them.
        if not math.isfinite(value) or (step == last and not all_finite(module)):
            raise DivergedError(
                f"Training {task.architecture} diverged: its loss or weights stopped being finite at step "
                f"{step} with lr = {training.lr:g}. Give a training with a smaller lr.",
                step=step,
                lr=training.lr,
            )
        total += value * len(index)
        figures = {"loss": value, "epoch": float(epoch + 1)}
        watch(Progress("train", step, steps, figures))
    return total / n


def _loss(task: _Task, module: nn.Module, shown: Samples, index: Tensor) -> Tensor:
    inputs = shown.batch(index)
    assert isinstance(inputs, Tensor)  # check_samples saw to it.
    output = widen(answer_of(module, inputs.contiguous(memory_format=layout_of(module))))
    if task.architecture.reconstructs:
        return nn.functional.mse_loss(output, widen(inputs))
    return nn.functional.cross_entropy(output, move(shown.labels[index], output.device))


def _circumstances(task: _Task, state: State) -> dict[str, Any]:
    """What a record keeps beside the job: names, course and surroundings."""
    return {
        "data": task.samples.name,
        "n": len(task.samples),
        "losses": list(state.losses),
        "seconds": state.seconds,
        "threads": torch.get_num_threads(),
        **({} if task.device == MAIN_MEMORY else {"device": str(task.device)}),
        "versions": versions(),
    }


def _finished_model(path: Path, job: dict[str, Any]) -> Model:
    """The model of this very job that `path` holds; an error if it holds anything else."""
    kind, record = read_record(path)
    with understood(path):
        held = {"architecture": record.get("architecture"), **record.get("training", {})} if kind == KIND else {}
    if isinstance(held.get("recipe"), dict):
        # An option that trainings did not have yet was at what is now its default.
        held["recipe"] = Training().as_record() | held["recipe"]
    differing = [key for key in {**job, "dtype": None} if held.get(key) != job.get(key)]
    if differing:
        raise FileError(
            f"{path} already holds something other than this training (what differs: {', '.join(differing)}). Give "
            "another name, or resume=False (--again) to replace it."
        )
    path.with_suffix(".partial.safetensors").unlink(missing_ok=True)
    return load_checkpoint(path)


def check_samples(architecture: Architecture, samples: Samples) -> None:
    """Refuse samples whose kind, number, labels or shape an architecture cannot be trained on."""
    if not isinstance(samples.inputs, Tensor) or len(samples.shape) != 3:
        raise DataError(
            f"Expected {samples.name} to be images (channels, height, width), as {architecture} takes them, "
            f"but one sample has the shape {samples.shape}."
        )
    if len(samples) < 2:
        raise DataError(f"Expected at least 2 samples to train on, but {samples.name} has {len(samples)}.")
    if architecture.classes is not None:
        samples.require_one_label(f"the training of {architecture}")
    top = int(samples.labels.max())
    if architecture.classes is not None and top >= architecture.classes:
        raise DataError(
            f"Expected the labels of {samples.name} to lie in 0 … {architecture.classes - 1}, the classes of "
            f"{architecture}, but the largest is {top}. Give the architecture classes={samples.classes}."
        )
    if samples.shape[0] != architecture.channels:
        raise DataError(
            f"Expected {samples.name} to have {architecture.channels} channels, as {architecture} takes, "
            f"but it has {samples.shape[0]}. Give the architecture channels={samples.shape[0]}."
        )
    if architecture.input not in (None, samples.shape):
        raise DataError(
            f"Expected images of {shape_text(architecture.input or ())}, as {architecture} takes, but "
            f"{samples.name} has {shape_text(samples.shape)}. Resize them, or use another architecture."
        )


def check_runs(module: nn.Module, architecture: Architecture, samples: Samples) -> None:
    """Run one sample through: networks that take any size still need a map to be left after pooling."""
    module.eval()
    try:
        with torch.no_grad():
            answer_of(module, samples.batch(slice(0, 1)))
    except RuntimeError as e:
        raise DataError(
            f"{architecture} cannot take images of {shape_text(samples.shape)}, as {samples.name} has: {e}"
        ) from e
