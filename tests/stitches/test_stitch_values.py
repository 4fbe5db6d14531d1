"""What each stitch computes, against torch's functional operations and against loops."""

from __future__ import annotations

import pytest
import scipy.linalg
import torch
import torch.nn.functional as F
from hypothesis import given, settings, strategies as st
from stitch_contract import TOL, activations, maps, tokens, vector
from torch import Tensor, nn

from seamripper.cut.place import Cut
from seamripper.errors import StitchError
from seamripper.stitches import LinearLayer, stitches, to_rows


def built(name: str, source: Cut, target: Cut, **options: object) -> tuple[LinearLayer, Tensor, Tensor]:
    layer = stitches.make(name, **options).build(source, target).double()
    assert isinstance(layer, LinearLayer)
    return layer, *layer.map()


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a.detach(), b.detach(), **TOL)


@pytest.mark.parametrize("cut", [maps(3, 4, 4), tokens(5, 3), vector(3)])
@pytest.mark.parametrize("training", [True, False])
def test_identity_returns_the_very_same_tensor(cut: Cut, training: bool) -> None:
    layer = stitches.make("identity").build(cut, cut).train(training)
    x = torch.randn(2, *cut.shape)
    assert layer(x) is x
    assert not list(layer.parameters())


def test_to_rows_by_a_loop() -> None:
    x = activations(2, maps(3, 2, 4))
    rows = torch.stack([x[n, :, i, j] for n in range(2) for i in range(2) for j in range(4)])
    assert torch.equal(to_rows(x, "nchw"), rows)
    x = activations(2, tokens(4, 3))
    assert torch.equal(to_rows(x, "ntd"), torch.stack([x[n, t] for n in range(2) for t in range(4)]))
    x = activations(2, vector(3))
    assert to_rows(x, "nd") is x


def test_affine() -> None:
    x = activations(2, maps(3, 4, 5))
    layer, weight, bias = built("affine", maps(3, 4, 5), maps(6, 4, 5))
    close(layer(x), F.conv2d(x, weight.view(6, 3, 1, 1), bias))
    x = activations(2, tokens(7, 3))
    layer, weight, bias = built("affine", tokens(7, 3), tokens(7, 6))
    close(layer(x), torch.einsum("ntd,qd->ntq", x, weight) + bias)


def test_affine_starts_as_torch_starts_a_1x1_convolution() -> None:
    torch.manual_seed(3)
    conv = nn.Conv2d(3, 6, 1)
    torch.manual_seed(3)
    weight, bias = stitches.make("affine").build(maps(3, 4, 5), maps(6, 4, 5)).map()
    assert torch.equal(weight, conv.weight.flatten(1))
    assert torch.equal(bias, conv.bias)


def test_affine_without_bias_refuses_one() -> None:
    layer, weight, bias = built("affine", vector(3), vector(2), bias=False)
    assert not layer.intercept
    assert not bias.any()
    assert not dict(layer.named_parameters()).keys() - {"linear.weight"}
    with pytest.raises(StitchError, match=r"bias of zeros.*bias=True"):
        layer.install(weight, bias + 1)
    close(layer.map()[0], weight)


@settings(max_examples=40, deadline=None)
@given(c=st.integers(1, 4), q=st.integers(1, 4), h=st.integers(1, 6), w=st.integers(1, 6), half=st.integers(0, 2))
def test_conv(c: int, q: int, h: int, w: int, half: int) -> None:
    k = 2 * half + 1
    layer, weight, bias = built("conv", maps(c, h, w), maps(q, h, w), kernel=k)
    x = activations(2, maps(c, h, w))
    close(layer(x), F.conv2d(x, weight.view(q, c, k, k), bias, padding=half))


