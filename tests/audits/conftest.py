"""Cases of small trained networks, and evidence: computed, or planted outcome by outcome."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper.audits import Evidence
from seamripper.controls import Case, Control, Counterpart, Known, Outcome
from seamripper.cut import Split, split
from seamripper.data import Samples
from seamripper.estimate import Estimate, proportion
from seamripper.matching import Functional, Task, Training
from seamripper.models.running import use_seed

Kind = Literal["vectors", "maps"]

QUICK = Task(Training(epochs=8, batch=64, lr=0.02))
"""A stitch in a tenth of a second."""
CUT: dict[Kind, str] = {"vectors": "1", "maps": "a"}
KNOWN: dict[str, Known] = {
    "self": "same",
    "other_seed": "same",
    "random_sender": "nothing",
    "clustered_noise": "nothing",
    "shifted_labels": "nothing",
    "input": "nothing",
    "shuffled": "broken",
}


class Maps(nn.Module):
    """Two blocks, on grids of 8 and 4; each a convolution, a batch normalisation and a ReLU."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(6, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.out = nn.Sequential(nn.AdaptiveAvgPool2d((4, 1)), nn.Flatten(), nn.Linear(32, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.b(self.a(x)))


def vectors() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))


@functools.cache
def network(kind: Kind, seed: int) -> nn.Module:
    """A network that was trained on samples with the ids 9000 …, which no case has."""
    data = samples(kind, 300, first_id=9000)
    with use_seed(seed):
        net = vectors() if kind == "vectors" else Maps()
        optimiser = torch.optim.Adam(net.parameters(), 0.01)
        for _ in range(60):
            optimiser.zero_grad()
            F.cross_entropy(net(data.inputs), data.labels).backward()
            optimiser.step()
    return net.eval()


def samples(kind: Kind, n: int, *, first_id: int = 0) -> Samples:
    """Three classes in turn: clouds of 8 numbers, or images of noise with a bright stripe at the class's place.

    So much noise that no network gets all of them; others with another `first_id`.
    """
    labels, ids = torch.arange(n) % 3, torch.arange(first_id, first_id + n)
    generator = torch.Generator().manual_seed(first_id)
    if kind == "vectors":
        centres = 2 * torch.randn(3, 8, generator=torch.Generator().manual_seed(99))
        return Samples("clouds", centres[labels] + 2 * torch.randn(n, 8, generator=generator), labels, ids, classes=3)
    pixels = 2 * torch.randn(n, 1, 8, 8, generator=generator)
    for row, label in enumerate(labels.tolist()):
        pixels[row, :, 3 * label : 3 * label + 2] += 1
    return Samples("stripes", pixels, labels, ids, classes=3)


