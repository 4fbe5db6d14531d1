"""The tests of the benchmark on planted rows: a perfect measure, an inverted one, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from planted_rows import (
    CUTS,
    DISTANT,
    SEEDS,
    SIMILAR,
    Place,
    bench_set,
    compare_rows,
    functional_rows,
    pair_labels,
    places,
    probe_rows,
)

from seamripper.audits.rule import DIFFERENT, SAME, UNKNOWN
from seamripper.benchmark import BenchSet, Contestant, Rating, bench_tests
from seamripper.benchmark.base import ALL, with_holm
from seamripper.benchmark.contestants import choose
from seamripper.benchmark.sensitivity import halvings
from seamripper.benchmark.shortcut import AGREE, DISAGREE, WITH_SET
from seamripper.errors import CutError, ExperimentError

TASK = Contestant("task_functional", "task_functional", kind="functional")


def rate(test: str, rows: Iterable[Any], given: BenchSet, *contestants: Contestant) -> dict[tuple[str, ...], Rating]:
    """The ratings by statistic, family and measure."""
    ratings = with_holm(bench_tests.make(test).rate(list(rows), given, contestants))
    return {(rating.statistic, rating.family, rating.measure): rating for rating in ratings}


def gap(a: Place, b: Place) -> float:
    """How far two layers are apart, with a little of the seeds."""
    return abs(CUTS.index(a[2]) - CUTS.index(b[2])) + 0.01 * abs(a[1] - b[1])


# ---- identification


def test_a_distance_and_a_similarity_are_both_read_the_right_way() -> None:
    rows = [*compare_rows("distant", gap), *compare_rows("similar", gap)]
    rated = rate("identification", rows, bench_set(), SIMILAR, DISTANT)
    for family in ("digit", "colour", ALL):
        best, worst = rated["share between", family, "distant"], rated["share between", family, "similar"]
        assert (best.estimate.value, worst.estimate.value) == (1.0, 0.0)
        assert (best.chance, best.is_marked, worst.is_marked) == (0.2, True, False)
    assert (best.estimate.n, best.estimate.unit) == (8, "networks of 2 families")
    digit = rated["share between", "digit", "distant"]
    assert (digit.p, digit.p_holm) == (1 / 120, 2 / 120)
    assert (digit.estimate.n, digit.estimate.unit) == (4, "training seeds")


def test_a_family_of_one_has_only_within() -> None:
    rows = [row for row in compare_rows("distant", gap) if {row["sender_seed"], row["receiver_seed"]} == {0}]
    rated = rate("identification", rows, bench_set(seeds=(0,)), DISTANT)
    assert {statistic for statistic, _, _ in rated} == {"share within"}
    note = rated["share within", "digit", "distant"].note
    assert note == "no interval: 1 training seed, and it takes 3"


def test_stitching_is_rated_from_functional_rows() -> None:
    """Every layer fits the last one best: the sender is found in no row but that one."""
    rows = functional_rows("task", lambda a, b: 1.0 if b[2] == "e" else 0.5)
    rated = rate("identification", rows, bench_set(families=("digit",)), TASK)
    assert rated["share within", "digit", "task_functional"].estimate.value == pytest.approx(0.2)
    assert ("share within", ALL, "task_functional") not in rated


# ---- sensitivity


def accuracy(place: Place, rank: int | None) -> float:
    return 0.9 if rank is None else 0.9 - 0.1 / rank


def test_a_distance_that_grows_with_the_loss_is_sensitive() -> None:
    scores = {"distant": lambda place, rank: 1.0 / rank, "similar": lambda place, rank: 1.0 / rank}
    rows = [*probe_rows("digit", accuracy, scores), *probe_rows("colour", accuracy, scores)]
    rated = rate("sensitivity", rows, bench_set(), DISTANT, SIMILAR)
    for name in ("kendall", "spearman"):
        assert rated[name, "digit", "distant"].estimate.value == pytest.approx(1)
        assert rated[name, ALL, "similar"].estimate.value == pytest.approx(-1)
        assert rated[name, ALL, "distant"].is_marked
        assert not rated[name, "digit", "similar"].is_marked
    ding = rated["ding kendall", "digit", "distant"]
    assert ding.estimate.value == pytest.approx(1)
    assert ding.p is not None
    assert ding.p < 1e-4, "twenty pairs taken for independent, of which five differ"
    assert "SciPy's p" in ding.note


def test_measures_that_order_all_ranks_alike_are_told() -> None:
    """Two fall with the rank, as approximations fitted once do; a third does not at one layer of one network."""

    def once_apart(place: Place, rank: int) -> float:
        return 1.0 / rank if place != ("digit", 2, "d") else float(rank)

    scores = {
        "distant": lambda place, rank: 1.0 / rank,
        "squared": lambda place, rank: 1.0 / rank**2,
        "third": once_apart,
        "fourth": once_apart,
    }
    contestants = [Contestant(name, name, "distance") for name in (*scores, "absent", "missing")]
    rows = list(probe_rows("digit", accuracy, scores))
    said = list(bench_tests.make("sensitivity").remarks(rows, contestants))
    assert [remark.partition(" bring")[0] for remark in said] == ["distant and squared", "third and fourth"]
    assert all("the same order, so the test cannot tell them apart." in remark for remark in said)
    assert ["of the probe" in remark for remark in said] == [True, True]
    rows = [{**row, "value": 0.5} if row.get("measure") == "fourth" and row["rank"] == 4 else row for row in rows]
    (remark,) = bench_tests.make("sensitivity").remarks(rows, contestants)
    assert remark.startswith("distant and squared bring")
    rated = rate("sensitivity", rows, bench_set(), *contestants[:2])
    same, too = (rated["kendall", "digit", name].estimate for name in ("distant", "squared"))
    assert same == too
    assert same.range == (-1, 1)


def test_ranks_are_halved_or_given() -> None:
    assert halvings(1) == ()
    assert halvings(96) == (48, 24, 12, 6, 3, 1)
    assert bench_tests.make("sensitivity?ranks=8,4,2").ranks == (8, 4, 2)
    for word in ("sensitivity?ranks=8,4", "sensitivity?ranks=4,2,0"):
        with pytest.raises(ExperimentError, match="three whole numbers or more, of at least 1"):
            bench_tests.make(word)


# ---- specificity


def test_a_distance_between_layers_is_specific_and_one_between_seeds_is_not() -> None:
    def by_layer(place: Place, rank: int | None) -> float:
        return 0.1 * CUTS.index(place[2]) + 0.001 * place[1]

    rows = [
        *probe_rows("digit", by_layer),
        *compare_rows("distant", gap, pairs=[("digit", "digit")]),
        *compare_rows("similar", lambda a, b: float((7 * a[1] + 3 * b[1]) % 5), pairs=[("digit", "digit")]),
    ]
    rated = rate("specificity", rows, bench_set(), DISTANT, SIMILAR)
    for name in ("kendall", "spearman"):
        assert rated[name, "digit", "distant"].estimate.value > 0.85
        assert rated[name, "digit", "distant"].is_marked
        assert abs(rated[name, "digit", "similar"].estimate.value) < 0.3
        assert not rated[name, "digit", "similar"].is_marked
    assert rated["ding spearman", "digit", "distant"].estimate.value > 0.85
    assert not any(family == "colour" for _, family, _ in rated)


# ---- shortcut

INFORMATION = {"digit": "digit", "colour": "colour"}
EVERY = [(a, b) for a in INFORMATION for b in INFORMATION]


def same(a: Place, b: Place) -> float:
    return float(a[0] == b[0]) + 0.01 * a[1]


def audit_rows(matching: str, figure: str, audit: str, score: Any, status: Any = lambda a, b: "yes") -> Any:
    for first, second in EVERY:
        for a in places(first):
            for b in places(second):
                if a[2] == b[2] and a[1] != b[1]:
                    labels = pair_labels(a, b) | {"data": "agree", "matching": matching, "audit": audit}
                    yield {"kind": "audit", "figure": figure, **labels, "value": score(a, b), "status": status(a, b)}


def test_a_shortcut_is_seen_where_the_cues_conflict_and_inverted_where_they_agree() -> None:
    rows = [
        *compare_rows("similar", lambda a, b: -same(a, b), pairs=EVERY),
        *compare_rows("similar", same, pairs=EVERY, data="conflict"),
    ]
    given = bench_set(information=INFORMATION, conflict="conflict")
    rated = rate("shortcut", rows, given, SIMILAR)
    agree, disagree = (rated[name, ALL, "similar"] for name in (AGREE, DISAGREE))
    assert (agree.estimate.value, disagree.estimate.value) == (0.0, 1.0)
    assert (agree.chance, agree.is_marked, disagree.is_marked) == (0.5, False, True)
    assert (disagree.estimate.n, disagree.estimate.unit) == (8, "networks of 2 families")


def test_pairs_of_one_and_the_same_network_are_left_out() -> None:
    """The inverted measure, but for each network with itself, which would make it look better."""
    rows = compare_rows("similar", lambda a, b: 9.0 if a[:2] == b[:2] else -same(a, b), pairs=EVERY)
    rated = rate("shortcut", rows, bench_set(information=INFORMATION), SIMILAR)
    assert rated[AGREE, ALL, "similar"].estimate.value == 0.0
    assert (DISAGREE, ALL, "similar") not in rated


def test_stitches_and_audits_stand_beside_measures() -> None:
    given = bench_set(information=INFORMATION, conflict="conflict")
    contestants = choose("functional,audits")

    def conclusion(a: Place, b: Place) -> str:
        return UNKNOWN if a[1] == 0 else SAME if a[0] == b[0] else DIFFERENT

    rows = [
        *functional_rows("task", same, kind="stitch"),
        *audit_rows("task", "observed", "conflict", same),
        *audit_rows("task", "effect", "conflict", lambda a, b: -same(a, b)),
        *audit_rows(WITH_SET, "effect", "conflict", same),
        *audit_rows(WITH_SET, "recovered", "rule", lambda a, b: 0.5, conclusion),
        *audit_rows("audit's own", "effect", "conflict", lambda a, b: -same(a, b)),
        # An excess over the control is a distance; the same audit with a conflict set says nothing more.
        *audit_rows("audit's own", "effect", "mixing", lambda a, b: -same(a, b)),
        *audit_rows(WITH_SET, "effect", "mixing", same),
        *audit_rows("audit's own", "recovered", "rule", lambda a, b: 0.5, lambda a, b: UNKNOWN),
    ]
    rated = rate("shortcut", rows, given, *contestants)
    assert rated[DISAGREE, ALL, "task_functional"].estimate.value == 1.0
    assert rated[DISAGREE, ALL, "conflict"].estimate.value == 1.0
    assert rated[AGREE, ALL, "conflict"].estimate.value == 0.0
    assert rated[AGREE, ALL, "mixing"].estimate.value == 1.0
    assert (DISAGREE, ALL, "mixing") not in rated
    assert rated[AGREE, ALL, "rule"].estimate.value == 0.5
    # Of the pairs, those from one of four seeds are undecided.
    assert rated[DISAGREE, ALL, "rule"].estimate.value == pytest.approx(1 - 0.25 * 0.25 / 2)
    assert (DISAGREE, ALL, "direct_functional") not in rated


# ---- what a set lacks


def test_a_set_without_information_is_told_how_to_give_it() -> None:
    with pytest.raises(ExperimentError, match=r"to know what each family uses: add a table \[information\]"):
        bench_tests.make("shortcut").experiment(bench_set(), (SIMILAR,))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (bench_set(information={"digit": "x", "colour": "x"}), "no pair uses different information"),
        (bench_set(information=INFORMATION, seeds=(0,)), "no pair uses the same information"),
        (bench_set(information={"digit": "x"}, receivers=("colour",)), "what the receiver 'colour' uses"),
        (bench_set(information=INFORMATION, conflict="agree"), "`conflict` to be other samples than `data`"),
    ],
)
def test_a_set_with_nothing_to_separate_is_refused(given: BenchSet, says: str) -> None:
    with pytest.raises(ExperimentError, match=says):
        bench_tests.make("shortcut").experiment(given, (SIMILAR,))


def test_a_test_refuses_measures_that_it_cannot_rate() -> None:
    says = "'sensitivity' rates structural and functional measures, and can rate none of task_functional, rule"
    with pytest.raises(ExperimentError, match=says):
        bench_tests.make("sensitivity").admit(choose("task_functional,rule"))
    assert [c.label for c in bench_tests.make("sensitivity").admit(choose("functional"))] == ["direct_functional"]
    assert [c.label for c in bench_tests.make("identification").admit(choose("linear_cka,audits"))] == ["linear_cka"]


def real(**more: Any) -> BenchSet:
    """Families of a real architecture, which are planned and not trained."""
    network = {"train": "zoo:R_1111?width=0.125", "data": "digits/digit", "n": 100, "seeds": SEEDS}
    data = {"name": "digits/correlated", "n": 100, "n_test": 50}
    return BenchSet(name="real", **{"data": data, "models": {"digit": network, "colour": network}, **more})


def test_identification_asks_for_every_family_with_itself() -> None:
    study = bench_tests.make("identification").experiment(real(), choose("linear_cka,opd"))
    assert [(part.senders, part.receivers, part.pairing) for part in study.compare] == [
        (("digit",), ("digit",), "all"),
        (("colour",), ("colour",), "all"),
    ]
    assert study.compare[0].measures == ("linear_cka", "opd")
    assert study.compare[0].cuts == ("layer1", "layer2", "layer3", "layer4")
    assert study.name == "real identification"


def test_the_authors_rule_asks_for_three_samplings_and_each_measure_has_its_own() -> None:
    contestants = choose("linear_cka,opd,direct_structural", sampling="balogh2025")
    study = bench_tests.make("identification").experiment(real(), contestants)
    asked = {part.sampling: part.measures for part in study.compare}
    assert asked == {
        "flatten": ("linear_cka",),
        "positions": ("opd", "direct_structural"),
        "pool": ("opd",),
    }


def test_shortcut_asks_for_other_seeds_on_both_kinds_of_data() -> None:
    given = real(information=INFORMATION, conflict="digits/digit", receivers=("digit",), cuts=("layer2", "layer4"))
    study = bench_tests.make("shortcut").experiment(given, choose("linear_cka,functional,audits"))
    assert [(part.pairing, part.data) for part in study.compare] == [("others", None), ("others", "digits/digit")]
    (stitch,) = study.stitch
    assert (stitch.matchings, stitch.cuts, stitch.receivers) == (("direct", "task"), ("layer2", "layer4"), ("digit",))
    assert [(part.matching, part.conflict) for part in study.audit] == [
        (None, None),
        ("direct", "digits/digit"),
        ("task", "digits/digit"),
        (WITH_SET, "digits/digit"),
    ]
    assert study.matchings[WITH_SET].startswith("task?")


def test_what_a_part_is_missing_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seamripper.benchmark.study_parts.parts", {})
    with pytest.raises(ExperimentError, match=r"needs the part \[\[probe\]\] of a study, which is not installed"):
        bench_tests.make("sensitivity").experiment(real(), choose("linear_cka"))


def test_cuts_that_are_too_few_or_are_not_there() -> None:
    with pytest.raises(ExperimentError, match=r"needs 2 cuts or more, but the model 'digit' has 1 here \(layer1\)"):
        bench_tests.make("identification").experiment(real(cuts=("layer1",)), choose("linear_cka"))
    with pytest.raises(CutError) as caught:
        bench_tests.make("identification").experiment(real(cuts=("layer9",)), choose("linear_cka"))
    assert caught.value.__notes__ == ["This is about the model 'digit'."]


# ---- a set from TOML, and tests of a user's own

ZOO = """
data = "digits/correlated"
[models.digit]
train = "zoo:lenet"
data = "digits/digit"
"""


def test_a_set_is_read_from_toml_with_the_lines_of_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "zoo.toml"
    path.write_text(ZOO)
    assert BenchSet.read(path).name == "zoo"
    for text, says in {
        ZOO + "sedes = [0]\n": r"line 6: \[models.digit\] has no key 'sedes': did you mean 'seeds'",
        ZOO.replace('data = "digits/correlated"\n', ""): "needs the key 'data'",
        ZOO
        + '[information]\ndigti = "digit"\n': "line 6: `information`: there is no model 'digti': did you mean 'digit'",
        'receivers = ["colour"]\n' + ZOO: "line 1: `receivers`: there is no model 'colour'",
    }.items():
        path.write_text(text)
        with pytest.raises(ExperimentError, match=says):
            BenchSet.read(path)


OWN = '''
from dataclasses import dataclass
from seamripper.benchmark import BenchTest, Rating
from seamripper.estimate import Estimate

@dataclass(frozen=True)
class Alphabet(BenchTest):
    """How early in the alphabet a measure stands."""

    name, about, columns = "alphabet", "0 is best.", ("letter",)
    first: str = "a"

    def experiment(self, bench_set, contestants):
        return bench_set.experiment(self.name, [])

    def rate(self, rows, bench_set, contestants):
        for contestant in contestants:
            letter = Estimate(float(ord(contestant.label[0]) - ord(self.first)))
            yield Rating(self.label, "letter", "all", contestant.label, letter)
'''


def test_a_test_of_a_users_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    test = bench_tests.make(f"{tmp_path / 'mine.py'}:Alphabet?first=b")
    (rating,) = test.rate([], bench_set(), (DISTANT,))
    assert (rating.test, rating.estimate.value, rating.p) == ("alphabet?first=b", 2.0, None)
    assert math.isnan(with_holm([rating])[0].p_holm or math.nan)
