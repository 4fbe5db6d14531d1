"""docs/yours.md: every block of the section on data runs, and what it says of it holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import seamripper as sr
from seamripper.models.libraries import import_torchvision

PAGE = Path(__file__).parents[2] / "docs" / "yours.md"


def section() -> str:
    return re.search(r"^## Your data\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S).group(1)  # type: ignore[union-attr]


def network(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    layers = (nn.Conv2d(3, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 6, 3, 2), nn.Flatten(), nn.Linear(54, 5))
    return nn.Sequential(*layers).eval()


class Tagger(nn.Module):
    """Names one of three kinds for each token."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embed, self.block, self.head = nn.Embedding(9, 6), nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        answers: torch.Tensor = self.head(self.block(self.embed(input_ids)).relu())
        return answers


def write_files(folder: Path) -> None:
    """What the page takes for granted: a small text model, texts, a function, photographs."""
    # It may need its repair before transformers looks for it.
    import_torchvision()
    transformers = pytest.importorskip("transformers")
    image = pytest.importorskip("PIL.Image")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "bad", "film", "book", "."]
    (folder / "bert").mkdir()
    (folder / "bert" / "vocab.txt").write_text("\n".join(words) + "\n")
    transformers.BertTokenizerFast(str(folder / "bert" / "vocab.txt")).save_pretrained(folder / "bert")
    torch.manual_seed(0)
    small = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=16,
    )  # fmt: skip
    transformers.BertModel(small).eval().save_pretrained(folder / "bert")
    kinds = ("bad", "good")
    rows = [f"a {kinds[k % 2]} {('film', 'book')[k // 2 % 2]}{' .' * (k % 5)},{kinds[k % 2]}" for k in range(120)]
    (folder / "reviews.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    (folder / "lines.txt").write_text("\n".join(f"line {k}" for k in range(60)))
    (folder / "mine.py").write_text(
        "import torch\n\n\ndef make(n, split):\n"
        "    draws = torch.Generator().manual_seed(len(split))\n"
        "    for k in range(n):\n        yield torch.randn(3, 16, 16, generator=draws), k % 5\n"
    )
    draws = np.random.default_rng(0)
    for kind in ("cats", "dogs"):
        (folder / "photos" / kind).mkdir(parents=True)
        for k in range(60):
            image.fromarray(draws.integers(0, 256, (20, 18, 3), dtype=np.uint8)).save(
                folder / "photos" / kind / f"{k}.png"
            )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    a, b = network(0), network(1)
    front, back = (sr.split(net, "2", torch.zeros(2, 3, 16, 16)) for net in (a, b))
    names: dict[str, Any] = {"a": a, "b": b, "front": front, "back": back, "__name__": "__page__"}
    words = {"input_ids": torch.ones(2, 7).long(), "attention_mask": torch.ones(2, 7).long()}
    for seed, role in enumerate(("tagger_front", "tagger_back")):
        names[role] = sr.split(Tagger(seed), "block", words)
    torch.manual_seed(0)
    blocks = re.findall(r"```python\n(.*?)```", section(), re.S)
    assert len(blocks) == 11
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    streamed, known = (names[name]["linear_cka"].values for name in ("same", "comparison"))
    assert np.allclose(streamed, known, atol=1e-5)
    assert names["comparison"].record["data"]["fingerprint"] != names["same"].record["data"]["fingerprint"]
    assert names["table"].classes == 5
    assert names["reviews"].classes == 2
    assert names["lines"].inputs["input_ids"].shape == (len(names["lines"]), 32)
    assert (names["own"].length, names["photos"].length) == (None, 101)
    assert "has no labels" in capsys.readouterr().out
