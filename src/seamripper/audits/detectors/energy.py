"""The energy detector of Balogh & Jelasity 2025: a classifier of native activations whose energy tells strange ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper._devices import wide, widen
from seamripper._progress import Watcher, nobody
from seamripper.activations import Activations, collect
from seamripper.audits.detectors.base import BATCH, Detector, DistributionOptions
from seamripper.audits.detectors.outliers import auxiliary_samples, change_activations
from seamripper.audits.detectors.scores import Array, Scores, auroc
from seamripper.cut.place import Cut, Layout
from seamripper.cut.split import Split
from seamripper.data.samples import Samples, batches_in
from seamripper.errors import AuditError, DivergedError, InapplicableError
from seamripper.matching.descent import train_layer
from seamripper.models import Architecture
from seamripper.models.running import use_seed
from seamripper.models.training import Training
from seamripper.models.zoo.vit import Block

_WEIGHT = 0.1
_ENOUGH = 0.8
_BATCHES = (64, 32)
_STEPS: dict[Layout, tuple[int, int]] = {"nchw": (160, 190), "ntd": (500, 2000), "nd": (1000, 2000)}
"""Steps to classify and to separate, by layout: about a minute at an eighth of the width, less for vectors."""


def usual_epochs(layout: Layout, n: int) -> tuple[int, int]:
    """The default numbers of epochs for n samples, to classify and to separate: more epochs for fewer samples.

    >>> usual_epochs("nchw", 2000), usual_epochs("nchw", 500)
    ((5, 4), (20, 12))
    """
    first, second = (
        math.ceil(steps / batches_in(n, batch)) for steps, batch in zip(_STEPS[layout], _BATCHES, strict=True)
    )
    return first, second


class EnergyDetector(Detector):
    """One score, the energy of a network that is trained on the receiver's own activations at the cut.

    It sees no stitched activations before it scores them, and none of the samples that it scores.
    """

    headline, who = "energy", "The energy detector"

    def __init__(
        self, options: DistributionOptions, receiver: Split, samples: Samples, watch: Watcher = nobody
    ) -> None:
        self.options = options
        self.auxiliary = auxiliary_samples(samples, options.auxiliary, seed=options.seed)
        usual = usual_epochs(receiver.cut.layout, len(samples))
        epochs = [given or default for given, default in zip((options.epochs, options.tune_epochs), usual, strict=True)]
        # First batches of 64 native activations, then of 32 and as many outliers.
        self.phases = [
            Training(lr=options.lr, epochs=n, batch=batch) for n, batch in zip(epochs, _BATCHES, strict=True)
        ]
        native, strange = (collect(receiver, part, watch=watch) for part in (samples, self.auxiliary))
        for activations in (native, strange):
            _require_no_padding(activations.mask)
        sizes: dict[str, Any] = {"classes": samples.classes, "width": options.width, "side": options.side}
        network = detector_network(native.values, receiver.cut, **sizes, seed=options.seed)
        self.network = network.to(wide(native.values.dtype))
        try:
            self._train(native, strange, watch)
        except DivergedError as e:
            raise AuditError(
                f"The energy detector's training diverged at step {e.step}, with learning rate {e.lr:g}. "
                f"Try a smaller one, lr={e.lr / 10:g}."
            ) from e
        self.training_energies = self._energies(native.values), self._energies(strange.values)

    @property
    def about(self) -> Mapping[str, Any]:
        """How it was trained, on what, and its energies on the samples of its training."""
        native, strange = self.training_energies
        means = {"native": float(native.mean()), "auxiliary": float(strange.mean()), "auroc": auroc(native, strange)}
        epochs = {"epochs": self.phases[0].epochs, "tune_epochs": self.phases[1].epochs}
        options = {name: getattr(self.options, name) for name in ("width", "side", "lr", "m_in", "m_out", "outliers")}
        return {**epochs, **options, "auxiliary": self.auxiliary.name, "in_training": means}

    @property
    def doubt(self) -> str:
        """A detector that cannot even tell apart what it was trained to tell apart has learnt too little."""
        in_training = auroc(*self.training_energies)
        if in_training >= _ENOUGH:
            return ""
        return (
            " But the detector tells even the auxiliary activations of its training from native ones with an AUROC of "
            f"only {in_training:.3f}: train it for more epochs, or give other auxiliary samples."
        )

    def features(self, activations: Tensor, mask: Tensor | None = None) -> Tensor:
        """The energy of each sample."""
        _require_no_padding(mask)
        return energy(self.network(widen(activations))).double()

    def scores(self, native: Tensor, stitched: Tensor) -> dict[str, Scores]:
        """The energies."""
        return {"energy": Scores(native.numpy(), stitched.numpy())}

    def _energies(self, values: Tensor) -> Array:
        with torch.no_grad():
            return torch.cat([self.features(values[at : at + BATCH]) for at in range(0, len(values), BATCH)]).numpy()

    def _outliers(self, n: int, native: Activations, strange: Activations, draws: torch.Generator) -> Tensor:
        """n activations to be given high energies: of auxiliary inputs, or half of them changed native ones."""
        inside = n // 2 if self.options.outliers == "both" else 0
        outside = strange.values[torch.randint(len(strange), (n - inside,), generator=draws)]
        if not inside:
            return outside
        changed = native.values[torch.randint(len(native), (inside,), generator=draws)]
        return torch.cat([outside, change_activations(changed, native.cut, draws)])

    def _train(self, native: Activations, strange: Activations, watch: Watcher) -> None:
        network, options = self.network, self.options
        draws = torch.Generator().manual_seed(options.seed)
        if native.labels.dim() > 1 or int(native.labels.min()) < 0:
            raise InapplicableError(
                "The energy detector is a classifier of samples, and these samples do not have one label each."
            )

        def classify(index: Tensor) -> Tensor:
            return F.cross_entropy(network(widen(native.values[index])), native.labels[index])

        def separate(index: Tensor) -> Tensor:
            # One batch of both, so that batch norms see both.
            both = torch.cat([native.values[index], self._outliers(len(index), native, strange, draws)])
            logits = network(widen(both))
            return energy_loss(
                logits[: len(index)], native.labels[index], logits[len(index) :], m_in=options.m_in, m_out=options.m_out
            )

        for loss_of, training in zip((classify, separate), self.phases, strict=True):
            task = f"energy detector: {loss_of.__name__}"
            train_layer(network, loss_of, len(native), training, seed=options.seed, task=task, watch=watch)
        network.eval().requires_grad_(False)


def _require_no_padding(mask: Tensor | None) -> None:
    if mask is not None:
        raise InapplicableError(
            "The energy detector's network reads whole texts, padding included, and some of these texts are padded. "
            "Use the detector 'fast', which leaves padding out."
        )


def energy(logits: Tensor) -> Tensor:
    """E = −log Σ exp(logits): low where the network is sure of a class (Liu et al. 2020, with temperature 1).

    >>> energy(torch.tensor([[0.0, 0.0], [10.0, 0.0]]))
    tensor([ -0.6931, -10.0000])
    """
    return -logits.logsumexp(1)


def energy_loss(
    logits: Tensor, labels: Tensor, auxiliary: Tensor, *, m_in: float = -25.0, m_out: float = -7.0
) -> Tensor:
    """Cross-entropy + 0.1 · (mean relu(E_in − m_in)² + mean relu(m_out − E_out)²) (Liu et al. 2020, equations 6, 7).

    `logits` belong to native activations, with their labels; `auxiliary` are the logits of the outliers.

    >>> energy_loss(torch.tensor([[26.0, 0.0]]), torch.tensor([0]), torch.tensor([[8.0, 0.0]]))
    tensor(0.1001)
    """
    inside = F.relu(energy(logits) - m_in).square().mean()
    outside = F.relu(m_out - energy(auxiliary)).square().mean()
    return F.cross_entropy(logits, labels) + _WEIGHT * (inside + outside)


_DIM, _DEPTH, _HEADS = 192, 12, 3
_HIDDEN = 2048


def detector_network(native: Tensor, cut: Cut, *, classes: int, width: float, side: int = 32, seed: int) -> nn.Module:
    """A classifier of activations like `native` (n, …), not yet trained.

    As in Balogh & Jelasity 2025: for maps a ResNet-18 with a 3×3 stem on maps resized to `side` × `side` (the paper
    has 32), for tokens the blocks of a ViT-Ti without its embedding. For vectors, which the paper does not have, a
    perceptron with two hidden layers. `width` is a factor on the channels, on the tokens' width and the number of
    blocks, or on the hidden units; 1 is the paper's size. Each unit is first brought to mean 0 and deviation 1 over
    `native`.

    >>> maps = torch.randn(4, 8, 7, 7)
    >>> network = detector_network(maps, Cut("layer1", (8, 7, 7), "nchw"), classes=10, width=0.1, seed=0)
    >>> network(maps).shape
    torch.Size([4, 10])
    """
    with use_seed(seed):
        network: nn.Module
        if cut.layout == "nchw":
            architecture = Architecture.parse("resnet18?stem=3x3", channels=cut.width, classes=classes, width=width)
            # Bilinear resizing to the same size changes nothing.
            resize = nn.Upsample((side, side), mode="bilinear", align_corners=False)
            network = nn.Sequential(resize, architecture.build())
        elif cut.layout == "ntd":
            network = _Transformer(cut, classes, width)
        else:
            d, hidden = cut.width, max(1, round(_HIDDEN * width))
            layers = (nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes))
            network = nn.Sequential(*layers)
        return nn.Sequential(_Standard(native, cut), network)


class _Standard(nn.Module):
    """Each unit with mean 0 and deviation 1 over given activations and their positions."""

    centre: Tensor
    scale: Tensor

    def __init__(self, native: Tensor, cut: Cut) -> None:
        super().__init__()
        unit = 1 if cut.layout == "nchw" else native.dim() - 1
        others = [axis for axis in range(native.dim()) if axis != unit]
        deviation, centre = torch.std_mean(native, dim=others, correction=0, keepdim=True)
        typical = float(deviation.square().mean().sqrt()) or 1.0
        self.register_buffer("centre", centre)
        # A unit that never varies natively must not turn rounding into a signal.
        self.register_buffer("scale", deviation.clamp_min(0.01 * typical))

    def forward(self, activations: Tensor) -> Tensor:
        return (activations - self.centre) / self.scale


class _Transformer(nn.Module):
    """Blocks on tokens; the answer is read at the first token if that is a CLS token, else at the mean of all."""

    def __init__(self, cut: Cut, classes: int, width: float) -> None:
        super().__init__()
        # Attention needs a multiple of the number of heads.
        dim = _HEADS * max(1, round(_DIM * width / _HEADS))
        self.enter = nn.Identity() if dim == cut.width else nn.Linear(cut.width, dim)
        self.blocks = nn.Sequential(*(Block(dim, _HEADS) for _ in range(max(1, round(_DEPTH * min(width, 1.0))))))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        self.first = cut.prefix == 1

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = self.norm(self.blocks(self.enter(tokens)))
        answer: Tensor = self.head(tokens[:, 0] if self.first else tokens.mean(1))
        return answer
