"""Winograd's convolution is the direct one, on maps of any size, and is used where it pays."""

import pytest
import torch
from torch import fx, nn

from seamripper.cut.many import heads
from seamripper.cut.winograd import Winograd, use_winograd
from seamripper.models import Architecture


@pytest.mark.parametrize(("high", "wide"), [(4, 4), (8, 8), (7, 7), (1, 1), (3, 6), (5, 2)])
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_the_direct_convolution(high, wide, bias):
    conv = nn.Conv2d(6, 5, 3, padding=1, bias=bias).double()
    maps = torch.randn(3, 6, high, wide, dtype=torch.float64)
    assert torch.allclose(Winograd(conv, high, wide)(maps), conv(maps), atol=1e-12)


def test_its_rounding_in_float32_is_small():
    conv, maps = nn.Conv2d(256, 256, 3, padding=1), torch.randn(4, 256, 8, 8)
    exact = conv.double()(maps.double())
    gap = (Winograd(conv.float(), 8, 8)(maps) - exact).abs().max() / exact.abs().max()
    assert gap < 3e-5


@pytest.mark.parametrize(
    ("conv", "size", "expected"),
    [
        (nn.Conv2d(256, 256, 3, padding=1), 8, 1),
        (nn.Conv2d(256, 256, 3, padding=1, stride=2), 8, 0),
        (nn.Conv2d(256, 256, 3, padding=1, groups=2), 8, 0),
        (nn.Conv2d(256, 256, 3, padding=1, padding_mode="circular"), 8, 0),
        (nn.Conv2d(256, 256, 3), 8, 0),
        (nn.Conv2d(256, 256, 5, padding=2), 8, 0),
        (nn.Conv2d(128, 128, 3, padding=1), 16, 0),
        (nn.Conv2d(64, 64, 3, padding=1), 32, 0),
    ],
)
def test_it_is_used_where_it_is_right_and_pays(conv, size, expected):
    graph, maps = fx.symbolic_trace(nn.Sequential(conv)), torch.randn(2, conv.in_channels, size, size)
    plain = conv(maps)
    with torch.no_grad():
        assert use_winograd(graph, maps) == expected
        assert torch.allclose(graph(maps), plain, atol=1e-4)


@pytest.mark.slow
def test_the_fused_heads_use_it_and_say_how_far_they_are():
    net = Architecture.parse("zoo:resnet18?stem=3x3").build(seed=0).eval()
    some = heads(net, ["layer3.1", "layer4.1"], torch.randn(2, 3, 32, 32), optimise=True)
    assert some.way.startswith("fused")
    assert (36, 512, 512) in [tuple(value.shape) for value in _constants(some.run)]
    inputs = torch.randn(5, 3, 32, 32)
    plain = heads(net, ["layer3.1", "layer4.1"], torch.randn(2, 3, 32, 32))
    for a, b in zip(some(inputs), plain(inputs), strict=True):
        assert (a - b).abs().max() / b.abs().max() < 1e-4


def _constants(script):
    values = [n.output().toIValue() for n in script.graph.nodes() if n.kind() == "prim::Constant"]
    return [v for v in values if isinstance(v, torch.Tensor)]