@settings(max_examples=40, deadline=None)
@given(c=st.integers(1, 3), h=st.integers(1, 3), w=st.integers(1, 3), a=st.integers(1, 3), b=st.integers(1, 3))
def test_strided(c: int, h: int, w: int, a: int, b: int) -> None:
    small, large = maps(c, h, w), maps(2, h * a, w * b)
    down, weight, bias = built("strided", large, small)
    x = activations(2, large)
    close(down(x), F.conv2d(x, weight.view(c, 2, a, b), bias, stride=(a, b)))
    up, weight, bias = built("strided", small, large)
    x = activations(2, small)
    larger = x.repeat_interleave(a, 2).repeat_interleave(b, 3)
    close(up(x), F.conv2d(larger, weight.view(2, c, 1, 1), bias))


@settings(max_examples=40, deadline=None)
@given(h=st.integers(1, 8), w=st.integers(1, 8), high=st.integers(1, 8), wide=st.integers(1, 8))
def test_resize(h: int, w: int, high: int, wide: int) -> None:
    layer, weight, bias = built("resize", maps(2, h, w), maps(3, high, wide))
    x = activations(2, maps(2, h, w))
    larger = F.interpolate(x, (high, wide), mode="bilinear", align_corners=False, antialias=False)
    close(layer(x), F.conv2d(larger, weight.view(3, 2, 1, 1), bias))
    # Resizing and mapping commute.
    mapped = F.conv2d(x, weight.view(3, 2, 1, 1), bias)
    close(layer(x), F.interpolate(mapped, (high, wide), mode="bilinear", align_corners=False))


def test_map_to_tokens() -> None:
    x = activations(3, maps(2, 4, 5))
    small = F.interpolate(x, (3, 3), mode="bilinear", align_corners=False)
    grid = torch.stack([small[:, :, i, j] for i in range(3) for j in range(3)], 1)

    layer, weight, bias = built("map_to_tokens", maps(2, 4, 5), tokens(10, 6))
    assert weight.shape == (6, 3)
    close(layer(x)[:, 1:], grid @ weight[:, :2].T + bias)
    close(layer(x)[:, 0], (weight[:, 2] + bias).expand(3, -1))

    layer, weight, bias = built("map_to_tokens", maps(2, 4, 5), tokens(10, 6), cls="pool")
    close(layer(x)[:, 1:], grid @ weight.T + bias)
    close(layer(x)[:, 0], grid.mean(1) @ weight.T + bias)

    layer, weight, bias = built("map_to_tokens", maps(2, 4, 5), tokens(10, 6), cls="drop")
    close(layer(x)[:, 1:], grid @ weight.T + bias)
    close(layer(x)[:, 0], bias.expand(3, -1))

    for cls in ("learn", "pool", "drop"):
        layer, weight, bias = built("map_to_tokens", maps(2, 4, 5), tokens(9, 6), cls=cls)
        close(layer(x), grid @ weight.T + bias)


