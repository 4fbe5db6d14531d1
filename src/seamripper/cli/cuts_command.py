"""seamripper cuts: where a model can be cut."""

from __future__ import annotations

import click

import seamripper as sr
from seamripper._words import shape_text
from seamripper.cli.inputs import Shape, device_options, example_for, json_option, load_model
from seamripper.cli.output import print_json, print_table


@click.command("cuts")
@click.argument("model")
@click.option("--input", "shape", type=Shape(),
              help="Shape of one input, for example 3x28x28, if the model does not declare it.")  # fmt: skip
@click.option("--aliases", is_flag=True, help="Show the other names of each place.")
@device_options
@json_option
def command(model: str, shape: tuple[int, ...] | None, aliases: bool, as_json: bool) -> None:
    """List the places where MODEL can be cut, in the order in which it reaches them.

    MODEL is zoo:resnet18, imagenet:NAME, torchvision:…, timm:…, hf:FOLDER, FILE.py:FUNCTION or FILE.safetensors.
    """
    loaded = load_model(model)
    cuts = sr.cuts(loaded, example_for(loaded, shape))
    if as_json:
        print_json({"model": model, "cuts": [vars(cut) for cut in cuts]})
        return
    rows = [
        [c.name, shape_text(c.shape), c.layout, f"{c.before:,}", f"{c.after:,}", *([", ".join(c.aliases)] * aliases)]
        for c in cuts
    ]
    columns = ["cut", "shape", "layout", "parameters before", "after", *(["also called"] * aliases)]
    print_table(f"{len(cuts)} cuts of {model}", columns, rows, left=3)
