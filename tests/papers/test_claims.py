"""Contracts of all claims of all papers: each holds, fails and is left open in the worlds that are planted for it."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from example_paper import PAPER as EXAMPLE
from planted_worlds import Labels, jobs_of, rows_of

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate
from seamripper.experiment import (
    AuditPart,
    ControlPart,
    Data,
    Experiment,
    Network,
    NoisePart,
    PicturesPart,
    StitchPart,
)
from seamripper.experiment.identity import Identities
from seamripper.figures import Lines, Sheet, describe
from seamripper.papers import COUNTS, Claim, Item, Paper, Range, Results, Select, Units, papers
from seamripper.papers.checks import CHECKS
from seamripper.papers.decisions import decide
from seamripper.papers.items import ItemReading
from seamripper.papers.planted import planted_rows
from seamripper.papers.rules import rule_of

ALL: tuple[Paper, ...] = (*papers.values(), EXAMPLE)
PROFILES = ("quick", "paper")
"""A night asks what the quick profile does, of more seeds."""
SMITH = papers["smith2025"]
ITEMS = {item.name: item for item in SMITH.items}
YES, NO, OPEN = "reproduced", "not reproduced", "not decided at this size"
SETS = [(item, profile) for paper in ALL for item in paper.items for profile in PROFILES
        if any(claim.clauses(profile) for claim in item.claims)]  # fmt: skip


def each_claim(test: Callable[[Item, Claim, str], None]) -> Callable[[Item, str], None]:
    """The test of a claim as one of all claims of an item in a profile: a failure names the claim."""

    @pytest.mark.parametrize(("item", "profile"), SETS, ids=[f"{i.name}-{p}" for i, p in SETS])
    def of_item(item: Item, profile: str) -> None:
        for claim in item.claims:
            if claim.clauses(profile):
                try:
                    test(item, claim, profile)
                except BaseException as e:
                    e.add_note(f"The claim: {claim.says}")
                    raise

    of_item.__name__, of_item.__doc__ = test.__name__, test.__doc__
    return of_item


each_item = pytest.mark.parametrize("name", ITEMS)
each_profile = pytest.mark.parametrize("profile", PROFILES)


def status(item: Item, claim: Claim, profile: str, world: Any) -> str:
    decided = decide(claim, Results(planted_rows(claim, world, profile)), item.names, profile)
    assert decided
    return decided.status


# ---- statuses in the worlds that are derived from a claim


@each_claim
def test_a_claim_holds_and_fails_in_its_planted_worlds(item: Item, claim: Claim, profile: str) -> None:
    said = [status(item, claim, profile, world) for world in ("holds", "fails")]
    if claim.check == COUNTS:
        assert [re.sub(r" \(\d+\)", "", answer) for answer in said] == ["same information", "different information"]
    elif claim.depends is not None:
        assert said == [f"depends on {claim.depends.what}", f"does not depend on {claim.depends.what}"]
    else:
        assert said == list(claim.answers)


@each_claim
def test_a_claim_is_left_open_where_intervals_do_not_decide(item: Item, claim: Claim, profile: str) -> None:
    """Of one seed there is no interval; seeds that lie far apart have one that holds every answer."""
    of_seeds = claim.over == "best" or claim.check == COUNTS or CHECKS[claim.check].of_seeds
    if not of_seeds:
        assert status(item, claim, profile, "wide") == OPEN
    selects = [select for c in claim.clauses() for select in (c.select, *c.beside)]
    units = any(isinstance(value, Units) for select in selects for value in select.labels.values())
    if not units and claim.over != "best" and claim.check != COUNTS:
        assert status(item, claim, profile, "one seed") == OPEN


@each_claim
def test_a_claim_is_not_testable_in_a_world_in_which_a_gate_fails(item: Item, claim: Claim, profile: str) -> None:
    for gate in claim.gates:
        alone = replace(claim, gates=(gate,))
        decided = decide(alone, Results(planted_rows(alone, "gates fail", profile)), item.names, profile)
        assert decided
        assert decided.status == "not testable here"
        assert gate.says in decided.figure
        assert any(letter.isdigit() for letter in decided.figure.partition(gate.says)[2])
        rule = rule_of(alone, item.names, profile)
        assert f" Testable if {gate.says}: " in rule
        assert gate.bound == 0 or f"{gate.bound:g}" in rule


@each_claim
def test_missing_results_are_an_error_sentence(item: Item, claim: Claim, profile: str) -> None:
    rows = planted_rows(claim, "holds", profile)
    if claim.check != COUNTS:
        for gone in {(row["figure"], str(row.get("receiver_cut"))) for row in rows}:
            rest = [row for row in rows if (row["figure"], str(row.get("receiver_cut"))) != gone]
            with pytest.raises(ExperimentError, match=r"some jobs have failed or were not run\. `seamripper status`"):
                decide(claim, Results(rest), item.names, profile)
    with pytest.raises(ExperimentError, match="The results have no"):
        decide(claim, Results([]), item.names, profile)


@each_claim
def test_rules_are_sentences_that_name_their_bound(item: Item, claim: Claim, profile: str) -> None:
    rule = rule_of(claim, item.names, profile)
    assert rule[0].isupper()
    assert rule.endswith(".")
    assert "{" not in rule
    assert claim.sentence[0].isupper()
    for clause in claim.clauses(profile):
        if clause.check != COUNTS and (clause.bound or not clause.beside):
            assert f"{clause.bound or clause.number:g}" in rule
    if claim.over == "some":
        looks = sum(1 for clause in claim.clauses(profile) for _ in clause.select.cells())
        assert claim.check == "varies" or f"to hold, corrected for {looks} looks" in rule


@each_claim
def test_a_claim_has_its_table_and_where_there_are_cuts_its_figure(item: Item, claim: Claim, profile: str) -> None:
    decided = decide(claim, Results(planted_rows(claim, "holds", profile)), item.names, profile)
    assert decided
    if claim.check == COUNTS:
        return
    cells = sum(1 for clause in claim.clauses(profile) for _ in clause.select.cells())
    assert len(decided.sheet.rows) == len(decided.cells) == cells * (2 if claim.depends else 1)
    assert {len(row) for row in decided.sheet.rows} == {len(decided.sheet.columns)}
    assert any(letter.isdigit() for letter in decided.figure)
    cuts = {labels.get("receiver_cut") for c in claim.clauses(profile) for labels in c.select.cells()} - {None}
    assert (decided.lines is not None) == (len(cuts) > 1)
    if decided.lines is not None:
        assert {len(series.points) for series in decided.lines.series} == {len(cuts)}


def test_a_claim_that_says_the_same_whatever_the_figures_are_would_be_caught() -> None:
    """The planted failure: two worlds that differ in nothing that the claim looks at."""
    claim = Claim("It is so", "", Select("top1", size=1), "at least", bound=0.5)
    rows = [{**row, "value": 0.9} for row in planted_rows(claim, "fails")]
    fixed = decide(claim, Results(rows), {})
    assert fixed
    assert fixed.status != NO
    assert status(ITEMS["table-c2"], claim, "quick", "fails") == NO


# ---- the results that items really have


def level(kind: str, labels: Labels) -> Mapping[str, float]:
    """A world in which every figure has some value; a receiver that has adapted is another network."""
    figures = dict.fromkeys(("top1", "accuracy", "receiver_unadapted", "own_unadapted"), 0.97)
    adapted = labels.get("freeze") == "weights"
    receivers = dict.fromkeys(("receiver_here", "receiver_own"), 0.05 if adapted else 0.97)
    more = {"top5": 1.0, "rank": 60.0, "rank_native": 40.0, "observed": 0.9, "effect": 0.1, "recovered": 0.9}
    images = {"nearest": 4.0, "nearest_own": 5.0, "nearest_input": 7.0, "contrast": 0.3, "contrast_own": 0.3}
    images |= {"variety": 0.6, "reconstructs": 0.9}
    judged = {"judged_as_paired": 0.6, "judge_confidence": 0.8, "judge_confidence_own": 0.9}
    return {**figures, **receivers, **more, **images, **judged}


@functools.cache
def planted(name: str, profile: str) -> tuple[dict[str, Any], ...]:
    """The results table of an item, with the labels of its real jobs."""
    return tuple(rows_of(SMITH, ITEMS[name], profile, level))


@functools.cache
def read(name: str, profile: str) -> ItemReading:
    """What an item reads in them."""
    return SMITH.read(ITEMS[name], Results(planted(name, profile)), profile)


@pytest.mark.slow
@each_profile
@each_item
def test_tables_and_figures_are_full(name: str, profile: str) -> None:
    reading = read(name, profile)
    assert len(reading.claims) == len([claim for claim in ITEMS[name].claims if claim.clauses(profile)])
    assert reading.figures
    assert len({figure.title for figure in reading.figures}) == len(reading.figures), "files go by their title"
    for figure in (*reading.figures, reading.cells):
        assert describe(figure)
        if isinstance(figure, Sheet):
            assert {len(row) for row in figure.rows} <= {len(figure.columns)}
            assert not any("nan" in str(value).split() for row in figure.rows for value in row)
        if isinstance(figure, Lines):
            assert {len(series.points) for series in figure.series} == {len(figure.places)}
            ours = [series for series in figure.series if "(authors)" not in series.name]
            empty = [series.name for series in ours if any(math.isnan(point.value) for point in series.points)]
            assert empty == [], figure.title


@pytest.mark.slow
@each_profile
def test_no_two_figures_of_the_paper_have_one_title(profile: str) -> None:
    """In the text for documentation a figure is found by its title."""
    readings = [read(item.name, profile) for item in SMITH.items]
    titles = [figure.title for reading in readings for figure in reading.figures if not isinstance(figure, Sheet)]
    assert len(set(titles)) == len(titles) > 15


def test_what_a_profile_leaves_out_is_not_in_its_claims() -> None:
    """Noise into ImageNet networks: the quick profile asks at the places that it runs."""
    counts = []
    for profile in PROFILES:
        reading = read("table-1", profile)
        beyond = next(claim for claim in reading.claims if "MobileNet" in claim.says)
        counts.append((len(beyond.cells), len(reading.claims)))
    assert counts == [(4, 5), (8, 5)]


_SEEDS = {"seed", "sender_seed", "receiver_seed"}
_FIGURES = {"value", "low", "high", "n", "key", "status", "experiment", "state", "figure", "counterpart"}
_APART = frozenset(("sender", "sender_cut", "matching"))
_ALONE = ("receiver_here", "receiver_own", "receiver_unadapted", "own_unadapted")
_OF_RECEIVER = dict.fromkeys(_ALONE, _APART | {"receiver_cut"}) | {"rank_native": _APART}
"""What figures of the receiver alone do not depend on."""


class Watched(Results):
    """Results that take note of averages over anything but seeds."""

    @functools.cached_property
    def mixed(self) -> list[str]:
        return []

    @functools.cached_property
    def by_figure(self) -> Mapping[str, list[Mapping[str, Any]]]:
        found = defaultdict(list)
        for row in self.rows:
            found[row["figure"]].append(row)
        return found

    def find(self, figures: Sequence[str], labels: Labels) -> Estimate | None:
        asked = {key: value for key, value in labels.items() if isinstance(value, (str, int, float))}
        plain = not any(isinstance(value, (Units, Range)) for value in labels.values())
        for figure in figures if plain else ():
            free = _SEEDS | _FIGURES | _OF_RECEIVER.get(figure, frozenset()) | (labels.keys() - asked.keys())
            rows = [r for r in self.by_figure[figure] if all(r.get(k) == v for k, v in asked.items())]
            rest = {tuple(sorted((k, str(v)) for k, v in row.items() if k not in free)) for row in rows}
            differ = {key for a, b in itertools.pairwise(sorted(rest)) for key, _ in set(a) ^ set(b)}
            if differ:
                self.mixed.append(f"{figure} with {dict(labels)} is of several {sorted(differ)}")
        return super().find(figures, labels)


@pytest.mark.slow
@each_profile
@each_item
def test_no_figure_is_an_average_over_different_things(name: str, profile: str) -> None:
    results = Watched(planted(name, profile))
    ITEMS[name].read(results, profile)
    assert results.mixed == []


def test_an_average_over_different_things_is_caught() -> None:
    results = Watched(planted("table-c2", "quick"))
    assert results.of(["receiver_here"], {"receiver": "greyscale"}).n == 5
    assert results.mixed == []
    results.of(["top1"], {"sender": "correlated"})
    assert results.mixed == ["top1 with {'sender': 'correlated'} is of several ['receiver_cut', 'sender_cut']"]


def drops(name: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The results without those of one kind, figure, sender …, and without one seed at a cut."""
    rows = planted(name, "quick")
    for key in ("kind", "figure", "sender", "receiver", "matching", "freeze", "data", "model"):
        for value in list(dict.fromkeys(row[key] for row in rows if key in row))[:2]:
            yield f"{key} = {value}", [row for row in rows if row.get(key) != value]
    cut = next(row["receiver_cut"] for row in rows if "receiver_cut" in row)
    gone = {"receiver_cut": cut, "receiver_seed": 0}
    yield f"seed 0 at {cut}", [row for row in rows if not gone.items() <= row.items()]


