"""MiniLM-L3 under the head of MiniLM-L6, for `seamripper swap`: the models and the sentences.

    seamripper swap benchmarks/swap_sentences.py:l6 benchmarks/swap_sentences.py:l3 \
        --data benchmarks/swap_sentences.py:Sentences --tolerance 0.05

The old network is all-MiniLM-L6 with a head that tells good reviews from bad ones: the mean token, then a linear layer,
fitted to the train split by logistic regression. The new one is paraphrase-MiniLM-L3, an encoder without any head. The
sentences are those of `map_sentences.py`; a third of them are the test split.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from map_sentences import L6, SENTENCES, minilm_l3, minilm_l6
from seamripper.controls.logistic import fit_logistic
from seamripper.data import DataSet, Samples, load_data

TOKENS = 64


@dataclass(frozen=True)
class Sentences(DataSet):
    """2,982 sentences of reviews, bad (0) or good (1)."""

    name, about = "sentences", "sentences of reviews, bad or good"

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """Every third sentence is of the test split."""
        rows = [row for name in SENTENCES.files for row in json.loads(SENTENCES.read(name))]
        labels = {row["text"].strip(): int(row["class"]) for row in rows if row["class"] is not None}
        inputs = tokens(list(labels))
        everything = Samples("sentences", inputs, torch.tensor(list(labels.values())), torch.arange(len(labels)), 2)
        return everything.take((everything.ids % 3 == 0) == (split == "test"))


class WithHead(nn.Module):
    """An encoder, the mean of its tokens that count, and a linear layer."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(384, 2)

    def mean(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The mean token of each text."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        counts = attention_mask[:, :, None].to(states.dtype)
        return (states * counts).sum(1) / counts.sum(1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The scores of both classes."""
        return self.head(self.mean(input_ids, attention_mask))


def l6() -> nn.Module:
    """The old network: MiniLM-L6 with its head."""
    return with_fitted_head(minilm_l6())


def l3() -> nn.Module:
    """The new encoder: MiniLM-L3."""
    return minilm_l3()


@torch.no_grad()
def with_fitted_head(encoder: nn.Module, n: int | None = None) -> nn.Module:
    """The encoder with a head fitted to the train split, or to `n` of its sentences."""
    network = WithHead(encoder).eval()
    samples = load_data(f"{__file__}:Sentences", "train", n=n)
    rows = torch.cat([network.mean(**inputs) for inputs, _ in samples.batches(64)])
    weight, bias = fit_logistic(rows.double(), samples.labels, l2=1e-3)
    network.head.weight.copy_(weight)
    network.head.bias.copy_(bias)
    return network


def tokens(texts: list[str]) -> dict[str, Tensor]:
    """The token ids of the texts, and which of them count."""
    tokenizer = Tokenizer.from_file(str(L6.path("tokenizer.json")))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(texts)
    ids, mask = (torch.tensor([getattr(e, name) for e in encoded]) for name in ("ids", "attention_mask"))
    return {"input_ids": ids, "attention_mask": mask}
