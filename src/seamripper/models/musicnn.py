"""`musicnn:MSD` and `musicnn:MTT`: one network for tagging music, trained on two corpora (Pons & Serra 2019).

The weights are the checkpoints of the package `musicnn`, read without TensorFlow and held to their sha256. A network
takes waves of three seconds at 16,000 samples per second, (1, 48000), and makes the spectrogram itself, in a first
module without parameters that computes what librosa does. It answers with a logit for each of fifty tags; a recording
may have several, so the tags are no classes, and the first of them is what is compared.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper._options import changed_options
from seamripper._words import did_you_mean
from seamripper.data.fetch import Remote
from seamripper.data.sources import Pip
from seamripper.errors import ModelError
from seamripper.models.model import Model
from seamripper.models.published import KERAS_KINDS
from seamripper.models.source import OpenSource
from seamripper.models.tensor_bundle import read_bundle
from seamripper.models.weights import load_weights

RATE, SECONDS = 16_000, 3
_LENGTH, _HOP, _BANDS, _FRAMES = 512, 256, 96, 187
_TAGS = 50
_EPS = 1e-3
"""What TensorFlow's batch norms add to a variance."""
_INDEX, _DATA = "index", "data"
_PRINTS = {
    "MSD": {
        _INDEX: "50e499238457558bba9f34f8b84d4afb8279afd43520cdf0a4fdf805a49c9ca3",
        _DATA: "9683d756b8311146534f333502ebf4a2a78a3e320c54ab0411dff6186d8375fc",
    },
    "MTT": {
        _INDEX: "4b0d3d2d02bbe0919c063c1fb74bfa9018ac3517e362d681b07444d4207a5f5f",
        _DATA: "458f5c8bcecc086a3bba3dce83809df6da6e0a3560a59ddd84711bf3d5fd8303",
    },
}
_CORPORA = {"MSD": "the Million Song Dataset", "MTT": "MagnaTagATune"}


def _remote(corpus: str) -> Remote:
    folder = f"musicnn/{corpus}_vgg"
    members = {_INDEX: f"{folder}/.index", _DATA: f"{folder}/.data-00000-of-00001"}
    return Remote(f"musicnn/{corpus}", _PRINTS[corpus], (Pip("musicnn==0.1.0", members),))


