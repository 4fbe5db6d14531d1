"""Readings: what an item says of planted results. Claims are computed from figures, each one of them."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from planted_worlds import Labels, World, jobs_of, rows_of
from seamripper.experiment.kinds import Row
from seamripper.experiment.spec import Auditing, Controlling, Data, Network, Noising, Picturing, Stitching, Way

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate
from seamripper.experiment import Experiment
from seamripper.experiment.identity import Identities
from seamripper.figures import Lines, Sheet, describe
from seamripper.papers import Claim, Finding, papers
from seamripper.papers.cells import Cells
from seamripper.papers.checks import claim, every, reaches

ITEMS = {item.name: item for item in papers()["smith2025"].items}
PROFILES = ("quick", "paper")
BASE = 0.97
"""What every receiver does alone, on whatever it is shown, unless a world says otherwise."""

# ---- worlds: one in which every claim holds, one in which none does


def figures(top1: float, *, rank: float = 100, **more: float) -> dict[str, float]:
    """The figures of a job. A receiver that has adapted is good for nothing: it is no baseline."""
    said = {"top1": top1, "top5": min(1.0, top1 + 0.2), "accuracy": BASE, "rank": rank, "rank_native": 40}
    here = {"receiver_here": BASE, "receiver_own": BASE, "receiver_unadapted": BASE, "own_unadapted": BASE}
    return {**said, **here, "observed": 0.9, "effect": 0.1, "recovered": 0.9, **more}


def plain(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """Stitched networks are better than any alone, and what arrives has a rank of its own; or nothing of it."""
    ranks = {"digit": 60.0, "clustered noise": 142.0}
    return figures(0.998 if holds else 0.5, rank=ranks.get(labels.get("sender", ""), 90) if holds else 40)


def fig_3(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """Early cuts are worse, but for colours, all offsets alike; or the later the worse, and each offset its own."""
    early = labels.get("receiver_cut") in ("maxpool", "layer1")
    offset = int(labels.get("matching", "offset 1").removeprefix("offset ")[0])
    if holds and labels.get("receiver") == "colour-only":
        return figures(1.0)
    return figures((0.90 if early else 0.998) if holds else (1.04 if early else 0.80) - 0.05 * offset)


def section_d4(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """The fewer classes the better; or the other way round."""
    few = labels.get("classes") == 2
    return figures((0.999 if few else 0.95) if holds else (0.5 if few else 0.6))


def section_5_1(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """Photographs stitch by the hard baseline, stylised ones by the weak one alone; or the other way round."""
    if labels.get("sender") == "photos":
        base = {"receiver_unadapted": 0.7, "own_unadapted": 0.6}
        return figures(0.8 if holds else 0.3, **base)
    base = {"receiver_unadapted": 0.2, "own_unadapted": 0.8}
    first = labels.get("receiver_cut") == "maxpool"
    return figures(0.5 if holds else 0.9 if first else 0.1, **base)


def section_5_4(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """The later the cut the better, at the end better than the receiver; or the worse, and never as good."""
    cuts = ("maxpool", "layer1", "layer2", "layer3", "layer4", "before:fc")
    share = cuts.index(labels.get("receiver_cut", "maxpool"))
    weak = {"receiver_unadapted": 0.1 if holds else 0.3, "own_unadapted": 0.8}
    return figures(0.15 + 0.15 * share if holds else 0.7 - 0.12 * share, **weak)


def fig_d1(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """Colours go up and down with the seed; or nothing does."""
    colours = labels.get("receiver") in ("colour", "colour-only")
    varied = 0.45 + 0.25 * labels.get("receiver_seed", 0) if colours and kind == "noise" and holds else None
    return {**plain(kind, labels, holds=holds), **({} if varied is None else {"top1": min(varied, 1.0)})}


def table_d3(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """The wider the worse, from above the network to below it; or the tighter, and never as good."""
    radius = labels.get("radius", 0.0)
    return figures(0.998 - 0.2 * max(0.0, radius - 0.5) if holds else 0.5 + 0.2 * radius)


def table_b1(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """The stronger penalties break stitches, and they alone; or all but those."""
    strong = labels.get("matching") in ("L1 0.1", "L1 1")
    return figures(0.3 if strong == holds else 0.998)


def fig_4(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """Images are nearer to digits than the inputs, blurred by classes, and of the right one; or nothing of it."""
    blurred = (labels.get("matching") == "class mapping") == holds
    far = {"nearest": 4.0 if holds else 9.0, "nearest_own": 5.0, "nearest_input": 7.0}
    named = {"judged_as_paired": 0.6 if holds else 0.1, "judge_confidence": 0.8, "judge_confidence_own": 0.9}
    return {"accuracy": BASE, "contrast": 0.1 if blurred else 0.3, "contrast_own": 0.3, **far, **named}


def fig_g1(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """Untrained senders beat the receiver and its own, not senders that know more; or they beat those, and no other."""
    untrained = labels.get("sender", "").startswith("random")
    if labels.get("receiver") == "colour-only" and labels.get("data") == "mnist/greyscale":
        trained = labels.get("sender") == "greyscale"
        order = (0.9, 0.7, 0.5) if holds else (0.3, 0.4, 0.9)
        return figures(order[0 if trained else 1 if untrained else 2])
    if labels.get("receiver") == "greyscale":
        return figures(0.998 if holds else 0.5)
    if labels.get("sender") == "digit":
        return figures(0.975 if holds else 0.9)
    return figures((0.98 if untrained else 0.998) if holds else (0.5 if untrained else 0.4))


def fig_g3(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """Untrained senders fall with depth on Digit and are best on Correlated; or the other way round."""
    untrained, last = labels.get("sender", "").startswith("random"), labels.get("receiver_cut") == "features.35"
    if labels.get("data", "").startswith("mnist/correlated"):
        return figures((0.999 if untrained else 0.98) if holds else (0.8 if untrained else 0.9))
    if untrained:
        return figures(0.3 if last == holds else 0.9)
    return figures(BASE if holds else 0.8)


def table_g1(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """Colours are separable everywhere, digits less so at the end; or the other way round."""
    last = labels.get("receiver_cut") in ("before:fc", "pool2")
    if "colour" in labels.get("data", ""):
        return figures(0.999 if holds else 0.6)
    return figures((0.85 if last else 0.95) if holds else (0.75 if last else 0.5))


def table_1(kind: str, labels: Labels, *, holds: bool) -> dict[str, float]:
    """From Block 3 on noise does better than the network, and before it next to nothing; or the other way round."""
    first = labels.get("receiver") == "resnet50" and labels.get("receiver_cut") in ("maxpool", "layer1")
    return figures(0.04 if first == holds else 0.998)


OWN = {
    "fig-3": fig_3,
    "table-1": table_1,
    "section-d4": section_d4,
    "section-5.1": section_5_1,
    "section-5.4": section_5_4,
    "fig-d1": fig_d1,
    "table-d3": table_d3,
    "table-b1": table_b1,
    "fig-4": fig_4,
    "fig-g1": fig_g1,
    "fig-g3": fig_g3,
    "table-g1": table_g1,
}


def world(name: str, *, holds: bool) -> World:
    """The world of an item in which its claims hold, or fail. What has adapted is of no use in either."""

    def told(kind: str, labels: Labels) -> Mapping[str, float]:
        found = dict(OWN.get(name, plain)(kind, labels, holds=holds))
        if "receiver_unadapted" in found:
            adapted = labels.get("freeze") == "weights"
            found["receiver_here"] = 0.05 if adapted else found["receiver_unadapted"]
            found["receiver_own"] = 0.05 if adapted else found["own_unadapted"]
        return found

    return told


@functools.cache
def planted(name: str, profile: Any, holds: bool) -> tuple[Row, ...]:
    return tuple(rows_of(ITEMS[name], profile, world(name, holds=holds)))


@functools.cache
def finding(name: str, profile: Any, holds: bool) -> Finding:
    return ITEMS[name].read(Cells(planted(name, profile, holds)), profile)


def claims_of(name: str, profile: Any, *, holds: bool) -> tuple[Claim, ...]:
    return finding(name, profile, holds).claims


each_item = pytest.mark.parametrize("name", ITEMS)
each_profile = pytest.mark.parametrize("profile", PROFILES)


# ---- claims follow the figures


@each_profile
@each_item
def test_claims_hold_where_the_figures_say_so(name: str, profile: Any) -> None:
    found = [one for one in claims_of(name, profile, holds=True) if not one.beyond]
    assert found
    assert [(one.says, one.figure) for one in found if one.status != "reproduced"] == []


@each_profile
@each_item
def test_claims_fail_where_the_figures_say_so(name: str, profile: Any) -> None:
    """A claim that figures differ can fail to be decided alone, as ranks of several seeds are hardly ever the same."""
    found = [one for one in claims_of(name, profile, holds=False) if not one.beyond]
    assert [(one.says, one.figure) for one in found if one.status == "reproduced"] == []
    undecided = [one for one in found if one.status != "not reproduced"]
    assert all("rank" in one.says for one in undecided), [(one.says, one.figure) for one in undecided]


@each_profile
@each_item
def test_a_claim_is_the_same_claim_in_both_worlds(name: str, profile: Any) -> None:
    first, second = (claims_of(name, profile, holds=holds) for holds in (True, False))
    assert [(one.says, one.rule, one.beyond) for one in first] == [(one.says, one.rule, one.beyond) for one in second]
    assert len({one.says for one in first}) == len(first)


def test_a_claim_written_by_hand_would_be_caught() -> None:
    """The planted failure: a claim that says the same whatever the figures are."""
    worlds = [Cells(planted("table-c2", "quick", holds)) for holds in (True, False)]
    fixed = [claim("It is so", "Always.", ("reproduced", "I said so")).status for _ in worlds]
    computed = [
        every([("Conv 1", reaches(cells.of("top1", sender="correlated", receiver_cut="conv1"), 0.9))])[0]
        for cells in worlds
    ]
    assert fixed[0] == fixed[1]
    assert computed[0] != computed[1]


@pytest.mark.parametrize(("name", "leaky"), [("table-c1", 1), ("section-4.2", 2), ("table-1", 1)])
def test_a_claim_that_holds_with_adapting_statistics_alone_depends_on_the_leak(name: str, leaky: int) -> None:
    def leak(kind: str, labels: Labels) -> Mapping[str, float]:
        return world(name, holds=labels.get("freeze") != "all")(kind, labels)

    rows = rows_of(ITEMS[name], "quick", leak)
    found = ITEMS[name].read(Cells(rows), "quick").claims
    asked = [one for one in found if "depend on BN statistics" in one.says]
    assert [one.status for one in asked] == ["depends on the leak"] * leaky
    assert all("strictly frozen; " in one.figure for one in asked)
    both = [one.status for one in claims_of(name, "quick", holds=True) if "depend on BN statistics" in one.says]
    assert both == ["does not depend on the leak"] * leaky


def learning(name: str, *, holds: bool) -> list[Claim]:
    """The claims of an item whose stitches were all still learning."""
    rows = rows_of(ITEMS[name], "quick", lambda k, labels: {**world(name, holds=holds)(k, labels), "falling": 0.2})
    return [one for one in ITEMS[name].read(Cells(rows), "quick").claims if not one.beyond]


@pytest.mark.parametrize("name", ["table-c2", "fig-c3", "section-4.2", "table-1", "table-b1", "section-5.4", "fig-3"])
def test_what_is_still_learning_is_not_said_to_fail(name: str) -> None:
    """Figures that are too low, of stitches that were at rest; and the same of stitches whose loss still fell."""
    assert {one.status for one in claims_of(name, "quick", holds=False) if not one.beyond} == {"not reproduced"}
    told = learning(name, holds=False)
    too_high = [one.says for one in told if one.status == "not reproduced"]
    assert all(says.startswith(("They do not at Block 1", "Larger λ", "Greyscale always")) for says in too_high), (
        too_high
    )
    assert "reproduced" not in {one.status for one in told}
    assert "not reproduced" not in {one.status for one in learning(name, holds=True)}


def test_what_differs_may_only_be_slower() -> None:
    """D.1: results that vary from seed to seed, of stitches that were still learning."""
    varied = [one for one in learning("fig-d1", holds=True) if "varied" in one.says]
    assert [one.status for one in varied] == ["not decided at this size"]


def test_what_is_reached_in_an_epoch_is_so_whatever_a_longer_one_would_reach() -> None:
    held = {one.says: one.status for one in learning("section-d4", holds=True)}
    failed = {one.says: one.status for one in learning("section-d4", holds=False)}
    for says in ("With two classes, 100 % is reached within one epoch", "The fewer classes, the easier"):
        assert (held[says], failed[says]) == ("reproduced", "not reproduced")


def test_what_a_profile_leaves_out_is_not_in_its_claims() -> None:
    """Noise into ImageNet networks: the quick profile asks at the places it runs, the paper's at all from Block 3."""
    counts = []
    for profile in PROFILES:
        told = next(one for one in claims_of("table-1", profile, holds=False) if one.beyond and "MobileNet" in one.says)
        counts.append(told.figure.rpartition("(")[2])
    assert counts == ["0 of 4 hold)", "0 of 8 hold)"]


