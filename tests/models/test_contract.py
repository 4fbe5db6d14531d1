"""Models say what inputs they want, data what it holds; the two are brought together or refused, with both named."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import seamripper as sr
from seamripper.errors import DataError
from seamripper.matching import Direct
from seamripper.models.contract import InputContract, UnknownInputsWarning
from seamripper.models.running import use_seed

pytestmark = pytest.mark.filterwarnings("ignore:The compiled part of torchvision:UserWarning")

IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
CAR, SHIP, DOG = (
    (436, 511, 609, 656, 751, 817),
    (403, 404, 472, 484, 510, 554, 625, 628, 724, 780, 814, 914),
    range(151, 269),
)
GROUPS = {"automobile": CAR, "dog": DOG, "ship": SHIP}


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real photographs as users have them: files in folders, cars, dogs and ships of CIFAR-10 made larger."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("photographs")
    samples = sr.load_data("cifar10", "test")
    assert isinstance(samples.inputs, Tensor)
    for label, name in ((1, "automobile"), (5, "dog"), (8, "ship")):
        for split, rows in (("train", slice(0, 2)), ("test", slice(2, 14))):
            place = folder / split / name
            place.mkdir(parents=True)
            for k, row in enumerate((samples.labels == label).nonzero().flatten()[rows].tolist()):
                picture = samples.inputs[row].permute(1, 2, 0).numpy()
                Image.fromarray(picture).resize((160, 160), Image.Resampling.BICUBIC).save(place / f"{k}.png")
    return folder


def named_rightly(model: sr.Model, samples: sr.Samples) -> float:
    """The share of photographs whose group the model names, shown to it as it wants them."""
    shown = model.present(samples)
    with torch.no_grad():
        answers = torch.cat([model.module(inputs).argmax(1) for inputs, _ in shown.batches(8)])
    groups = list(GROUPS.values())
    hits = [int(answer) in groups[int(label)] for answer, label in zip(answers, samples.labels, strict=True)]
    return sum(hits) / len(hits)


def pictures(n: int = 6, side: int = 8, channels: int = 3) -> sr.Samples:
    pixels = torch.randint(
        256, (n, channels, side, side), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    return sr.Samples("some pictures", pixels, torch.arange(n) % 2, torch.arange(n), classes=2, mean=0.5, std=0.5)


def tiny(seed: int = 0, side: int = 8) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
        )


# What a model is shown


@pytest.mark.network
@pytest.mark.parametrize("name", ["mobilenet_v2", "efficientnet_lite0"])
def test_imagenet_networks_name_photographs_of_a_folder(name: str, photographs: Path) -> None:
    """As (x − 0.5) / 0.5, which they were once shown, MobileNetV2 names none of them."""
    model, samples = (
        sr.load(f"imagenet:{name}?input=3x160x160"),
        sr.load_data(f"folder:{photographs}", "test", size=160),
    )
    rightly = named_rightly(model, samples)
    wrongly = named_rightly(dataclasses.replace(model, wants=None), dataclasses.replace(samples, assumed=False))
    assert rightly >= 0.3
    assert wrongly <= rightly - 0.2


@pytest.mark.network
def test_torchvision_with_its_weights_in_a_file_is_shown_the_same_as_the_zoo(photographs: Path) -> None:
    from seamripper.models.imagenet import WEIGHTS

    remote = WEIGHTS["mobilenet_v2"].remote
    file = remote.path(*remote.files)
    theirs, ours = sr.load(f"torchvision:mobilenet_v2?weights={file}"), sr.load("imagenet:mobilenet_v2")
    samples = sr.load_data(f"folder:{photographs}", "test", n=4)
    with torch.no_grad():
        a, b = (model.module(model.present(samples).batch(slice(0, 4))) for model in (theirs, ours))
    torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)
    assert theirs.wants is not None
    assert "torchvision's transforms" in str(theirs.wants)


def test_timm_says_what_its_published_weights_want(tmp_path: Path) -> None:
    # In a file, and with the published classes: these are taken for the published weights.
    torch.save(sr.load("timm:resnet18.a1_in1k").module.state_dict(), tmp_path / "w.pt")
    wants = sr.load("timm:resnet18.a1_in1k", weights=tmp_path / "w.pt").wants
    assert wants is not None
    assert (wants.mean, wants.std, wants.size) == (*IMAGENET.values(), (224, 224))
    assert wants.interpolation == "bicubic"
    assert sr.load("timm:resnet18").wants is None  # untrained: whatever it is shown, it has not learnt to want it


def test_an_image_processor_of_transformers_is_heeded(tmp_path: Path) -> None:
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, image_size=16, patch_size=8
    )
    with use_seed(0):
        ViTModel(config).save_pretrained(tmp_path)
    says = {
        "image_processor_type": "ViTImageProcessor", "do_resize": True, "do_rescale": True, "do_normalize": True,
        "rescale_factor": 1 / 255, "image_mean": [0.1, 0.2, 0.3], "image_std": [0.5, 0.6, 0.7], "resample": 3,
        "size": {"height": 16, "width": 16},
    }  # fmt: skip
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(says))
    model = sr.load(f"hf:{tmp_path}")
    samples = pictures(side=16)
    shown = model.present(samples).batch(slice(0, 6))
    mean, std = torch.tensor([0.1, 0.2, 0.3]).reshape(3, 1, 1), torch.tensor([0.5, 0.6, 0.7]).reshape(3, 1, 1)
    assert isinstance(samples.inputs, Tensor)
    torch.testing.assert_close(shown, (samples.inputs / 255 - mean) / std)
    assert model.wants is not None
    assert model.wants.interpolation == "bicubic"


def test_a_checkpoint_wants_what_it_was_trained_on(tmp_path: Path) -> None:
    grey = sr.load_data("digits/greyscale", "train", n=64)
    path = tmp_path / "grey.safetensors"
    sr.train("zoo:lenet?channels=3", grey, out=path, training=dataclasses.replace(sr.Training.make("smith"), epochs=1))
    model, colour = sr.load(str(path)), sr.load_data("digits/correlated", "test", n=8)
    assert model.wants is not None
    shown = model.present(colour)
    assert (shown.mean, shown.std) == (grey.mean, grey.std) != (colour.mean, colour.std)
    assert isinstance(colour.inputs, Tensor)
    torch.testing.assert_close(shown.batch(slice(0, 8)), (colour.inputs / 255 - grey.mean) / grey.std)


@pytest.mark.network
def test_another_input_size_is_another_contract() -> None:
    assert sr.load("imagenet:efficientnet_lite1").wants.size == (240, 240)  # type: ignore[union-attr]
    assert sr.load("imagenet:efficientnet_lite1", input=(3, 64, 64)).wants.size == (64, 64)  # type: ignore[union-attr]


# How it is done


def test_pictures_are_shown_by_plain_arithmetic() -> None:
    """A reference in float64: resized (torch, antialiased), scaled to the range, normalised channel by channel."""
    samples = pictures(side=12)
    wants = InputContract("a test", mean=(1.0, 2.0, 3.0), std=(4.0, 5.0, 6.0), range=(-1.0, 1.0), size=(8, 8))
    shown = sr.Model(tiny(), "tiny", wants=wants).present(samples).batch(slice(0, 6))
    assert isinstance(samples.inputs, Tensor)
    small = F.interpolate(samples.inputs.double(), (8, 8), mode="bilinear", antialias=True)
    mean, std = (np.array(numbers).reshape(3, 1, 1) for numbers in (wants.mean, wants.std))
    np.testing.assert_allclose(np.asarray(shown), (small.numpy() / 255 * 2 - 1 - mean) / std, atol=1e-5)


def test_floats_with_a_range_are_shown_as_their_bytes_are() -> None:
    samples = pictures()
    assert isinstance(samples.inputs, Tensor)
    floats = dataclasses.replace(samples, inputs=samples.inputs.float() / 255 * 4 - 1, range=(-1.0, 3.0))
    model = sr.Model(tiny(), "tiny", wants=InputContract("a test", **IMAGENET))
    a, b = (model.present(given).batch(slice(0, 6)) for given in (samples, floats))
    torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_what_was_presented_can_be_presented_again() -> None:
    model = sr.Model(tiny(), "tiny", wants=InputContract("a test", **IMAGENET, size=(4, 4)))
    once = model.present(pictures())
    assert model.present(once) is once
    assert once.fingerprint != pictures().fingerprint
    assert once.shape == (3, 4, 4)


def test_inputs_take_the_precision_of_the_model() -> None:
    model = sr.Model(tiny().double(), "tiny")
    half = sr.split(model, "1", torch.zeros(2, 3, 8, 8, dtype=torch.float64))
    samples = pictures(40)
    match = sr.match(half, half, samples, matching=Direct())
    assert match.layer.map()[0].dtype == torch.float64  # type: ignore[operator]
    assert sr.collect(half, samples).values.dtype == torch.float64


# Two models that want different things


def test_each_is_shown_its_own_from_the_same_picture() -> None:
    ones = [InputContract("a", **IMAGENET, size=(8, 8)), InputContract("b", range=(0.0, 255.0), size=(6, 6))]
    a, b = (sr.Model(tiny(k), f"tiny {k}", wants=wants) for k, wants in enumerate(ones))
    sender, receiver = (sr.split(model, "1", torch.zeros(2, 3, side, side)) for model, side in ((a, 8), (b, 6)))
    fit, test = pictures(60), dataclasses.replace(pictures(40), ids=torch.arange(100, 140))
    match = sr.match(sender, receiver, fit, matching=Direct())
    # By hand: each front on pictures brought to it by hand, joined by the stitch.
    with torch.no_grad():
        sent = a.module[:2](a.present(test).batch(slice(0, 40)))
        expected = b.module[2:](match.layer(sent)).argmax(1)
        native = b.module(b.present(test).batch(slice(0, 40))).argmax(1)
    result = sr.evaluate(match, test)
    assert result.agreement.value == float((expected == native).float().mean())
    compared = sr.compare(a, b, fit, sender_cuts=["1"], receiver_cuts=["1"], rule=None)
    assert compared["linear_cka"].values[0][0] == pytest.approx(_cka(a, b, fit), abs=1e-4)


def _cka(a: sr.Model, b: sr.Model, samples: sr.Samples) -> float:
    """Linear CKA over positions in float64, the sender's map resized to the receiver's."""
    with torch.no_grad():
        x, y = (model.module[:2](model.present(samples).batch(slice(None))).double() for model in (a, b))
    x = F.interpolate(x, y.shape[-2:], mode="bilinear", align_corners=False)
    x, y = (maps.permute(0, 2, 3, 1).flatten(0, 2) for maps in (x, y))
    x, y = x - x.mean(0), y - y.mean(0)
    return float((x.T @ y).square().sum() / ((x.T @ x).norm() * (y.T @ y).norm()))


def test_an_audit_shows_changed_pictures_to_each_in_its_own_way() -> None:
    """With a sender that wants bytes and a receiver that wants 0 … 1, which are otherwise one network."""

    class Scaled(nn.Module):
        def __init__(self, by: float) -> None:
            super().__init__()
            self.net, self.by = tiny(), by

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x / self.by)

    models = [sr.Model(Scaled(by), f"by {by}", wants=InputContract("a test", range=(0.0, by))) for by in (255.0, 1.0)]
    sender, receiver = (sr.split(model, "net.1", torch.zeros(2, 3, 8, 8)) for model in models)
    answers = receiver.answer(models[1].present(pictures(300)).batch(slice(None))).argmax(1)
    labelled = dataclasses.replace(pictures(300), labels=answers)
    fit, test = labelled.take(slice(0, 100)), labelled.take(slice(100, 300))
    found = sr.audit(
        sender, receiver, fit, test, matching=Direct(), seeds=(0,), interventions=["greyscale", "channel_swap"]
    )
    assert found.verdicts["conflict"].observed.value >= 0.99


# What cannot be brought together is refused, with both sides named


def test_numbers_of_an_unknown_range_are_refused() -> None:
    model = sr.Model(tiny(), "tiny", wants=InputContract("its makers", **IMAGENET))
    floats = sr.Samples("my floats", torch.zeros(6, 3, 8, 8), torch.arange(6) % 2, torch.arange(6), classes=2)
    half = sr.split(model, "1", torch.zeros(2, 3, 8, 8))
    for call in (
        lambda: sr.match(half, half, floats),
        lambda: sr.compare(model, model, floats),
        lambda: sr.collect(half, floats),
    ):
        with pytest.raises(DataError, match=r"tiny wants pictures.*its makers.*my floats holds float32.*range="):
            call()
    ready = dataclasses.replace(floats, ready=True)
    assert torch.equal(model.present(ready).batch(slice(0, 6)), floats.inputs)  # type: ignore[arg-type]


def test_other_channels_are_refused() -> None:
    model = sr.Model(tiny(), "tiny", wants=InputContract("its makers", **IMAGENET))
    with pytest.raises(DataError, match=r"of 3 channels, but the pictures of some pictures have 1"):
        model.present(pictures(channels=1))


def test_text_for_a_model_of_pictures_is_refused() -> None:
    model = sr.Model(tiny(), "tiny", wants=InputContract("its makers", **IMAGENET))
    text = sr.Samples("sentences", {"input_ids": torch.zeros(4, 3).long()}, torch.zeros(4).long(), torch.arange(4), 1)
    with pytest.raises(DataError, match=r"wants pictures.*sentences holds named inputs \(input_ids\)"):
        model.present(text)


@pytest.mark.network
def test_a_model_that_says_nothing_and_data_that_nobody_scaled_get_a_warning(photographs: Path) -> None:
    bare = sr.Model(tiny(), "tiny")
    with pytest.warns(UnknownInputsWarning, match=r"tiny does not say how it wants pictures.*mean and std"):
        bare.present(sr.load_data(f"folder:{photographs}", "test", n=2))
    bare.present(sr.load_data(f"folder:{photographs}", "test", n=2, mean=0.5, std=0.5))


# Text


def text_model(folder: Path, *, vocabulary: str) -> sr.Model:
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4)
    with use_seed(0):
        BertModel(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text(vocabulary)
    return sr.load(f"hf:{folder}")


def sentences(largest: int = 8, **more: object) -> sr.Samples:
    ids = torch.randint(largest + 1, (12, 5), generator=torch.Generator().manual_seed(0))
    ids[0, 0] = largest
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return sr.Samples("sentences", inputs, torch.arange(12) % 2, torch.arange(12), 2, **more)  # type: ignore[arg-type]


def test_a_tokenizer_is_part_of_the_contract(tmp_path: Path) -> None:
    a, b = (text_model(tmp_path / name, vocabulary=name) for name in ("one", "other"))
    assert a.wants is not None
    assert a.wants.tokenizer is not None
    assert a.wants.tokenizer.startswith("vocab.txt")
    with pytest.raises(DataError, match=r"wants tokens of vocab.txt.*made by the tokenizer another"):
        a.present(sentences(tokenizer="another"))
    with pytest.raises(DataError, match=r"knows 9 tokens, 0 … 8, but those of sentences go from 0 to 9"):
        a.present(sentences(9))
    halves = [sr.split(model, "encoder.layer.0") for model in (a, b)]
    with pytest.raises(DataError, match=r"The sender wants tokens of .* and the receiver tokens of"):
        sr.match(*halves, sentences(), matching=Direct())
    assert sr.match(halves[0], halves[0], sentences(), matching=Direct()).status


def test_a_match_keeps_its_contracts(tmp_path: Path) -> None:
    model = dataclasses.replace(
        sr.load("zoo:lenet?channels=1"), wants=InputContract("a test", mean=(0.25,), std=(2.0,))
    )
    half = sr.split(model, "conv1")
    samples = sr.Samples(
        "digits", torch.zeros(4, 1, 28, 28, dtype=torch.uint8), torch.zeros(4).long(), torch.arange(4), 10
    )
    sr.match(half, half, samples, stitch="identity").save(tmp_path / "match.safetensors")
    back = sr.Match.load(tmp_path / "match.safetensors")
    assert back.sender.model.wants == back.receiver.model.wants == model.wants
