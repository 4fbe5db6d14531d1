"""seamripper train: a model of the zoo, trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import seamripper as sr
from seamripper.cli.inputs import SEED, OutputPath, Word, WordCommand, asked_device, device_options, json_option
from seamripper.cli.output import print_json, print_table, progress


@click.command("train", cls=WordCommand)
@click.argument("model")
@click.option("--data", required=True, help="What to train on: mnist/digit, cifar10, folder:PATH …")
@click.option("--training", type=Word("training", "seamripper.models:Training"),
              help="Options of the default training ('?epochs=8&lr=0.05&schedule=cosine'), or another training "
                   "('balogh?epochs=8'). The default is smith (SGD, epochs 4, lr 0.1, batch 128); for autoencoders it "
                   "is autoencoder (Adam, epochs 25, lr 1e-4, batch 128).")  # fmt: skip
@click.option("--out", type=OutputPath(), required=True, help="The checkpoint to write (.safetensors).")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--n", type=click.IntRange(min=2), help="Train on this many samples (default: all).")
@click.option("--again", is_flag=True, help="Train again even if the checkpoint exists.")
@device_options
@json_option
def command(model: str, data: str, training: str | None, out: Path, as_json: bool, **options: Any) -> None:
    """Train MODEL of the zoo (zoo:resnet18, zoo:resnet18?width=0.25 …), with Smith's settings by default.

    A run that was stopped continues where it was. A checkpoint of another run is overwritten only with --again.
    """
    from seamripper.estimate import proportion
    from seamripper.models import Architecture, predict, training_for

    architecture = Architecture.parse(model)
    how = training_for(architecture, training)
    samples, seed = sr.load_data(data, "train", n=options["n"]), options["seed"]
    with progress(quiet=as_json) as watch:
        choices = {"training": how, "seed": seed, "out": out, "resume": not options["again"], **asked_device()}
        trained = sr.train(architecture, samples, **choices, watch=watch)
    test = sr.load_data(data, "test")
    outputs = predict(trained.module, test)
    accuracy = None
    if not architecture.reconstructs:
        accuracy = proportion(int((outputs.argmax(1) == test.labels).sum()), len(test))
    losses = trained.record["losses"]
    if as_json:
        score = accuracy and accuracy.as_record()
        print_json({"model": str(out), "record": dict(trained.record), "test_accuracy": score})
        return
    rows = [
        ["trained on", f"{samples.name}, {len(samples):,} samples, seed {seed}, {how.length} epochs"],
        ["loss, first and last epoch", f"{losses[0]:.4f} → {losses[-1]:.4f}"],
        ["accuracy on the test split", "–" if accuracy is None else f"{accuracy} (n = {accuracy.n:,})"],
        ["written to", str(out)],
    ]
    print_table(architecture.spec, ["", ""], rows, left=2)
