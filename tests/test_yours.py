"""The page on your models and your machine: its examples run, and `doctor` says what it should."""

from __future__ import annotations

import copy
import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

import seamripper as sr
from seamripper.cli import cli
from seamripper.cli.doctor_command import _GIVES, _packages
from seamripper.data import Paired
from seamripper.models import TorchvisionRepairWarning, import_torchvision

ROOT = Path(__file__).parent.parent
SECTIONS = ("Where a model computes", "Models as people have them", "Is everything here?")


def examples() -> list[str]:
    """The Python examples of the sections that are tested here."""
    parts = re.split(r"^## ", (ROOT / "docs" / "yours.md").read_text(), flags=re.M)
    chosen = [part for part in parts if part.startswith(SECTIONS)]
    assert len(chosen) == len(SECTIONS)
    return [block for part in chosen for block in re.findall(r"```python\n(.*?)```", part, re.S)]


@pytest.mark.parametrize("number", range(len(examples())))
def test_an_example_runs_and_prints_what_it_says(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    code = examples()[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TorchvisionRepairWarning)
        # The compiler, as it is imported, uses what torch has deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        exec(compile(code, f"docs/yours.md, example {number + 1}", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert printed
    for said in re.findall(r"print\(.*\)  # (.*)$", code, re.M):
        if "the best device" not in said:
            assert said in printed


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_wrapped_model_is_the_model() -> None:
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    x = torch.randn(5, 4)
    for wrapped in (torch.compile(net), nn.DataParallel(net), torch.compile(nn.DataParallel(net))):
        assert sr.Model(wrapped, "wrapped").module is net
        half = sr.split(wrapped, "1", torch.zeros(1, 4))
        assert torch.equal(half.tail(half.head(x)), net(x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_a_model_of_peft_is_used_with_its_adapters() -> None:
    """A LoRA that was tuned is compared as it computes now, beside the network that it was made from."""
    import_torchvision()
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    adapters = LoraConfig(r=2, lora_alpha=16, target_modules=["0"], init_lora_weights=False)
    tuned = get_peft_model(copy.deepcopy(net), adapters).eval()
    x = torch.randn(60, 4)
    half = sr.split(tuned, "base_model.model.1", torch.zeros(1, 4))
    assert torch.equal(half.tail(half.head(x)), tuned(x))
    assert not torch.allclose(tuned(x), net(x), atol=1e-3)
    with pytest.raises(sr.SeamripperError, match=r"base_layer"):
        sr.split(tuned, "base_model.model.0.base_layer", torch.zeros(1, 4))
    samples = sr.Samples("noise", torch.randn(60, 4))
    match = sr.match(half, sr.split(net, "1", torch.zeros(1, 4)), samples, matching="direct")
    assert sr.evaluate(match, replace(samples, inputs=x, ids=torch.arange(100, 160))).agreement.value > 0.5


def test_doctor(run_cli) -> None:
    text = run_cli("doctor")
    assert "self-test: passed on cpu" in text
    found = json.loads(run_cli("doctor", "--json", "--no-test"))
    assert found["versions"]["torch"] == torch.__version__
    assert found["devices"][-1] == "cpu"
    assert found["self_test"] is None
    assert found["extras"].keys() == _GIVES.keys()


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str]):
    def run(*words: str) -> str:
        cli.main(list(words), standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_doctor_knows_every_extra_and_what_is_missing() -> None:
    declared = re.search(r"\[project\.optional-dependencies\]\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.S)
    assert declared is not None
    # These two are for those who work on seamripper.
    assert set(re.findall(r"^(\w+) = \[", declared[1], re.M)) - {"dev", "docs"} == set(_GIVES)
    lines = ["torch>=2.6", 'ray>=2.40; extra == "ray"', "timm>=1; extra == 'vision'"]
    assert _packages("ray", lines) == ["ray"]
    assert _packages("slurm", lines) == []


def test_the_example_of_paired_samples_runs() -> None:
    """It takes two networks and their samples as given: here two small ones, of pictures of two sizes."""
    (code,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "yours.md").read_text(), re.S)
        if "Paired(" in block
    ]
    halves = {}
    for role, width in (("sender", 12), ("receiver", 8)):
        net = nn.Sequential(nn.Linear(width, 5), nn.ReLU(), nn.Linear(5, 3)).eval()
        halves[role] = sr.split(net, "1", torch.zeros(1, width))
    given = {"photographs": torch.randn(60, 12), "recordings": torch.randn(60, 8)}
    samples = {name: sr.Samples(name, rows, ids=torch.arange(60)) for name, rows in given.items()}
    names = {"sr": sr, "Paired": Paired, **halves, **samples}
    exec(compile(code, "docs/yours.md", "exec"), names)
    assert names["stitched"].receiver is halves["receiver"]


def test_every_python_block_of_the_page_is_run_by_some_test() -> None:
    """By those here, by tests/data/test_yours_page.py, or by that of the language models."""
    text = (ROOT / "docs" / "yours.md").read_text()
    parts = re.split(r"^## ", text, flags=re.M)
    elsewhere = [part for part in parts if part.startswith(("Your data", "Language models", "Pretrained networks"))]
    blocks = [block for part in elsewhere for block in re.findall(r"```python\n(.*?)```", part, re.S)]
    assert len(examples()) + len(blocks) == text.count("```python\n")
    others = [part for part in elsewhere if not part.startswith("Your data")]
    assert [part.count("```python\n") for part in others] == [1, 1]
