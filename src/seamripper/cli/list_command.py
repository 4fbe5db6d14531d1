"""seamripper list: what there is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from seamripper.cli._parse import json_option
from seamripper.cli._show import print_json, print_table

if TYPE_CHECKING:
    from seamripper.audits import Audit
    from seamripper.audits.interventions import Intervention
    from seamripper.controls import Control
    from seamripper.measures import Measure

_ELSEWHERE = {
    "torchvision:NAME": "one of torchvision's",
    "timm:NAME": "one of timm's",
    "hf:FOLDER": "one of transformers'",
    "FILE.py:FUNCTION": "what your function returns",
    "FILE.safetensors": "a checkpoint that `seamripper train` wrote",
}
_ASKED = {"controls": ("known", "about"), "interventions": ("kind", "about"), "audits": ("question",)}
"""Plug-ins with options, and what they say of themselves."""


@click.command("list")
@click.argument("what", type=click.Choice([
    "data", "models", "stitches", "matchings", "measures", "controls", "interventions", "audits"
]))  # fmt: skip
@json_option
def command(what: str, as_json: bool) -> None:
    """List what there is: data, models, stitches, matchings, measures, controls, interventions or audits."""
    if what == "measures":
        _list_measures(as_json)
        return
    if what in _ASKED:
        _list_asked(what, as_json)
        return
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
        return _models()
    if what == "stitches":
        from seamripper.stitches import stitches

        return {name: _first_line(cls) for name, cls in stitches().items()}
    from seamripper.matching import matchings

    return {name: _first_line(cls) for name, cls in matchings().items()}


def _models() -> dict[str, str]:
    from seamripper.models.imagenet import WEIGHTS
    from seamripper.models.zoo import FAMILIES

    zoo = {f"zoo:{name}": f"options: {', '.join(family.options)}" for name, family in FAMILIES.items()}
    trained = {
        f"imagenet:{name}": f"trained on ImageNet, top-1 {known.top1} % as published; {known.source}"
        for name, known in WEIGHTS.items()
    }
    return zoo | trained | _ELSEWHERE


def _list_asked(what: str, as_json: bool) -> None:
    plug_ins, facts = _plug_ins(what), _ASKED[what]
    if as_json:
        records = {
            name: {**{fact: getattr(cls, fact) for fact in facts}, "options": dataclasses.asdict(cls())}
            for name, cls in plug_ins.items()
        }
        print_json({what: records})
        return
    rows = [[name, *(getattr(cls, fact) for fact in facts)] for name, cls in plug_ins.items()]
    columns = ["name", *("what it is" if fact == "about" else fact for fact in facts)]
    print_table(f"{what} (their options: --json)", columns, rows, left=len(columns))


def _plug_ins(what: str) -> Mapping[str, type[Control] | type[Intervention] | type[Audit]]:
    if what == "controls":
        from seamripper.controls import controls

        return controls()
    if what == "interventions":
        from seamripper.audits.interventions import interventions

        return interventions()
    from seamripper.audits import audits

    return audits()


def _list_measures(as_json: bool) -> None:
    from seamripper.measures import measures
    from seamripper.measures.choosing import FUNCTIONAL

    known = {name: cls.variants()[0] for name, cls in measures().items()}
    if as_json:
        records = {name: _measure_record(measure) for name, measure in known.items()}
        print_json({"measures": records, "functional": FUNCTIONAL})
        return
    rows = [
        [name, m.claims.direction, "yes" if m.claims.symmetric else "no", m.claims.needs, _first_line(type(m))]
        for name, m in known.items()
    ]
    rows += [[name, "similarity", "no", "models", about] for name, about in FUNCTIONAL.items()]
    columns = ["name", "direction", "symmetric", "needs", "what it is"]
    print_table("measures (their options: --json)", columns, rows, left=5)


def _measure_record(measure: Measure) -> dict[str, Any]:
    claims = dataclasses.asdict(measure.claims)
    own, other = measure.claims.invariant_to, measure.claims.receiver_invariant_to
    return {
        "about": _first_line(type(measure)),
        "paper": measure.paper,
        "options": dataclasses.asdict(measure),
        "variants": [variant.label for variant in measure.variants()],
        # JSON has no infinity: a side of the range that is open is null.
        **claims,
        "range": [end if math.isfinite(end) else None for end in measure.claims.range],
        "invariant_to": sorted(own),
        "receiver_invariant_to": sorted(own if other is None else other),
    }


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().split("\n")[0]
