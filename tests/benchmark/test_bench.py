"""bench: a real run on tiny networks, the league that comes of it, and the files that it is saved as."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess
from seamripper.benchmark import BenchSet, League, Rating, bench, bench_tests, forecast
from seamripper.benchmark.contestants import Contestant, choose, choose_rows
from seamripper.benchmark.page import markdown, page, save
from seamripper.errors import ExperimentError, MeasureError, SeamripperError
from seamripper.estimate import CORRELATION, Estimate, over_seeds

NETWORK = {"train": "zoo:R_1111?width=0.125", "data": "digits/digit", "n": 100, "training": "?epochs=1"}
DATA = {"name": "digits/correlated", "n": 100, "n_test": 60}
OWN = '''
from dataclasses import dataclass
from seamripper.measures import Claims, Measure

@dataclass(frozen=True)
class Length(Measure):
    """How far the total variances are apart."""

    name, paper = "length", "none"
    claims = Claims("distance", True, (0.0, float("inf")), 0.0, frozenset({"translation", "orthogonal", "permutation"}))

    def of(self, pair):
        return abs(float(pair.x.total) - float(pair.y.total))
'''


@pytest.fixture(scope="session")
def own_measure(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("own") / "mine.py"
    path.write_text(OWN)
    return f"{path}:Length"


@pytest.fixture(scope="session")
def ran(made_once: Callable[..., Path], own_measure: str) -> tuple[BenchSet, Path]:
    """A set whose networks were trained and compared once."""
    given = BenchSet(name="tiny", data=DATA, models={"net": {**NETWORK, "seeds": (0, 1, 2)}})

    def make(folder: Path) -> None:
        words = ("linear_cka", "opd", own_measure)
        bench(given, measures=words, tests="identification", store=folder / "store", engine=InProcess())

    return given, made_once("bench", make) / "store"


@pytest.mark.slow
def test_measures_are_rated_a_users_own_too_and_nothing_is_done_twice(
    ran: tuple[BenchSet, Path], own_measure: str
) -> None:
    given, store = ran
    lines, standings = list[str](), list[Any]()
    league = bench(
        given,
        measures=f"linear_cka,opd,{own_measure}",
        tests="identification",
        store=store,
        engine=InProcess(),
        announce=lines.append,
        watch=standings.append,
    )
    assert (lines, standings) == ([], []), "everything was done before"
    assert {rating.measure for rating in league.ratings} == {"linear_cka", "opd", "length"}
    within = {r.measure: r.estimate.value for r in league.ratings if r.statistic == "share within"}
    assert within == {"linear_cka": 1.0, "opd": 1.0, "length": 1.0}
    between = [r for r in league.ratings if r.statistic == "share between"]
    assert all((r.estimate.n, r.estimate.unit, r.chance) == (3, "training seeds", 0.25) for r in between)
    assert all(r.estimate.has_interval and r.p is not None for r in between)
    assert (league.sampling, league.unrated, league.trouble) == ("positions", {}, ())
    assert league.cost_sentences()[0].endswith("ms; structural measures: 3.")


@pytest.mark.slow
def test_the_league_is_saved_in_four_forms(ran: tuple[BenchSet, Path], own_measure: str, tmp_path: Path) -> None:
    given, store = ran
    league = bench(
        given, measures=["linear_cka", "opd", own_measure], tests="identification", store=store, engine=InProcess()
    )
    paths = save(league, tmp_path)
    assert sorted(paths) == ["league.csv", "league.html", "league.json", "league.md", "methods-league.json"]
    record = json.loads(paths["league.json"].read_text())
    assert (record["sampling"], len(record["ratings"]), record["store"]) == ("positions", 6, str(store))
    with paths["league.csv"].open() as file:
        rows = list(csv.DictReader(file))
    assert {row["measure"] for row in rows} == {"linear_cka", "opd", "length"}
    html = paths["league.html"].read_text()
    assert "By mean rank over 1 column (identification), " in html
    assert "The mean rank is over 1 column, without identification: share within, which some measures pass" in html
    assert "<script src" not in html
    assert html.count('<figure class="strip"') == 2


@pytest.mark.slow
def test_every_kind_of_measure_is_put_to_every_test(tmp_path: Path) -> None:
    """All four tests, for real: who can have a number has one, and the network that reads the colour is found out."""
    network = {"train": "zoo:lenet?channels=3", "n": 400, "training": "?epochs=6"}
    given = BenchSet(
        name="tiny",
        data=DATA,
        conflict={"name": "digits/digit", "n": 100, "n_test": 60},
        models={
            "digit": {**network, "data": "digits/digit", "seeds": (0, 1)},
            "colour": {**network, "data": "digits/colour"},
        },
        information={"digit": "digit", "colour": "colour"},
        receivers=("digit",),
        cuts=("relu3", "relu4"),
        matchings={"task": "task?init=direct&epochs=2&lr=0.01"},
    )
    asked = {"measures": "linear_cka,functional,audits", "store": tmp_path / "store"}
    before = forecast(given, **asked)
    assert list(before.seconds) == ["identification", "sensitivity", "shortcut", "specificity"]
    assert min(before.seconds.values()) > 0
    assert "audit" in before.guessed
    assert not (tmp_path / "store").exists(), "a forecast writes nothing"
    league = bench(given, **asked, engine=InProcess())
    after = forecast(given, **asked)
    assert (set(after.seconds.values()), after.guessed) == ({0.0}, ())
    assert (league.trouble, league.unrated) == ((), {})
    three = {"linear_cka", "direct_functional", "task_functional"}
    agree, conflict = bench_tests["shortcut"].columns
    rated = {column: {measure for place, measure in league.overall if place == column} for column in league.columns}
    assert rated == {
        ("identification", "share within"): three,
        ("identification", "share between"): three,
        ("sensitivity", "kendall"): three - {"task_functional"},
        ("sensitivity", "spearman"): three - {"task_functional"},
        ("specificity", "kendall"): three,
        ("specificity", "spearman"): three,
        ("shortcut", agree): three | {"conflict", "mixing", "rule"},
        ("shortcut", conflict): three | {"conflict", "rule"},
    }
    apart = {m: r.estimate.value for (column, m), r in league.overall.items() if column == ("shortcut", conflict)}
    assert apart["linear_cka"] == apart["conflict"] == 1
    assert set(league.mean_ranks) == {"linear_cka", "direct_functional"}
    unplaced = [(measure, league.counts[measure]) for place, measure in league.places if place is None]
    assert unplaced[0][0] == "task_functional"
    assert unplaced[-1] == ("mixing", 1)


# ---- leagues without a run


def rating(
    statistic: str,
    measure: str,
    value: float,
    *,
    test: str = "shortcut",
    family: str = "all",
    p: float | None = None,
) -> Rating:
    return Rating(test, statistic, family, measure, Estimate(value, value - 0.1, value + 0.1, 6, "networks"), p, p)


@pytest.fixture
def league(tmp_path: Path) -> League:
    agree, conflict = bench_tests["shortcut"].columns
    ratings = (
        rating(agree, "first", 0.4, family="digit"),
        rating(agree, "first", 0.9, p=0.01),
        rating(conflict, "first", 0.7, p=0.2),
        rating(agree, "second", 0.1),
        rating(conflict, "second", 0.65),
        rating(agree, "third <b>", 0.5),
    )
    contestants = tuple(Contestant(name, name) for name in ("first", "second", "third <b>", "fourth"))
    shortcut = (bench_tests.make("shortcut"),)
    reasons = {"fourth": "needs more samples than columns"}
    return League("planted", "", "pool", shortcut, contestants, ratings, tmp_path, {"structural": 0.0021}, reasons)


def test_the_league_ranks_measures_that_all_columns_rate(league: League) -> None:
    """The third would come second by a mean over its one column; it is left out of the others' ranks, too."""
    assert league.mean_ranks == {"first": 1, "second": 2}
    rows = league.table.rows
    assert rows[0] == (1, "first", "0.900 [0.800, 1.000] *", "0.700 [0.600, 0.800]", 1.0, 2)
    assert rows[2] == (None, "third <b>", "0.500 [0.400, 0.600]", "–", None, 1)
    assert league.table.columns[-1] == "rated by (of 2 columns)"
    assert "pool" in league.table.caption
    assert league.caption.endswith("is over 2 columns. Measures that not all of these columns rate have no place.")
    assert league.as_record()["league"][2] == {"place": None, "measure": "third <b>", "mean_rank": None, "columns": 1}


