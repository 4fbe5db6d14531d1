"""Direct matching: what it recovers, and that it reports the map that it installed."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import Tensor, nn

from seamripper.cut import Cut, Split, split
from seamripper.data import Samples
from seamripper.errors import MatchError
from seamripper.matching import Direct, Match, match
from seamripper.matching.moments import Moments
from seamripper.stitches import LinearLayer, stitches
from seamripper.stitches.resize import ResizeLayer


def rows_of(found: Match, samples: Samples) -> tuple[Tensor, Tensor]:
    """The design and the targets, as the layer sees them."""
    layer = found.layer
    assert isinstance(layer, LinearLayer)
    inputs = samples.batch(slice(None))
    return layer.rows(found.sender.head(inputs)).double(), layer.targets(found.receiver.head(inputs)).double()


def by_numpy(x: Tensor, y: Tensor, *, intercept: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Least squares of least norm in float64."""
    a, c = x.numpy(), y.numpy()
    mean_x, mean_y = (a.mean(0), c.mean(0)) if intercept else (np.zeros(a.shape[1]), np.zeros(c.shape[1]))
    w = np.linalg.lstsq(a - mean_x, c - mean_y, rcond=1e-7)[0].T
    return w, mean_y - w @ mean_x


def residual(found: Match, samples: Samples) -> float:
    """The normalised error of the stitched activations themselves."""
    inputs = samples.batch(slice(None))
    wanted = found.receiver.head(inputs).double()
    got = found.layer(found.sender.head(inputs)).double()
    return float((got - wanted).square().sum() / wanted.square().sum())


# ---- a planted map ----


@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize("layout", ["nd", "ntd", "nchw"])
def test_recovers_a_planted_affine_map(make, layout: str, offset: float) -> None:
    planted = make.planted(layout, offset=offset)
    fit = make.samples(make.shapes[layout], 400, dtype=torch.float64)
    found = match(planted.sender, planted.receiver, fit, matching=Direct())
    assert isinstance(found.layer, LinearLayer)
    weight, bias = found.layer.map()
    assert weight.dtype == torch.float64
    torch.testing.assert_close(weight, planted.weight, rtol=0, atol=1e-8)
    torch.testing.assert_close(bias, planted.bias, rtol=0, atol=1e-8)
    assert found.figures["residual_held_out"] < 1e-14
    assert (found.status, found.figures["rank"], found.figures["columns"]) == ("ok", 5, 5)
    # The stitched network then is the receiver.
    inputs = make.samples(make.shapes[layout], 20, seed=5, dtype=torch.float64).inputs
    torch.testing.assert_close(found(inputs), planted.receiver.answer(inputs), rtol=0, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("layout", ["nd", "ntd", "nchw"])
def test_equals_lstsq_on_the_same_rows(make, layout: str, intercept: bool) -> None:
    """Two networks that have nothing to do with each other, in float64."""
    sender, receiver = make.planted(layout, seed=0).sender, make.planted(layout, seed=8, offset=1.0).receiver
    fit = make.samples(make.shapes[layout], 300, dtype=torch.float64)
    stitch = stitches.make("affine", bias=intercept)
    found = match(sender, receiver, fit, stitch=stitch, matching=Direct(), held_out=None, seed=4)
    used = fit.take(torch.isin(fit.ids, found.fitted))
    weight, bias = by_numpy(*rows_of(found, used), intercept=intercept)
    got = found.layer.map()
    np.testing.assert_allclose(got[0], weight, rtol=0, atol=1e-9)
    np.testing.assert_allclose(got[1], bias, rtol=0, atol=1e-9)
    assert found.figures["residual_in_sample"] == pytest.approx(residual(found, used), rel=1e-9)


def test_batches_do_not_matter(make, pair) -> None:
    fit = make.blobs(200)
    found = [match(*pair, fit, matching=Direct(batch=batch)) for batch in (1, 7, 64, 1000)]
    for other in found[1:]:
        torch.testing.assert_close(other.layer.map(), found[0].layer.map(), rtol=1e-5, atol=1e-6)


# ---- hard designs ----


def damaged(make, *, dead: int = 0, doubled: bool = False) -> nn.Sequential:
    """A trained network whose hidden channels are dead, or depend on each other."""
    net = copy.deepcopy(make.trained(0))
    with torch.no_grad():
        net[0].bias[:dead] = -1000.0
        if doubled:
            net[0].weight[8:] = net[0].weight[:8]
            net[0].bias[8:] = net[0].bias[:8]
    return net


@pytest.mark.parametrize("kind", [{"dead": 5}, {"doubled": True}], ids=["dead", "doubled"])
def test_dead_and_doubled_channels(make, kind: dict[str, int]) -> None:
    fit = make.blobs(400)
    sender = make.halves(damaged(make, **kind), "1", fit)
    receiver = make.halves(make.trained(1), "1", fit)
    found = match(sender, receiver, fit, matching=Direct())
    x, y = rows_of(found, fit.take(torch.isin(fit.ids, found.fitted)))
    weight, bias = by_numpy(x, y)
    got_weight, got_bias = (t.double().numpy() for t in found.layer.map())
    assert found.figures["rank"] == np.linalg.matrix_rank(x - x.mean(0), tol=1e-4) < 12
    np.testing.assert_allclose(x.numpy() @ got_weight.T + got_bias, x.numpy() @ weight.T + bias, atol=1e-3)
    assert np.linalg.norm(got_weight) == pytest.approx(np.linalg.norm(weight), rel=1e-4)


def test_linear_layers_that_widen_have_dependent_channels(make) -> None:
    """In float32 their dependence is hidden by rounding; it is found, or the weights would have no bounds."""
    with make.seeded(0):
        wide = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 12), nn.Linear(12, 3))
        with torch.no_grad():
            wide[1].bias.add_(30.0)
    fit = make.blobs(500)
    found = match(
        make.halves(wide, "1", fit), make.halves(make.trained(1), "1", fit), fit, matching=Direct(), stitch="affine"
    )
    assert found.figures["rank"] == 4
    assert float(found.layer.map()[0].abs().max()) < 10
    assert found.figures["residual_held_out"] == pytest.approx(found.figures["residual_in_sample"], rel=0.3)


