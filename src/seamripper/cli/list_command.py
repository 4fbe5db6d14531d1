"""seamripper list: what there is."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import click

from seamripper.cli.inputs import REGISTRIES, json_option, registry_of
from seamripper.cli.output import print_bold, print_entries, print_json, say

if TYPE_CHECKING:
    from seamripper.measures import Measure

_FACTS = {
    "measures": ("direction", "symmetric", "needs"),
    "controls": ("known",),
    "interventions": ("kind",),
    "mixtures": ("forms",),
    "parts": ("asked_for",),
}
"""What the entries of a kind say of themselves in a table."""


@click.command("list")
@click.argument("what", type=click.Choice(list(REGISTRIES)), required=False, metavar="[KIND]")
@json_option
def command(what: str | None, as_json: bool) -> None:
    """List the choices of one kind, with their options. Each is written `name?option=value` wherever it is used.

    Choices that third parties have registered are included. If one of them cannot be used, the reason is shown.
    Without a kind, the kinds are listed.
    """
    if what is None:
        _list_kinds(as_json)
        return
    entries, broken = _entries(what), dict(registry_of(what).broken)
    if what == "models":
        from seamripper.models import architectures

        broken |= {f"zoo:{name}": why for name, why in architectures.broken.items()}
    if as_json:
        print_json({what: entries, "broken": broken})
        return
    facts = _FACTS.get(what, ())
    rows = [[name, *(_in_words(entry[fact]) for fact in facts), entry["about"]] for name, entry in entries.items()]
    print_entries(f"{what} (their options: --json)", ["name", *facts, "what it is"], rows)
    for name, why in broken.items():
        click.echo(f"{name} cannot be used: {why}", err=True)


def _list_kinds(as_json: bool) -> None:
    kinds = {kind: list(_entries(kind)) for kind in REGISTRIES}
    if as_json:
        print_json(kinds)
        return
    print_bold("what can be listed: seamripper list KIND")
    for kind, names in kinds.items():
        say(f"  {kind} ({len(names)})", style="bold")
        say(f"      {', '.join(names)}")


def _entries(what: str) -> dict[str, dict[str, Any]]:
    registry, entries = registry_of(what), dict[str, dict[str, Any]]()
    if what == "models":
        models = (item for source in registry.values() for item in source.models().items())
        return {word: {"about": about, "options": options} for word, (about, options) in models}
    for name, cls in registry.items():
        about, options = registry.describe(name), registry.options(name)
        entry: dict[str, Any] = {"about": about, "options": options}
        if what == "measures":
            entry = {**_measure(cls.variants()[0]), **entry}
        entry |= {fact: getattr(cls, fact) for fact in _FACTS.get(what, ()) if fact not in entry}
        entries[f"{name}:{cls.takes.upper()}" if getattr(cls, "takes", "") else name] = entry
        variants = cls.variants if isinstance(getattr(cls, "variants", None), dict) else {}
        entries |= {f"{name}/{variant}": {"about": line, "options": options} for variant, line in variants.items()}
    if what == "measures":
        from seamripper.measures.base import FUNCTIONAL

        plain = {"direction": "similarity", "symmetric": False, "needs": "models", "options": {}}
        entries |= {name: {"about": about, **plain} for name, about in FUNCTIONAL.items()}
    return entries


def _measure(measure: Measure) -> dict[str, Any]:
    """What a measure claims of itself."""
    own, other = measure.claims.invariant_to, measure.claims.receiver_invariant_to
    return {
        "paper": measure.paper,
        "variants": [variant.label for variant in measure.variants()],
        **dataclasses.asdict(measure.claims),
        # JSON has no infinity: a side of the range that is open is null.
        "range": [end if math.isfinite(end) else None for end in measure.claims.range],
        "invariant_to": sorted(own),
        "receiver_invariant_to": sorted(own if other is None else other),
    }


def _in_words(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