def test_columns_that_say_nothing_do_not_count(tmp_path: Path) -> None:
    """Structural measures pass *within* by definition, and in another column all are alike but for rounding."""
    within, between = bench_tests["identification"].columns
    agree, conflict = bench_tests["shortcut"].columns
    values = {"first": (1.0, 0.5, 0.7, 0.9), "second": (0.2, 0.6, 0.7 + 1e-13, 0.8), "third": (0.1, 0.7, 0.7, 0.7)}
    ratings = tuple(
        rating(statistic, measure, value, test=test)
        for measure, numbers in values.items()
        for (test, statistic), value in zip(
            (("identification", within), ("identification", between), ("shortcut", agree), ("shortcut", conflict)),
            numbers,
            strict=True,
        )
    )
    tests = (bench_tests.make("identification"), bench_tests.make("shortcut"))
    league = League("planted", "", "pool", tests, (), ratings, tmp_path)
    assert league.mean_ranks == {"first": 2, "second": 2, "third": 2}
    assert league.counts == {"first": 2, "second": 2, "third": 2}
    assert league.places == [(1, "first"), (1, "second"), (1, "third")], "equal means share a place"
    said = "is over 2 columns, without identification: share within, which some measures pass by definition; "
    assert f"{said}shortcut: {agree}, which has one value for all." in league.caption
    assert (
        "By mean rank over 2 columns (identification, shortcut), first, second and third share the first place."
        in markdown(league)
    )


