"""Winograd's convolution: 3 × 3 convolutions on small maps with a third of the multiplications.

    Y = Aᵀ [ (G g Gᵀ) ⊙ (Bᵀ d B) ] A        on tiles of 6 × 6 positions, each of which gives 4 × 4 outputs

Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks", F(4 × 4, 3 × 3). Here Bᵀ d B is one matrix for
the whole map of a channel, its zero padding and its overlapping tiles included, and so is Aᵀ · A: then a convolution is
three plain products and no copy. That pays where a map has few positions and many channels, which is where the back
half of a residual network spends its time. Exact in real arithmetic; in float32 its rounding is some ten times that of
a direct convolution, so who uses it holds the result to the plain one.
"""

from __future__ import annotations

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.shape_prop import ShapeProp

_TILE, _STEP = 6, 4
"""A tile's positions along an axis, and the outputs it gives."""
_PAYS = 0.5
"""Used where it needs at most this share of the multiplications of a direct convolution."""

_B = [[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0], [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0],
      [0, 4, 0, -5, 0, 1]]  # fmt: skip
_G = [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]
_A = [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]


class Winograd(nn.Module):
    """A convolution with a 3 × 3 kernel and padding 1, for maps of one size.

    >>> conv = nn.Conv2d(8, 8, 3, padding=1)
    >>> maps = torch.randn(2, 8, 4, 4)
    >>> torch.allclose(Winograd(conv, 4, 4)(maps), conv(maps), atol=1e-5)
    True
    """

    into: Tensor
    out: Tensor
    kernels: Tensor
    bias: Tensor

    def __init__(self, conv: nn.Conv2d, high: int, wide: int) -> None:
        super().__init__()
        (down, up), (left, right) = _line(high), _line(wide)
        into = torch.einsum("aip,bjq->abijpq", down, left).flatten(0, 3).flatten(1)
        out = torch.einsum("aip,bjq->abijpq", up, right).flatten(0, 3).flatten(1)
        g = torch.tensor(_G, dtype=torch.float64) / 24
        kernels = torch.einsum("ai,kcij,bj->abck", g, conv.weight.detach().double(), g).flatten(0, 1)
        bias = torch.zeros(conv.out_channels) if conv.bias is None else conv.bias.detach()
        for name, value in (("into", into), ("out", out), ("kernels", kernels), ("bias", bias[:, None])):
            self.register_buffer(name, value.to(conv.weight.dtype).contiguous())

    def forward(self, maps: Tensor) -> Tensor:
        """The convolution of maps (n, channels, h, w)."""
        n, channels, high, wide = maps.shape
        tiles = self.into @ maps.reshape(n * channels, high * wide).T
        sums = torch.bmm(tiles.view(_TILE * _TILE, -1, channels), self.kernels)
        found = sums.view(len(self.out), -1).T @ self.out
        return (found.view(n, -1, high * wide) + self.bias).view(n, -1, high, wide)


def _line(size: int) -> tuple[Tensor, Tensor]:
    """Along one axis: positions to tiles (6, tiles, size), and tiles back to outputs, transposed (6, tiles, size)."""
    b, a = torch.tensor(_B, dtype=torch.float64), torch.tensor(_A, dtype=torch.float64)
    tiles = -(-size // _STEP)
    into, out = (torch.zeros(_TILE, tiles, size, dtype=torch.float64) for _ in range(2))
    for tile in range(tiles):
        for at in range(_TILE):
            position = _STEP * tile + at - 1
            if 0 <= position < size:
                into[:, tile, position] = b[:, at]
        for at in range(min(_STEP, size - _STEP * tile)):
            out[:, tile, _STEP * tile + at] = a[at]
    return into, out


def use_winograd(graph: fx.GraphModule, example: Tensor) -> int:
    """Put Winograd's way in place of every convolution of a traced network where it pays; how many there were."""
    if example.device.type != "cpu":
        return 0  # other devices' libraries choose it themselves
    ShapeProp(graph).propagate(example)
    found = 0
    for node in graph.graph.nodes:
        conv = graph.get_submodule(str(node.target)) if node.op == "call_module" else None
        if type(conv) is nn.Conv2d and _plain(conv):
            high, wide = node.meta["tensor_meta"].shape[-2:]
            if _share(conv, high, wide) <= _PAYS:
                graph.set_submodule(str(node.target), Winograd(conv, high, wide))
                found += 1
    return found


def _plain(conv: nn.Conv2d) -> bool:
    ones = conv.stride == conv.dilation == (1, 1) and conv.groups == 1
    return ones and conv.kernel_size == (3, 3) and conv.padding == (1, 1) and conv.padding_mode == "zeros"


def _share(conv: nn.Conv2d, high: int, wide: int) -> float:
    """The multiplications that it takes, of those of a direct convolution."""
    channels, places, tiles = conv.in_channels * conv.out_channels, high * wide, -(-high // _STEP) * -(-wide // _STEP)
    ours = _TILE * _TILE * tiles * (channels + places * (conv.in_channels + conv.out_channels))
    return ours / (9 * channels * places)
