"""seamripper activations: what a model shows at a cut, written to a file."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from seamripper._words import shape_text
from seamripper.cli._parse import OutputPath, data_for, json_option, model_at, split_for
from seamripper.cli._show import print_json, print_table, progress


@click.command("activations")
@click.argument("model")
@click.option("--data", "data_name", required=True, help="The samples to show it: mnist/digit, cifar10, folder:PATH …")
@click.option("--split", "split_name", type=click.Choice(["train", "test"]), default="test", show_default=True)
@click.option("--n", type=click.IntRange(min=1), help="So many samples, always the same ones (default: all).")
@click.option("--out", type=OutputPath(), required=True, help="The file to write (.safetensors).")
@json_option
def command(model: str, data_name: str, split_name: str, n: int | None, out: Path, as_json: bool) -> None:
    """Write the activations of MODEL, given as MODEL@CUT, to a file that `seamripper measure` compares.

    Example: seamripper activations digit-0.safetensors@layer2 --data mnist/digit --n 1000 --out digit.safetensors
    """
    from seamripper.activations import collect
    from seamripper.data import load_data

    network, cut = model_at(model, "model")
    samples = load_data(data_for(data_name, network), split_name, n=n)
    half = split_for(samples, network, cut, "model")
    with progress(quiet=as_json) as watch:
        found = collect(half, samples, watch=watch)
    known = {"split": split_name, "fingerprint": half.fingerprint, "samples": samples.fingerprint}
    found = dataclasses.replace(found, made_from={**found.made_from, **known})
    found.save(out)
    if as_json:
        print_json({"activations": found.as_record(), "file": str(out)})
        return
    rows = [
        ["at", str(half.cut)],
        ["samples", f"{len(found):,} of {samples.name}, {split_name}"],
        ["numbers of a sample", f"{shape_text(found.values.shape[1:])}, {found.values.dtype}"],
        ["written to", str(out)],
    ]
    print_table(f"Activations of {network.source}", ["", ""], rows, left=2)
