"""Every example of the documentation's pages runs, at a small size; docs/yours.md has tests of its own."""

from __future__ import annotations

import copy
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import seamripper as sr
from desk_files import SMALL_RESNET, save_embeddings, save_networks, save_study
from seamripper.cli import cli
from seamripper.models import import_torchvision

pytestmark = [
    pytest.mark.slow,
    # torch announces that quantisation moves to another package, in two ways.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:torch.quantize:UserWarning"),
    pytest.mark.filterwarnings("ignore::seamripper.models.TorchvisionRepairWarning"),
]
ROOT = Path(__file__).parent.parent
SMALLER = {
    "mnist/": "digits/",
    "n=10_000": "n=200",
    "n=800": "n=200",
    "--n 800": "--n 200 --n-test 100 --seeds 1 --controls self,random_sender",
    "n = 1000": "n = 80",
    "n_test = 300": "n_test = 60",
    "epochs=8": "epochs=1",
    "seeds = [0, 1, 2]": "seeds = [0, 1]",
    "test, conflict=": "test, seeds=[0], controls=('self', 'random_sender'), conflict=",
}
"""What is put in the place of a size, so that an example takes seconds."""
ELSEWHERE = {"yours.md": "tests/test_yours.py, tests/data", "glossary.md": "it has none"}


def text_of(page: str) -> str:
    text = (ROOT / page).read_text().replace("\\\n        ", "")
    for size, smaller in SMALLER.items():
        text = text.replace(size, smaller)
    # `stitch` has one stitch and no controls.
    return re.sub(r"(seamripper stitch .*?) --seeds.*", r"\1", text)


def blocks(page: str, language: str = "python") -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.S)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that examples name: checkpoints, embeddings, a store and a set of networks."""
    folder = tmp_path_factory.mktemp("desk")
    networks = {
        "digit-0": (SMALL_RESNET, "digits/digit", 0),
        "colour-0": (SMALL_RESNET, "digits/colour", 0),
        "base": ("zoo:lenet", "digits/digit", 0),
    }
    save_networks(folder, networks)
    save_embeddings(folder)
    (folder / "zoo.toml").write_text(blocks("docs/bench.md", "toml")[0])
    save_study(folder)
    return folder


def given() -> dict[str, dict[str, Any]]:
    """What the examples of a page take as given."""
    samples = sr.load_data("digits/digit", "test", n=60)
    x, y = torch.randn(40, 5), torch.randn(40, 5)
    base = sr.load("base.safetensors")
    return {
        "docs/diff.md": {"quantised": copy.deepcopy(base.module), "samples": samples},
        "docs/map.md": {"new_queries": torch.from_numpy(np.load("new.npy")[:3])},
        "docs/swap.md": {
            "old": base,
            "new": base,
            "fit": sr.load_data("digits/digit", "train", n=150),
            "test": samples,
            "pictures": base.present(samples).batch(slice(0, 2)),
        },
        "docs/tools.md": {
            "batches": [(x, y)],
            "x": x,
            "y": y,
            "samples": samples,
            "sender": sr.split(base, "conv2"),
            "receiver": sr.split(base, "relu2"),
            "comparison": sr.compare(base, base, samples, measures=["linear_cka"]),
        },
    }


PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", [page for page in PAGES if page.rpartition("/")[2] not in ELSEWHERE and blocks(page)])
def test_the_python_of_a_page_runs(page: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    # torchmetrics imports torchvision, which may have to be repaired before: docs/yours.md says so.
    import_torchvision()
    names = {"__name__": "__main__", **given().get(page, {})}
    for block in blocks(page):
        exec(compile(block, page, "exec"), names)
    for changed in ("int8", "half", "tuned", "noisy") if page == "docs/diff.md" else ():
        assert names[changed]() is not None


def test_the_commands_of_the_tutorial_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^ {4}seamripper (.+)$", text_of("docs/tutorial.md"), re.M)
    assert len(commands) == 8
    for command in commands:
        cli.main(shlex.split(command), standalone_mode=False)
    assert Path("colour/report.html").is_file()
    assert Path("run/report.html").is_file()
