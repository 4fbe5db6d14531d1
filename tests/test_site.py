"""The documentation site: it is built strictly, holds every page, and needs nothing from elsewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import build_site
import catalogue
import reference
import seamripper as sr
from seamripper.cli import cli

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
PAGES = [(kind, name) for kind in catalogue.KINDS for name in kind.registry]
SMALL = ("interventions", "mixtures")
"""Kinds whose choices change inputs, and compute nothing that would have a formula."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site.build(tmp_path_factory.mktemp("docs"))


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the networks of the tutorial, trained less than there."""
    folder = tmp_path_factory.mktemp("networks")
    for data, seed in (("colour", 0), ("digit", 0), ("digit", 1)):
        samples = sr.load_data(f"digits/{data}", "train", n=400)
        out = folder / f"{data}-{seed}.safetensors"
        sr.train("zoo:R_1111?width=0.25", samples, training="?epochs=2", seed=seed, out=out)
    for name in "xy":
        np.save(folder / f"{name}.npy", np.random.default_rng(ord(name)).normal(size=(60, 4)))
    return folder


def test_every_page_is_in_the_site_and_its_navigation(site: Path) -> None:
    first = (site / "index.html").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").is_file(), page.name
        assert f'{page.stem}.html"' in first, page.name


def test_notebooks_are_pages_that_others_lead_to(site: Path) -> None:
    """With what their cells showed; a link to a notebook leads to its page, and from there to its file."""
    for name, leads in (("verdict", ("index", "tutorial")), ("layers", ("index", "tutorial"))):
        text = (site / f"notebook-{name}.html").read_text()
        assert text.count('class="shown"') >= 5
        assert f'href="notebooks/{name}.ipynb"' in text
        assert (site / "notebooks" / f"{name}.ipynb").is_file()
        for page in leads:
            assert f'href="notebook-{name}.html"' in (site / f"{page}.html").read_text()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[a page](nowhere.md)", "page does not exist"),
        ("[a heading](glossary.md#nowhere)", "anchor does not exist"),
        ("![a picture](nowhere.svg)", "nowhere.svg, which is not there"),
        ('<img src="https://example.org/a.png">', "must work offline"),
    ],
)
def test_a_page_that_is_not_whole_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    """The planted failures, on two pages."""

    def stage(pages: Path) -> build_site.Nav:
        pages.mkdir(parents=True)
        (pages / "index.md").write_text(f"# First\n\n{text}\n")
        (pages / "glossary.md").write_text("# Glossary\n")
        return [{"First": "index.md"}, {"Glossary": "glossary.md"}]

    monkeypatch.setattr(build_site, "stage", stage)
    with pytest.raises(build_site.SiteError, match=says):
        build_site.build(tmp_path / "docs")


def test_the_pages_on_commands_leave_them_as_they_are(tmp_path: Path) -> None:
    """click keeps a command's help option: made without the settings of the whole, `-h` would be gone for everybody."""
    pages = [tmp_path / name for name in reference.write(tmp_path)]
    assert any("-h, --help" in page.read_text() for page in pages)
    assert CliRunner().invoke(cli, ["audit", "-h"]).exit_code == 0


@pytest.mark.parametrize(("kind", "name"), PAGES, ids=lambda part: getattr(part, "folder", part))
def test_a_page_on_a_choice_has_its_formula_and_an_example_that_runs(
    kind: catalogue.Kind, name: str, networks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = catalogue.page(kind, name)
    monkeypatch.chdir(networks)
    assert ('<div class="formula">' in text) == (kind.folder not in SMALL)
    assert "not invariant to" in text or kind.folder != "measures"
    examples = re.findall(r"```python\n(.*?)```", text, re.S)
    sessions = re.findall(r"```pycon\n(.*?)```", text, re.S)
    assert examples or sessions
    for example in examples:
        exec(compile(example, f"{kind.folder}/{name}.md", "exec"), {"__name__": "__main__"})
        assert capsys.readouterr().out
    for session in sessions:
        parsed = doctest.DocTestParser().get_doctest(session, {}, f"{kind.folder}/{name}.md", None, 0)
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        assert doctest.DocTestRunner(optionflags=flags).run(parsed).failed == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", [*catalogue.measures])
def test_the_command_of_a_measure_runs(name: str, networks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the other kinds, the tests of each command run the same words."""
    monkeypatch.chdir(networks)
    kind = next(kind for kind in catalogue.KINDS if kind.folder == "measures")
    cli.main(kind.command.format(name=name).split()[1:], standalone_mode=False)
