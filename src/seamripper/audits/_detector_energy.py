"""The energy detector of Balogh & Jelasity 2025: a classifier of native activations whose energy tells strange ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from seamripper._progress import Watcher
from seamripper.activations.collect import Activations, collect
from seamripper.audits._detector import Detector
from seamripper.audits._detector_auxiliary import changed_activations
from seamripper.audits._detector_networks import detector_network
from seamripper.audits._ood_figures import Array, Scores, auroc
from seamripper.cut.place import Layout
from seamripper.cut.split import Split
from seamripper.data.samples import Samples, batches_in
from seamripper.errors import AuditError, DivergedError, InapplicableError
from seamripper.matching.descent import train_layer
from seamripper.models.training import Training

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
    and native activations that were changed at the cut (see `changed_activations`).
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

    headline: ClassVar[str] = "energy"

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

    def seen(self, activations: Tensor, mask: Tensor | None = None) -> Tensor:
        """The energy of each sample."""
        _require_no_padding(mask)
        return energy(self.network(activations)).double()

    def scores(self, native: Tensor, stitched: Tensor) -> dict[str, Scores]:
        """The energies."""
        return {"energy": Scores(native.numpy(), stitched.numpy())}

    def _energies(self, values: Tensor) -> Array:
        with torch.no_grad():
            return torch.cat([self.seen(values[at : at + 256]) for at in range(0, len(values), 256)]).numpy()

    def _outliers(self, n: int, native: Activations, strange: Activations, draws: torch.Generator) -> Tensor:
        """n activations that are to have high energies: of auxiliary inputs, and half of them changed native ones."""
        inside = n // 2 if self.training.outliers == "both" else 0
        found = strange.values[torch.randint(len(strange), (n - inside,), generator=draws)]
        if not inside:
            return found
        changed = native.values[torch.randint(len(native), (inside,), generator=draws)]
        return torch.cat([found, changed_activations(changed, native.cut, draws)])

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
