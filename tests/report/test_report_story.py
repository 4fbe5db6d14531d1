"""The story of a run: the first screen from what was found, and sections only where there is something to tell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import seamripper as sr
from seamripper.cli import main
from seamripper.errors import FileError, StoreError
from seamripper.estimate import Estimate, mean_over
from seamripper.experiment.parts.base import over
from seamripper.experiment.parts.compare import score_of
from seamripper.experiment.reading import Reading
from seamripper.figures import Grid, Histogram, Lines, Pictures, Sheet, Strip, hue
from seamripper.report import figures, page, report
from seamripper.report.html import lay_out
from seamripper.report.story import story_of
from seamripper.report.verdict import headline

# The study that nearly all of them read takes most of a minute to make.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reading(study: Path) -> Reading:
    return Reading.open(study)


def only(reading: Reading, *kinds: str) -> Reading:
    return replace(reading, results=tuple(one for one in reading.results if one.kind in kinds))


def test_every_section_is_there_with_figures_of_its_kind(reading: Reading) -> None:
    kinds = {section.name: {type(figure) for figure in section.figures} for section in story_of(reading).sections}
    wanted = {
        "judgements": {Sheet},
        "accuracy": {Lines},
        "rank": {Lines},
        "matrices": {Grid},
        "distribution": {Lines, Histogram},
        "controls": {Strip},
        "conflict": {Strip, Pictures},
        "mixing": {Sheet, Pictures, Grid},
        "losses": {Lines},
        "pictures": {Pictures},
        "table": {Sheet},
        "methods": set(),
        "provenance": {Sheet},
    }
    assert list(kinds.items()) == list(wanted.items()), "in this order"


def test_each_matching_has_a_figure_and_images_say_their_true_label(reading: Reading) -> None:
    sections = {section.name: section for section in story_of(reading).sections}
    stitches = reading.of("stitch")
    facets = {(one.labels["receiver"], one.labels["data"], one.labels["matching"]) for one in stitches}
    assert len({matching for _, _, matching in facets}) > 1
    titles = [figure.title for figure in sections["accuracy"].figures]
    assert sorted(titles) == sorted(f"Accuracy by cut, into {r} on {d}, {matching}" for r, d, matching in facets)
    pictures = [figure for figure in sections["conflict"].figures if isinstance(figure, Pictures)]
    captions = [image.caption for figure in pictures for _, row in figure.rows for image in row]
    assert captions
    assert all(re.match(r"true \S+, receiver \S+, stitched \S+", caption) for caption in captions)


def test_bands_of_frequencies_are_in_their_order(reading: Reading) -> None:
    mixing = next(section for section in story_of(reading).sections if section.name == "mixing")
    grids = [figure for figure in mixing.figures if figure.title.startswith("Which frequencies each listens to")]
    assert grids
    for grid in grids:
        assert isinstance(grid, Grid)
        assert (grid.rows, grid.columns) == (("receiver", "stitched network"), ("low", "middle", "high"))


def test_accuracy_by_cut_is_the_mean_over_training_seeds(reading: Reading) -> None:
    figure, fast = next(one for one in story_of(reading).sections if one.name == "accuracy").figures
    assert isinstance(figure, Lines)
    assert isinstance(fast, Lines)
    assert [one.title.rpartition(", ")[2] for one in (figure, fast)] == ["direct", "fast"], "one for each matching"
    assert figure.bounds == fast.bounds, "on one axis"
    assert figure.places == ("layer1", "layer2")
    assert [one.name for one in figure.series] == ["colour", "digit", "digit alone"]
    assert [one.colour for one in figure.series] == [hue(0), hue(1), hue(1)], "a model has one colour"
    mine = [
        one.record["result"]["top1"]["value"]
        for one in reading.of("stitch")
        if one.labels["sender"] == "colour" and one.labels["matching"] == "direct" and one.cut == "layer1"
    ]
    assert len(mine) == 2
    point = figure.series[0].points[0]
    assert point.value == pytest.approx(sum(mine) / 2)
    assert (point.n, point.unit) == (2, "pairs of training seeds")
    assert point.values == pytest.approx({"seed 0 → 1": mine[0], "seed 1 → 0": mine[1]})
    assert 0 <= point.low <= point.value <= point.high <= 1
    assert figure.series[-1].dashed


def test_a_model_has_its_colour_in_every_figure(reading: Reading) -> None:
    figures = [figure for _, figure in story_of(reading).figures]
    strips = [figure.colours[""] for figure in figures if isinstance(figure, Strip) and figure.observed is not None]
    assert set(strips) == {hue(reading.models.index("colour"))}
    lines = [s for figure in figures if isinstance(figure, Lines) for s in figure.series if s.name.startswith("colour")]
    assert len(lines) > 3
    assert {line.colour for line in lines} == {hue(reading.models.index("colour"))}


def test_controls_show_what_is_known_of_them(reading: Reading) -> None:
    strip = next(figure for section, figure in story_of(reading).figures if section == "controls")
    assert isinstance(strip, Strip)
    kinds = {"self": "the same information", "other_seed": "the same information"}
    kinds |= {"random_sender": "has learnt nothing", "clustered_noise": "has learnt nothing"}
    assert strip.kinds == kinds
    assert strip.colours["self"] == strip.colours["other_seed"] != strip.colours["random_sender"]


# ---- the scorecard


def test_every_pair_has_one_verdict_with_its_tone_and_the_figure_that_decided(reading: Reading) -> None:
    (row,) = headline(reading).pairs
    judgement = reading.of("audit")[0].record["judgement"]
    assert row.pair == "colour → digit"
    assert row.answer == judgement["conclusion"] == "different information"
    assert row.answer.tone == "bad"
    assert row.estimate.value == judgement["figures"]["agreement"]["value"]
    assert row.figure == "agreement with the receiver, conflict set, at layer2"
    pairs = ("colour", 0, "digit", 0), ("colour", 1, "digit", 0), ("digit", 1, "digit", 0)
    colour, digit = headline(audits_of(reading, *pairs, conclusion="same information")).pairs
    assert (colour.how, colour.answer.tone, digit.how) == ("both audits", "good", "")
    page = lay_out(story_of(audits_of(reading, *pairs, conclusion="same information")), "")
    # On a phone each row is a card, whose values are told by the names of their columns.
    table = page.partition('<table class="pairs cards" id="verdict">')[2].partition("</table>")[0]
    assert table.count('<td data-column="verdict">') == table.count('<td data-column="deciding figure">') == 2
    audit = audits_of(reading, pairs[0]).results[0]
    torn = replace(reading, results=(audit, *audits_of(reading, *pairs[:2], conclusion="same information").results))
    (row,) = headline(torn).pairs
    assert row.how == "2 of 3 audits; different information in 1"
    assert row.answer.tone == "open", "audits that disagree decide nothing"


def test_the_scorecard_has_every_audit_with_reason_p_and_why_not(reading: Reading) -> None:
    (audit,) = reading.of("audit")
    record = json.loads(json.dumps(audit.record))
    record["skipped"] = {"symmetry": "There is no stitch back.", "other_seed": "There are no others."}
    record["verdicts"].pop("symmetry", None)
    story = story_of(replace(reading, results=(replace(audit, record=record),)))
    card, reasons, _ = story.sections[0].figures
    assert isinstance(card, Sheet)
    assert isinstance(reasons, Sheet)
    answers = dict(zip(card.columns, card.rows[0], strict=True))
    assert answers["conflict"] == record["verdicts"]["conflict"]["answer"] == "no"
    assert answers["conflict"].tone == "bad"
    assert (answers["symmetry"], answers["symmetry"].tone) == ("not done", "none")
    assert "other_seed" not in answers, "a control is no audit"
    if answers["distribution"] == "yes":
        assert answers["distribution"].tone == "bad", "stitched activations that can be told apart speak against it"
    told = {row[1]: row for row in reasons.rows}
    assert told["judgement"][-1] == record["judgement"]["experiment"]
    assert told["margin"][3] == record["verdicts"]["margin"]["sentence"]
    assert told["margin"][5] == record["verdicts"]["margin"]["p"] is not None
    assert told["symmetry"][2:4] == ("not done", "There is no stitch back.")
    assert told["the control other_seed"][3] == "There are no others."


# ---- what every report ends with


def test_the_table_begins_with_results_and_ends_with_training(reading: Reading) -> None:
    table = next(figure for section, figure in story_of(reading).figures if section == "table")
    assert isinstance(table, Sheet)
    kinds = [row[0] for row in table.rows]
    assert kinds[0] != "train"
    assert kinds.index("train") == len(kinds) - kinds.count("train")


def test_methods_and_citations_name_what_was_done(reading: Reading) -> None:
    story = story_of(reading)
    methods = next(section for section in story.sections if section.name == "methods")
    assert "colour on digits/colour (seeds 0 and 1)" in methods.text
    assert "fitted on 300 samples of digits/correlated and scored on 150 others" in methods.text
    assert "with the controls self, other_seed, random_sender and clustered_noise" in methods.text
    assert [line for line in methods.code.splitlines() if line.startswith("@")] == [
        "@software{seamripper,",
        "@inproceedings{bansal2021,",
        "@inproceedings{smith2025,",
    ]
    bare = next(s for s in story_of(only(reading, "compare")).sections if s.name == "methods")
    assert "smith2025" not in bare.code
    assert "Layers were compared by linear_cka and opd on 150 samples" in bare.text


def test_data_is_named(reading: Reading) -> None:
    sheets = [figure for section, figure in story_of(reading).figures if section == "provenance"]
    data = next(sheet for sheet in sheets if sheet.title == "Data")
    assert isinstance(data, Sheet)
    assert data.columns == ("name", "as", "fingerprint")
    assert {"digits/correlated", "digits/digit", "digits/colour"} <= {row[0] for row in data.rows}


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
    assert found.question == "Do fronts of “colour” and “digit” from another seed work with the back of “digit”?"
    assert "Accuracy does not show whether both use the same information" in found.verdict
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


# ---- every sentence of the first screen is so


def audits_of(reading: Reading, *pairs: tuple[str, int, str, int], conclusion: str = "") -> Reading:
    """The study's one audit, as if it had been made of these pairs: (sender, seed, receiver, seed)."""
    (audit,) = reading.of("audit")
    record = json.loads(json.dumps(audit.record))
    record["judgement"]["conclusion"] = conclusion or record["judgement"]["conclusion"]
    results = tuple(
        replace(
            audit,
            record=record,
            labels={**audit.labels, "sender": a, "sender_seed": i, "receiver": b, "receiver_seed": j},
        )
        for a, i, b, j in pairs
    )
    return replace(reading, results=results, asked=len(results))