class Make:
    """Makes what tests of audits are made of."""

    quick, cuts = QUICK, CUT
    network = staticmethod(network)
    samples = staticmethod(samples)

    def halves(self, kind: Kind = "vectors", seed: int = 0, cut: str | None = None) -> Split:
        """A trained network, cut."""
        return self.cut(network(kind, seed), kind, cut)

    @staticmethod
    def cut(net: nn.Module, kind: Kind, cut: str | None = None, **more: Any) -> Split:
        """Any network for samples of this kind, cut."""
        return split(net, CUT[kind] if cut is None else cut, samples(kind, 2).batch(slice(0, 2)), **more)

    def case(self, kind: Kind = "vectors", *, cut: str | None = None, **more: Any) -> Case:
        """Two networks that differ in their seed, with 240 samples to fit on and 150 others to test on.

        `more` are the fields of a case that shall be otherwise.
        """
        fields: dict[str, Any] = {"matching": QUICK, "seeds": (0, 1)}
        fields |= {"fit": samples(kind, 240), "test": samples(kind, 150, first_id=5000)}
        for role, seed in (("sender", 0), ("receiver", 1)):
            if role not in more:
                fields[role] = self.halves(kind, seed, cut)
        return Case(**(fields | more))

    @staticmethod
    def functional(
        accuracy: float, *, agreement: float | None = None, receiver: float = 0.95, n: int = 1000
    ) -> Functional:
        """A result with this accuracy, as if on n samples; penalty and relative accuracy follow from it."""
        top1, theirs = (proportion(round(share * n), n) for share in (accuracy, receiver))
        half = (top1.high - top1.low) / 2
        penalty, relative = theirs.value - top1.value, top1.value / theirs.value
        return Functional(
            top1=top1,
            top5=None,
            penalty=Estimate(penalty, penalty - half, penalty + half, n),
            relative_accuracy=Estimate(relative, relative - half, relative + half, n),
            agreement=proportion(round((accuracy if agreement is None else agreement) * n), n),
            receiver_here=theirs,
            receiver_own=None,
            data="planted",
            n=n,
            chance=1 / 3,
            agreement_chance=1 / 3,
        )

    def outcomes(self, control: str, accuracies: Sequence[float], **more: Any) -> tuple[Outcome, ...]:
        """An outcome for each accuracy, the seeds 0, 1, 2 …; `agreements` go with them, if given."""
        agreements = more.pop("agreements", [None] * len(accuracies))
        pairs = zip(accuracies, agreements, strict=True)
        results = [self.functional(one, agreement=other, **more) for one, other in pairs]
        draws = control in ("random_sender", "clustered_noise")
        return tuple(
            Outcome(control, control, seed, result, known=KNOWN.get(control), draws=draws)
            for seed, result in enumerate(results)
        )

    def planted(
        self,
        sender: Sequence[float],
        /,
        *,
        case: Case | None = None,
        known: Mapping[str, Known] = KNOWN,
        agreements: Sequence[float] | None = None,
        n: int = 1000,
        receiver: float = 0.95,
        **controls: Sequence[float],
    ) -> Evidence:
        """Evidence whose outcomes have these accuracies, by control: nothing is computed.

        `planted([0.9, 0.91], random_sender=[0.4, 0.5])`; what is known of a control is what its name tells.
        """
        given = self.case(seeds=tuple(range(len(sender)))) if case is None else case
        fields = {"n": n, "receiver": receiver}
        own = fields if agreements is None else {**fields, "agreements": agreements}
        outcomes = {"sender": self.outcomes("sender", sender, **own)}
        outcomes |= {name: self.outcomes(name, values, **fields) for name, values in controls.items()}
        return Evidence(given, controls=[control(name, known[name]) for name in controls], outcomes=outcomes)

    @staticmethod
    def replanted(evidence: Evidence, control: str, outcomes: Sequence[Outcome]) -> Evidence:
        """The evidence with other outcomes of one control."""
        others = {name: evidence.of(name) for name in evidence.controls}
        return Evidence(
            evidence.case,
            controls=list(evidence.controls.values()),
            outcomes={**others, "sender": evidence.observed, control: outcomes},
        )


@dataclass(frozen=True)
class Given(Control):
    """A control whose counterparts are given."""

    about = "given by a test"
    each: tuple[Counterpart, ...] = field(default=(), compare=False)

    def stitches(self, case: Case) -> int:
        """As many as were given."""
        return len(self.each)

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """Those that were given."""
        return iter(self.each)


def control(name: str, known: Known, each: Sequence[Counterpart] = ()) -> Control:
    """A control of this name, of which this is known."""
    return type("Planted", (Given,), {"name": name, "known": known})(tuple(each))


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()


@pytest.fixture(scope="session")
def case(make: Make) -> Any:
    """case(kind, **fields) → Case: two trained networks, quick to stitch."""
    return make.case


@pytest.fixture(scope="session")
def evidence(make: Make) -> Any:
    """evidence(case, controls=…) → Evidence that is computed when it is asked for."""

    def of(case: Case | None = None, *, controls: Sequence[Control | str] = ("self",), **more: Any) -> Evidence:
        return Evidence(make.case() if case is None else case, controls=controls, **more)

    return of


@pytest.fixture(scope="session")
def planted(make: Make) -> Any:
    """planted([accuracies], control=[accuracies] …) → Evidence that was never computed."""
    return make.planted


@pytest.fixture(scope="session")
def given_control() -> Any:
    """given_control(name, known, counterparts) → Control."""
    return control
