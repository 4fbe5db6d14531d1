"""The energy detector of Balogh & Jelasity 2025: a classifier of native activations whose energy tells strange ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper._progress import Watcher
from seamripper.activations import Activations, collect
from seamripper.audits._detector import Detector
from seamripper.audits._detector_auxiliary import change_activations
from seamripper.audits._ood_figures import Array, Scores, auroc
from seamripper.cut.place import Cut, Layout
from seamripper.cut.split import Split
from seamripper.data.samples import Samples, batches_in
from seamripper.errors import AuditError, DivergedError, InapplicableError
from seamripper.matching.descent import train_layer
from seamripper.models import Architecture
from seamripper.models.running import use_seed
from seamripper.models.training import Training
from seamripper.models.zoo import Value
from seamripper.models.zoo.vit import Block

_WEIGHT = 0.1
_ENOUGH = 0.8
_BATCHES = (64, 32)
_STEPS: dict[Layout, tuple[int, int]] = {"nchw": (160, 190), "ntd": (500, 2000), "nd": (1000, 2000)}
"""By layout, to classify and to separate: about a minute at an eighth of the width, and less for vectors."""


def usual_epochs(layout: Layout, n: int) -> tuple[int, int]:
    """How often n samples are gone through to classify and to separate, if nobody says: few samples more often.

    >>> usual_epochs("nchw", 2000), usual_epochs("nchw", 500)
    ((5, 4), (20, 12))
    """
    first, second = (
        math.ceil(steps / batches_in(n, batch)) for steps, batch in zip(_STEPS[layout], _BATCHES, strict=True)
    )
    return first, second


@dataclass(frozen=True)
class EnergyTraining:
    """How an energy detector is trained: `epochs` of cross-entropy, then `tune_epochs` with the energy margins.

    `outliers` are the activations that get high energies: those of auxiliary `inputs`, as in the paper, or `both` those
    and native activations that were changed at the cut (see `change_activations`).
    """

    epochs: int
    tune_epochs: int
    width: float
    lr: float
    m_in: float
    m_out: float
    outliers: Literal["inputs", "both"]

    def phases(self) -> tuple[Training, Training]:
        """Both parts of it: batches of 64 native activations, then of 32 and as many outliers."""
        first, second = _BATCHES
        training = Training(lr=self.lr, epochs=self.epochs, batch=first)
        return training, replace(training, epochs=self.tune_epochs, batch=second)


class EnergyDetector(Detector):
    """One score, the energy of a network trained for the cut on the receiver's own activations.

    It sees no stitched activations before it scores them, and no sample that it is put to.
    """

    headline = "energy"

    def __init__(
        self,
        receiver: Split,
        samples: Samples,
        auxiliary: Samples,
        *,
        training: EnergyTraining,
        seed: int,
        watch: Watcher,
    ) -> None:
        self.training, self.auxiliary = training, auxiliary
        native, strange = (collect(receiver, each, watch=watch) for each in (samples, auxiliary))
        for each in (native, strange):
            _require_no_padding(each.mask)
        self.network = detector_network(
            native.values, receiver.cut, classes=samples.classes, width=training.width, seed=seed
        ).to(native.values.dtype)
        try:
            self._train(native, strange, seed=seed, watch=watch)
        except DivergedError as e:
            raise AuditError(
                f"The energy detector's training diverged at step {e.step}, with learning rate {e.lr:g}. "
                f"Try a smaller one, lr={e.lr / 10:g}."
            ) from e
        self.learnt = self._energies(native.values), self._energies(strange.values)

    @property
    def about(self) -> Mapping[str, Any]:
        """How it was trained, on what, and what it then made of the samples of its training."""
        native, strange = self.learnt
        means = {"native": float(native.mean()), "auxiliary": float(strange.mean()), "auroc": auroc(native, strange)}
        return {**vars(self.training), "auxiliary": self.auxiliary.name, "in_training": means}

    @property
    def doubt(self) -> str:
        """A detector that cannot even tell what it was taught to tell has learnt too little."""
        told = auroc(*self.learnt)
        if told >= _ENOUGH:
            return ""
        return (
            f" But the detector tells even the auxiliary activations of its training with AUROC {told:.3f} only: train "
            "it for more epochs, or give other auxiliary samples."
        )

    def features(self, activations: Tensor, mask: Tensor | None = None) -> Tensor:
        """The energy of each sample."""
        _require_no_padding(mask)
        return energy(self.network(activations)).double()

    def scores(self, native: Tensor, stitched: Tensor) -> dict[str, Scores]:
        """The energies."""
        return {"energy": Scores(native.numpy(), stitched.numpy())}

    def _energies(self, values: Tensor) -> Array:
        with torch.no_grad():
            return torch.cat([self.features(values[at : at + 256]) for at in range(0, len(values), 256)]).numpy()

    def _outliers(self, n: int, native: Activations, strange: Activations, draws: torch.Generator) -> Tensor:
        """n activations that are to have high energies: of auxiliary inputs, and half of them changed native ones."""
        inside = n // 2 if self.training.outliers == "both" else 0
        outside = strange.values[torch.randint(len(strange), (n - inside,), generator=draws)]
        if not inside:
            return outside
        changed = native.values[torch.randint(len(native), (inside,), generator=draws)]
        return torch.cat([outside, change_activations(changed, native.cut, draws)])

    def _train(self, native: Activations, strange: Activations, *, seed: int, watch: Watcher) -> None:
        network, chosen = self.network, self.training
        draws = torch.Generator().manual_seed(seed)

        def classify(index: Tensor) -> Tensor:
            return F.cross_entropy(network(native.values[index]), native.labels[index])

        def separate(index: Tensor) -> Tensor:
            # One batch of both, so that batch norms see both.
            logits = network(torch.cat([native.values[index], self._outliers(len(index), native, strange, draws)]))
            return energy_loss(
                logits[: len(index)], native.labels[index], logits[len(index) :], m_in=chosen.m_in, m_out=chosen.m_out
            )

        for task, loss_of, training in zip(
            ("classify", "separate"), (classify, separate), chosen.phases(), strict=True
        ):
            task = f"energy detector: {task}"
            train_layer(network, loss_of, len(native), training, seed=seed, task=task, watch=watch)
        network.eval().requires_grad_(False)


def _require_no_padding(mask: Tensor | None) -> None:
    if mask is not None:
        raise InapplicableError(
            "The energy detector's network reads whole texts, and some of their tokens are padding, which it would "
            "read as well. Use the detector 'fast', which leaves padding out."
        )


def energy(logits: Tensor) -> Tensor:
    """E = −log Σ exp(logits): low where some class is sure of itself (Liu et al. 2020, with temperature 1).

    >>> energy(torch.tensor([[0.0, 0.0], [10.0, 0.0]]))
    tensor([ -0.6931, -10.0000])
    """
    return -logits.logsumexp(1)


def energy_loss(
    logits: Tensor, labels: Tensor, auxiliary: Tensor, *, m_in: float = -25.0, m_out: float = -7.0
) -> Tensor:
    """Cross-entropy + 0.1 · (mean relu(E_in − m_in)² + mean relu(m_out − E_out)²) (Liu et al. 2020, equations 6, 7).

    `logits` are of native activations, with their labels; `auxiliary` are the logits of activations that are not.

    >>> energy_loss(torch.tensor([[26.0, 0.0]]), torch.tensor([0]), torch.tensor([[8.0, 0.0]]))
    tensor(0.1001)
    """
    inside = F.relu(energy(logits) - m_in).square().mean()
    outside = F.relu(m_out - energy(auxiliary)).square().mean()
    return F.cross_entropy(logits, labels) + _WEIGHT * (inside + outside)


_SIDE = 32
_DIM, _DEPTH, _HEADS = 192, 12, 3
_HIDDEN = 2048


def detector_network(native: Tensor, cut: Cut, *, classes: int, width: float, seed: int) -> nn.Module:
    """A classifier of activations like `native` (n, …), not yet trained.

    As in Balogh & Jelasity 2025: for maps a ResNet-18 with a 3×3 stem on maps resized to 32×32, for tokens the blocks
    of a ViT-Ti without its embedding. For vectors, which they have none of, a perceptron with two hidden layers. At
    `width` 1 they have the paper's size; it is a factor on the channels, on the tokens' width and the number of blocks,
    on the hidden units. Each unit is first brought to mean 0 and deviation 1 over `native`.

    >>> maps = torch.randn(4, 8, 7, 7)
    >>> network = detector_network(maps, Cut("layer1", (8, 7, 7), "nchw"), classes=10, width=0.1, seed=0)
    >>> network(maps).shape
    torch.Size([4, 10])
    """
    with use_seed(seed):
        network: nn.Module
        if cut.layout == "nchw":
            options: dict[str, Value] = {"channels": cut.width, "classes": classes, "width": width, "stem": "3x3"}
            network = nn.Sequential(_Resized(), Architecture("resnet18", options).build())
        elif cut.layout == "ntd":
            network = _Transformer(cut, classes, width)
        else:
            network = _perceptron(cut.width, max(1, round(_HIDDEN * width)), classes)
        return nn.Sequential(_Standard(native, cut), network)


class _Standard(nn.Module):
    """Each unit with mean 0 and deviation 1 over the activations that it was made from, and their positions."""

    centre: Tensor
    scale: Tensor

    def __init__(self, native: Tensor, cut: Cut) -> None:
        super().__init__()
        unit = 1 if cut.layout == "nchw" else native.dim() - 1
        others = [axis for axis in range(native.dim()) if axis != unit]
        deviation, centre = torch.std_mean(native, dim=others, correction=0, keepdim=True)
        typical = float(deviation.square().mean().sqrt()) or 1.0
        self.register_buffer("centre", centre)
        # A unit that natively never moves must not turn what rounding adds to it into a signal.
        self.register_buffer("scale", deviation.clamp_min(0.01 * typical))

    def forward(self, activations: Tensor) -> Tensor:
        return (activations - self.centre) / self.scale


class _Resized(nn.Module):
    """Maps as maps of 32×32."""

    def forward(self, maps: Tensor) -> Tensor:
        if maps.shape[2:] == (_SIDE, _SIDE):
            return maps
        return F.interpolate(maps, size=(_SIDE, _SIDE), mode="bilinear", align_corners=False)


class _Transformer(nn.Module):
    """Blocks on tokens; the answer is read at the token before the others if there is one, else at their mean."""

    def __init__(self, cut: Cut, classes: int, width: float) -> None:
        super().__init__()
        # At full width tokens of the receiver's own width, as the paper has them; attention needs a multiple of heads.
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


def _perceptron(width: int, hidden: int, classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)
    )