def test_several_senders_are_named_once_and_a_namesake_by_its_seed(reading: Reading) -> None:
    two = audits_of(reading, ("colour", 0, "digit", 0), ("digit", 1, "digit", 0))
    assert headline(two).question == (
        "Do “colour” and “digit” from another seed represent the same thing as “digit” at layer2?"
    )
    assert headline(two).verdict == "“colour” and “digit”: different information."
    itself = audits_of(reading, ("digit", 0, "digit", 0))
    assert headline(itself).question == "Does “digit” itself represent the same thing as “digit” at layer2?"
    both = audits_of(reading, ("digit", 0, "digit", 0), ("digit", 1, "digit", 0), ("a", 0, "b", 0))
    assert headline(both).question == (
        "Do “digit” from the same and other seeds and “a” represent the same thing as “digit” and “b” at layer2?"
    )
    assert "a → b: different information" in headline(both).verdict
    many = audits_of(reading, *((f"net{k}", 0, "digit", 0) for k in range(9)))
    assert headline(many).question == "Do 9 senders represent the same thing as “digit” at layer2?"


def test_the_doubt_counts_the_networks_of_each_verdict(reading: Reading) -> None:
    one_each = audits_of(reading, ("colour", 0, "digit", 0), ("digit", 1, "digit", 0))
    assert headline(one_each).doubt.startswith("Each verdict rests on one pair of trained networks: ")
    two = audits_of(reading, ("colour", 0, "digit", 0), ("colour", 1, "digit", 1))
    assert headline(two).doubt == "It rests on 2 pairs of training seeds: intervals over so few say little."
    assert headline(two).verdict == "Different information, in both audits."
    uneven = audits_of(reading, *(("colour", k, "digit", k) for k in range(5)), ("grey", 0, "digit", 0))
    assert headline(uneven).doubt.startswith("The verdict on grey → digit rests on one pair of trained networks: ")
    five = audits_of(reading, *(("colour", k, "digit", k) for k in range(5)))
    assert headline(five).doubt.startswith("What would change it: ")


