"""[[probe]]: what the library finds for the same words, in records, rows and sections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import seamripper as sr
from in_process import InProcess
from seamripper.activations import collect, principal_directions
from seamripper.comparing import Representation, direct_functional
from seamripper.controls import halves, probe
from seamripper.errors import ExperimentError
from seamripper.experiment import Experiment, Store, parts, run, table
from seamripper.experiment.identity import Identities
from seamripper.experiment.parts.probe import FULL_FIRST, ProbePart
from seamripper.experiment.plan import expand
from seamripper.experiment.result import Result
from seamripper.measures import measures, score

STUDY = """
[data]
name = "digits/digit"
n = 120
n_test = 90

[models.digit]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
n = 300
training = "?epochs=2"
seeds = [0, 1]
"""
PROBE = """
[[probe]]
models = ["digit"]
cuts = ["layer1", "layer3"]
ranks = [32, 8, 2, 2]
measures = ["linear_cka", "direct_structural", "mutual_knn", "opd,direct_functional"]
"""
WIDE = """
[[probe]]
models = ["digit/1"]
cuts = ["layer3"]
ranks = [3]
measures = ["pwcca_ding"]
sampling = "flatten"
pool = false
l2 = 0.1
seed = 4
"""
MEASURES = ("linear_cka", "direct_structural", f"direct_structural{FULL_FIRST}", "mutual_knn", "opd")


class Done:
    """The study above, done by an engine."""

    def __init__(self, folder: Path) -> None:
        (folder / "study.toml").write_text(STUDY + PROBE + WIDE)
        summary = run(Experiment.read(folder / "study.toml"), folder / "store", engine=InProcess())
        assert not summary.failed
        with Store(folder / "store") as store:
            self.columns, self.rows = table(store)
            self.goals = [(labels, store.result(key)) for key, labels in store.goals("study")]
            models = [entry for said, entry in self.goals if entry.kind == "train" and said["seed"] == 1]
            self.network = sr.load(str(store.tensors.get(models[0].tensors["model"])))

    def record(self, cut: str, seed: int, sampling: str = "positions") -> dict[str, Any]:
        wanted = {"receiver": "digit", "receiver_seed": seed, "receiver_cut": cut, "data": "digits/digit"}
        (record,) = [
            entry.record
            for said, entry in self.goals
            if entry.kind == "probe" and dict(said) == wanted and entry.record["sampling"] == sampling
        ]
        return dict(record)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return Done(tmp_path_factory.mktemp("probe"))


@pytest.mark.slow
def test_a_record_is_what_the_library_finds(done: Done) -> None:
    fit, test = sr.load_data("digits/digit", "train", n=120), sr.load_data("digits/digit", "test", n=90)
    half = sr.split(done.network, "layer3", fit.batch(slice(0, 2)))
    ours, theirs = collect(half, fit), collect(half, test)
    directions, (_, report) = principal_directions(ours), halves(test.ids)
    record = done.record("layer3", 1)
    assert (record["cut"], record["width"], record["sampling"], record["left_out"]) == ("layer3", 32, "positions", [])
    assert [version["rank"] for version in record["versions"]] == [None, 32, 8, 2]
    full, *low = record["versions"]
    assert (full["scores"], full["failed"]) == ({}, {})
    assert full["report"] == probe(ours, theirs).report.as_record()
    assert full["choose"] == probe(ours, theirs).choose.as_record()
    representation = Representation(theirs.take(report), directions, "positions")
    native = sr.matching.answers_of(half, test)[report]
    direct = direct_functional(half, theirs.take(report), directions, [32, 8, 2], native=native)
    for version in low:
        rank = version["rank"]
        assert version["report"] == probe(ours, theirs, directions=directions, rank=rank).report.as_record()
        assert set(version["scores"]) == {*MEASURES, "direct_functional"}
        assert version["failed"] == {}
        for label in MEASURES:
            measure = measures.make(label.removesuffix(FULL_FIRST))
            role = "receiver" if label.endswith(FULL_FIRST) else "sender"
            expected = score(measure, representation.approximation(rank).pair(measure, role=role))
            assert version["scores"][label]["value"] == pytest.approx(expected.value, rel=1e-9, abs=1e-12)
            assert version["scores"][label]["direction"] == measure.claims.direction
            assert version["scores"][label]["n"] == expected.n
        assert version["scores"]["direct_functional"]["value"] == direct[rank].value
    assert low[0]["scores"]["linear_cka"]["value"] == pytest.approx(1, abs=1e-9)
    assert low[0]["scores"]["direct_functional"]["value"] == 1.0
    assert low[0]["report"] == full["report"]
    assert low[2]["scores"]["opd"]["value"] > low[1]["scores"]["opd"]["value"] > 0.01


@pytest.mark.slow
def test_ranks_above_the_width_are_left_out_and_named(done: Done) -> None:
    record = done.record("layer1", 0)
    assert record["width"] == 8
    assert record["left_out"] == [32]
    assert [version["rank"] for version in record["versions"]] == [None, 8, 2]


@pytest.mark.slow
def test_a_measure_without_a_score_says_why(done: Done) -> None:
    record = done.record("layer3", 1, "flatten")
    (version,) = record["versions"][1:]
    assert version["scores"] == {"pwcca_ding": None, f"pwcca_ding{FULL_FIRST}": None}
    assert "needs more samples than columns" in version["failed"]["pwcca_ding"]
    fit, test = sr.load_data("digits/digit", "train", n=120), sr.load_data("digits/digit", "test", n=90)
    half = sr.split(done.network, "layer3", fit.batch(slice(0, 2)))
    expected = probe(collect(half, fit), collect(half, test), pool=False, l2=0.1, seed=4)
    assert record["versions"][0]["report"] == expected.report.as_record()


@pytest.mark.slow
def test_rows(done: Done) -> None:
    who = {"kind": "probe", "receiver": "digit", "receiver_seed": 1, "receiver_cut": "layer3", "data": "digits/digit"}
    rows = [row for row in done.rows if who.items() <= row.items()]
    full = [row for row in rows if row["figure"] == "probe" and row.get("rank") is None]
    assert len(full) == 2, "one for each table"
    assert full[0]["value"] == done.record("layer3", 1)["versions"][0]["report"]["value"]
    assert (full[0]["n"], full[0]["unit"]) == (45, "samples")
    scores = {(row["measure"], row["rank"]): row for row in rows if row["figure"] == "score"}
    assert len(scores) == 3 * 6 + 2
    opd = scores["opd", 2]
    assert opd["low"] <= opd["value"] <= opd["high"]
    assert opd["sampling"] == "positions"
    assert "value" not in scores["pwcca_ding", 3]
    assert "needs more samples than columns" in scores["pwcca_ding", 3]["status"]
    assert {row["figure"] for row in rows} == {"probe", "probe_choose", "score"}


def result(seed: int | None, cut: str, accuracies: dict[int | None, float]) -> Result:
    estimates = {rank: {"value": value, "interval": [value - 0.1, value + 0.1], "n": 50, "unit": "samples"}
                 for rank, value in accuracies.items()}  # fmt: skip
    versions = [
        {"rank": rank, "choose": estimate, "report": estimate, "scores": {}, "failed": {}}
        for rank, estimate in estimates.items()
    ]
    record = {"cut": cut, "width": 8, "sampling": "positions", "left_out": [], "versions": versions}
    labels = {"receiver": "net", "receiver_seed": seed, "receiver_cut": cut, "data": "digits"}
    return Result(f"{seed}{cut}", "probe", "done", record, labels=labels)


class Results:
    """Results of a study as its parts read them."""

    def __init__(self, *results: Result) -> None:
        self.results = list(results)

    def of(self, kind: str) -> list[Result]:
        return self.results

    def tensor(self, result: Result, role: str, kind: str) -> None:
        return None


def test_sections_show_the_mean_over_seeds_by_cut_and_by_rank() -> None:
    results = Results(
        result(0, "layer1", {None: 0.5, 4: 0.4}),
        result(1, "layer1", {None: 0.7, 4: 0.2}),
        result(0, "layer2", {None: 0.9, 4: 0.8, 2: 0.6}),
    )
    (section,) = ProbePart.sections(results)
    by_cut, by_rank = section.figures
    assert by_cut.places == ("layer1", "layer2")
    (line,) = by_cut.series
    assert [point.value for point in line.points] == pytest.approx([0.6, 0.9])
    assert (line.points[0].n, line.points[0].unit) == (2, "training seeds")
    assert (line.points[1].n, line.points[1].unit) == (50, "samples")
    assert by_rank.places == ("2", "4", "full")
    assert [series.name for series in by_rank.series] == ["layer1", "layer2"]
    assert [point.value for point in by_rank.series[1].points] == pytest.approx([0.6, 0.8, 0.9])
    assert by_rank.series[0].points[0].value != by_rank.series[0].points[0].value, "no such rank there"
    assert list(ProbePart.sections(Results())) == []
    (plain,) = ProbePart.sections(Results(result(None, "layer1", {None: 0.5})))
    assert len(plain.figures) == 1


def graph(tmp_path: Path, probe_table: str) -> Any:
    (tmp_path / "study.toml").write_text(STUDY + probe_table)
    experiment = Experiment.read(tmp_path / "study.toml")
    jobs = expand(experiment, Identities({}, folder=str(tmp_path)))
    assert sum(part.size(experiment) for _, part in experiment.parts()) == sum(job.kind == "probe" for job in jobs)
    return jobs


def test_one_job_for_each_network_and_cut(tmp_path: Path) -> None:
    jobs = [job for job in graph(tmp_path, PROBE + WIDE) if job.kind == "probe"]
    assert len(jobs) == 5
    assert [job.labels for job in jobs[:2]] == [
        {"receiver": "digit", "receiver_seed": 0, "receiver_cut": cut, "data": "digits/digit"}
        for cut in ("layer1", "layer3")
    ]
    assert jobs[0].content["ranks"] == [32, 8, 2]
    more = {**jobs[0].content, "ranks": list(range(1, 33))}
    assert parts["probe"].cost(more) > parts["probe"].cost(jobs[0].content) > 0


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("ranks = [32, 8, 2, 2]", "", "expected `ranks`: a measure compares the full representation"),
        ("ranks = [32, 8, 2, 2]", "ranks = [0]", "ranks"),
        ('"linear_cka"', '"linear_cka,task_functional"', "trains no stitches"),
        ('"linear_cka"', '"linear_ckaa"', "did you mean 'linear_cka'"),
        ('"layer1"', '"layer9"', "layer9"),
        ('models = ["digit"]', 'models = ["digits"]', "did you mean 'digit'"),
        ('models = ["digit"]', 'models = ["digit"]\nl2 = -1.0', "l2"),
        (
            'models = ["digit"]',
            'models = ["digit"]\ndata = { name = "digits/digit", n_test = 3 }',
            "at least 4 samples",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    with pytest.raises(sr.SeamripperError, match=complaint):
        graph(tmp_path, PROBE.replace(old, new))


def test_in_python() -> None:
    with pytest.raises(ExperimentError, match="a measure compares the full representation"):
        ProbePart(models=("digit",), cuts=("layer1",), measures=("opd",))
    assert ProbePart(models=("digit",), cuts=("layer1",)).sampling == "positions"
