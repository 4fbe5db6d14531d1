"""seamripper activations: what a model shows at a cut, written to a file."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

import seamripper as sr
from seamripper._words import shape_text
from seamripper.cli.inputs import OutputPath, data_for, device_options, json_option, model_at, split_for, split_option
from seamripper.cli.output import print_json, print_table, progress


@click.command("activations")
@click.argument("model")
@click.option("--data", required=True, help="The samples to run the model on: mnist/digit, cifar10, folder:PATH …")
@split_option
@click.option("--n", type=click.IntRange(min=1), help="Use this many samples, always the same ones (default: all).")
@click.option("--out", type=OutputPath(), required=True, help="The file to write (.safetensors).")
@device_options
@json_option
def command(model: str, data: str, split_name: str, n: int | None, out: Path, as_json: bool) -> None:
    """Write the activations of MODEL, given as MODEL@CUT, to a file for `seamripper measure`.

    Example: seamripper activations digit-0.safetensors@layer2 --data mnist/digit --n 1000 --out digit.safetensors
    """
    network, cut = model_at(model, "model")
    samples = sr.load_data(data_for(data, network), split_name, n=n)
    half = split_for(samples, network, cut, "model")
    with progress(quiet=as_json) as watch:
        activations = sr.collect(half, samples, watch=watch)
    known = {"split": split_name, "fingerprint": half.fingerprint, "samples": samples.fingerprint}
    activations = dataclasses.replace(activations, made_from={**activations.made_from, **known})
    activations.save(out)
    if as_json:
        print_json({"activations": activations.as_record(), "file": str(out)})
        return
    rows = [
        ["at", str(half.cut)],
        ["samples", f"{len(activations):,} of {samples.name}, {split_name}"],
        ["shape of one sample", f"{shape_text(activations.values.shape[1:])}, {activations.values.dtype}"],
        ["written to", str(out)],
    ]
    print_table(f"Activations of {network.source}", ["", ""], rows, left=2)