# ---- figures and words


@each_profile
@each_item
def test_tables_and_figures_are_full(name: str, profile: Any) -> None:
    found = finding(name, profile, True)
    assert found.figures
    assert len({figure.title for figure in found.figures}) == len(found.figures), "files of figures go by their title"
    for figure in found.figures:
        assert describe(figure)
        if isinstance(figure, Sheet):
            assert {len(row) for row in figure.rows} == {len(figure.columns)}
            assert not any("nan" in str(value).split() for row in figure.rows for value in row)
        if isinstance(figure, Lines):
            assert {len(one.points) for one in figure.series} == {len(figure.places)}
            ours = [one for one in figure.series if "(authors)" not in one.name]
            empty = [one.name for one in ours if any(math.isnan(point.value) for point in one.points)]
            assert empty == [], figure.title


@each_profile
def test_no_two_figures_of_the_paper_have_one_title(profile: Any) -> None:
    """In the text for documentation a drawn figure is found by its title."""
    drawn = [one.title for name in ITEMS for one in finding(name, profile, True).figures if not isinstance(one, Sheet)]
    assert len(set(drawn)) == len(drawn) > 15


@each_profile
@each_item
def test_claims_are_told_in_whole_sentences_with_figures(name: str, profile: Any) -> None:
    for one in claims_of(name, profile, holds=True):
        assert one.says[0].isupper() or one.says.startswith("λ")
        assert one.rule.endswith(".")
        assert any(letter.isdigit() for letter in one.figure)
        assert "nan" not in one.figure.split()


