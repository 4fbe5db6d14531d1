"""seamripper demo: the table, the report, and the networks that are trained once, two at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest

import seamripper as sr
from seamripper import Audited, Estimate, Functional, load
from seamripper.audits.rule import DIFFERENT, NOISE, SAME, Conclusion, Judgement
from seamripper.cli import demo_cast
from seamripper.cli.demo_cast import COUNTERPARTS, TRAINED, Cast
from seamripper.cli.demo_command import Judged, story
from seamripper.controls import Outcome
from seamripper.figures import Sheet
from seamripper.models import Progress

if TYPE_CHECKING:
    from conftest import Run

SENDERS = {
    "Digit, other seed": SAME,
    "Greyscale": SAME,
    "Correlated": DIFFERENT,
    "Colour": DIFFERENT,
    "Colour-Only": DIFFERENT,
    "Untrained": DIFFERENT,
    "Clustered noise": NOISE,
}

NETWORKS = ["colour-0", "colour-only-0", "correlated-0", "digit-0", "digit-1", "digit-2", "greyscale-0"]


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No MNIST to be had: scikit-learn's digits in its place."""
    monkeypatch.setenv("SEAMRIPPER_OFFLINE", "1")
    monkeypatch.setenv("SEAMRIPPER_CACHE", str(tmp_path / "cache"))


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
@pytest.mark.filterwarnings("ignore::seamripper.data.FallbackWarning")
def test_the_demo_without_a_network(shell: Run, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few of scikit-learn's digits in place of MNIST, it is weak, quick, and says so."""
    # The installed command trains, two at a time, and only then finds that there is no such cut.
    ran = shell("demo", "--n", 100, "--cut", "layr2", env={"PYTHONWARNINGS": "default"})
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert ran.err.count("stands in for mnist") == 1
    assert "There is no layer 'layr2' to cut: did you mean 'layer2'" in ran.err
    networks = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs" / "demo").glob("*.safetensors")}
    assert sorted(path.name.rpartition("-")[0] for path in networks) == NETWORKS

    # From here on with fewer senders, and fewer samples to judge them on.
    assert [name for name, *_ in (*TRAINED, *COUNTERPARTS)] == list(SENDERS)
    monkeypatch.setattr("seamripper.cli.demo_command.TEST", 60)
    monkeypatch.setattr(demo_cast, "TRAINED", TRAINED[:4:3])
    cast = ["Digit, other seed", "Colour", "Untrained", "Clustered noise"]
    ran = run("demo", "--n", 100)
    assert ran.code == 0
    for name in cast:
        assert f"│ {name} " in ran.out
    told = [line.partition(":")[0] for line in ran.out.splitlines() if " What would change this: " in line]
    assert told == ["Digit, other seed", "Colour"]
    assert "These networks are too weak to show what the demo is about" in ran.out
    assert ran.out.endswith("\nreport: runs/demo/report.html\n")
    assert run("report", "runs/demo").out.startswith("the report: runs/demo/report.html (")
    page = sr.Run.open("runs/demo").story
    assert page.first.question == (
        "Do “Digit, other seed”, “Colour”, “Untrained” and “Clustered noise” represent the same thing as “Digit” at "
        "layer2?"
    )
    assert "These networks are too weak to show what the demo is about" in page.about
    judged, why, figures = next(section for section in page.sections if section.name == "judgements").figures
    assert isinstance(judged, Sheet)
    assert isinstance(why, Sheet)
    assert isinstance(figures, Sheet)
    audits = [row[0] for row in judged.rows]
    assert audits == list(dict.fromkeys(row[0] for row in why.rows)), "each audit of a pair has its row there"
    assert [name.partition(" → Digit at ")[0] for name in audits] == [name for name in cast for _ in range(2)]
    assert all(name.endswith(", with a conflict set") for name in audits[::2])
    assert all(name.endswith(", with interventions") for name in audits[1::2])
    assert [row[2] for row in judged.rows[::2]] == [SENDERS[name] for name in cast]
    assert "Fitted on 100 samples of digits/correlated, scored on 60 samples of digits/correlated" in judged.caption
    assert "standing in for mnist, which could not be fetched" in judged.caption

    monkeypatch.setattr(demo_cast, "TRAINED", ())
    again = run("demo", "--n", 100, "--json")
    assert again.code == 0
    assert again.json["report"] == "runs/demo/report.html"
    results = {found["sender"]: found for found in again.json["results"]}
    assert {name: found["truth"] for name, found in results.items()} == {name: SENDERS[name] for name in results}
    assert [found["agreement"] is None for found in results.values()] == [False, True]
    figure = "accuracy of the stitched network"
    accuracies = {row[0].partition(" → Digit at ")[0]: row[2] for row in figures.rows if row[1] == figure}
    for name, found in results.items():
        assert {found["conflict"]["conclusion"], found["interventions"]["conclusion"]} <= set(get_args(Conclusion))
        assert accuracies[name] == found["accuracy"]["value"]
    assert len(sr.Run.open("runs/demo").results) == 4, "what was found now is in the place of what was found before"
    assert {path: path.stat().st_mtime_ns for path in networks} == networks

    # Trained in a process of its own or here, it is the same network.
    digit = next(path for path in networks if path.name.startswith("digit-0-"))
    alone = Cast(tmp_path / "alone", 100).network("digit", 0)
    assert alone.fingerprint == load(str(digit)).fingerprint


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
@pytest.mark.filterwarnings("ignore::seamripper.data.FallbackWarning")
def test_what_goes_wrong_in_a_process_aside_is_told_by_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Cast(Path("/proc/demo"), 100).train_aside(("digit", 0))
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    ran = run("demo", "--n", 100, "--out", "/proc/demo")
    assert ran.code == 2
    assert ran.err.startswith("seamripper: Could not write /proc/demo/digit-0-")


# ---- the story


def judged(name: str, truth: Conclusion, accuracy: float, conclusion: Conclusion, *, alone: float) -> Judged:
    def about(value: float) -> Estimate:
        return Estimate(value, value - 0.01, value + 0.01, 1000)

    penalty, relative = about(alone - accuracy), about(accuracy / alone)
    result = Functional(about(accuracy), None, penalty, relative, about(0.5), about(alone), None, "mnist", 1000)
    found = Audited(Judgement(conclusion, "", {}, ""), {}, (Outcome("sender", "sender", 0, result),), {}, {})
    right = Audited(Judgement(truth, "", {}, ""), {}, found.outcomes, {}, {})
    return Judged(name, truth, sr.load_data("digits/correlated", "test", n=2), found, right)


def test_the_story_is_told_in_the_figures_of_the_run() -> None:
    digit = judged("Digit, other seed", SAME, 0.96, SAME, alone=0.95)
    told = story([digit, judged("Colour", DIFFERENT, 0.999, SAME, alone=0.95)])
    assert "Digit alone is right on 95.0%" in told
    assert "with Colour in front, on 99.9%, which does not have Digit's information: such an accuracy is no ev" in told
    assert "Judged correctly: 1 of 2 with the conflict set, 2 of 2 by interventions only." in told
    # Where the best sender does know the digit, accuracy has misled nobody.
    told = story([digit, judged("Colour", DIFFERENT, 0.5, DIFFERENT, alone=0.95)])
    assert "with Digit, other seed in front, on 96.0%. Judged correctly: 2 of 2 with the conflict set" in told
    assert "no evidence" not in told


def test_networks_that_know_nothing_tell_no_story() -> None:
    told = story([judged("Digit, other seed", SAME, 0.3, SAME, alone=0.3)])
    assert told.startswith("These networks are too weak")


def test_the_truths_are_answers_of_the_rule() -> None:
    assert {truth for *_, truth in (*TRAINED, *COUNTERPARTS)} <= set(get_args(Conclusion))


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
@pytest.mark.filterwarnings("ignore::seamripper.data.FallbackWarning")
def test_the_bar_of_the_training_moves_within_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three networks of as many steps each, two at a time: the steps of each are seen, and nothing goes back."""
    monkeypatch.setattr(demo_cast, "TRAINED", TRAINED[3:4])
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    seen: list[Progress] = []
    Cast(tmp_path, 100, seen.append).train_all()
    assert {now.task for now in seen} == {"training 3 networks"}
    (total,) = {now.total for now in seen}
    assert total % 3 == 0
    assert total > 6, "a network takes several steps"
    done = [now.done for now in seen]
    assert done == sorted(set(done))
    assert done[-1] == total
    # The last step of a process that ends may not be told any more; the bar then goes to its end.
    assert len(done) >= total - 3
