"""The story of a run: the first screen from what was found, and sections only where there is something to tell."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import seamripper as sr
from seamripper.errors import StoreError
from seamripper.report import page, report
from seamripper.report.figures import Grid, Histogram, Lines, Pictures, Sheet, Strip
from seamripper.report.reading import Reading
from seamripper.report.story import told
from seamripper.report.verdict import headline


@pytest.fixture(scope="module")
def reading(study: Path) -> Reading:
    return Reading.open(study)


def only(reading: Reading, *kinds: str) -> Reading:
    return replace(reading, results=tuple(one for one in reading.results if one.kind in kinds))


def test_every_section_is_there_with_figures_of_its_kind(reading: Reading) -> None:
    kinds = {section.name: {type(figure) for figure in section.figures} for section in told(reading).sections}
    assert kinds == {
        "accuracy": {Lines},
        "rank": {Lines},
        "matrices": {Grid},
        "distribution": {Lines, Histogram},
        "controls": {Strip},
        "conflict": {Strip, Pictures},
        "losses": {Lines},
        "pictures": {Pictures},
        "table": {Sheet},
        "provenance": {Sheet},
    }


def test_accuracy_by_cut_is_the_mean_over_training_seeds(reading: Reading) -> None:
    (figure,) = next(one for one in told(reading).sections if one.name == "accuracy").figures
    assert isinstance(figure, Lines)
    assert figure.places == ("layer1", "layer2")
    names = [one.name for one in figure.series]
    assert names == ["colour, direct", "colour, fast", "digit, direct", "digit, fast", "digit alone"]
    mine = [
        one.record["result"]["top1"]["value"]
        for one in reading.of("stitch")
        if one.labels["sender"] == "colour" and one.labels["matching"] == "direct" and one.cut == "layer1"
    ]
    assert len(mine) == 2
    point = figure.series[0].points[0]
    assert point.value == pytest.approx(sum(mine) / 2)
    assert point.note == "mean over 2 training seeds"
    assert 0 <= point.low <= point.value <= point.high <= 1
    assert figure.series[-1].dashed


def test_the_headline_is_of_the_audits(reading: Reading) -> None:
    found = headline(reading)
    judgement = reading.of("audit")[0].record["judgement"]
    assert found.question == "Do “colour” and “digit” represent the same thing at layer2?"
    assert found.verdict.lower().startswith(judgement["conclusion"].lower())
    assert [name.split(" (")[0] for name, _ in found.figures] == [
        "accuracy of the stitched network",
        "agreement with the receiver where the cues disagree",
        "accuracy of the best that has learnt nothing",
    ]
    assert found.doubt


def test_audits_that_disagree_are_the_strongest_doubt(reading: Reading) -> None:
    (audit,) = reading.of("audit")
    other = json.loads(json.dumps(audit.record))
    other["judgement"]["conclusion"] = "same information"
    both = replace(reading, results=(audit, replace(audit, record=other)))
    assert headline(both).doubt.startswith("The audits do not agree")
    assert " in 1 of 2 audits (" in headline(both).verdict


def test_without_audits_a_stitch_is_no_evidence(reading: Reading) -> None:
    found = headline(only(reading, "stitch", "control"))
    assert found.question == "Do fronts of “colour” and “digit” work with the back of “digit”?"
    assert "Whether both use the same information, accuracy does not tell" in found.verdict
    assert len(found.figures) == 3
    alone = headline(only(reading, "stitch"))
    assert alone.doubt.startswith("A stitch that works is no evidence")


def test_without_stitches_the_layers_are_compared(reading: Reading) -> None:
    found = headline(only(reading, "compare"))
    assert found.question == "Which layers of “colour” and “digit” are alike?"
    assert found.verdict.startswith("By linear_cka the most alike are layer")
    assert "of 3 layers with the same name" in found.verdict


def test_a_study_that_is_not_finished_says_so(reading: Reading) -> None:
    some = replace(only(reading, "compare"), asked=99)
    assert headline(some).doubt == f"The study is not finished: {99 - len(some.results)} of 99 results are missing."
    nothing = headline(replace(reading, results=(), asked=5))
    assert nothing.verdict == "0 of 5 jobs are done: nothing yet."


def test_one_pair_of_networks_is_a_reason_to_doubt(reading: Reading) -> None:
    one = only(reading, "compare")
    one = replace(one, results=one.results[:1], asked=1)
    assert headline(one).doubt.startswith("It rests on one pair of trained networks")


class _Balanced(HTMLParser):
    """Whether every element that was opened is closed, in order."""

    void = frozenset(("meta", "img", "br", "hr", "input", "link"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_asks_for_nothing(study: Path) -> None:
    text = page(study)
    parser = _Balanced()
    parser.feed(text)
    assert parser.open == []
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text
    assert "default-src 'none'" in text


def test_the_report_is_written_beside_the_store_or_where_it_is_told(study: Path, tmp_path: Path) -> None:
    assert report(study).name == "report.html"
    assert report(study, tmp_path / "mine.html").read_text() == page(study)


def test_a_report_reads_no_model(study: Path) -> None:
    code = f"import sys; from seamripper.report import page; page({str(study)!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "seamripper.models.load" not in loaded
    assert "seamripper.matching" not in loaded


def test_an_experiment_that_there_is_not_gets_the_nearest(study: Path) -> None:
    with pytest.raises(StoreError, match="did you mean 'study'"):
        Reading.open(study, experiment="studdy")


def test_a_run_shows_itself_in_a_notebook(study: Path, hostile: Path) -> None:
    run = sr.Run.open(study)
    text = run._repr_html_()
    assert "Do “colour” and “digit” represent the same thing" in text
    assert "<script" not in text
    assert repr(run).endswith(f"'study': {len(run.results)} of {len(run.results)})")
    figure = run.plot()
    assert figure.axes[0].get_ylabel() == "accuracy"
    assert len(run.table()) > 50
    assert "<img" not in sr.Run.open(hostile)._repr_html_()


def test_on_the_command_line(study: Path, tmp_path: Path) -> None:
    def seamripper(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "seamripper", *words], capture_output=True, text=True, cwd=tmp_path
        )

    done = seamripper("report", str(study), "--out", "r.html", "--figures", "figs", "--format", "png")
    assert done.returncode == 0
    assert done.stdout.startswith("the report: r.html (")
    assert len(list((tmp_path / "figs").glob("*.png"))) >= 12
    told = json.loads(seamripper("report", str(study), "--out", "r.html", "--json").stdout)
    assert told["bytes"] == (tmp_path / "r.html").stat().st_size
    for words, said in (
        (("report", "nowhere"), "There is no store at nowhere"),
        (("report", str(study), "--out", "r.pdf"), "expected a name that ends in .html"),
        (("report", str(study), "--experiment", "studi"), "did you mean 'study'?"),
    ):
        wrong = seamripper(*words)
        assert wrong.returncode == 2
        assert said in wrong.stderr