def test_a_league_without_a_common_order_says_so(tmp_path: Path) -> None:
    agree, conflict = bench_tests["shortcut"].columns
    shortcut = (bench_tests.make("shortcut"),)
    apart = (rating(agree, "a", 0.5), rating(agree, "b", 0.6), rating(conflict, "c", 0.5), rating(conflict, "d", 0.6))
    text = markdown(League("planted", "", "pool", shortcut, (), apart, tmp_path))
    assert "No measure is rated by all 2 columns that count, so they have no common order." in text
    alike = League("planted", "", "pool", shortcut, (), (rating(agree, "a", 0.5), rating(agree, "b", 0.5)), tmp_path)
    assert "No column tells these measures apart." in markdown(alike)
    assert "There is no mean rank: no column tells" in alike.caption


def test_the_interval_of_a_correlation_ends_where_a_correlation_does(tmp_path: Path) -> None:
    """Student's interval over seeds, as a test of a user's own may have: beyond 1, and below 0 though no seed is."""
    for values, ends in {(0.9, 0.1, 0.2): (-0.683, 1), (-0.9, 0.8, 0.9): (-1, 1)}.items():
        estimate = replace(over_seeds(values), range=CORRELATION)
        given = (Rating("shortcut", bench_tests["shortcut"].columns[0], "all", "mine", estimate),)
        league = League("planted", "", "pool", (bench_tests.make("shortcut"),), (), given, tmp_path)
        row = league.rows()[0]
        assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-3)
        assert f"[{ends[0]:.3f}, {ends[1]:.3f}]" in league.table.rows[0][2]


def test_what_must_be_known_of_a_test_stands_beside_how_to_read_it(league: League) -> None:
    warned = replace(league, remarks={"shortcut": ("Two are <alike>.",)})
    assert "different information. Two are <alike>." in warned.figure_sentences()["shortcut"]
    assert "different information. Two are <alike>." in markdown(warned)
    assert "Two are &lt;alike&gt;." in page(warned)
    assert warned.as_record()["remarks"] == {"shortcut": ["Two are <alike>."]}


