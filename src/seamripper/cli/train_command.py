"""seamripper train: a model of the zoo, trained."""

from __future__ import annotations

from pathlib import Path

import click

from seamripper.cli._parse import SEED, OutputPath, json_option
from seamripper.cli._show import print_json, print_table, progress


@click.command("train")
@click.argument("model")
@click.option("--data", "data_name", required=True, help="What to train on: mnist/digit, cifar10, folder:PATH …")
@click.option("--out", type=OutputPath(), required=True, help="The checkpoint to write (.safetensors).")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--n", type=click.IntRange(min=2), help="Train on this many samples (default: all).")
@click.option("--epochs", type=click.IntRange(min=1), help="Default: 4 for classifiers, 25 for autoencoders.")
@click.option("--lr", type=float, help="Default: 0.1 for classifiers, 1e-4 for autoencoders.")
@click.option("--batch", type=click.IntRange(min=2), help="Default: 128.")
@click.option("--schedule", type=click.Choice(["constant", "cosine"]), help="Of the learning rate; default: constant.")
@click.option("--again", is_flag=True, help="Train anew even if the checkpoint is there.")
@json_option
def command(
    model: str,
    data_name: str,
    out: Path,
    seed: int,
    n: int | None,
    epochs: int | None,
    lr: float | None,
    batch: int | None,
    schedule: str | None,
    again: bool,
    as_json: bool,
) -> None:
    """Train MODEL of the zoo (zoo:resnet18, zoo:resnet18?width=0.25 …), with Smith's settings unless told otherwise.

    A run that was stopped goes on where it was. A checkpoint of another run is not written over, unless with --again.
    """
    from seamripper.data import load_data
    from seamripper.estimate import proportion
    from seamripper.models import Architecture, predict, train, training_for

    architecture = Architecture.parse(model)
    training = training_for(architecture, epochs=epochs, lr=lr, batch=batch, schedule=schedule)
    samples = load_data(data_name, "train", n=n)
    with progress(quiet=as_json) as watch:
        trained = train(architecture, samples, training=training, seed=seed, out=out, resume=not again, watch=watch)
    test = load_data(data_name, "test")
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
        ["trained on", f"{samples.name}, {len(samples):,} samples, seed {seed}, {training.epochs} epochs"],
        ["loss, first and last epoch", f"{losses[0]:.4f} → {losses[-1]:.4f}"],
        ["accuracy on the test split", "–" if accuracy is None else f"{accuracy} (n = {accuracy.n:,})"],
        ["written to", str(out)],
    ]
    print_table(architecture.spec, ["", ""], rows, left=2)