@pytest.mark.parametrize("grid", [(3, 3), (5, 4)])
def test_tokens_to_map(grid: tuple[int, int]) -> None:
    x = activations(2, tokens(10, 3))
    target = maps(4, *grid)

    def reference(features: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        square = torch.zeros(2, 4, 3, 3, dtype=x.dtype)
        for i in range(3):
            for j in range(3):
                square[:, :, i, j] = features[:, 3 * i + j] @ weight.T + bias
        return F.interpolate(square, grid, mode="bilinear", align_corners=False)

    layer, weight, bias = built("tokens_to_map", tokens(10, 3), target)
    close(layer(x), reference(x[:, 1:], weight, bias))
    layer, weight, bias = built("tokens_to_map", tokens(10, 3), target, cls="keep")
    assert weight.shape == (4, 6)
    close(layer(x), reference(torch.cat([x[:, 1:], x[:, [0] * 9]], 2), weight, bias))
    layer, weight, bias = built("tokens_to_map", tokens(10, 3), target, cls="pool")
    close(layer(x), reference(0.5 * x[:, 1:] + 0.5 * x[:, :1], weight, bias))
    layer, weight, bias = built("tokens_to_map", tokens(9, 3), target)
    close(layer(x[:, 1:]), reference(x[:, 1:], weight, bias))


@pytest.mark.parametrize(
    ("cls", "sent", "received"),
    [
        (cls, sent, received)
        for cls in ("keep", "learn", "pool", "drop")
        for sent, received in ((10, 17), (9, 16), (10, 10), (9, 17), (10, 16))
        if cls != "keep" or (sent, received) not in ((9, 17), (10, 16))
    ],
)
def test_resample_tokens(cls: str, sent: int, received: int) -> None:
    side = 4 if received >= 16 else 3
    layer, weight, bias = built("resample_tokens", tokens(sent, 2), tokens(received, 5), cls=cls)
    x = activations(3, tokens(sent, 2))
    square = x[:, -9:].permute(0, 2, 1).reshape(3, 2, 3, 3)
    larger = F.interpolate(square, (side, side), mode="bilinear", align_corners=False)
    grid = larger.permute(0, 2, 3, 1).reshape(3, -1, 2)
    y = layer(x)
    close(y[:, -side * side :], grid @ weight[:, :2].T + bias)
    if received in (17, 10):
        first = {
            "keep": x[:, 0] @ weight[:, :2].T,
            "learn": weight[:, -1].expand(3, -1),
            "pool": grid.mean(1) @ weight[:, :2].T,
            "drop": torch.zeros(3, 5, dtype=x.dtype),
        }[cls]
        close(y[:, 0], first + bias)


def test_into_a_vector() -> None:
    x = activations(2, maps(2, 3, 4))
    layer, weight, bias = built("flatten_linear", maps(2, 3, 4), vector(5))
    close(layer(x), torch.einsum("nchw,qchw->nq", x, weight.view(5, 2, 3, 4)) + bias)
    layer, weight, bias = built("pool_linear", maps(2, 3, 4), vector(5))
    close(layer(x), F.adaptive_avg_pool2d(x, 1)[..., 0, 0] @ weight.T + bias)

    x = activations(2, tokens(5, 3))
    layer, weight, bias = built("flatten_linear", tokens(5, 3), vector(4))
    close(layer(x), torch.einsum("ntd,qtd->nq", x, weight.view(4, 5, 3)) + bias)
    layer, weight, bias = built("pool_linear", tokens(5, 3), vector(4))
    close(layer(x), sum(x[:, t] for t in range(5)) / 5 @ weight.T + bias)
    layer, weight, bias = built("pool_linear", tokens(5, 3), vector(4), pool="cls")
    close(layer(x), x[:, 0] @ weight.T + bias)


def test_out_of_a_vector() -> None:
    x = activations(2, vector(4))
    layer, weight, bias = built("expand_linear", vector(4), maps(2, 3, 5))
    close(layer(x), torch.einsum("nd,chwd->nchw", x, weight.view(2, 3, 5, 4)) + bias.view(2, 3, 5))
    layer, weight, bias = built("expand_linear", vector(4), tokens(3, 2))
    close(layer(x), torch.einsum("nd,tkd->ntk", x, weight.view(3, 2, 4)) + bias.view(3, 2))


# ---- constrained maps ----


def test_low_rank_starts_orthogonal_and_stays_low() -> None:
    layer, weight, bias = built("low_rank", vector(6), vector(9), rank=4)
    singular = torch.linalg.svdvals(weight)
    torch.testing.assert_close(singular[:4], torch.ones(4, dtype=torch.float64), rtol=0, atol=1e-5)
    assert singular[4:].max() < 1e-12
    assert not bias.any()
    assert (layer.constraint, layer.rank) == ("rank", 4)
    generator = torch.Generator().manual_seed(0)
    low = torch.randn(9, 4, generator=generator).double() @ torch.randn(4, 6, generator=generator).double()
    layer.install(low, bias)
    close(layer.map()[0], low)


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7), (7, 3), (1, 1), (1, 4)])
def test_orthogonal_stays_so_under_training_with_weight_decay(p: int, q: int) -> None:
    torch.manual_seed(0)
    layer, start, _ = built("orthogonal", vector(p), vector(q))
    x, y = activations(30, vector(p)), activations(30, vector(q), seed=1)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    losses = []
    for _ in range(30):
        optimiser.zero_grad()
        loss = F.mse_loss(layer(x), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    weight, _ = layer.map()
    gram = weight @ weight.T if q <= p else weight.T @ weight
    torch.testing.assert_close(gram, torch.eye(min(p, q)).double(), rtol=0, atol=1e-5)
    assert losses[-1] < losses[0]
    assert (p == q == 1) or not torch.allclose(weight, start, atol=1e-4)


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7), (7, 3)])
def test_orthogonal_installs_the_procrustes_solution_exactly(p: int, q: int) -> None:
    layer, _, bias = built("orthogonal", vector(p), vector(q))
    exact = torch.from_numpy(scipy.linalg.qr(activations(max(p, q), vector(min(p, q))).numpy(), mode="economic")[0])
    exact = exact if q >= p else exact.T
    layer.install(exact, bias)
    close(layer.map()[0], exact)
    # Installing keeps the parameters themselves, so an optimiser made before goes on working.
    before = [id(parameter) for parameter in layer.parameters()]
    layer.install(-exact, bias)
    assert [id(parameter) for parameter in layer.parameters()] == before