def test_the_cards_of_several_stitch_seeds_name_samples_and_seeds(reading: Reading) -> None:
    one = audits_of(reading, ("colour", 0, "digit", 0))
    assert [point.describe(note=False).partition(", n = ")[2] for _, point in headline(one).figures] == [
        "150 samples"
    ] * 3
    (audit,) = one.results
    record = json.loads(json.dumps(audit.record))
    for part, name in ((record["judgement"]["figures"], "stitched"), (record["verdicts"]["conflict"], "observed")):
        part[name] = mean_over([Estimate.from_record(part[name])] * 3).as_record()
    three = headline(replace(one, results=(replace(audit, record=record),)))
    accuracy, agreement, blind = (point for _, point in three.figures)
    assert accuracy.describe(note=False).endswith(", n = 150 samples × 3 stitch seeds")
    assert agreement.describe(note=False).endswith(", n = 150 samples × 3 stitch seeds")
    assert "the interval is the wider of that over samples and that over seeds" in accuracy.note
    assert blind.describe(note=False).endswith(", n = 150 samples")


def test_ways_that_come_to_different_conclusions_are_told_apart(reading: Reading) -> None:
    with_set = audits_of(reading, ("colour", 0, "digit", 0))
    alone = audits_of(reading, ("colour", 0, "digit", 0), conclusion="same information").results[0]
    record = json.loads(json.dumps(alone.record))
    del record["record"]["data"]["conflict"]
    record["record"]["interventions"] = ["greyscale"]
    both = headline(replace(with_set, results=(*with_set.results, replace(alone, record=record)), asked=2))
    assert both.verdict == (
        "With a conflict set and mixtures: different information. With interventions and mixtures: same information."
    )
    record["judgement"]["conclusion"] = "different information"
    alike = headline(replace(with_set, results=(*with_set.results, replace(alone, record=record)), asked=2))
    assert alike.verdict == (
        "With a conflict set and mixtures and with interventions and mixtures: different information."
    )
    assert both.doubt == (
        "The audits do not agree: colour → digit is judged differently, depending on how cues are set against each "
        "other. See the judgements."
    )


