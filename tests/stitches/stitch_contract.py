"""The contract that every stitch is held to, and the table of stitches and cuts that it is tested on."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import Tensor

from seamripper.cut.place import Cut
from seamripper.errors import StitchError
from seamripper.stitches import Layer, LinearLayer, Stitch, stitches

TOL = {"rtol": 1e-10, "atol": 1e-10}


def maps(channels: int, high: int, wide: int) -> Cut:
    return Cut("map", (channels, high, wide), "nchw")


def tokens(count: int, width: int) -> Cut:
    return Cut("tokens", (count, width), "ntd")


def vector(width: int) -> Cut:
    return Cut("vector", (width,), "nd")


def _table() -> list[tuple[Stitch, Cut, Cut]]:
    same = [
        (maps(3, 4, 5), maps(6, 4, 5)),
        (maps(6, 4, 5), maps(3, 4, 5)),
        (maps(4, 1, 1), maps(4, 1, 1)),
        (tokens(7, 4), tokens(7, 3)),
        (tokens(5, 3), tokens(5, 3)),
        (vector(4), vector(6)),
        (vector(6), vector(4)),
    ]
    rows = [(stitches.make(name), a, b) for name in ("affine", "bn_affine", "orthogonal") for a, b in same]
    rows += [(stitches.make("affine", bias=False), a, b) for a, b in same]
    rows += [(stitches.make("low_rank", rank=rank), a, b) for rank in (1, 2, 3) for a, b in same]
    rows += [(stitches.make("identity"), cut, cut) for cut in (maps(3, 4, 5), tokens(7, 3), vector(4))]
    for kernel in (1, 3, 5):
        for norm in (False, True):
            conv = stitches.make("conv", kernel=kernel, norm=norm)
            rows += [(conv, maps(2, 4, 5), maps(3, 4, 5)), (conv, maps(2, 1, 1), maps(3, 1, 1))]
    rows += [
        (stitches.make("strided"), maps(2, 8, 6), maps(3, 4, 2)),
        (stitches.make("strided"), maps(2, 4, 2), maps(3, 8, 6)),
        (stitches.make("strided"), maps(2, 4, 2), maps(3, 4, 6)),
        (stitches.make("strided"), maps(2, 4, 4), maps(3, 4, 4)),
        (stitches.make("resize"), maps(2, 7, 5), maps(3, 4, 4)),
        (stitches.make("resize"), maps(2, 4, 4), maps(3, 7, 5)),
        (stitches.make("resize"), maps(2, 4, 4), maps(3, 4, 4)),
    ]
    for cls in ("learn", "pool", "drop"):
        stitch = stitches.make("map_to_tokens", cls=cls)
        rows += [(stitch, maps(2, 4, 5), tokens(10, 3)), (stitch, maps(2, 4, 4), tokens(16, 3))]
    for cls in ("drop", "keep", "pool"):
        rows.append((stitches.make("tokens_to_map", cls=cls), tokens(10, 2), maps(3, 4, 5)))
    rows.append((stitches.make("tokens_to_map"), tokens(16, 2), maps(3, 4, 4)))
    for cls in ("keep", "learn", "pool", "drop"):
        stitch = stitches.make("resample_tokens", cls=cls)
        rows += [
            (stitch, tokens(10, 2), tokens(17, 3)),
            (stitch, tokens(16, 2), tokens(9, 3)),
            (stitch, tokens(10, 2), tokens(10, 3)),
        ]
        if cls != "keep":
            rows += [(stitch, tokens(9, 2), tokens(17, 3)), (stitch, tokens(10, 2), tokens(16, 3))]
    for source in (maps(2, 3, 4), tokens(7, 3), vector(4)):
        rows.append((stitches.make("flatten_linear"), source, vector(5)))
    for source in (maps(2, 3, 4), tokens(7, 3)):
        rows.append((stitches.make("pool_linear"), source, vector(5)))
    rows.append((stitches.make("pool_linear", pool="cls"), tokens(10, 3), vector(5)))
    for target in (maps(2, 3, 4), tokens(7, 3)):
        rows.append((stitches.make("expand_linear"), vector(4), target))
    return rows


TABLE = _table()


def case_id(value: object) -> str:
    return "x".join(map(str, value.shape)) if isinstance(value, Cut) else str(value)


def activations(n: int, cut: Cut, *, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, *cut.shape, generator=generator, dtype=torch.float64)


def nearest_map(layer: LinearLayer, weight: Tensor) -> Tensor:
    """What a layer holds after `weight` was installed, by scipy."""
    if layer.constraint == "orthogonal":
        w = weight.numpy()
        return torch.from_numpy(np.ascontiguousarray(scipy.linalg.polar(w)[0]))
    if layer.constraint == "rank":
        u, s, vh = scipy.linalg.svd(weight.numpy(), full_matrices=False)
        s[layer.rank :] = 0
        return torch.from_numpy((u * s) @ vh)
    return weight


def check_layer(layer: Layer, source: Cut, target: Cut) -> None:
    """Any batch size; the receiver's shape; a sample is mapped the same in any batch; it can be copied."""
    layer.eval()
    x = activations(5, source)
    y = layer(x)
    assert y.shape == (5, *target.shape), "shape"
    assert y.dtype == x.dtype, "dtype"
    for n in (0, 1, 2):
        torch.testing.assert_close(layer(x[:n]), y[:n], **TOL)
    twin = copy.deepcopy(layer)
    torch.testing.assert_close(twin(x), y, **TOL)
    for tensor in twin.parameters():
        assert tensor.grad is None
        tensor.data.add_(0.25)
    torch.testing.assert_close(layer(x), y, **TOL)
    twin.load_state_dict(layer.state_dict())
    torch.testing.assert_close(twin(x), y, **TOL)


