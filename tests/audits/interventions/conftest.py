"""Samples of each kind that interventions are for."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from seamripper.data import Samples


class Make:
    """Makes what tests are made of; labels go round, ids do not start at 0."""

    @staticmethod
    def of(inputs: Tensor | dict[str, Tensor], *, classes: int = 3, name: str = "toy", **how: float) -> Samples:
        n = len(inputs) if isinstance(inputs, Tensor) else len(inputs["input_ids"])
        return Samples(name, inputs, torch.arange(n) % classes, torch.arange(50, 50 + n), classes=classes, **how)

    def bytes(self, n: int = 6, *, channels: int = 3, height: int = 12, width: int = 12, classes: int = 3) -> Samples:
        """Random images of bytes, which a model sees between −1 and 1."""
        g = torch.Generator().manual_seed(1)
        pixels = torch.randint(0, 256, (n, channels, height, width), generator=g, dtype=torch.uint8)
        return self.of(pixels, mean=0.5, std=0.5, name="bytes", classes=classes)

    def floats(self, n: int = 6, *, channels: int = 3, side: int = 12, dtype: torch.dtype = torch.float32) -> Samples:
        """Random images of floats."""
        g = torch.Generator().manual_seed(2)
        return self.of(torch.randn(n, channels, side, side, generator=g).to(dtype), name="floats")

    def grey(self, channels: int = 3) -> Samples:
        """Random images whose channels are all the same."""
        g = torch.Generator().manual_seed(3)
        pixels = torch.randint(0, 256, (4, 1, 9, 9), generator=g, dtype=torch.uint8)
        return self.of(pixels.expand(-1, channels, -1, -1), mean=0.3, std=0.2, name="grey")

    def texts(self, n: int = 6, *, length: int = 12) -> Samples:
        """Texts of different lengths between 1 and 2, padded by 0, of tokens from 10 on."""
        g = torch.Generator().manual_seed(4)
        ids = torch.randint(10, 99, (n, length), generator=g)
        ends = torch.arange(n) % (length - 6) + 6
        place = torch.arange(length)
        ids[:, 0] = 1
        ids = ids.masked_fill(place == ends[:, None] - 1, 2).masked_fill(place >= ends[:, None], 0)
        inputs = {"input_ids": ids, "attention_mask": (ids > 0).long(), "token_type_ids": place.expand(n, -1).clone()}
        return self.of(inputs, name="texts")

    def waves(self, n: int = 4, *, size: int = 500, dtype: torch.dtype = torch.float32) -> Samples:
        """Noise as sound."""
        g = torch.Generator().manual_seed(5)
        return self.of(torch.randn(n, size, generator=g).to(dtype), name="waves")


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()