def stitches_of(reading: Reading, penalty: float, low: float, high: float, relative: float | None) -> Reading:
    """The first stitch of the study alone, as if it had come out so."""
    stitch = reading.of("stitch")[0]
    record = json.loads(json.dumps(stitch.record))
    record["result"]["penalty"] = {"value": penalty, "interval": [low, high], "n": 150}
    record["result"]["relative_accuracy"] = {"value": relative, "interval": [relative, relative], "n": 150}
    return replace(reading, results=(replace(stitch, record=record),), asked=1)


@pytest.mark.parametrize(
    ("came_out", "said"),
    [
        ((-0.2, -0.25, -0.15, 1.2), "Yes: colour/0 → digit/1 at layer1 does better than the receiver alone."),
        ((0.0, -0.02, 0.02, 1.0), "Yes: colour/0 → digit/1 at layer1 does as well as the receiver alone, within the"),
        ((0.1, 0.08, 0.12, 0.9), "Nearly: colour/0 → digit/1 at layer1 loses 10.0 percentage points against the rec"),
        ((0.54, 0.5, 0.6, 0.4), "Hardly: colour/0 → digit/1 at layer1 loses 54.0 percentage points against the rece"),
        ((0.0, -0.1, 0.1, 1.0), "150 samples are too few to tell colour/0 → digit/1 at layer1 from the receiver alon"),
        ((0.0, 0.0, 0.0, None), "colour/0 → digit/1 at layer1 reaches "),
    ],
)
def test_a_stitch_is_compared_with_the_receiver_as_far_as_can_be_told(
    reading: Reading, came_out: tuple[float, float, float, float | None], said: str
) -> None:
    found = headline(stitches_of(reading, *came_out))
    assert found.question == "Does the front of “colour” work with the back of “digit”?"
    assert found.verdict.startswith(said)
    hardly = said.startswith("Hardly")
    assert found.doubt.startswith("The stitch itself may be at fault" if hardly else "A stitch that works is no ev")


