"""Every command on a page of the documentation runs, at a small size; what cannot run here is read word by word."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import torch

import seamripper as sr
from desk_files import SMALL_RESNET, save_embeddings, save_networks, save_study
from seamripper import papers as sr_papers
from seamripper.cli import cli
from seamripper.experiment import Experiment

pytestmark = [
    pytest.mark.slow,
    # torch announces that quantisation moves to another package.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:torch.quantize:UserWarning"),
    pytest.mark.filterwarnings("ignore::seamripper.models.TorchvisionRepairWarning"),
]
ROOT = Path(__file__).parent.parent
PAGES = {path.name: path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
ELSEWHERE = {"tutorial.md": "tests/test_examples.py runs its eight commands, one after the other, with all audits"}

ONLY_READ = {
    r"^reproduce ": "minutes to hours; tests/papers runs items and planted results",
    r"^(run|results) .*untrained": "a study on four data sets that are fetched; it is read below",
    r"^card runs/\w+20\d\d-": "of the run of a paper, as above; tests/test_run_cards.py makes such cards",
    r"^bench .*(sensitivity|shortcut)": "minutes; tests/benchmark runs every test and every kind of measure",
    r"^serve ": "it does not end; tests/report/test_serve.py asks it for every page",
    r"^demo\b": "tests/cli/test_cli_demo.py runs it",
    r"--engine ray": "it needs a Ray cluster; tests/experiment starts one",
    r"--device cuda": "it needs a GPU; tests/test_devices.py has a pretended one",
    r"--log ": "tests/test_loggers.py hands results to each tool and reads them back",
    r"hf:lm/|sentences/|swap_sentences|lite0": "networks that are fetched; the tests of each script run them",
}
"""Commands that are not run here, and why: their words are parsed as the command line parses them."""

SMALL = {
    "train": {"--n": "120", "--training": "?epochs=1"},
    "stitch": {"--n": "100", "--n-test": "60"},
    "audit": {"--n": "100", "--n-test": "60", "--controls": "self,random_sender", "--seeds": "1", "--audits": "margin"},
    "compare": {"--n": "60"},
    "diff": {"--n": "60"},
    "swap": {"--n": "100", "--n-test": "60"},
    "activations": {"--n": "60"},
}
"""Options that make a command small, in the place of its own or beside them."""
WORDS = {
    "mnist/": "digits/",
    "cifar10": "digits/digit",
    "base=fashion": "base=digits",
    "zoo:resnet18 ": "zoo:R_1111?width=0.25 ",
    "--data DATA": "--data digits/digit",
    "--measures all": "--measures linear_cka,opd",
}
"""What is put in the place of data that are fetched, and of what takes long."""
PLACES = {"a": "digit-0", "A": "digit-0", "b": "colour-0", "B": "colour-0"} | {"old": "base", "new": "lenet"}
VERDICTS = {"swap", "map", "diff", "check", "audit"}
"""Commands whose exit code 1 is an answer."""

ZOO = """
data = { name = "digits/correlated", n = 60, n_test = 40 }
[models.digit]
train = "zoo:lenet"
data = "digits/digit"
n = 60
training = "?epochs=1"
seeds = [0, 1]
"""
MEASURE = '''
from dataclasses import dataclass
from seamripper.measures.linear_cka import LinearCKA

@dataclass(frozen=True)
class MyMeasure(LinearCKA):
    """Linear CKA under another name."""

    name = "mine"
'''
QUANTISED = """
import seamripper as sr
import torch

def int8():
    module = sr.load("digit-0.safetensors").module
    return torch.ao.quantization.quantize_dynamic(module, {torch.nn.Linear}, dtype=torch.qint8)