class MelSpectrogram(nn.Module):
    """Waves as mel spectrograms log10(1 + 10000 M), (n, 1, frames, bands), as the package has librosa compute them.

    M is rounded to float16, as the package rounds it. It then goes on in float16, which overflows where M is above 6.5,
    in loud sounds; here the rest is computed in float32.
    """

    window: Tensor
    filters: Tensor

    def __init__(self) -> None:
        super().__init__()
        window = torch.hann_window(_LENGTH, dtype=torch.float64)
        self.register_buffer("window", window.float(), persistent=False)
        self.register_buffer("filters", torch.from_numpy(slaney_filters()).float(), persistent=False)

    def forward(self, wave: Tensor) -> Tensor:
        """(n, 1, samples) in, (n, 1, frames, bands) out."""
        windows = F.pad(wave.squeeze(1), [_LENGTH // 2] * 2).unfold(1, _LENGTH, _HOP)[:, :_FRAMES]
        power = torch.fft.rfft(windows * self.window).abs().square()
        return torch.log10(1 + 10_000 * F.linear(power, self.filters).half().float())[:, None]


@functools.cache
def slaney_filters() -> NDArray[np.float64]:
    """Triangles (bands, frequencies) of one area each, on Slaney's mel scale: linear below 1 kHz, logarithmic above."""
    linear, step = 200 / 3, np.log(6.4) / 27
    top = 15 + np.log(RATE / 2 / 1000) / step
    mels = np.linspace(0, top, _BANDS + 2)
    edges = np.where(mels < 15, linear * mels, 1000 * np.exp(step * (mels - 15)))
    heard = np.fft.rfftfreq(_LENGTH, 1 / RATE)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    triangles = np.minimum((heard - low) / (middle - low), (high - heard) / (high - middle)).clip(0)
    return np.asarray(triangles * 2 / (high - low))


class MusicVgg(nn.Module):
    """Five convolutions with batch norms behind their ReLUs and poolings, and a linear layer: musicnn's `vgg`."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.spectrogram = MelSpectrogram()
        self.bn0 = nn.BatchNorm2d(1, eps=_EPS)
        for k in range(1, 6):
            setattr(self, f"conv{k}", nn.Conv2d(1 if k == 1 else width, width, 3, padding=1))
            setattr(self, f"relu{k}", nn.ReLU())
            setattr(self, f"bn{k}", nn.BatchNorm2d(width, eps=_EPS))
            setattr(self, f"pool{k}", nn.MaxPool2d(*{1: ((4, 1), 2), 5: (4, 4)}.get(k, (2, 2))))  # type: ignore[arg-type]
        self.output = nn.Linear(2 * width, _TAGS)

    def forward(self, wave: Tensor) -> Tensor:
        """Waves in, a logit for each tag out."""
        x = self.bn0(self.spectrogram(wave))
        for k in range(1, 6):
            conv, relu, bn, pool = (getattr(self, f"{name}{k}") for name in ("conv", "relu", "bn", "pool"))
            x = pool(bn(relu(conv(x))))
        # TensorFlow keeps channels last, and flattens them so.
        answer: Tensor = self.output(x.permute(0, 2, 3, 1).flatten(1))
        return answer


@dataclass(frozen=True)
class Musicnn(OpenSource):
    """The network that musicnn calls `vgg`, with its weights for one of two corpora."""

    name, about = "musicnn", "music tagging, trained on MSD or MTT (Pons & Serra 2019); waves of 3 s at 16 kHz"
    takes_path = "never"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model not in _PRINTS:
            raise ModelError(f"There is no musicnn:{self.model}: {did_you_mean(self.model, list(_PRINTS))}")
        for key in changed_options(self).keys() - {"model"}:
            raise ModelError(f"musicnn:{self.model} is one network with its own weights, and has no option {key!r}.")

    @property
    def architecture(self) -> str | None:
        """None: in the words of this source there is no network without its weights."""
        return None

    def build(self) -> Model:
        """The network, and where its weights are from."""
        remote, module = _remote(self.model), MusicVgg()
        load_weights(module, from_tensorflow(read_bundle(remote.read(_INDEX), remote.read(_DATA))), origin=self.label)
        weights = {"source": "PyPI musicnn 0.1.0", "licence": "ISC", "sha256": dict(remote.files)}
        record = {"weights": {"trained_on": _CORPORA[self.model], **weights}}
        return Model(module.eval(), self.label, (1, SECONDS * RATE), _TAGS, record=record)

    @classmethod
    def models(cls) -> dict[str, tuple[str, dict[str, Any]]]:
        """Both networks."""
        return {f"musicnn:{name}": (f"music tagging, trained on {corpus}", {}) for name, corpus in _CORPORA.items()}


def from_tensorflow(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The checkpoint's weights under our names and in PyTorch's layout; what its optimiser kept is left out.

    >>> list(from_tensorflow({"3CNN/kernel": torch.ones(3, 3, 1, 2), "batch_normalization/gamma": torch.ones(1)}))
    ['conv3.weight', 'bn0.weight', 'bn0.num_batches_tracked']
    """
    weights = {}
    for name, tensor in tensors.items():
        layer, _, kind = name.partition("/")
        if kind not in KERAS_KINDS:
            continue
        if layer.startswith("batch_normalization"):
            layer = f"bn{layer.removeprefix('batch_normalization').removeprefix('_') or 0}"
        elif layer.endswith("CNN"):
            layer = f"conv{layer.removesuffix('CNN')}"
        else:
            layer = "output"
        axes = {4: (3, 2, 0, 1), 2: (1, 0)}.get(tensor.dim())
        weights[f"{layer}.{KERAS_KINDS[kind]}"] = tensor if axes is None else tensor.permute(axes).contiguous()
        if kind == "gamma":
            # PyTorch counts batches, of which nothing is known here and which nothing depends on.
            weights[f"{layer}.num_batches_tracked"] = torch.tensor(0)
    return weights