def test_nothing_is_compared_by_an_accuracy_that_cannot_be_read(reading: Reading) -> None:
    one = stitches_of(reading, 0.0, -0.01, 0.01, 1.0)
    record = json.loads(json.dumps(one.results[0].record))
    record["result"] |= {"unreadable": "the receiver itself reaches 0.000", "agreement_chance": 0.1}
    found = headline(replace(one, results=(replace(one.results[0], record=record),), asked=1))
    assert found.verdict.startswith("Accuracy is unreadable: the receiver itself reaches 0.000.")
    assert "10% by chance" in found.verdict
    assert "as well" not in found.verdict
    assert all("accuracy" not in name for name, _ in found.figures)


def test_nothing_is_said_of_a_stitch_that_diverged(reading: Reading) -> None:
    one = stitches_of(reading, 0.0, -0.01, 0.01, 1.0)
    record = {**one.results[0].record, "status": "diverged: the loss rose from 2.3 to 4.8e+30"}
    found = headline(replace(one, results=(replace(one.results[0], record=record),), asked=1))
    assert "has diverged" in found.verdict
    assert "as well" not in found.verdict


def test_of_several_stitch_seeds_the_median_is_compared(reading: Reading) -> None:
    one = stitches_of(reading, 0.1, 0.08, 0.12, 0.9)
    results = []
    for seed, value in enumerate((0.5, 0.9, 0.7)):
        record = json.loads(json.dumps(one.results[0].record))
        record["result"]["top1"]["value"] = value
        record["result"]["penalty"]["value"] = value
        results.append(replace(one.results[0], record=record, labels={**one.results[0].labels, "seed": seed}))
    found = headline(replace(one, results=tuple(results), asked=3))
    assert found.verdict.startswith(
        "Nearly: colour/0 → digit/1 at layer1 (the median of 3 stitch seeds) loses 70.0 percentage points"
    )
    assert found.figures[0][1].describe(note=False).endswith("n = 3 stitch seeds")


def test_figures_that_are_no_number_are_said_to_have_no_value(reading: Reading) -> None:
    stitch = reading.of("stitch")[0]
    record = json.loads(json.dumps(stitch.record))
    record["result"]["top1"]["value"] = None
    nothing = replace(reading, results=(replace(stitch, record=record),), asked=1)
    assert headline(nothing).verdict == "No stitched network has an accuracy."
    compared = reading.of("compare")[0]
    record = json.loads(json.dumps(compared.record))
    for matrix in record["matrices"].values():
        matrix["scores"][0][0]["value"] = None
    some = replace(reading, results=(replace(compared, record=record),), asked=1)
    assert "most alike are layer" in headline(some).verdict
    for run in (nothing, some, audits_of(reading, ("colour", 0, "digit", 0))):
        assert ">nan" not in page(run).lower()
    record["matrices"] = {"cka": {**record["matrices"]["linear_cka"], "scores": [[None] * 3] * 3}}
    none = headline(replace(some, results=(replace(compared, record=record),)))
    assert none.verdict == "cka could not be computed for any two layers of colour/0 → digit/0."