def check_linear(layer: LinearLayer, source: Cut, target: Cut) -> None:
    """targets(forward(x)) = rows(x) Wᵀ + b before and after an installation; the installed map comes back."""
    _check_identity(layer, source, target)
    _check_targets(layer, target)
    if layer.pointwise:
        _check_pointwise(layer, source)
    q, p = layer.map()[0].shape
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(q, p, generator=generator, dtype=torch.float64)
    bias = torch.randn(q, generator=generator, dtype=torch.float64) * layer.intercept
    before = weight.clone(), bias.clone()
    layer.install(weight, bias)
    assert torch.equal(weight, before[0]), "install changed its argument"
    assert torch.equal(bias, before[1]), "install changed its argument"
    torch.testing.assert_close(layer.map()[0], nearest_map(layer, weight), **TOL)
    torch.testing.assert_close(layer.map()[1], bias, **TOL)
    _check_identity(layer, source, target)

    held = layer.map()
    layer.install(*held)
    torch.testing.assert_close(layer.map(), held, **TOL)
    held[0].zero_(), held[1].zero_()
    assert layer.map()[0].any(), "map is a copy"

    with pytest.raises(StitchError, match="Expected a weight of"):
        layer.install(weight[:, :-1], bias)
    with pytest.raises(StitchError, match="finite"):
        layer.install(weight * float("nan"), bias)


def _check_identity(layer: LinearLayer, source: Cut, target: Cut) -> None:
    for n in (0, 1, 4):
        x = activations(n, source, seed=n)
        weight, bias = layer.map()
        assert not weight.requires_grad
        assert not bias.requires_grad
        rows = layer.rows(x)
        assert rows.ndim == 2, "rows are a matrix"
        assert len(rows) == len(layer.targets(activations(n, target))), "as many rows as targets"
        with torch.no_grad():
            torch.testing.assert_close(layer.targets(layer(x)), rows @ weight.T + bias, **TOL)


def _check_pointwise(layer: LinearLayer, source: Cut) -> None:
    over = {"nchw": (2, 3), "ntd": (1,), "nd": ()}[source.layout]
    x = activations(3, source)
    if over:
        torch.testing.assert_close(layer(x.mean(over, keepdim=True)), layer(x).mean(over, keepdim=True), **TOL)


def _check_targets(layer: LinearLayer, target: Cut) -> None:
    y = activations(3, target, seed=9)
    rows = layer.targets(y)
    torch.testing.assert_close(rows.flatten().sort().values, y.flatten().sort().values, rtol=0, atol=0)
    torch.testing.assert_close(layer.targets(y[1:2]), rows.chunk(3)[1], rtol=0, atol=0)
