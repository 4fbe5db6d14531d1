"""remake: the number of a methods card, made again from the card alone.

A card names models and data by the words that load them. What no word can load (a module in memory, a function of a
user's own file, samples in memory) is passed to `remake`; code that a card names is run only for those who trust it.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from seamripper._doors import require
from seamripper._words import did_you_mean
from seamripper.activations import Activations, collect
from seamripper.audits import audit, audits
from seamripper.benchmark import BenchSet, bench, bench_tests
from seamripper.benchmark.bench_set import as_bench_set
from seamripper.cards import MEASURED_ON, Card, Methods, measured_words
from seamripper.comparing import Rule, Sources, Stitching, StreamingScore, compare, diff, measure_files
from seamripper.controls import controls
from seamripper.cut import Split, split
from seamripper.cut.split import as_model
from seamripper.cut.values import first_of
from seamripper.data import Samples, load_data
from seamripper.errors import DataError, FileError, ModelError
from seamripper.experiment import Experiment, Store, run
from seamripper.experiment.experiment import as_experiment
from seamripper.experiment.methods import job_methods
from seamripper.experiment.store import is_store
from seamripper.mapping import encode, map_embeddings
from seamripper.matching import Match, Task, evaluate, match, matchings
from seamripper.models import Model, load
from seamripper.papers import papers, reproduce
from seamripper.stitches import stitches
from seamripper.swapping import swap

_CODE = re.compile(r"\.py(:|$)")
"""What names code of a file: FILE.py:NAME."""
_ENGINE = "local?workers=1"
_AT_ONCE = 256
"""Samples that a streaming score is shown together."""
RELATIVE, ABSOLUTE = 1e-5, 1e-6
"""How far a number may be off: products of float32 are added up in another order where other cuts are beside it."""


@dataclass(frozen=True)
class Remade:
    """A card, and the row of its number as it comes out now."""

    card: Card
    row: Mapping[str, Any]

    @property
    def same(self) -> bool:
        """Whether the value, its interval, n, null and whatever else the card says of it come out, up to rounding."""
        return all(_close(value, self.row.get(name)) for name, value in self.card.row.items())

    def __str__(self) -> str:
        then, now = self.card.row.get("value"), self.row.get("value")
        words = "the number of the card" if self.same else f"not the number of the card, which is {then!r}"
        return f"{', '.join(filter(None, self.card.labels.values()))} comes out as {now!r}: {words}."


def remake(card: Card, *, trust: bool = False, **given: nn.Module | Model | Samples | Any) -> Remade:
    """Make the number of a card again, from what the card says, and check that models and data are the same.

    What the card names and no word loads is given by its role: `sender`, `receiver`, `base`, `changed`, `old`, `new`
    (models; of a map, embeddings), `data`, `fit`, `held_out`, `test`, `own`, `conflict` (samples), `study` (an
    experiment, or its TOML file), `models` (a set of a benchmark, or its TOML file), `paper`, `mask`. Ratings and
    claims are read from the results in a `store`, or all of their jobs are run again. Code of a file that the card
    names, `FILE.py:NAME`, is run only with `trust`. A time that was measured cannot be made again.
    """
    require(card, Card, "card", error=FileError, advice="Card.load('card.json') reads one.")
    if card.kind not in _MAKERS:
        raise FileError(f"There is no way to make a {card.kind!r} again: {did_you_mean(card.kind, list(_MAKERS))}")
    if MEASURED_ON in card.row:
        raise FileError(f"{', '.join(filter(None, card.labels.values()))}: {measured_words(card.row[MEASURED_ON])}")
    if not trust:
        _require_no_code(card, given)
    try:
        methods = _MAKERS[card.kind](card.method, card.labels, _Source(card, given))
    except (KeyError, TypeError) as e:
        raise FileError(f"The card is damaged: its method lacks {e}, or has it in another form.") from e
    _require_same_prints(card.method, methods.method)
    rows = [row for row in methods.rows if all(str(row[axis]) == card.labels.get(axis) for axis in methods.axes)]
    if not rows:
        raise FileError(f"There is no number {', '.join(card.labels.values())} now: {len(methods.rows)} others are.")
    return Remade(card, {name: value for name, value in rows[0].items() if name not in methods.axes})


def _require_no_code(card: Card, given: Mapping[str, Any]) -> None:
    """Refuse a card that names code of a file, but for what was given instead."""
    for role, part in (*card.labels.items(), *card.method.items()):
        word = None if role in given else next(filter(_CODE.search, _words(part)), None)
        if word is not None:
            raise FileError(
                f"The card names {word} ({role}), code of a file, which is not run because a card names it. If you "
                f"trust it: remake(card, trust=True), or seamripper card --remake --trust. Or pass what it makes: "
                f"remake(card, {role}=…)."
            )


def _words(value: Any) -> Iterator[str]:
    """Every text in a part of a card."""
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _words(inner)
    elif isinstance(value, str):
        yield value


@dataclass(frozen=True)
class _Source:
    """Where the models and the data of a card come from: from what was given, or from their words."""

    card: Card
    given: Mapping[str, Any]

    def model(self, role: str) -> Model:
        """The model of this role."""
        if role in self.given:
            return as_model(self.given[role], role)
        try:
            return load(str(self.card.method[role]["source"]))
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

    def some_samples(self, role: str) -> Samples | None:
        """The samples of this role; None if the number was made without any."""
        return self.samples(role) if role in self.given or self.card.method[role] is not None else None

    def activations(self, role: str) -> tuple[Any, Any]:
        """What a streaming score was shown of this role, and the source of it that its card can name."""
        known = self.card.method[role]
        if known["kind"] == "model":
            half = self.half(role, self.samples("data"))
            return collect(half, self.samples("data")), half
        path = self.given.get(role, known["source"])
        if known["kind"] == "file":
            return Activations.load(path), path
        if path is None:
            raise DataError(f"The {role}'s activations were in memory: pass them, remake(card, {role}=array).")
        return path, None

    @contextmanager
    def store(self) -> Iterator[Path]:
        """The folder of results that was given, or a temporary one."""
        if "store" in self.given:
            given = Path(self.given["store"])
            if not is_store(given):
                raise FileError(f"Expected a store with the results that the card was read from, but {given} is none.")
            yield given
            return
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)

    def embeddings(self, role: str) -> Any:
        """The embeddings of this role: a file, or what an encoder makes of the samples."""
        if role in self.given:
            return self.given[role]
        known = self.card.method[role]
        if "data" in known:
            samples = self.samples("data")
            return encode(self.half(role, samples), samples)
        if "source" not in known:
            raise DataError(f"The {role} embeddings of the card were in memory: pass them, remake(card, {role}=array).")
        return known["source"]


def _comparison(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
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
    ).methods()


def _same_match(method: Mapping[str, Any], source: _Source) -> Match:
    fit, choices = source.samples("fit"), method["estimator"]
    return match(
        source.half("sender", fit),
        source.half("receiver", fit),
        fit,
        stitch=stitches.from_record(choices["stitch"]),
        matching=matchings.from_record(choices["matching"]),
        held_out=source.some_samples("held_out"),
        freeze=choices["freeze"],
        seed=choices["seed"],
    )


def _match(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    return _same_match(method, source).methods()


def _stitch(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    return evaluate(_same_match(method, source), source.samples("test"), own=source.some_samples("own")).methods()


def _audit(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    fit, choices = source.samples("fit"), dict(method["estimator"])
    stitch = choices["stitch"]
    return audit(
        source.half("sender", fit),
        source.half("receiver", fit),
        fit,
        source.samples("test"),
        conflict=source.some_samples("conflict"),
        others=[source.half(role, fit) for role in method if role.startswith("other_")],
        matching=matchings.from_record(choices["matching"]),
        stitch=stitch if isinstance(stitch, str) else stitches.from_record(stitch),
        controls=[controls.from_record(record) for record in choices["controls"]],
        audits=[audits.from_record(record) for record in choices["audits"]],
        **{name: choices[name] for name in ("freeze", "seeds", "interventions", "mixtures")},
    ).methods()


def _swap(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    choices = {name: method["estimator"][name] for name in ("tolerance", "old_cuts", "new_cuts", "audit", "seed")}
    old, new, fit, test = source.model("old"), source.model("new"), source.samples("fit"), source.samples("test")
    return swap(old, new, fit, test, **choices).methods()


def _map(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    choices = {name: method["estimator"][name] for name in ("metric", "tolerance", "seed")}
    embeddings = map(source.embeddings, ("old", "new"))
    return map_embeddings(*embeddings, queries=method["test"], **choices).methods()


def _diff(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    null, choices = method["null"], method["estimator"]
    return diff(
        source.model("base"),
        source.model("changed"),
        source.samples("data"),
        cuts=method["cut"],
        tolerance=choices["tolerance"],
        null=null["permutations"] if null else 0,
    ).methods()


def _measure(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    files = [source.given.get(role, method[role]["source"]) for role in ("sender", "receiver")]
    sampling, null = method["sampling"], method["null"]
    return measure_files(
        *files,
        measures=labels["measure"],
        sampling=None if sampling == "rows" else sampling,
        null=null["permutations"] if null else 0,
    ).methods()


def _job(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    study, key = source.given.get("study"), method["job"]["fingerprint"]
    experiment = Experiment.from_record(method["study"]) if study is None else as_experiment(study)
    with source.store() as folder:
        run(experiment, folder, job=key, engine=_ENGINE)
        with Store(folder) as store:
            return job_methods(store, key)


def _stream(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    (x, of_x), (y, of_y) = (source.activations(role) for role in ("sender", "receiver"))
    named = None
    if of_x is not None and of_y is not None:
        named = Sources(of_x, of_y, None if method["data"] is None else source.samples("data"))
    sampling = None if method["sampling"] == "rows" else method["sampling"]
    score = StreamingScore(
        labels["measure"], sampling=sampling, interval=method["estimator"]["interval"], sources=named
    )
    mask = source.given.get("mask")
    for side in (x, y):
        mask = side.counting_tokens() if mask is None and isinstance(side, Activations) else mask
    a, b = (side.values if isinstance(side, Activations) else torch.as_tensor(side) for side in (x, y))
    for start in range(0, len(a), _AT_ONCE):
        turn = slice(start, start + _AT_ONCE)
        score.update(a[turn], b[turn], None if mask is None else torch.as_tensor(mask)[turn])
    return score.methods()


def _league(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    choices, models = method["estimator"], source.given.get("models")
    bench_set = BenchSet.from_record(method["models"]) if models is None else as_bench_set(models)
    tests = [bench_tests.from_record(record) for record in choices["tests"]]
    with source.store() as folder:
        return bench(
            bench_set,
            measures=choices["measures"],
            tests=tests,
            sampling=method["sampling"],
            store=folder,
            engine=_ENGINE,
        ).methods()


def _item(method: Mapping[str, Any], labels: Mapping[str, str], source: _Source) -> Methods:
    paper = source.given.get("paper") or papers.make(method["paper"])
    items = [item for item in paper.choose(method["item"]) if item.name == method["item"]]
    with source.store() as folder:
        done = reproduce(paper, items, profile=method["profile"], store=folder, engine=_ENGINE)
        return done.reports[0].methods()


_MAKERS: dict[str, Callable[[Mapping[str, Any], Mapping[str, str], _Source], Methods]] = {
    "comparison": _comparison,
    "match": _match,
    "stitch": _stitch,
    "audit": _audit,
    "swap": _swap,
    "map": _map,
    "diff": _diff,
    "measure": _measure,
    "job": _job,
    "stream": _stream,
    "league": _league,
    "item": _item,
}
"""How each kind of result is made again."""


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


def _close(before: Any, now: Any) -> bool:
    if isinstance(before, int | float) and isinstance(now, int | float):
        return math.isclose(before, now, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(before == now)