def test_the_receiver_alone_is_a_network_a_seed_whoever_sends(reading: Reading) -> None:
    stitches = [one for one in reading.of("stitch") if one.cut == "layer1"]
    alone = over(stitches, "receiver_here")
    assert (alone.n, alone.unit) == (2, "training seeds")
    one = over([one for one in stitches if one.labels["receiver_seed"] == 1], "receiver_here")
    assert (one.n, one.unit) == (150, "samples"), "of one network, the interval is over samples"


def test_jobs_without_pairs_rest_on_no_pair_of_networks(reading: Reading) -> None:
    trained = only(reading, "train")
    trained = replace(trained, asked=len(trained.results))
    assert headline(trained).doubt == "These are figures of single jobs; the table has all of them."
    failed = replace(trained.results[0], state="failed", record={"error": "E", "message": "m"})
    some = replace(trained, results=(failed, *trained.results[1:]), asked=8)
    assert headline(some).doubt == "1 of 8 jobs failed, and 2 more have no result: see the table at the end."


def test_scores_name_the_samples_that_their_intervals_are_over(reading: Reading) -> None:
    compared = reading.of("compare")[0].record
    score = compared["matrices"]["linear_cka"]["scores"][0][0]
    assert score["n"] > compared["record"]["n"] == 150
    assert (
        score_of(score, compared)
        .describe()
        .endswith(f", n = 150 samples ({score['n']:,} rows; interval over 5 folds of samples)")
    )
    assert score_of({**score, "n": 100}, compared).describe(note=False).endswith(", n = 100 rows")


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


def test_a_report_reads_no_model_and_needs_torch_for_tensors_alone(study: Path, hostile: Path) -> None:
    code = "import sys; from seamripper.report import page; page(sys.argv[1]); print(*sys.modules)"
    for store in (study, hostile):
        command = [sys.executable, "-c", code, str(store)]
        loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
        assert not {"seamripper.models.load", "seamripper.matching"} & loaded
    assert "torch" not in loaded, "the hostile study has comparisons and calls, and so no tensors"


def test_a_record_that_a_section_cannot_be_made_of_gets_a_sentence(reading: Reading) -> None:
    damaged = replace(reading.of("audit")[0], record={"verdicts": {}})
    with pytest.raises(StoreError, match=r"The part 'audit' cannot report on its results: KeyError: 'skipped'\. "):
        story_of(replace(reading, results=(damaged,)))


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
    assert "accuracy" in [text.get_text() for text in figure.axes[0].texts]
    assert len(run.table()) > 50
    assert "<img" not in sr.Run.open(hostile)._repr_html_()


def test_on_the_command_line(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["report", str(study), "--out", "r.html", "--figures", "figs", "--format", "png"]
    done = subprocess.run([sys.executable, "-m", "seamripper", *words], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("the report: r.html (")
    assert len(list((tmp_path / "figs").glob("*.png"))) >= 12
    main(["report", str(study), "--out", "r.html", "--json"])
    assert json.loads(capsys.readouterr().out)["bytes"] == (tmp_path / "r.html").stat().st_size
    for wrong, said in (
        (["nowhere"], "There is no store at nowhere"),
        (
            ["."],
            ". is not a store of seamripper, and it is not empty: give one that `seamripper run`, `demo`, "
            "`audit --out FOLD",
        ),
        ([str(study), "--out", "r.pdf"], "expected a name that ends in .html"),
        ([str(study), "--experiment", "studi"], "did you mean 'study'?"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["report", *wrong])
        assert ended.value.code == 2
        assert said in capsys.readouterr().err


def test_figures_of_a_study_are_written_a_file_each(study: Path, tmp_path: Path) -> None:
    written = figures(study, tmp_path / "figs", format="pdf")
    assert len(written) >= 12
    assert all(path.read_bytes().startswith(b"%PDF") for path in written)
    again = figures(study, tmp_path / "again", format="pdf")
    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in again]
    with pytest.raises(FileError, match="'png', 'pdf' or 'svg', but got 'jpg'"):
        figures(study, tmp_path, format="jpg")
    drawings = figures(study, tmp_path / "drawn", format="svg")
    assert len(drawings) == len(written)
    assert all(path.read_bytes().startswith(b"<?xml") for path in drawings)