@each_item
def test_departures_tell_of_what_an_item_has(name: str) -> None:
    """No images, noise or seeds of another item: each sentence is about a part that this one runs."""
    told, experiment = " ".join(finding(name, "quick", True).departs), ITEMS[name].experiment("quick")
    images = experiment.stitch or experiment.pictures
    assert ("noise: " in told) <= bool(experiment.noise)
    assert ("titches on" in told or "titches of" in told) <= bool(images or experiment.noise)
    assert ("Six cuts" in told) <= any(len(one.cuts) >= 5 for one in experiment.stitch)
    seeds = {len(network.seeds) for network in experiment.models.values() if network.load is None}
    if match := re.search(r"(\d+) seeds", told):
        assert int(match[1]) in seeds
    if seeds == {1}:
        assert "seeds" not in told


# ---- figures are of what they are said to be of

_SEEDS = {"seed", "sender_seed", "receiver_seed"}
_FIGURES = {"value", "low", "high", "n", "key", "status", "experiment", "state", "figure", "counterpart"}
_APART = frozenset(("sender", "sender_cut", "matching"))
_OF_RECEIVER = {
    "rank_native": _APART,
    "receiver_here": _APART | {"receiver_cut"},
    "receiver_own": _APART | {"receiver_cut"},
    "receiver_unadapted": _APART | {"receiver_cut"},
    "own_unadapted": _APART | {"receiver_cut"},
}
"""What figures of the receiver alone do not depend on."""