@pytest.mark.slow
@each_item
def test_what_is_missing_is_named_or_done_without(name: str) -> None:
    """Whatever has failed, an item says what is missing or reads what there is: the others are not stopped."""
    broken = []
    for what, rows in drops(name):
        try:
            ITEMS[name].read(Results(rows), "quick")
        except ExperimentError as e:
            assert "some jobs have failed or were not run" in str(e)  # noqa: PT017
        except Exception as e:
            broken.append((what, repr(e)))
    assert broken == []


# ---- stitches that are still learning


def learning(claim: Claim, world: Any, profile: str = "quick") -> Results:
    """The planted results of a claim, of stitches that were all still learning."""
    rows = planted_rows(claim, world, profile)
    return Results([*rows, *({"figure": "falling", "value": 0.2, "key": row["key"]} for row in rows)])


@each_claim
def test_what_is_still_learning_is_not_said_to_fail(item: Item, claim: Claim, profile: str) -> None:
    """Too low a figure may yet come up; so what must be low cannot be reproduced, and what must be high cannot fail."""
    if claim.at_rest or claim.check == COUNTS or claim.depends or claim.select.figures[0] != "top1":
        return
    held, failed = (decide(claim, learning(claim, world, profile), item.names, profile) for world in ("holds", "fails"))
    assert held
    assert failed
    rising = {"above", "at least", "no worse"}
    if {clause.check for clause in claim.clauses(profile)} <= rising:
        assert failed.status == OPEN
    if claim.check in ("below", "varies", "similar") or any(isinstance(x, Range) for x in claim.select.labels.values()):
        assert held.status == OPEN


