"""The documentation site: it is built strictly, holds every page, and needs nothing from elsewhere."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("seamripper_site", ROOT / "docs" / "site" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builder.build(tmp_path_factory.mktemp("docs"))


def test_every_page_is_in_the_site_and_its_navigation(site: Path) -> None:
    first = (site / "index.html").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").is_file(), page.name
        assert f'{page.stem}.html"' in first, page.name


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
    builder: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    """The planted failures. The pages are two, so that it is quick."""

    def stage(pages: Path) -> None:
        pages.mkdir(parents=True)
        (pages / "index.md").write_text("# First\n")
        (pages / "papers.md").write_text(f"# Papers\n\n{text}\n")
        (pages / "glossary.md").write_text("# Glossary\n")

    monkeypatch.setattr(builder, "stage", stage)
    monkeypatch.setattr(builder, "SECTIONS", {"Start": ("glossary.md",)})
    with pytest.raises(builder.SiteError, match=says):
        builder.build(tmp_path / "docs")