def test_every_rating_is_in_the_table_of_its_test(league: League) -> None:
    sheet = league.tables["shortcut"]
    assert len(sheet.rows) == 6
    assert "below 0.5 it is inverted" in sheet.caption


def test_a_league_is_text_and_a_page_in_which_no_name_is_markup(league: League) -> None:
    text, html = markdown(league), page(league)
    assert "**By mean rank over 2 columns (shortcut), first comes first, then second.**" in text
    assert "| first | 0.900 [0.800, 1.000] * |" in text
    assert "A pair of layers took 2.1 ms; structural measures: 4." in text
    assert "third <b>" not in html
    assert "third &lt;b&gt;" in html


def test_a_league_without_ratings_says_so(tmp_path: Path) -> None:
    empty = League("planted", "", "pool", (), (), (), tmp_path, trouble=("no memory",))
    assert "No measure could be rated." in markdown(empty)
    assert "Some jobs failed: no memory" in page(empty)


# ---- choosing


def test_words_name_measures_groups_and_users_files(own_measure: str) -> None:
    chosen = choose(f"linear_cka,{own_measure},functional,audits,linear_cka")
    assert [(c.label, c.kind) for c in chosen] == [
        ("linear_cka", "structural"),
        ("length", "structural"),
        ("direct_functional", "functional"),
        ("task_functional", "functional"),
        ("conflict", "audit"),
        ("mixing", "audit"),
        ("rule", "audit"),
    ]
    assert chosen[1].word == own_measure
    assert chosen[1].direction == "distance"
    structural = choose("structural")
    assert {c.kind for c in structural} == {"structural"}
    assert len(structural) > 30
    assert choose("all") == (*structural, *choose("functional,audits"))


@pytest.mark.parametrize(
    ("words", "sampling", "says"),
    [
        ("lineer_cka", "positions", "did you mean 'linear_cka'"),
        ("linear_cka", "rows", "Expected a sampling of 'positions', 'flatten', 'pool' or 'balogh2025', but got 'rows'"),
        ("nowhere.py:Mine", "positions", "There is no file nowhere.py"),
        (7, "positions", "Expected measures to be"),
    ],
)
def test_wrong_words_are_told(words: Any, sampling: str, says: str) -> None:
    with pytest.raises(MeasureError, match=says):
        choose(words, sampling=sampling)


def test_each_cell_is_read_with_the_sampling_that_the_authors_gave_it() -> None:
    contestants = choose("linear_cka,opd", sampling="balogh2025")
    shapes = {("net", "a"): (8, 4, 4), ("net", "b"): (8, 2, 2)}
    rows = [
        {"kind": "compare", "measure": measure, "sampling": sampling, "value": 0.5}
        | {"sender": "net", "receiver": "net", "sender_cut": "a", "receiver_cut": cut}
        for measure in ("linear_cka", "opd")
        for sampling in ("positions", "flatten", "pool")
        for cut in ("a", "b")
    ]
    chosen = {(row["measure"], row["receiver_cut"]): row["sampling"] for row in choose_rows(rows, contestants, shapes)}
    assert len(choose_rows(rows, contestants, shapes)) == 4
    assert chosen == {
        ("linear_cka", "a"): "flatten",
        ("linear_cka", "b"): "flatten",
        ("opd", "a"): "positions",
        ("opd", "b"): "pool",
    }


def test_a_set_that_is_none_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="Expected models to be a BenchSet, but got 3"):
        bench(3, tests="identification")  # type: ignore[arg-type]
    given = BenchSet(name="tiny", data=DATA, models={"net": NETWORK})
    for tests, says in {"shortcut": "add a table", "identifikation": "did you mean 'identification'"}.items():
        with pytest.raises(SeamripperError, match=says):
            bench(given, measures="linear_cka", tests=tests, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
