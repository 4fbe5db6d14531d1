"""Networks that others trained, stitched on real data: docs/yours.md, "Pretrained networks".

    python benchmarks/pretrained.py photographs     # EfficientNet-Lite 0, 1, 2, MobileNetV2 and ResNet-50 on CIFAR-10
    python benchmarks/pretrained.py music           # musicnn's two networks on recordings of speech
    python benchmarks/pretrained.py image-and-sound # MobileNetV2 on photographs and musicnn on recordings
    python benchmarks/pretrained.py cls             # a convolutional network and a ViT, with every CLS policy
    python benchmarks/pretrained.py sentences       # MiniLM-L6 and MiniLM-L3 with a head for sentiment

Weights and data are fetched once. `--n` and `--n-test` are the samples to fit and to score on.
"""

from __future__ import annotations

import argparse
import io
import json
import runpy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import soundfile
import torch
from torch import Tensor, nn

import seamripper as sr
from seamripper.controls.logistic import fit_logistic
from seamripper.data import Paired
from seamripper.data.sound import first_seconds
from seamripper.data.sources import out_of_tar
from seamripper.data.speech import LANGUAGES, PACK, REMOTE
from seamripper.matching import Direct, Task, Training

HERE = Path(__file__).parent
CUTS = {
    **{f"efficientnet_lite{k}": "blocks.4" for k in range(3)},
    "mobilenet_v2": "features.13",
    "resnet50": "layer3",
}
"""Where each network is cut: behind the last layers with 1/16 of the input's sides."""
PHOTOGRAPHS = (
    ("efficientnet_lite0", "efficientnet_lite1"),
    ("efficientnet_lite1", "efficientnet_lite2"),
    ("efficientnet_lite0", "efficientnet_lite2"),
    ("mobilenet_v2", "efficientnet_lite0"),
    ("resnet50", "mobilenet_v2"),
)
Row = tuple[str, sr.Functional]


def main() -> None:
    """Print the figures of one case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--n-test", type=int, default=300)
    options = parser.parse_args()
    start = time.process_time()
    print(f"{'stitch':58} {'top-1':22} {'receiver':22} {'agreement':22} {'by chance':10} KL, nats")
    for name, result in CASES[options.case](options.n, options.n_test):
        figures = (result.top1, result.receiver_here, result.agreement)
        chance = f"{result.agreement_chance:.3f}"
        print(f"{name:58} " + " ".join(f"{figure!s:22}" for figure in figures), f"{chance:10} {result.kl}")
    print(f"{options.n} samples to fit on and {options.n_test} to score on, {time.process_time() - start:.0f} s of CPU")


def photographs(
    n: int, n_test: int, *, pairs: tuple[tuple[str, str], ...] = PHOTOGRAPHS, side: int = 96
) -> Iterator[Row]:
    """ImageNet's networks on photographs of another data set, each pair both ways."""
    fit, test = sr.load_data("cifar10", n=n), sr.load_data("cifar10", "test", n=n_test)

    def half(name: str) -> sr.Split:
        model = sr.load(f"imagenet:{name}")
        assert model.wants is not None
        # Smaller than published, to save time: the same for all.
        model = replace(model, input=(3, side, side), wants=replace(model.wants, size=(side, side)))
        return sr.split(model, CUTS[name])

    halves = {name: half(name) for name in dict.fromkeys(name for pair in pairs for name in pair)}
    for pair in pairs:
        for a, b in (pair, pair[::-1]):
            yield f"{a} to {b}", sr.evaluate(sr.match(halves[a], halves[b], fit, matching=Direct()), test)


def music(n: int, n_test: int, *, cuts: tuple[str, ...] = ("pool2", "pool4")) -> Iterator[Row]:
    """One architecture, trained on two corpora of music, both ways and at two depths."""
    fit, test = waves(n, first=0), waves(n_test, first=n)
    for cut in cuts:
        halves = {name: sr.split(sr.load(f"musicnn:{name}"), cut) for name in ("MSD", "MTT")}
        for a, b in (("MSD", "MTT"), ("MTT", "MSD")):
            yield f"{a} to {b} at {cut}", sr.evaluate(sr.match(halves[a], halves[b], fit, matching=Direct()), test)


def image_and_sound(n: int, n_test: int) -> Iterator[Row]:
    """One network is shown photograph i and the other recording i, paired by class or at random; both ways."""
    sound = waves(n + n_test, first=0)
    hears = sr.split(sr.load("musicnn:MTT"), "before:output")
    sees = sr.split(sr.load("imagenet:mobilenet_v2?input=3x64x64"), "before:classifier", torch.zeros(2, 3, 64, 64))
    photos = sr.load_data("cifar10", classes=len(LANGUAGES))
    for how in ("class", "chance"):
        shown = partners(sound, photos, how)
        for way, sender, receiver, pair in (
            ("photographs to recordings", sees, hears, Paired(shown, sound)),
            ("recordings to photographs", hears, sees, Paired(sound, shown)),
        ):
            fit, test = pair.take(slice(0, n)), pair.take(slice(n, None))
            stitched = sr.match(sender, receiver, fit, matching=Direct())
            yield f"{way}, paired by {how}", sr.evaluate(stitched, test)


def partners(sound: sr.Samples, photos: sr.Samples, how: str) -> sr.Samples:
    """A photograph for each recording: of the class with the number of its language, or any."""
    order = torch.randperm(len(photos), generator=torch.Generator().manual_seed(0))
    if how == "chance":
        return photos.take(order[: len(sound)])
    by_class = {k: iter(order[photos.labels[order] == k].tolist()) for k in range(len(LANGUAGES))}
    return photos.take(torch.tensor([next(by_class[label]) for label in sound.labels.tolist()]))