"""


def commands_of(page: str) -> Iterator[str]:
    """The commands of a page: lines of indented blocks, `A · B` as two, without what is said beside them."""
    text = re.sub(r"\\\n +", "", PAGES[page].read_text())
    for line in re.findall(r"^ {4}seamripper (.+)$", text, re.M):
        for command in line.split(" · "):
            yield re.sub(r"\s{2,}#.*$|\s+#\s.*$", "", command).strip()


def runs_here(command: str) -> bool:
    return not any(re.search(pattern, command) for pattern in ONLY_READ)


def small(command: str) -> list[str]:
    """The words of a command at a small size, on the files that are there."""
    for word, smaller in WORDS.items():
        command = command.replace(word, smaller)
    name, *words = [_place(word) for word in shlex.split(command)]
    if name == "audit" and "@" not in command:
        return [name, *words]
    for option, value in SMALL.get(name, {}).items():
        if option in words:
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
    return [name, *words]


def _place(word: str) -> str:
    file, at, cut = word.partition("@")
    file = (
        f"{PLACES[file.removesuffix('.safetensors')]}.safetensors"
        if file.removesuffix(".safetensors") in PLACES
        else file
    )
    return file + at + cut


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that commands name: checkpoints, embeddings, photographs, code, a study and a store."""
    folder = tmp_path_factory.mktemp("made")
    networks = {
        "digit-0": (SMALL_RESNET, "digits/digit", 0),
        "digit-1": (SMALL_RESNET, "digits/digit", 1),
        "colour-0": (SMALL_RESNET, "digits/colour", 0),
        "base": ("zoo:lenet", "digits/digit", 0),
        "lenet": ("zoo:lenet", "digits/digit", 1),
    }
    save_networks(folder, networks)
    save_embeddings(folder)
    _save_photographs(folder / "photos")
    (changes,) = re.findall(r"```python\n(# changes.py\n.*?)```", PAGES["diff.md"].read_text(), re.S)
    files = {"zoo.toml": ZOO, "mine.py": MEASURE, "my_file.py": MEASURE, "changes.py": changes}
    for name, text in {**files, "quantise.py": QUANTISED}.items():
        (folder / name).write_text(text)
    save_study(folder)
    return folder


def _save_photographs(folder: Path) -> None:
    import PIL.Image

    samples = sr.load_data("digits/digit", "train", n=200)
    pixels = samples.batch(slice(None))
    assert isinstance(pixels, torch.Tensor)
    low, high = pixels.min(), pixels.max()
    for k, (image, label) in enumerate(zip(pixels, samples.labels.tolist(), strict=True)):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        levels = ((image - low) / (high - low) * 255).byte().permute(1, 2, 0).numpy()
        PIL.Image.fromarray(levels).save(folder / str(label) / f"{k}.png")


