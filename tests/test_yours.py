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


class Nested(nn.Module):
    """A block that stands at two places, and one that is a part of another."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.again = self.block
        self.body = nn.Sequential(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), nn.Linear(3, 2))
        self.none = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.body(self.again(self.block(x)))
        return answer


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_model_with_wrapped_parts_has_the_layers_of_its_code() -> None:
    plain, net, x = Nested().eval(), Nested().eval(), torch.randn(5, 4)
    net.block = net.again = torch.compile(net.block)  # type: ignore[assignment]
    net.body[0] = nn.DataParallel(net.body[0])
    wrapped = list(net.state_dict())
    model = sr.Model(net, "net")
    assert list(model.module.state_dict()) == list(plain.state_dict())
    assert model.fingerprint == sr.Model(plain, "plain").fingerprint
    assert model.module.block is model.module.again
    assert [cut.name for cut in sr.cuts(net, x)] == [cut.name for cut in sr.cuts(plain, x)]
    half = sr.split(net, "body.0.0", x)
    assert torch.equal(half.tail(half.head(x)), plain(x))
    # Its user's is as it was, and the weights are the same tensors.
    assert list(net.state_dict()) == wrapped
    assert model.module.body[0][0].weight is net.body[0].module[0].weight


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_model_that_compiled_itself_is_cut_layer_by_layer() -> None:
    plain, x = Nested().eval(), torch.randn(5, 4)
    whole, part = Nested().eval(), Nested().eval()
    whole.compile()
    part.body[0].compile()
    for net in (whole, part):
        assert [cut.name for cut in sr.cuts(net, x)] == [cut.name for cut in sr.cuts(plain, x)]
        half = sr.split(net, "body.0.0", x)
        assert torch.equal(half.tail(half.head(x)), plain(x))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_a_text_model_with_adapters_is_a_sender_and_a_receiver() -> None:
    import_torchvision()
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    small = transformers.BertConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=16, num_labels=3, initializer_range=0.4,
    )  # fmt: skip
    net = transformers.BertForSequenceClassification(small).eval()
    adapters = peft.LoraConfig(r=2, target_modules=["query", "value"], init_lora_weights=False)
    tuned = peft.get_peft_model(copy.deepcopy(net), adapters).eval()
    ids = torch.randint(1, 30, (80, 7))
    samples = sr.Samples("texts", {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    fit, test = samples.take(slice(0, 50)), samples.take(slice(50, 80))
    inputs = fit.batch(slice(0, 4))
    assert isinstance(inputs, dict)
    ours = sr.split(tuned, "base_model.model.bert.encoder.layer.0", inputs)
    assert torch.equal(ours.answer(inputs), tuned(**inputs).logits)
    assert not torch.allclose(tuned(**inputs).logits, net(**inputs).logits, atol=1e-3)
    theirs = sr.split(net, "bert.encoder.layer.0", inputs)
    for pair in ((ours, theirs), (theirs, ours)):
        assert sr.evaluate(sr.match(*pair, fit, matching="direct"), test).agreement.value > 0.5


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_quantised_network_sends() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
    small = torch.ao.quantization.quantize_dynamic(copy.deepcopy(net), {nn.Linear}, dtype=torch.qint8)
    samples = sr.Samples("noise", torch.randn(120, 8))
    fit, test = samples.take(slice(0, 80)), samples.take(slice(80, 120))
    sender, receiver = (sr.split(model, "1", torch.zeros(2, 8)) for model in (small, net))
    assert not torch.equal(sender.head(test.inputs), receiver.head(test.inputs))
    for matching in ("direct", "task?epochs=1", "regression?epochs=1"):
        if matching.startswith("task"):
            fit = replace(fit, labels=net(fit.inputs).argmax(1), classes=3)
        match = sr.match(sender, receiver, fit, matching=matching)
        assert sr.evaluate(match, test).agreement.value > (0.9 if matching == "direct" else 0.3)


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
