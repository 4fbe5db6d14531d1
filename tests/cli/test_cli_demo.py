"""seamripper demo: the table, the report, and the networks that are trained once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seamripper import Estimate, Functional
from seamripper.cli.demo_command import _story

if TYPE_CHECKING:
    from conftest import Run


@pytest.mark.filterwarnings("ignore::seamripper.data.FallbackWarning")
def test_the_demo_without_a_network(shell: Run, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few of scikit-learn's digits in place of MNIST, it is weak, quick, and says so."""
    monkeypatch.setenv("SEAMRIPPER_OFFLINE", "1")
    monkeypatch.setenv("SEAMRIPPER_CACHE", str(tmp_path / "cache"))
    ran = shell("demo", "--n", 100, env={"PYTHONWARNINGS": "default"})
    assert ran.code == 0
    assert ran.err.count("stands in for mnist") == 1
    for row in ("Colour → Digit", "Digit → Colour"):
        assert ran.out.count(row) == 2
    assert "These networks are too weak to show what the demo is about" in ran.out
    assert "The report: runs/demo/report.md" in ran.out

    report = (tmp_path / "runs" / "demo" / "report.md").read_text()
    assert report.startswith("# Do Colour and Digit represent the same thing?")
    assert report.count("\n| ") == 6
    assert "100 training images of `digits/correlated`, seed 0; scored on 360 test images" in report
    assert "standing in for mnist, which could not be fetched" in report

    networks = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs" / "demo").glob("*.safetensors")}
    assert len(networks) == 2
    again = run("demo", "--n", 100, "--json")
    assert again.code == 0
    assert {path: path.stat().st_mtime_ns for path in networks} == networks
    assert again.json["report"] == "runs/demo/report.md"
    told = {(found["sender"], found["receiver"], found["matching"]): found for found in again.json["results"]}
    assert set(told) == {
        (a, b, how) for a, b in (("colour", "digit"), ("digit", "colour")) for how in ("task", "direct")
    }
    stitched = told["colour", "digit", "task"]["agree"]["top1"]
    assert f"| Colour → Digit | task | {stitched['value']:.3f} [" in report


@pytest.mark.parametrize(
    ("stitched", "alone", "agreement", "holds"),
    [(0.99, 0.96, 0.1, True), (0.2, 0.15, 0.05, False), (0.7, 0.95, 0.1, False), (0.95, 0.95, 0.95, False)],
)
def test_the_story_is_told_only_if_the_figures_tell_it(
    stitched: float, alone: float, agreement: float, holds: bool
) -> None:
    def about(value: float) -> Estimate:
        return Estimate(value, value - 0.01, value + 0.01, 1000)

    def figures(top1: float, agreement: float) -> Functional:
        penalty, relative = about(alone - top1), about(top1 / alone)
        return Functional(about(top1), None, penalty, relative, about(agreement), about(alone), None, "mnist", 1000)

    story = _story({("colour", "digit", "task"): (figures(stitched, 0.9), figures(0.1, agreement))})
    assert f"{stitched:.1%} of the images, Digit alone on {alone:.1%}" in story
    assert f"gives Digit's answer on {agreement:.1%}" in story
    assert ("A stitch that works is no proof" in story) is holds
    assert ("too weak" in story) is not holds
