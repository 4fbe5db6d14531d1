"""Builds the documentation site: `make docs`, or `python docs/site/build_site.py [--out FOLDER]`.

The pages are those of docs/, README.md as the first one, and those that are generated from the code. The site makes no
request to anybody else. Its pages can be opened from a disk; its search needs a server: `python -m http.server`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import catalogue
import notebooks
import reference

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
SECTIONS: dict[str, tuple[str, ...]] = {
    "Start": (
        *("tutorial.md", "notebook-verdict.md", "notebook-layers.md"),
        *("yours.md", "stitching.md", "commands.md", "limits.md", "glossary.md"),
    ),
    "Judge": ("audits.md", "measures.md", "bench.md", "same-information.md"),
    "Work": ("swap.md", "diff.md", "map.md", "experiments.md", "report.md", "tools.md", "speed.md"),
}
"""The tabs of the site and their pages; a page of docs/ that is in none of them comes under "Papers"."""

Nav = list[dict[str, "str | Nav"]]


class SiteError(Exception):
    """The site could not be built as it should be."""


def build(out: Path) -> Path:
    """Build the site in a folder, which is emptied first, and return the site's own folder in it."""
    pages, site = out / "pages", out / "site"
    shutil.rmtree(out, ignore_errors=True)
    nav = stage(pages)
    config = (HERE / "zensical.toml").read_text()
    # JSON is TOML here: strings and lists; only a table needs another sign between key and value.
    places = f'docs_dir = "pages"\nsite_dir = "site"\nnav = {_toml(nav)}\n'
    (out / "zensical.toml").write_text(config.replace("[project]\n", f"[project]\n{places}", 1))
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", "zensical.toml"]
    done = subprocess.run(command, cwd=out, capture_output=True, text=True)
    if done.returncode:
        raise SiteError(f"zensical refused the pages:\n{done.stdout}\n{done.stderr}")
    wrong = list(mistakes(site))
    if wrong:
        raise SiteError("The site is not whole:\n" + "\n".join(wrong))
    return site


def stage(pages: Path) -> Nav:
    """Put all pages, and what they show, into one folder; return the navigation, which has every page once."""
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("site", "__pycache__"))
    shutil.copy(HERE / "style.css", pages)
    listed = {name for names in SECTIONS.values() for name in names}
    papers = sorted(page.name for page in pages.glob("*.md") if page.name not in {*listed, "papers.md"})
    readme = (DOCS.parent / "README.md").read_text()
    (pages / "index.md").write_text(re.sub(r"\[docs/([\w/-]+)(?:\.md)?\]\(docs/", r"[\1](", readme))
    for page in pages.glob("*.md"):
        # A link to a notebook leads to its page, and from there to the file.
        page.write_text(re.sub(r"\]\(notebooks/(\w+)\.ipynb\)", r"](notebook-\1.md)", page.read_text()))
    for path in sorted(notebooks.FOLDER.glob("*.ipynb")):
        (pages / f"notebook-{path.stem}.md").write_text(notebooks.page(path, pages / "pictures"))
    sections = {**SECTIONS, "Papers": ("papers.md", *papers)}
    nav: Nav = [{"Home": "index.md"}, *({section: _entries(pages, names)} for section, names in sections.items())]
    kinds = catalogue.write(pages)
    nav.append({"Catalogue": [{kind: _entries(pages, names)} for kind, names in kinds.items()]})
    nav.append({"Reference": _entries(pages, reference.write(pages))})
    return nav


def _entries(pages: Path, names: Iterable[str]) -> Nav:
    return [{title(pages / name): name} for name in names]


def title(page: Path) -> str:
    """The heading of a page; of a paper's record, without what stands after its name."""
    heading = re.match(r"# (.+)\n", page.read_text())
    if heading is None:
        raise SiteError(f"Expected {page.name} to start with its heading, '# …'.")
    paper = re.search(r"\(([^()]+ \d{4})\): profile", heading[1])
    return paper[1] if paper else heading[1]


def _toml(value: str | Nav | dict[str, str | Nav]) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return "{ " + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + " }"


class _References(HTMLParser):
    """What a page refers to: what is loaded with it, and where a reader may go."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag refers to."""
        values = dict(attrs)
        if values.get("src"):
            self.loaded.append(str(values["src"]))
        if values.get("href"):
            goes = tag == "a" or values.get("rel") in ("canonical", "next", "prev")
            (self.links if goes else self.loaded).append(str(values["href"]))


def mistakes(site: Path) -> Iterator[str]:
    """What zensical does not refuse: a picture or page that is not there, and anything that comes from elsewhere."""
    for page in sorted(site.rglob("*.html")):
        found = _References()
        found.feed(page.read_text())
        name = page.relative_to(site)
        for address in found.loaded:
            if urlsplit(address).netloc:
                yield f"{name} loads {address}: the site must work offline."
        # The page of a server's errors is shown at any address, and its links start at the root.
        for address in [] if page.name == "404.html" else [*found.loaded, *found.links]:
            parts = urlsplit(address)
            if not (parts.scheme or parts.netloc or (page.parent / unquote(parts.path)).exists()):
                yield f"{name} refers to {address}, which is not there."


def main() -> None:
    """Build the site where the command line says, and say where it is."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--out", type=Path, default=DOCS.parent / "build" / "docs")
    site = build(parser.parse_args().out)
    sys.stdout.write(f"{site / 'index.html'}\n")


if __name__ == "__main__":
    try:
        main()
    except SiteError as error:
        sys.exit(str(error))
