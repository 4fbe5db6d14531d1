"""What the documentation shows is what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import click
import pytest

from seamripper.audits import audits
from seamripper.audits.interventions import interventions
from seamripper.audits.mixtures import mixtures
from seamripper.benchmark import BenchSet, bench_tests
from seamripper.benchmark.contestants import choose
from seamripper.cli import cli
from seamripper.controls import Known, controls
from seamripper.experiment import Experiment, parts, plan
from seamripper.experiment.engines import engines
from seamripper.loggers import loggers
from seamripper.matching import matchings
from seamripper.measures import measures
from seamripper.papers import papers
from seamripper.stitches import stitches

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_study_of_the_documentation_can_be_read(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "experiments.md").read_text(), re.S)
    (tmp_path / "study.toml").write_text(block)
    study = Experiment.read(tmp_path / "study.toml")
    tables = {name for name, field in Experiment.model_fields.items() if field.default == ()}
    assert {"stitch", "control", "noise", "compare", "functional", "audit", "pictures", "call"} <= tables
    assert {name for name in tables if getattr(study, name)} == tables
    assert study.stitch[0].rank
    assert study.noise[0].rank


def test_the_zoo_of_the_documentation_can_be_read_and_every_test_planned(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "bench.md").read_text(), re.S)
    (tmp_path / "zoo.toml").write_text(block)
    zoo = BenchSet.read(tmp_path / "zoo.toml")
    study = bench_tests.make("shortcut").experiment(zoo, choose("linear_cka,functional,audits"))
    assert study.matchings["task"] == "task?init=direct&epochs=4&lr=0.01"
    assert plan(study).counts()["compare"]["jobs"] == 2 * (4 * 3 * 2)
    text = (ROOT / "docs" / "bench.md").read_text()
    assert all(f"**{name}** (" in text for name in bench_tests)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_scripts_that_are_named_are_there(page: Path) -> None:
    text = page.read_text()
    commands = set(re.findall(r"^ {4}seamripper ([a-z]+)", text, re.M))
    assert commands <= set(cli.list_commands(click.Context(cli)))
    for script in re.findall(r"benchmarks/\w+\.py", text):
        assert (ROOT / script).is_file(), script
    assert commands or page.name == "limits.md"


def test_the_run_of_record_is_there() -> None:
    """Its text, with every item of the paper and the figures that it names."""
    page = ROOT / "docs" / "smith2025.md"
    text = page.read_text()
    for item in papers["smith2025"].items:
        assert f"\n## {', '.join(item.covers)}\n" in text, item.name
    figures = re.findall(r"\]\((smith2025/[^)]+)\)", text)
    assert len(figures) > 20
    for name in figures:
        assert (page.parent / name).is_file(), name
    assert "seamripper reproduce smith2025 --profile quick" in text
    assert "commit " in text
    assert "could not be read" not in text
    assert "Some jobs failed" not in text


def test_the_glossary_has_every_public_kind_of_thing() -> None:
    """Every public type, every kind of choice and every part of a study is explained in the words that it goes by."""
    text = (ROOT / "docs" / "glossary.md").read_text()
    for word in ("Model", "Samples", "Match", "Comparison", "Estimate", "Experiment", "Store", "Training", "Paired"):
        assert f"**{word}" in text, word
    for registry in (
        stitches,
        matchings,
        measures,
        controls,
        interventions,
        mixtures,
        audits,
        engines,
        bench_tests,
        loggers,
    ):
        assert f"**{registry.what.capitalize()}" in text, registry.what
    for name, part in parts.items():
        assert not part.asked_for or f"[[{name}]]" in text, name
    for known in get_args(Known):
        assert f"*{known}*" in text, known