class Watched(Cells):
    """Cells that take note of averages over anything but seeds."""

    @functools.cached_property
    def mixed(self) -> list[str]:
        return []

    def some(self, figure: str, **labels: Any) -> Estimate | None:
        asked = {key: value for key, value in labels.items() if not isinstance(value, (set, frozenset))}
        free = _SEEDS | _FIGURES | _OF_RECEIVER.get(figure, frozenset()) | (labels.keys() - asked.keys())
        known = self._figures.get(figure, [])
        found = [row for row in known if all(row.get(key) == value for key, value in asked.items())]
        told = {tuple(sorted((k, str(v)) for k, v in row.items() if k not in free)) for row in found}
        differ = {key for a, b in itertools.pairwise(sorted(told)) for key, _ in set(a) ^ set(b)}
        if differ:
            self.mixed.append(f"{figure} with {labels} is of several {sorted(differ)}")
        return super().some(figure, **labels)


@each_profile
@each_item
def test_no_figure_is_an_average_over_different_things(name: str, profile: Any) -> None:
    cells = Watched(planted(name, profile, True))
    ITEMS[name].read(cells, profile)
    assert cells.mixed == []


def test_an_average_over_different_things_is_caught() -> None:
    cells = Watched(planted("table-c2", "quick", True))
    assert cells.of("receiver_here", receiver="greyscale").n == 3
    assert cells.mixed == []
    cells.of("top1", sender="correlated")
    assert cells.mixed == ["top1 with {'sender': 'correlated'} is of several ['receiver_cut', 'sender_cut']"]


