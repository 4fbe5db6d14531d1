"""Regression matching: gradient steps towards what direct matching finds at once."""

from __future__ import annotations

import pytest
import torch

from seamripper.errors import DataError
from seamripper.matching import Direct, Regression, Training, match

LONG = Training(epochs=1500, batch=1000, lr=0.05, weight_decay=0.0, schedule="cosine")


def test_reaches_the_direct_residual(make) -> None:
    """Two networks that have nothing to do with each other: there is an error left, and it is the same."""
    sender, receiver = make.planted("nd", seed=0).sender, make.planted("nd", seed=8).receiver
    fit = make.samples((6,), 192, dtype=torch.float64)
    other = make.samples((6,), 100, seed=5, first_id=5000, dtype=torch.float64)
    direct = match(sender, receiver, fit, matching=Direct(), held_out=other)
    found = match(sender, receiver, fit, matching=Regression(LONG), held_out=other)
    best = direct.figures["residual_in_sample"]
    assert best > 0.01
    assert best <= found.figures["residual_in_sample"] * (1 + 1e-12)
    assert found.figures["residual_in_sample"] == pytest.approx(best, rel=1e-5)
    assert found.figures["residual_held_out"] == pytest.approx(direct.figures["residual_held_out"], rel=1e-3)
    assert len(found.curves["loss"]) == 1500


def test_recovers_a_planted_map(make) -> None:
    planted = make.planted("nchw")
    fit = make.samples(make.shapes["nchw"], 100, dtype=torch.float64)
    found = match(planted.sender, planted.receiver, fit, matching=Regression(LONG))
    torch.testing.assert_close(found.layer.map()[0], planted.weight, atol=1e-2, rtol=0)
    assert found.figures["residual_held_out"] < 1e-5


def test_from_the_direct_start_it_stays(make, pair) -> None:
    fit, other = make.blobs(192), make.blobs(100, seed=5, first_id=5000)
    direct = match(*pair, fit, matching=Direct(), held_out=other)
    found = match(*pair, fit, matching=Regression(Training(epochs=0), init="direct"), held_out=other)
    assert found.figures["residual_in_sample"] == pytest.approx(direct.figures["residual_in_sample"], rel=1e-5)


def test_serves_a_stitch_that_no_closed_form_finds(make, pair) -> None:
    fit = make.blobs(256)
    start = match(*pair, fit, stitch="bn_affine", matching=Regression(Training(epochs=1)))
    found = match(*pair, fit, stitch="bn_affine", matching=Regression(Training(epochs=60, batch=64, lr=0.02)))
    direct = match(*pair, fit, matching=Direct())
    assert found.figures["residual_held_out"] < 0.5 * start.figures["residual_held_out"]
    assert found.figures["residual_held_out"] < 2 * direct.figures["residual_held_out"]
    inputs = fit.take(torch.isin(fit.ids, found.fitted)).inputs
    wanted = pair[1].head(inputs)
    outright = (found.layer(pair[0].head(inputs)) - wanted).square().sum() / wanted.square().sum()
    assert found.figures["residual_in_sample"] == pytest.approx(float(outright), rel=1e-4)


def test_needs_no_labels_of_the_receiver(make, pair) -> None:
    """The labels may be of another task altogether; task matching refuses them."""
    fit = make.samples((8,), 60, classes=40)
    assert match(*pair, fit, matching=Regression(Training(epochs=1))).status == "ok"
    with pytest.raises(DataError, match="the receiver has 3 classes"):
        match(*pair, fit)
