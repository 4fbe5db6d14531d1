"""remake: the number of a methods card, made again from the card alone.

A card names models and data by the words that load them. What no word can load (a module in memory, a function of a
user's own file, samples in memory) is passed to `remake`; nothing that a card names is run as code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from seamripper._doors import require
from seamripper._words import did_you_mean
from seamripper.cards import Card, WithMethods
from seamripper.comparing import Rule, Stitching, compare, diff, measure_files
from seamripper.cut import Split, split
from seamripper.cut.split import as_model
from seamripper.cut.values import first_of
from seamripper.data import Samples, load_data
from seamripper.errors import DataError, FileError, ModelError
from seamripper.mapping import map_embeddings
from seamripper.matching import Task, evaluate, match, matchings
from seamripper.models import Model, load
from seamripper.stitches import stitches

RELATIVE, ABSOLUTE = 1e-5, 1e-6
"""How far a number may be off: products of float32 are added up in another order where other cuts are beside it."""


@dataclass(frozen=True)
class Remade:
    """A card, and the row of its number as it comes out now."""

    card: Card
    row: Mapping[str, Any]

    @property
    def same(self) -> bool:
        """Whether the value, its interval, n and null are those of the card, up to rounding."""
        names = {name for name, value in self.card.row.items() if isinstance(value, int | float)}
        return all(_close(self.card.row[name], self.row.get(name)) for name in names)

    def __str__(self) -> str:
        then, now = self.card.row.get("value"), self.row.get("value")
        words = "the number of the card" if self.same else f"not the number of the card, which is {then!r}"
        return f"{', '.join(filter(None, self.card.labels.values()))} comes out as {now!r}: {words}."


def remake(card: Card, **given: nn.Module | Model | Samples | Any) -> Remade:
    """Make the number of a card again, from what the card says, and check that models and data are the same.

    What the card names and no word loads is given by its role: `sender`, `receiver`, `base`, `changed` (models),
    `data`, `fit`, `held_out`, `test` (samples), `old`, `new` (embeddings).
    """
    require(card, Card, "card", error=FileError, advice="Card.load('card.json') reads one.")
    if card.kind not in _MAKERS:
        raise FileError(f"There is no way to make a {card.kind!r} again: {did_you_mean(card.kind, list(_MAKERS))}")
    source = _Source(card, given)
    try:
        result = _MAKERS[card.kind](card.method, card.labels, source)
    except (KeyError, TypeError) as e:
        raise FileError(f"The card is damaged: its method lacks {e}, or has it in another form.") from e
    _require_same_prints(card.method, result.method())
    row = next(row for row in result.rows() if all(str(row[axis]) == card.labels[axis] for axis in result.axes))
    return Remade(card, {name: value for name, value in row.items() if name not in result.axes})


@dataclass(frozen=True)
class _Source:
    """Where the models and the data of a card come from: from what was given, or from their words."""

    card: Card
    given: Mapping[str, Any]

    def model(self, role: str) -> Model:
        """The model of this role."""
        if role in self.given:
            return as_model(self.given[role], role)
        source = str(self.card.method[role]["source"])
        if ".py:" in source:
            raise ModelError(
                f"The {role} of the card is {source}, a function of a file, which is not run because a card names it. "
                f"If you trust it, pass the model: remake(card, {role}=load({source!r}))."
            )
        try:
            return load(source)
        except ModelError as e:
            raise ModelError(f"{e} The card names its {role} so: pass the model, remake(card, {role}=model).") from e

    def half(self, role: str, samples: Samples) -> Split:
        """The model of this role, cut where the card says, for inputs like the samples."""
        model = self.model(role)
        example = first_of(model.present(samples).batch(slice(0, 2)), 2)
        return split(model, self.card.method[role]["cut"]["name"], example)

    def samples(self, role: str) -> Samples:
        """The samples of this role."""
        if role in self.given:
            samples: Samples = self.given[role]
            return samples
        recipe = self.card.method[role].get("recipe")
        if recipe is None:
            raise DataError(
                f"The card does not say how the samples {self.card.method[role]['name']!r} are loaded: pass them, "
                f"remake(card, {role}=samples)."
            )
        return load_data(recipe["data"], recipe["split"], n=recipe["n"], seed=recipe["seed"])

    def embeddings(self, role: str) -> Any:
        """The embeddings of this role."""
        if role in self.given:
            return self.given[role]
        source = self.card.method[role].get("source")
        if source is None:
            raise DataError(f"The {role} embeddings of the card were in memory: pass them, remake(card, {role}=array).")
        return source


def _comparison(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> WithMethods:
    null, rule = method["null"], Rule(**method["estimator"]["rule"])
    functional = (method["functional"] or {}).get(labels["measure"], {})
    stitching = Stitching()
    if functional.get("name") == Task.name:
        task = matchings.from_record({name: value for name, value in functional.items() if name != "samples"})
        assert isinstance(task, Task)
        stitching = Stitching(task, functional["samples"])
    return compare(
        source.model("sender"),
        source.model("receiver"),
        source.samples("data"),
        measures=labels["measure"],
        sender_cuts=[labels["sender"]],
        receiver_cuts=[labels["receiver"]],
        rule=rule,
        null=null["permutations"] if null else 0,
        stitching=stitching,
    )


def _stitch(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> WithMethods:
    fit, choices = source.samples("fit"), method["estimator"]
    stitched = match(
        source.half("sender", fit),
        source.half("receiver", fit),
        fit,
        stitch=stitches.from_record(choices["stitch"]),
        matching=matchings.from_record(choices["matching"]),
        held_out=None if method["held_out"] is None else source.samples("held_out"),
        freeze=choices["freeze"],
        seed=choices["seed"],
    )
    own = source.given.get("own")
    return evaluate(stitched, source.samples("test"), own=own)


def _map(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> WithMethods:
    choices = {name: method["estimator"][name] for name in ("metric", "tolerance", "seed")}
    return map_embeddings(source.embeddings("old"), source.embeddings("new"), queries=method["test"], **choices)


def _diff(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> WithMethods:
    null, choices = method["null"], method["estimator"]
    return diff(
        source.model("base"),
        source.model("changed"),
        source.samples("data"),
        cuts=method["cuts"],
        tolerance=choices["tolerance"],
        null=null["permutations"] if null else 0,
    )


def _measure(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> WithMethods:
    files = [source.given.get(role, method[role]["source"]) for role in ("sender", "receiver")]
    sampling, null = method["sampling"], method["null"]
    return measure_files(
        *files,
        measures=labels["measure"],
        sampling=None if sampling == "rows" else sampling,
        null=null["permutations"] if null else 0,
    )


_MAKERS: dict[str, Callable[[Mapping[str, Any], Mapping[str, str], _Source], WithMethods]] = {
    "comparison": _comparison,
    "stitch": _stitch,
    "map": _map,
    "diff": _diff,
    "measure": _measure,
}


def _require_same_prints(card: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse a number of other weights or other samples than those of the card."""
    known = dict(_prints(now))
    for role, before in _prints(card):
        if known.get(role) != before:
            raise FileError(
                f"The {role} has the fingerprint {before[:12]}… on the card, but {str(known.get(role))[:12]}… now: it "
                "is not what the number was made from."
            )


def _prints(method: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The fingerprint of each model and data set, by its role."""
    for role, part in method.items():
        if isinstance(part, Mapping) and part.get("fingerprint"):
            yield role, part["fingerprint"]


def _close(before: float, now: Any) -> bool:
    return isinstance(now, int | float) and math.isclose(before, now, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
