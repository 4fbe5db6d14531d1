"""The input itself in the place of the sender's activations."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from seamripper.controls import Case, controls
from seamripper.controls.input import Resized
from seamripper.data import Samples
from seamripper.data.paired import Paired
from seamripper.errors import InapplicableError
from seamripper.models import load

INPUT = controls.make("input")


def only(case: Case):
    return next(INPUT.counterparts(case))


def halved(images: torch.Tensor) -> torch.Tensor:
    """Halving by a filter of its own: the triangle that bilinear resizing with antialiasing is."""
    taps = torch.tensor([1.0, 3.0, 3.0, 1.0])
    kernel = (taps[:, None] * taps)[None, None].expand(images.shape[1], 1, 4, 4)
    ones = torch.ones_like(images[:1])
    total = F.conv2d(ones, kernel, stride=2, padding=1, groups=images.shape[1])
    return F.conv2d(images, kernel, stride=2, padding=1, groups=images.shape[1]) / total


def test_an_image_on_the_receivers_grid(maps: Case) -> None:
    one = only(maps)
    assert maps.receiver.cut.grid == (8, 8)
    assert (one.sender.cut.shape, one.sender.cut.layout) == ((3, 8, 8), "nchw")
    assert one.label == "the input, resized to 8x8"
    images = maps.fit.receiver.batch(slice(0, 5))
    torch.testing.assert_close(one.sender.head(images), halved(images), rtol=1e-4, atol=1e-5)


def test_one_outcome_for_each_seed_on_the_inputs_themselves(make, maps: Case) -> None:
    noise = make.images(48, seed=9)
    outcomes = list(INPUT.outcomes(replace(maps, fit=Paired(noise, maps.fit.receiver))))
    assert [outcome.seed for outcome in outcomes] == [0, 1]
    assert all(outcome.match.made_from["fit"]["fingerprint"] == maps.fit.fingerprint for outcome in outcomes)


def test_a_vector_is_of_at_most_8_by_8_pixels(make, maps: Case) -> None:
    for cut, layout in (("fc", "nd"), ("avgpool", "nchw")):
        receiver = make.halves(make.resnet(1), cut, maps.fit)
        one = only(replace(maps, receiver=receiver))
        assert receiver.cut.layout == layout
        assert one.sender.cut.shape == ((3 * 64,) if layout == "nd" else (3, 1, 1))
    small = make.images(40, side=12).take(slice(0, 40))
    small = replace(small, inputs=small.inputs[:, :, 1:6])
    flat = nn.Sequential(nn.Flatten(), nn.Linear(3 * 5 * 12, 6), nn.Linear(6, 4))
    half = make.halves(flat, "1", small)
    one = only(replace(maps, sender=half, receiver=half, fit=small))
    assert one.sender.cut.shape == (3 * 5 * 8,)


@pytest.mark.slow
def test_tokens_are_fed_from_a_map(make, maps: Case) -> None:
    images = make.images(24, side=32)
    vit = make.halves(load("zoo:vit_tiny?patch=8&size=32&classes=4"), "blocks.1", images)
    assert vit.cut.shape == (17, 192)
    tokens = replace(maps, sender=vit, receiver=vit, fit=images, test=make.images(12, side=32, seed=2, first_id=900))
    assert only(tokens).sender.cut.shape == (3, 4, 4)
    assert next(INPUT.outcomes(replace(tokens, seeds=(0,)))).match.stitch.name == "map_to_tokens"
    # A stitch from tokens to tokens was chosen: then the input comes as tokens, with one where CLS stands.
    one = only(replace(tokens, stitch="affine"))
    assert one.sender.cut.shape == (17, 3)
    sent = one.sender.head(images.batch(slice(0, 3)))
    torch.testing.assert_close(sent[:, 0], sent[:, 1:].mean(1))
    torch.testing.assert_close(sent[:, 1:].mT.reshape(3, 3, 4, 4), only(tokens).sender.head(images.batch(slice(0, 3))))


def test_a_stitch_for_the_senders_form_gets_the_image_in_that(make, maps: Case) -> None:
    vectors = make.halves(make.resnet(0), "fc", maps.fit)
    assert only(replace(maps, sender=vectors)).sender.cut.shape == (3, 8, 8)
    assert only(replace(maps, sender=vectors, stitch="expand_linear")).sender.cut.shape == (3 * 64,)


def test_a_stitch_that_cannot_take_the_input(maps: Case) -> None:
    with pytest.raises(InapplicableError, match=r"'input' uses the stitch of the comparison. The stitch 'identity' "):
        only(replace(maps, stitch="identity"))


def test_vectors_stay_as_they_are(case: Case) -> None:
    one = only(case)
    assert one.label == "the input"
    assert torch.equal(one.sender.head(case.fit.receiver.inputs), case.fit.receiver.inputs)
    assert next(INPUT.outcomes(case)).result.top1.value > 0.9


def test_text_is_no_activation(case: Case) -> None:
    tokens = {"input_ids": torch.ones(400, 5, dtype=torch.int64)}
    with pytest.raises(InapplicableError, match=r"blobs has named inputs \(text\), which cannot serve as activations"):
        only(replace(case, fit=replace(case.fit.receiver, inputs=tokens)))


@pytest.mark.parametrize(
    ("inputs", "said"), [(torch.zeros(4, 2, 3), r"2x3 \(float32\)"), (torch.zeros(4, 5, dtype=torch.int64), "int64")]
)
def test_inputs_that_are_neither_images_nor_vectors(case: Case, inputs: torch.Tensor, said: str) -> None:
    odd = Samples("odd", inputs, torch.zeros(4, dtype=torch.int64), torch.arange(4), 4)
    with pytest.raises(
        InapplicableError, match=f"for images and vectors of numbers, but odd has inputs of shape.*{said}"
    ):
        only(replace(case, fit=odd))


def test_resizing_keeps_what_is_constant() -> None:
    images = torch.tensor([0.25, -3.0]).view(1, 2, 1, 1).expand(1, 2, 10, 14)
    for made, wanted in (
        (Resized((3, 5), "nchw")(images), (1, 2, 3, 5)),
        (Resized((20, 20), "nchw")(images), (1, 2, 20, 20)),
        (Resized((3, 3), "ntd", 2)(images).mT, (1, 2, 11)),
    ):
        assert made.shape == wanted
        torch.testing.assert_close(made.flatten(2).mean(2), images[..., 0, 0])
        torch.testing.assert_close(made.flatten(2).std(2), torch.zeros(1, 2), atol=1e-6, rtol=0)
