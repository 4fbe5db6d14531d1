"""ViT-Tiny (Dosovitskiy et al. 2021; Touvron et al. 2021), with timm's layer names and arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from seamripper.errors import ModelError
from seamripper.models.zoo.base import Architecture

_EPS = 1e-6


class PatchEmbed(nn.Module):
    """Patches of an image as a row of tokens."""

    def __init__(self, channels: int, dim: int, patch: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, patch, stride=patch)

    def forward(self, x: Tensor) -> Tensor:
        """Images in, tokens out."""
        return cast(Tensor, self.proj(x).flatten(2).transpose(1, 2))


class Attention(nn.Module):
    """Self-attention with several heads: proj(softmax(QKᵀ/√d) V)."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Tokens in, tokens out."""
        # By unflatten and flatten, not by sizes: a graph then holds no size that would cross a cut.
        q, k, v = self.qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        return cast(Tensor, self.proj(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)))


class Mlp(nn.Module):
    """Two linear layers with GELU between."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Tokens in, tokens out."""
        return cast(Tensor, self.fc2(self.act(self.fc1(x))))


class Block(nn.Module):
    """Pre-norm transformer block: x + attn(norm1(x)), then x + mlp(norm2(x))."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=_EPS)
        self.attn = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, eps=_EPS)
        self.mlp = Mlp(dim, 4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        """Tokens in, tokens out."""
        x = x + self.attn(self.norm1(x))
        return x + cast(Tensor, self.mlp(self.norm2(x)))


class ViT(nn.Module):
    """Patches, a CLS token, learnt positions, `depth` blocks, and a linear classifier on the CLS token.

    >>> net = ViT(patch=16, size=224, classes=1000)
    >>> sum(p.numel() for p in net.parameters())
    5717416
    """

    def __init__(
        self,
        *,
        patch: int = 4,
        size: int = 32,
        classes: int = 10,
        channels: int = 3,
        dim: int = 192,
        depth: int = 12,
        heads: int = 3,
    ) -> None:
        super().__init__()
        if size % patch:
            raise ModelError(
                f"Expected the size of the image to be a multiple of the patch, but got {size} and {patch}."
            )
        if dim % heads:
            raise ModelError(
                f"Expected the tokens' width `dim` to be a multiple of `heads`, the heads of attention, but got {dim} "
                f"and {heads}."
            )
        self.cls_token = nn.Parameter(torch.empty(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.empty(1, 1 + (size // patch) ** 2, dim))
        self.patch_embed = PatchEmbed(channels, dim, patch)
        self.blocks = nn.Sequential(*(Block(dim, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(dim, eps=_EPS)
        self.head = nn.Linear(dim, classes)
        nn.init.normal_(self.cls_token, std=1e-6)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Images in, logits out."""
        x = self.patch_embed(x)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1) + self.pos_embed
        return cast(Tensor, self.head(self.norm(self.blocks(x))[:, 0]))


@dataclass(frozen=True)
class ViTTiny(Architecture):
    """ViT-Tiny: patches of `patch` pixels of an image of `size`; `dim`, `depth` and `heads` make smaller ones.

    >>> sum(p.numel() for p in ViTTiny(dim=48, depth=4).build(seed=0).parameters())
    119194
    """

    name, network = "vit_tiny", ViT
    least = {**Architecture.least, "dim": 1, "depth": 1, "heads": 1}
    classes: int = 10
    patch: int = 4
    size: int = 32
    dim: int = 192
    depth: int = 12
    heads: int = 3