def test_a_single_precision_layer_takes_a_double_map() -> None:
    for name, options in (
        ("affine", {}),
        ("orthogonal", {}),
        ("low_rank", {"rank": 3}),
        ("flatten_linear", {}),
    ):
        layer = stitches.make(name, **options).build(vector(3), vector(3))
        exact = torch.from_numpy(scipy.linalg.qr(activations(3, vector(3)).numpy())[0])
        layer.install(exact, torch.ones(3, dtype=torch.float64))
        weight, bias = layer.map()
        assert weight.dtype == bias.dtype == torch.float32
        torch.testing.assert_close(weight.double(), exact, rtol=0, atol=1e-6)


# ---- batch normalisation ----


@pytest.mark.parametrize("training", [True, False])
def test_bn_affine_on_maps(training: bool) -> None:
    layer = stitches.make("bn_affine").build(maps(3, 4, 5), maps(2, 4, 5)).double().train(training)
    conv = dict(layer.named_parameters())["middle.weight"]
    x = activations(4, maps(3, 4, 5)) * 3 + 1
    expected = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 2, 1), nn.BatchNorm2d(2)).double().train(training)
    with torch.no_grad():
        expected[1].weight.copy_(conv)
        expected[1].bias.zero_()
    close(layer(x), expected(x))


@pytest.mark.parametrize("training", [True, False])
def test_bn_affine_on_tokens_is_bn_over_channels(training: bool) -> None:
    layer = stitches.make("bn_affine").build(tokens(5, 3), tokens(5, 2)).double().train(training)
    weight = dict(layer.named_parameters())["middle.weight"]
    x = activations(4, tokens(5, 3)) * 3 + 1

    def norm(z: Tensor) -> Tensor:
        if not training:
            return z / (1 + 1e-5) ** 0.5
        return (z - z.mean((0, 1))) / (z.var((0, 1), unbiased=False) + 1e-5).sqrt()

    close(layer(x), norm(norm(x) @ weight.T))


def test_conv_with_norm() -> None:
    layer = stitches.make("conv", kernel=3, norm=True).build(maps(3, 4, 5), maps(2, 4, 5)).double()
    weight = dict(layer.named_parameters())["middle.weight"]
    x = activations(4, maps(3, 4, 5))
    normed = F.batch_norm(x, None, None, training=True)
    close(layer(x), F.batch_norm(F.conv2d(normed, weight, padding=1), None, None, training=True))


@pytest.mark.parametrize("cut", [maps(3, 1, 1), tokens(1, 3), vector(3)])
def test_a_batch_of_one_row_is_refused_in_train_mode_only(cut: Cut) -> None:
    layer = stitches.make("bn_affine").build(cut, cut)
    with pytest.raises(StitchError, match=r"Expected two rows .* but got 1; take larger batches"):
        layer(torch.ones(1, *cut.shape))
    assert layer.eval()(torch.ones(1, *cut.shape)).shape == (1, *cut.shape)