@pytest.fixture
def desk(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the working folder; `run` and `card.json` are those of a comparison of two layers."""
    shutil.copytree(made, tmp_path / "desk")
    monkeypatch.chdir(tmp_path / "desk")
    return tmp_path / "desk"


def carry_out(command: str) -> None:
    """Run a command; its exit code is 0, or an answer."""
    words = small(command)
    if words[0] == "train":
        Path(words[words.index("--out") + 1]).unlink(missing_ok=True)
    code = _exit_code(words)
    assert code == 0 or (code in (1, 3) and words[0] in VERDICTS), (command, code)


def _exit_code(words: list[str]) -> object:
    try:
        cli.main(words, standalone_mode=False)
    except SystemExit as end:
        return end.code
    return 0


def parse(command: str) -> None:
    """Read a command as the command line does, up to where it would begin."""
    name, *words = shlex.split(command)
    context = click.Context(cli)
    found = cli.get_command(context, name)
    assert found is not None, command
    found.make_context(name, words, parent=context)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE and any(commands_of(page))])
def test_the_commands_of_a_page_run(page: str, desk: Path) -> None:
    commands = list(dict.fromkeys(commands_of(page)))
    # What a page takes for granted: that something was compared, or measures were ranked.
    if any(command.startswith("card runs/zoo-bench") for command in commands):
        carry_out("bench --models zoo.toml --measures linear_cka,opd --tests identification")
    if any(command.startswith(("card", "audit run/")) for command in commands):
        carry_out(
            "compare digit-0.safetensors colour-0.safetensors --data digits/digit --cuts layer1,layer2 --out run/"
        )
    if any("other.npy" in command for command in commands):
        np.save("other.npy", np.random.default_rng(1).normal(size=(60, 32, 4, 4)))
    for command in commands:
        if runs_here(command):
            carry_out(command)
        else:
            parse(command)


def test_a_wrong_command_would_be_seen(desk: Path) -> None:
    """The planted failures: of what runs and of what is only read."""
    with pytest.raises(sr.SeamripperError):
        carry_out("cuts digit-7.safetensors")
    for wrong in ("reproduce smith2025 --profil quick", "serve runs/ --prot 80"):
        assert not runs_here(wrong)
        with pytest.raises(click.UsageError, match="No such option"):
            parse(wrong)


def test_every_reason_not_to_run_a_command_is_needed() -> None:
    every = [command for page in PAGES for command in commands_of(page)]
    assert sum(map(runs_here, every)) > len(every) / 2
    for pattern in ONLY_READ:
        assert any(re.search(pattern, command) for command in every), pattern


# ---- what is no command of ours


def test_studies_that_pages_name_or_show_in_parts_can_be_read(tmp_path: Path) -> None:
    Experiment.read(ROOT / "docs" / "four-papers" / "untrained.toml")
    base = '[data]\nname = "mnist"\n' + "".join(
        f'[models.{name}]\ntrain = "zoo:lenet"\ndata = "mnist"\n'
        for name in ("net", "clothes", "digits", "names-digits")
    )
    text = PAGES["experiments.md"].read_text()
    parts = [part for part in _indented("experiments.md") if part.startswith("[") and "entry-points" not in part]
    assert len(parts) == 3
    for part in parts:
        (tmp_path / "study.toml").write_text(base + part)
        study = Experiment.read(tmp_path / "study.toml")
        assert tomllib.loads(part).keys() <= study.model_fields_set
    lines = re.findall(r'^ {4}data = "(cifar10.*?)"', text, re.M)
    assert len(lines) == 3
    for words in lines:
        (tmp_path / "study.toml").write_text(base.replace('name = "mnist"', f'name = "{words}"'))
        Experiment.read(tmp_path / "study.toml")


def test_the_parts_of_a_paper_are_made_as_they_are_shown() -> None:
    """Blocks of docs/papers.md, one after the other; those that leave something out (`...`) are only parsed."""
    names: dict[str, Any] = {name: getattr(sr_papers, name) for name in sr_papers.__all__}
    names["CUTS"] = ("layer1", "layer2")
    parts = [part for part in _indented("papers.md") if not part.startswith(("seamripper", "make"))]
    assert len(parts) == 5
    for part in parts:
        for statement in ast.parse(part).body:
            if "(...," not in ast.unparse(statement).replace("(Ellipsis,", "(...,"):
                exec(compile(ast.Module([statement], []), "docs/papers.md", "exec"), names)
    assert {"SIZES", "CLAIM", "TRAINED_WELL", "ahead"} <= names.keys()
    rows = [
        {"figure": "top1", "sender": who, "receiver_cut": cut, "receiver_seed": 0, "value": value}
        for who, value in (("colour", 0.9), ("digit", 0.8))
        for cut in names["CUTS"]
    ]
    assert list(names["ahead"](rows)) == [{"figure": "share_ahead", "value": 1.0, "receiver_seed": 0}]


def _indented(page: str) -> list[str]:
    """The indented blocks of a page, without their margin."""
    parts = re.findall(r"(?:^ {4,}\S.*\n|^\n(?= {4}))+", PAGES[page].read_text(), re.M)
    return [textwrap.dedent(part).strip("\n") + "\n" for part in parts]


@pytest.mark.parametrize("page", [name for name, path in PAGES.items() if "python benchmarks/" in path.read_text()])
def test_options_of_scripts_are_there(page: str) -> None:
    """A script of benchmarks/ takes minutes; each option that a page gives it is one that it has."""
    calls = re.findall(r"python (benchmarks/\w+\.py)([^`\n)#]*)", PAGES[page].read_text())
    assert calls
    for script, words in calls:
        text = (ROOT / script).read_text()
        for option in re.findall(r"--[a-z-]+", words):
            assert f'"{option}"' in text, (script, option)


def test_targets_of_make_are_there() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    for path in (*PAGES.values(), ROOT / "CONTRIBUTING.md"):
        assert set(re.findall(r"(?:^ {4}|`)make ([a-z]+)", path.read_text(), re.M)) <= {*targets}, path.name