@pytest.mark.parametrize(("n", "interpolates"), [(5, True), (6, True), (7, False), (20, False)])
def test_few_rows_are_told(make, n: int, interpolates: bool) -> None:
    """Five weights and a bias a channel: six rows are met exactly, seven are not."""
    sender, receiver = make.planted("nd", seed=0).sender, make.planted("nd", seed=8).receiver
    fit = make.samples((6,), n, dtype=torch.float64)
    other = make.samples((6,), 50, seed=3, first_id=1000, dtype=torch.float64)
    found = match(sender, receiver, fit, matching=Direct(), held_out=other)
    assert found.status.startswith("interpolates") == interpolates
    assert (found.figures["residual_in_sample"] < 1e-12) == interpolates
    assert found.figures["residual_held_out"] > 1e-4
    if interpolates:
        assert f"{n} rows for 6 unknowns" in found.status


def test_a_sender_that_says_nothing_is_told(make, tmp_path) -> None:
    fit = make.blobs(100)
    sender = make.halves(damaged(make, dead=16), "1", fit)
    found = match(sender, make.halves(make.trained(1), "1", fit), fit, matching=Direct())
    assert found.status.startswith("constant")
    assert found.figures["rank"] == 0
    assert not found.layer.map()[0].any()
    found.save(tmp_path / "constant.safetensors")  # JSON has no infinity for the condition
    assert found.as_record()["figures"]["condition"] is None


# ---- residuals ----


def test_residuals_are_those_of_the_installed_weights(make, pair) -> None:
    """In and out of sample, of float32 weights, as computed outright from the stitched activations."""
    fit, other = make.blobs(200), make.blobs(150, seed=9, first_id=5000)
    found = match(*pair, fit, matching=Direct(), held_out=other)
    assert found.figures["residual_in_sample"] == pytest.approx(residual(found, fit), rel=1e-5)
    assert found.figures["residual_held_out"] == pytest.approx(residual(found, other), rel=1e-5)
    assert (found.figures["rows"], found.figures["rows_held_out"]) == (200, 150)


