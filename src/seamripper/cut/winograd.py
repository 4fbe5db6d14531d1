"""Winograd's convolution: 3 × 3 convolutions on small maps with a third of the multiplications.

    Y = Aᵀ [ (G g Gᵀ) ⊙ (Bᵀ d B) ] A        on tiles of 6 × 6 positions, each of which gives 4 × 4 outputs

Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks", F(4 × 4, 3 × 3). Here Bᵀ d B is one matrix for
a row of tiles, their zero padding and overlap included, and so is Aᵀ · A: the rows of a map that they read and write
follow each other in memory, so that a convolution is three plain products for each row of tiles and no copy. That pays
where a map has few positions and many channels, which is where the back of a residual network spends its time. Exact in
real arithmetic; in float32 its rounding is some ten times that of a direct convolution, so who uses it holds the result
to the plain one.
"""

from __future__ import annotations

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.shape_prop import ShapeProp

_TILE, _STEP = 6, 4
"""A tile's positions along an axis, and the outputs it gives."""
_PAYS = 0.5
"""Used where it needs at most this share of the multiplications of a direct convolution: at more than half, on maps of
16 × 16, what it saves goes into reading and writing tiles."""

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

    kernels: Tensor
    bias: Tensor

    def __init__(self, conv: nn.Conv2d, high: int, wide: int) -> None:
        super().__init__()
        (down, up), (left, right) = _line(high), _line(wide)
        g = torch.tensor(_G, dtype=torch.float64) / 24
        kernels = torch.einsum("ai,kcij,bj->abck", g, conv.weight.detach().double(), g).flatten(0, 1)
        bias = torch.zeros(conv.out_channels) if conv.bias is None else conv.bias.detach()
        held = {"kernels": kernels, "bias": bias[:, None]}
        self.rows: list[tuple[slice, slice]] = []
        for tile in range(down.shape[1]):
            first, last = _STEP * tile, min(_STEP * (tile + 1), high)
            read = slice(max(first - 1, 0), min(first + _TILE - 1, high))
            self.rows.append((read, slice(first, last)))
            held[f"into{tile}"] = _both(down[:, tile, read], left)
            held[f"out{tile}"] = _both(up[:, tile, first:last], right)
        for name, value in held.items():
            self.register_buffer(name, value.to(conv.weight.dtype).contiguous())

    def forward(self, maps: Tensor) -> Tensor:
        """The convolution of maps (n, channels, h, w)."""
        n, channels, high, wide = maps.shape
        flat, rows = maps.reshape(n * channels, high * wide), []
        for tile, (read, _) in enumerate(self.rows):
            into, out = getattr(self, f"into{tile}"), getattr(self, f"out{tile}")
            tiles = into @ flat[:, wide * read.start : wide * read.stop].T
            sums = torch.bmm(tiles.view(_TILE * _TILE, -1, channels), self.kernels)
            rows.append(sums.view(len(out), -1).T @ out)
        maps_out = rows[0] if len(rows) == 1 else torch.cat(rows, 1)
        return (maps_out.view(n, -1, high * wide) + self.bias).view(n, -1, high, wide)


def _both(down: Tensor, across: Tensor) -> Tensor:
    """One matrix for a row of tiles, (36 · tiles, positions), from what is done down (6, rows) and across."""
    return torch.einsum("ap,biq->abipq", down, across).flatten(0, 2).flatten(1)


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
    count = 0
    for node in graph.graph.nodes:
        conv = graph.get_submodule(str(node.target)) if node.op == "call_module" else None
        if type(conv) is nn.Conv2d and _plain(conv):
            high, wide = node.meta["tensor_meta"].shape[-2:]
            if _share(conv, high, wide) <= _PAYS:
                graph.set_submodule(str(node.target), Winograd(conv, high, wide))
                count += 1
    return count


def _plain(conv: nn.Conv2d) -> bool:
    ones = conv.stride == conv.dilation == (1, 1) and conv.groups == 1
    return ones and conv.kernel_size == (3, 3) and conv.padding == (1, 1) and conv.padding_mode == "zeros"


def _share(conv: nn.Conv2d, high: int, wide: int) -> float:
    """The multiplications that it takes, of those of a direct convolution."""
    channels, rows, tiles = conv.in_channels * conv.out_channels, -(-high // _STEP), -(-wide // _STEP)
    read, written = min(_TILE, high) * wide * conv.in_channels, min(_STEP, high) * wide * conv.out_channels
    ours = _TILE * _TILE * rows * tiles * (channels + read + written)
    return ours / (9 * channels * high * wide)
