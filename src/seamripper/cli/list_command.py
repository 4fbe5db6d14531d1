"""seamripper list: what there is."""

from __future__ import annotations

import click

from seamripper.cli._parse import json_option
from seamripper.cli._show import print_json, print_table

_ELSEWHERE = {
    "torchvision:NAME": "one of torchvision's",
    "timm:NAME": "one of timm's",
    "hf:FOLDER": "one of transformers'",
    "FILE.py:FUNCTION": "what your function returns",
    "FILE.safetensors": "a checkpoint that `seamripper train` wrote",
}


@click.command("list")
@click.argument("what", type=click.Choice(["data", "models", "stitches", "matchings"]))
@json_option
def command(what: str, as_json: bool) -> None:
    """List what there is: data, models, stitches or matchings."""
    names = _known(what)
    if as_json:
        print_json({what: names})
    else:
        print_table(what, ["name", "what it is"], [[name, about] for name, about in names.items()], left=2)


def _known(what: str) -> dict[str, str]:
    if what == "data":
        from seamripper.data import datasets

        return datasets()
    if what == "models":
        from seamripper.models.zoo import FAMILIES

        options = {name: ", ".join(family.options) for name, family in FAMILIES.items()}
        return {f"zoo:{name}": f"options: {words}" for name, words in options.items()} | _ELSEWHERE
    if what == "stitches":
        from seamripper.stitches import stitches

        return {name: _first_line(cls) for name, cls in stitches().items()}
    from seamripper.matching import matchings

    return {name: _first_line(cls) for name, cls in matchings().items()}


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().split("\n")[0]