def test_what_is_reached_in_an_epoch_is_so_whatever_a_longer_one_would_reach() -> None:
    item = ITEMS["section-d4"]
    claims = [claim for claim in item.claims if claim.at_rest]
    assert len(claims) == 2
    for claim in claims:
        said = [decide(claim, learning(claim, world), item.names, "quick") for world in ("holds", "fails")]
        assert [x.status for x in said if x] == [YES, NO]


# ---- the plant itself


def test_planted_rows_have_the_labels_of_real_jobs() -> None:
    """What stands in for data and weights changes no label: the same study, expanded with the real thing."""
    net: dict[str, Any] = {"train": "zoo:R_1111?width=0.125", "n": 64, "training": "?epochs=1", "seeds": (0, 1)}
    joined: dict[str, Any] = {"cuts": ("layer1", "layer2"), "matchings": ("mine",)}
    both: dict[str, Any] = {"senders": ("colour", "theirs"), "receivers": ("digit",)}
    study = Experiment(
        name="study",
        data=Data(name="digits/correlated", n=64, n_test=64),
        models={
            "digit": Network(data="digits/digit", **net),
            "colour": Network(data="digits/colour", **net),
            "theirs": Network(load="zoo:R_1111?width=0.125"),
            "auto": Network(**{**net, "train": "zoo:autoencoder?channels=3", "data": "digits/greyscale"}),
        },
        matchings={"mine": "task?epochs=1"},
        stitch=(StitchPart(**both, **joined, rank=True, freeze=("all", "weights"), seeds=(0, 1)),),
        control=(ControlPart(**both, **joined, controls=("linear_probe",)),),
        noise=(NoisePart(receivers=("digit",), **joined, radius=(0.1, 0.5), classes=(10, 2), per_class=4),),
        audit=(AuditPart(**both, cuts=("layer1",), matching="mine", conflict="digits/digit", audits=("conflict",)),),
        pictures=(PicturesPart(senders=("auto",), receivers=("auto",), cuts=("encoder",), data="digits/greyscale"),),
    )
    ours = [(job.kind, labels) for job, labels in jobs_of(study)]
    real = [(job.kind, labels) for job, labels in jobs_of(study, Identities({}))]
    assert ours == real
    assert {kind for kind, _ in ours} == {"train", "stitch", "control", "noise", "audit", "pictures"}
