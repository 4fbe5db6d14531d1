"""Audits of language models: which answers are compared, by texts, and two small GPT-2s with spans swapped."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seamripper.audits import audit
from seamripper.audits.agreement import Agreement, Asked, Bootstrap
from seamripper.cut import split
from seamripper.data import Samples, load_data
from seamripper.models.targets import last_asked

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "language_models.py"


class Repeats(nn.Module):
    """A language model that gives each token back, through a layer that changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.layer = nn.Embedding.from_pretrained(torch.eye(10)), nn.Identity()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.layer(self.embed(input_ids) * 1.0) + 0.0


def texts(rows: list[list[int]]) -> Samples:
    ids = torch.tensor(rows)
    return Samples("texts", {"input_ids": ids, "attention_mask": (ids > 0).long()}, ids=torch.arange(len(rows)))


def test_tokens_are_asked_from_the_first_change_on() -> None:
    before = texts([[1, 2, 3, 4, 5], [6, 7, 8, 0, 0], [1, 2, 3, 4, 5]])
    after = texts([[1, 2, 9, 4, 5], [9, 7, 8, 0, 0], [1, 2, 3, 4, 5]])
    receiver = split(Repeats(), "before:layer", after.batch(slice(0, 2)))
    asked = Asked.of(receiver, after, before)
    # At the last token of a text, and at padding, nothing is asked; the third text was not changed.
    assert asked.right.tolist() == [4, 5, 7, 8]
    assert asked.answers(receiver, after).tolist() == [9, 4, 9, 7]
    assert asked.text is not None
    assert asked.text.tolist() == [0, 0, 1, 1]
    assert Asked.of(receiver, after).right.tolist() == [2, 9, 4, 5, 7, 8, 2, 3, 4, 5]


def test_agreement_has_texts_as_units() -> None:
    a, b, text = np.array([1, 1, 2, 2, 3]), np.array([1, 1, 2, 1, 1]), np.array([0, 0, 0, 4, 4])
    agreement = Agreement.of(a, b, text)
    assert agreement.share == 0.6
    assert agreement.sizes is not None
    assert (agreement.hits.tolist(), agreement.sizes.tolist()) == ([3, 0], [3, 2])
    assert (agreement.estimate.n, agreement.estimate.unit) == (2, "texts")
    # Two texts give three resamples: both of the one, one of each, both of the other.
    shares = {round(float(share), 6) for share in agreement.resample_shares(np.array([[1, 0], [0.5, 0.5], [0, 1]]))}
    assert shares == {0.0, 0.6, 1.0}
    assert len(np.unique(Bootstrap(2).kappa([agreement]).round(6))) == 3


def test_a_text_has_one_answer_the_last_that_is_asked_for() -> None:
    answers = torch.arange(24.0).reshape(2, 4, 3)
    inputs = texts([[5, 6, 7, 8], [5, 6, 0, 0]]).batch(slice(None))
    assert last_asked(answers, inputs).tolist() == [[6, 7, 8], [12, 13, 14]]
    assert last_asked(answers, torch.ones(2, 4).long()).tolist() == [[6, 7, 8], [18, 19, 20]]
    assert last_asked(answers[:, 0], inputs) is not None
    assert torch.equal(last_asked(answers[:, 0], inputs), answers[:, 0])


@pytest.fixture(scope="module")
def networks() -> list[nn.Module]:
    """Two GPT-2s of the script, small and hardly trained."""
    pytest.importorskip("transformers")
    script = runpy.run_path(str(SCRIPT))
    train = load_data("fortunes?length=32", "train")
    return [script["train_gpt2"](train, seed=seed, steps=120, layers=2, width=32) for seed in (0, 1)]


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.filterwarnings("ignore:The compiled part of torchvision")
def test_the_example_of_the_documentation_runs(
    networks: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The stitch of docs/yours.md, on few and short texts, of the two networks as the script saves them."""
    monkeypatch.chdir(tmp_path)
    for seed, network in enumerate(networks):
        network.save_pretrained(f"lm/gpt2-{seed}")
    part = (SCRIPT.parents[1] / "docs" / "yours.md").read_text().partition("\n## Language models\n")[2]
    (code,) = re.findall(r"```python\n(.*?)```", part.partition("\n## ")[0], re.S)
    code = (
        code.replace('"fortunes"', '"fortunes?length=32"')
        .replace("n=1000", "n=100")
        .replace('"test")', '"test", n=60)')
    )
    exec(compile(code, "docs/yours.md", "exec"), {})
    assert len(capsys.readouterr().out.split()) >= 4


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.filterwarnings("ignore:The compiled part of torchvision")
def test_two_small_gpt2s_are_audited_with_spans_swapped(networks: list[Any]) -> None:
    train, test = (load_data("fortunes?length=32", part) for part in ("train", "test"))
    fit, test = train.draw(300, seed=1), test.draw(300, seed=1)
    halves = [split(net, "transformer.h.0", fit.batch(slice(0, 2))) for net in networks]
    judged = audit(*halves, fit, test, matching="direct", audits=("conflict", "mixing"), seeds=(0,))
    assert set(judged.verdicts) == {"conflict", "mixing"}
    conflict, mixing = judged.verdicts["conflict"], judged.verdicts["mixing"]
    assert {"entity_swap", "word_shuffle"} <= conflict.figures["sets"].keys()
    assert "of the tokens" in conflict.sentence
    assert conflict.observed.unit == "texts"
    assert {"span", "words"} <= mixing.figures["looks"].keys()
    span = mixing.figures["looks"]["span"]
    assert span["pairs"] >= 30
    # Two runs of one training: they name the same text, and give more of the receiver's answers than untrained ones do.
    assert span["excess"].high < 0.05
    assert conflict.effect.value > conflict.figures["sets"]["entity_swap"]["nothing"]