def test_a_fifth_is_held_out_by_the_seed(make, pair) -> None:
    fit = make.blobs(100)
    found = match(*pair, fit, matching=Direct(), seed=3)
    assert (found.figures["rows"], found.figures["rows_held_out"]) == (80, 20)
    held = fit.take(~torch.isin(fit.ids, found.fitted))
    assert found.figures["residual_held_out"] == pytest.approx(residual(found, held), rel=1e-5)
    assert torch.equal(match(*pair, fit, matching=Direct(), seed=3).fitted, found.fitted)
    assert not torch.equal(match(*pair, fit, matching=Direct(), seed=4).fitted, found.fitted)


# ---- forms ----


def test_ridge_shrinks(make, pair) -> None:
    fit = make.blobs(200)
    norms, residuals = [], []
    for ridge in (0.0, 0.01, 1.0, 100.0):
        found = match(*pair, fit, matching=Direct(ridge=ridge))
        norms.append(float(found.layer.map()[0].norm()))
        residuals.append(found.figures["residual_in_sample"])
    assert norms == sorted(norms, reverse=True)
    assert residuals == sorted(residuals)


@pytest.mark.parametrize("layout", ["nd", "nchw"])
def test_orthogonal_stitch_equals_scipy(make, layout: str) -> None:
    sender, receiver = make.planted(layout).sender, make.planted(layout, seed=8, outputs=5, offset=2.0).receiver
    fit = make.samples(make.shapes[layout], 300, dtype=torch.float64)
    found = match(sender, receiver, fit, stitch="orthogonal", matching=Direct())
    x, y = rows_of(found, fit.take(torch.isin(fit.ids, found.fitted)))
    r, _ = scipy.linalg.orthogonal_procrustes((x - x.mean(0)).numpy(), (y - y.mean(0)).numpy())
    assert found.figures["form"] == "orthogonal"
    np.testing.assert_allclose(found.layer.map()[0], r.T, atol=1e-9)
    np.testing.assert_allclose(found.layer.map()[1], y.mean(0) - torch.from_numpy(r.T) @ x.mean(0), atol=1e-9)


def test_low_rank_stitch_gets_the_reduced_rank_form(make, pair) -> None:
    fit = make.blobs(300)
    low = match(*pair, fit, stitch=stitches.make("low_rank", rank=2), matching=Direct())
    same = match(*pair, fit, stitch="affine", matching=Direct(rank=2))
    worse = match(
        *pair, fit, stitch=stitches.make("low_rank", rank=2), matching=Direct(form="least_squares")
    )  # truncates W
    full = match(*pair, fit, matching=Direct())
    assert low.figures["form"] == same.figures["form"] == "reduced_rank"
    assert low.figures["rank"] == 2
    torch.testing.assert_close(low.layer.map(), same.layer.map(), rtol=1e-4, atol=1e-5)
    in_sample = [m.figures["residual_in_sample"] for m in (full, low, worse)]
    assert in_sample == sorted(in_sample)