# ---- results that are not all there


def drops(name: str) -> Iterator[tuple[str, list[Row]]]:
    """The results without those of one kind, figure, sender …; without one seed at a cut; without one job."""
    rows = planted(name, "quick", True)
    for key in ("kind", "figure", "sender", "receiver", "matching", "freeze", "data", "model"):
        for value in list(dict.fromkeys(row[key] for row in rows if key in row))[:3]:
            yield f"{key} = {value}", [row for row in rows if row.get(key) != value]
    places = list(dict.fromkeys(row["receiver_cut"] for row in rows if "receiver_cut" in row))
    for cut in (places[0], places[-1]):
        yield f"cut {cut}", [row for row in rows if row.get("receiver_cut") != cut]
        for seed in (0, 1):
            gone = {"receiver_cut": cut, "receiver_seed": seed}
            yield f"seed {seed} at {cut}", [row for row in rows if not gone.items() <= row.items()]
    keys = list(dict.fromkeys(row["key"] for row in rows))
    for key in keys[len(keys) // 12 :: max(1, len(keys) // 6)]:
        told = next(row for row in rows if row["key"] == key)
        yield f"the job of {told}", [row for row in rows if row["key"] != key]


@each_item
def test_missing_results_are_told_or_done_without(name: str) -> None:
    """Whatever has failed, an item says what is missing or reads what there is: the items behind it are not stopped."""
    with pytest.raises(ExperimentError, match="some jobs have failed or were not run"):
        ITEMS[name].read(Cells([]), "quick")
    broken = []
    for what, rows in drops(name):
        try:
            ITEMS[name].read(Cells(rows), "quick")
        except ExperimentError as e:
            assert "some jobs have failed or were not run" in str(e)  # noqa: PT017
        except Exception as e:
            broken.append((what, repr(e)))
    assert broken == []


# ---- the plant itself


def test_planted_rows_have_the_labels_of_real_jobs() -> None:
    """What stands in for data and weights changes no label: the same study, expanded with the real thing."""
    way = Way(way="task", epochs=1)
    net: dict[str, Any] = {"train": "zoo:R_1111?width=0.125", "n": 64, "epochs": 1, "seeds": (0, 1)}
    joined: dict[str, Any] = {"cuts": ("layer1", "layer2"), "matchings": ("mine",)}
    both: dict[str, Any] = {"senders": ("colour", "theirs"), "receivers": ("digit",)}
    study = Experiment(
        name="study",
        data=Data(name="digits/correlated", n=64, n_test=64),
        models={
            "digit": Network(data="digits/digit", **net),
            "colour": Network(data="digits/colour", **net),
            "theirs": Network(load="zoo:R_1111?width=0.125"),
            "auto": Network(train="zoo:autoencoder?channels=3", data="digits/greyscale", n=64, epochs=1, seeds=(0, 1)),
        },
        matchings={"mine": way},
        stitch=(Stitching(**both, **joined, rank=True, freeze=("all", "weights"), seeds=(0, 1)),),
        control=(Controlling(**both, **joined, controls=("linear_probe",)),),
        noise=(Noising(receivers=("digit",), **joined, radius=(0.1, 0.5), classes=(10, 2), per_class=4),),
        audit=(Auditing(**both, cuts=("layer1",), matching="mine", conflict="digits/digit", audits=("conflict",)),),
        pictures=(Picturing(senders=("auto",), receivers=("auto",), cuts=("encoder",), data="digits/greyscale"),),
    )
    ours = [(job.kind, labels) for job, labels in jobs_of(study)]
    real = [(job.kind, labels) for job, labels in jobs_of(study, Identities({}))]
    assert ours == real
    assert {kind for kind, _ in ours} == {"train", "stitch", "control", "noise", "audit", "pictures"}


def test_planted_figures_differ_from_seed_to_seed() -> None:
    one = Cells(planted("table-c2", "quick", True)).of("top1", sender="correlated", receiver_cut="conv1")
    assert len(set(one.values.values())) == 3
    assert 0 < one.high - one.low < 0.01