def waves(n: int, *, first: int) -> sr.Samples:
    """Recordings of `speech`, three seconds of each, from the `first` on in an order that mixes languages."""
    clips = out_of_tar(REMOTE.path(PACK).read_bytes(), lambda name: name.removesuffix(".ogg"))
    # Sentence by sentence: each is said in every language.
    names = sorted(clips, key=lambda name: name.partition("/")[::-1])[first : first + n]
    sounds = [
        first_seconds(io.BytesIO(clips[name]), name=name, rate=16_000, seconds=3.0, soundfile=soundfile)
        for name in names
    ]
    labels = torch.tensor([LANGUAGES.index(name.partition("/")[0]) for name in names])
    inputs = torch.stack([torch.from_numpy(wave).float() for wave in sounds])[:, None]
    return sr.Samples("speech as waves", inputs, labels, torch.arange(first, first + n), classes=len(LANGUAGES))


def cls(n: int, n_test: int, *, data: str = "mnist", epochs: int = 8) -> Iterator[Row]:
    """A small ResNet and a small ViT, trained here, joined with each way to make or to leave out the CLS token."""
    fit, test = sr.load_data(data, n=n), sr.load_data(data, "test", n=n_test)
    channels, classes = fit.shape[0], fit.classes
    cnn = sr.train(
        f"zoo:R_1111?channels={channels}&classes={classes}&stem=3x3&width=0.25", fit, training=f"smith?epochs={epochs}"
    )
    vit = sr.train(
        f"zoo:vit_tiny?channels={channels}&classes={classes}&size=28&patch=7&dim=48&depth=3",
        fit,
        training=Training(epochs=3 * epochs, batch=64),
    )
    example = fit.batch(slice(0, 2))
    matching = Task(Training(lr=1e-2, batch=64, epochs=4), init="direct")
    a, b = sr.split(cnn, "layer2", example), sr.split(vit, "blocks.1", example)
    for stitch in (f"map_to_tokens?cls={policy}" for policy in ("learn", "pool", "drop")):
        yield f"CNN to ViT, {stitch}", sr.evaluate(sr.match(a, b, fit, stitch=stitch, matching=matching), test)
    for stitch in (f"tokens_to_map?cls={policy}" for policy in ("drop", "keep", "pool")):
        yield f"ViT to CNN, {stitch}", sr.evaluate(sr.match(b, a, fit, stitch=stitch, matching=matching), test)


class Sentiment(nn.Module):
    """A sentence encoder, the mean of its tokens, and a linear head."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body, self.head = body, nn.Linear(384, 2)

    def embed(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The mean over the tokens that count."""
        tokens = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return (tokens * attention_mask[:, :, None]).sum(1) / attention_mask.sum(1, keepdim=True)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Tokens in, two logits out."""
        answer: Tensor = self.head(self.embed(input_ids, attention_mask))
        return answer


def sentences(n: int, n_test: int, *, tokens: int = 32) -> Iterator[Row]:
    """MiniLM-L6 and L3, cut in the middle, with heads that were fitted on the same reviews; both ways."""
    script = runpy.run_path(str(HERE / "map_sentences.py"))
    fit, test = reviews(script, tokens, slice(0, n)), reviews(script, tokens, slice(n, n + n_test))
    halves = {}
    for name, cut in (("l6", "body.encoder.layer.2"), ("l3", "body.encoder.layer.1")):
        # What is drawn for the weights is then read from a file, or fitted.
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            net = Sentiment(script[f"minilm_{name}"]()).eval()
            rows = torch.cat([net.embed(**inputs) for inputs, _ in fit.batches(64)])
            weight, bias = fit_logistic(rows.double(), fit.labels, l2=1e-3)
            net.head.weight.copy_(weight)
            net.head.bias.copy_(bias)
        halves[name] = sr.split(net, cut, fit.batch(slice(0, 2)))
    for a, b in (("l6", "l3"), ("l3", "l6")):
        yield f"MiniLM-{a} to MiniLM-{b}", sr.evaluate(sr.match(halves[a], halves[b], fit, matching=Direct()), test)


def reviews(script: dict[str, Any], tokens: int, which: slice) -> sr.Samples:
    """Reviews as tokens, in an order that mixes their sources; the label is their sentiment."""
    remote = script["SENTENCES"]
    rows = [row for name in remote.files for row in json.loads(remote.read(name)) if row["class"] is not None]
    unique = {row["text"].strip(): int(row["class"]) for row in rows}
    texts = list(unique)
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(0))[which].tolist()
    tokenizer = script["Tokenizer"].from_file(str(script["L6"].path("tokenizer.json")))
    tokenizer.enable_truncation(tokens)
    tokenizer.enable_padding(length=tokens)
    encoded = tokenizer.encode_batch([texts[row] for row in order])
    names = {"input_ids": "ids", "attention_mask": "attention_mask"}
    inputs: Any = {name: torch.tensor([getattr(each, field) for each in encoded]) for name, field in names.items()}
    labels = torch.tensor([unique[texts[row]] for row in order])
    return sr.Samples("reviews", inputs, labels, torch.tensor(order), classes=2)


CASES: dict[str, Callable[[int, int], Iterator[Row]]] = {
    "photographs": photographs,
    "music": music,
    "image-and-sound": image_and_sound,
    "cls": cls,
    "sentences": sentences,
}


if __name__ == "__main__":
    main()