@pytest.mark.parametrize("name", ["resize", "resize up", "conv", "strided", "flatten_linear", "pool_linear"])
def test_every_linear_stitch_meets_lstsq(make, name: str) -> None:
    """A convolution's design is its patches, a resize's the resized map: the rows that the layer shows."""
    with make.seeded(0):
        front = nn.Sequential(nn.Conv2d(2, 3, 1), nn.Tanh(), nn.Flatten(), nn.Linear(48, 3)).double()
        if name == "resize up":
            front = nn.Sequential(nn.Conv2d(2, 3, 2, 2), nn.Tanh(), nn.Flatten(), nn.Linear(12, 3)).double()
        if name in ("conv", "resize up"):
            back = nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), nn.Tanh(), nn.Flatten(), nn.Linear(32, 3)).double()
        elif name in ("resize", "strided"):
            back = nn.Sequential(nn.Conv2d(2, 2, 2, 2), nn.Tanh(), nn.Flatten(), nn.Linear(8, 3)).double()
        else:
            back = nn.Sequential(nn.Flatten(), nn.Linear(32, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    fit = make.samples((2, 4, 4), 300, dtype=torch.float64)
    cut = "2" if name.endswith("linear") else "1"
    stitch = name.removesuffix(" up")
    found = match(make.halves(front, "1", fit), make.halves(back, cut, fit), fit, stitch=stitch, matching=Direct())
    used = fit.take(torch.isin(fit.ids, found.fitted))
    weight, bias = by_numpy(*rows_of(found, used))
    np.testing.assert_allclose(found.layer.map()[0], weight, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.layer.map()[1], bias, rtol=0, atol=1e-9)
    assert found.figures["residual_in_sample"] == pytest.approx(residual(found, used), rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize("grid", [(5, 7), (8, 3), (3, 12)])
def test_a_map_that_grows_has_the_moments_of_the_grown_one(make, grid: tuple[int, int], offset: float) -> None:
    """The small map's own products, without the large map, in two batches; and the layer maps before it resizes."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 4, 3, 3, generator=generator, dtype=torch.float64) + offset
    y = torch.randn(6, 2, *grid, generator=generator, dtype=torch.float64) + offset
    layer = stitches.make("resize").build(Cut("a", (4, 3, 3), "nchw"), Cut("b", (2, *grid), "nchw")).double()
    assert isinstance(layer, ResizeLayer)
    assert layer.enlarges
    small, plain = Moments(4, 2), Moments(4, 2)
    for rows in (slice(4), slice(4, 6)):
        small.add_enlarged(x[rows], y[rows])
        plain.add(layer.rows(x[rows]), layer.targets(y[rows]))
    assert (small.n, small.grain) == (plain.n, plain.grain)
    for name in ("mean_x", "mean_y", "sxx", "sxy"):
        torch.testing.assert_close(getattr(small, name), getattr(plain, name), rtol=1e-9, atol=1e-9)
    assert small.syy == pytest.approx(plain.syy, rel=1e-9)
    mapped = layer.rows(x) @ layer.map()[0].T + layer.map()[1]
    torch.testing.assert_close(layer.targets(layer(x)), mapped, rtol=1e-9, atol=1e-9)


# ---- what is refused ----


def test_a_stitch_that_is_no_linear_map(make, pair) -> None:
    with pytest.raises(MatchError, match="solves for one linear map, and this stitch"):
        match(*pair, make.blobs(50), stitch="bn_affine", matching=Direct())


def test_the_reduced_rank_form_needs_a_rank(make, pair) -> None:
    with pytest.raises(MatchError, match="needs a rank"):
        match(*pair, make.blobs(50), matching=Direct(form="reduced_rank"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "othogonal"}, "Expected form of the matching 'direct' to be 'auto', 'least_squares'"),
        ({"ridge": -0.1}, "Expected ridge .* to be a number of at least 0, but got -0.1"),
        ({"ridge": float("nan")}, "but got nan"),
        ({"ridge": "0.1"}, "but got '0.1'"),
        ({"rank": 0}, "of at least 1, or None, but got 0"),
        ({"rank": 2.5}, "but got 2.5"),
        ({"batch": 0}, "of at least 1, but got 0"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, object], message: str) -> None:
    with pytest.raises(MatchError, match=message):
        Direct(**options)


def test_networks_of_two_precisions(make) -> None:
    single = split(make.mlp(0, inputs=6), "1", torch.zeros(2, 6))
    double: Split = make.planted("nd").receiver
    inputs = torch.randn(60, 6, generator=torch.Generator().manual_seed(0))
    mixed = Samples("mixed", inputs, torch.zeros(60, dtype=torch.int64), torch.arange(60), classes=3)
    found = match(single, double, mixed, matching=Direct())
    same = match(split(make.mlp(0, inputs=6).double(), "1", torch.zeros(2, 6)), double, mixed, matching=Direct())
    assert {p.dtype for p in found.layer.parameters()} == {torch.float64}
    assert found(inputs).dtype == torch.float64
    assert found.figures["residual_held_out"] == pytest.approx(same.figures["residual_held_out"], rel=1e-4)


def test_a_network_that_changes_its_precision_inside(make) -> None:
    class Widen(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.double()

    fit = make.blobs(50)
    net = nn.Sequential(nn.Linear(8, 16), Widen(), nn.Linear(16, 3).double())
    found = match(make.halves(net, "1", fit), make.halves(make.trained(0), "1", fit), fit, matching=Direct())
    assert {p.dtype for p in found.layer.parameters()} == {torch.float32}
    assert found.status == "ok"
