"""bench: put measures to tests on a set of networks, and rank them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seamripper._doors import require_path
from seamripper.benchmark.base import BenchTest, Rating, bench_tests, with_holm
from seamripper.benchmark.bench_set import BenchSet, as_bench_set
from seamripper.benchmark.contestants import BALOGH, Contestant, choose, choose_rows
from seamripper.benchmark.league import League
from seamripper.benchmark.methods import league_method
from seamripper.benchmark.scores import Row
from seamripper.errors import StoreError
from seamripper.experiment import Engine, Experiment, Standing, Store, plan, run, table
from seamripper.experiment.methods import study_record
from seamripper.measures import Measure

_TIMED = {"compare": "structural", "functional": "functional"}
"""Jobs whose time is counted for each pair of layers, with the kind of measure that they compute."""


def folder_of(bench_set: BenchSet) -> Path:
    """Where the results of a set are kept unless something else is said: runs/NAME-bench."""
    return Path("runs") / f"{bench_set.name}-bench"


@dataclass(frozen=True)
class Forecast:
    """About how long a run takes on one worker: seconds by test, and the kinds of jobs for which that is a guess.

    What tests share counts for the first of them.
    """

    seconds: Mapping[str, float]
    guessed: tuple[str, ...]


@dataclass(frozen=True)
class _Request:
    """What `bench` was asked for, checked; `studies` has each test with the contestants that it rates and its study."""

    bench_set: BenchSet
    contestants: tuple[Contestant, ...]
    studies: tuple[tuple[BenchTest, tuple[Contestant, ...], Experiment], ...]
    folder: Path


def _request(
    models: BenchSet | str | os.PathLike[str],
    measures: Iterable[str | Measure] | str | Measure,
    tests: Iterable[BenchTest | str] | BenchTest | str,
    sampling: str,
    store: str | os.PathLike[str] | None,
) -> _Request:
    bench_set = as_bench_set(models)
    contestants = choose(measures, sampling=sampling)
    chosen = bench_tests.many(tests, {"all": lambda: [cls() for cls in bench_tests.values()]})
    admitted = [(test, test.admit(contestants)) for test in chosen]
    folder = folder_of(bench_set) if store is None else Path(require_path(store, "store", error=StoreError))
    # All of them before the first is run: what a set lacks is said at once.
    studies = tuple((test, able, test.experiment(bench_set, able)) for test, able in admitted)
    return _Request(bench_set, contestants, studies, folder)


def forecast(
    models: BenchSet | str | os.PathLike[str],
    *,
    measures: Iterable[str | Measure] | str | Measure = "all",
    tests: Iterable[BenchTest | str] | BenchTest | str = "all",
    sampling: str = "positions",
    store: str | os.PathLike[str] | None = None,
) -> Forecast:
    """About how long `bench` would take with these choices: what its store holds is done, and nothing is written."""
    asked = _request(models, measures, tests, sampling, store)
    seconds, guessed, counted = dict[str, float](), set[str](), set[str]()
    for test, _, study in asked.studies:
        there = asked.folder if asked.folder.is_dir() and any(asked.folder.iterdir()) else None
        planned = replace(plan(study, there), failed=frozenset())
        jobs = [job for key, job in planned.needed.items() if key not in counted]
        seconds[test.label] = planned.pace.seconds(jobs)
        guessed.update(job.kind for job in jobs if not planned.pace.knows(job.kind))
        counted |= planned.needed.keys()
    return Forecast(seconds, tuple(sorted(guessed)))


def bench(
    models: BenchSet | str | os.PathLike[str],
    *,
    measures: Iterable[str | Measure] | str | Measure = "all",
    tests: Iterable[BenchTest | str] | BenchTest | str = "all",
    sampling: str = "positions",
    store: str | os.PathLike[str] | None = None,
    engine: Engine | str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    announce: Callable[[str], None] = lambda _: None,
    watch: Callable[[Standing], None] = lambda _: None,
) -> League:
    """Rate measures by tests on the networks of a set; each test runs a study in one store, and reads its results.

    `models` is a `BenchSet` or a TOML file. It may be stopped and started again: nothing that was finished is done
    twice, and what failed is tried again. `sampling` holds for every structural measure in the whole league. `device`
    and `dtype` are those of `run`.
    """
    asked = _request(models, measures, tests, sampling, store)
    bench_set, contestants, folder = asked.bench_set, asked.contestants, asked.folder
    ratings, every, remarks = list[Rating](), list[Row](), dict[str, tuple[str, ...]]()
    for test, able, study in asked.studies:
        run(study, folder, engine=engine, device=device, dtype=dtype, retry_failed=True, announce=announce, watch=watch)
        with Store(folder) as open_store:
            rows: Sequence[Row] = table(open_store, study.name)[1]
            taken = open_store.seconds()
        every += rows
        if sampling == BALOGH:
            rows = choose_rows(rows, able, bench_set.shapes)
        ratings += with_holm(test.rate(rows, bench_set, able))
        remarks[test.label] = tuple(test.remarks(rows, able))
    chosen = [test for test, _, _ in asked.studies]
    words = [contestant.word for contestant in contestants]
    made = [study_record(folder, study.name) for _, _, study in asked.studies]
    return League(
        bench_set.name,
        bench_set.about,
        sampling,
        tuple(chosen),
        contestants,
        tuple(ratings),
        folder,
        _seconds_per_pair(every, taken),
        _why_unrated(contestants, ratings, every),
        tuple(dict.fromkeys(str(row["error"]) for row in every if row.get("state") == "failed")),
        league_method(bench_set, made, tests=chosen, words=words, sampling=sampling),
        remarks,
    )


def _seconds_per_pair(rows: Iterable[Row], taken: Mapping[str, float]) -> dict[str, float]:
    """Seconds that a pair of layers took, by the kind of measure."""
    seconds = {key[:16]: time for key, time in taken.items()}
    # By key: tests share jobs, and each was done once.
    pairs: dict[str, dict[str, set[tuple[str, str]]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        if row.get("kind") in _TIMED and row.get("state") == "done":
            pairs[_TIMED[row["kind"]]][row["key"]].add((row["sender_cut"], row["receiver_cut"]))
    return {
        kind: sum(seconds.get(key, 0.0) for key in jobs) / sum(map(len, jobs.values())) for kind, jobs in pairs.items()
    }


def _why_unrated(contestants: Sequence[Contestant], ratings: Iterable[Rating], rows: Sequence[Row]) -> dict[str, str]:
    """The measures that no test could rate, each with the first reason that its rows give."""
    rated = {rating.measure for rating in ratings}
    reasons: dict[str, str] = {}
    for row in rows:
        if row.get("value") is None and row.get("status"):
            reasons.setdefault(str(row.get("measure")), str(row["status"]))
    none = "no test that was run gives it a number."
    return {c.label: reasons.get(c.label, none) for c in contestants if c.label not in rated}
