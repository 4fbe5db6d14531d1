"""What an audit costs: how often the data goes through the fronts of networks, counted at their first layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper.audits import audit
from seamripper.controls.tally import Steps, StepTally
from seamripper.cut import Split, split
from seamripper.data import Samples
from seamripper.models import Progress
from seamripper.models.running import use_seed

BOUND = 6
"""So many times the data through two networks; it was 39 times when every seed, control and audit ran the fronts."""


class Counted(nn.Conv2d):
    """Counts every image that any network's front is shown; copies and untrained twins count here, too."""

    shown = 0

    def forward(self, x: Tensor) -> Tensor:
        Counted.shown += len(x)
        return super().forward(x)


def images(n: int, *, first_id: int = 0) -> Samples:
    """Noise with a bright stripe, whose height names the class."""
    labels, ids = torch.arange(n) % 3, torch.arange(first_id, first_id + n)
    pixels = 0.3 * torch.rand(n, 3, 8, 8, generator=torch.Generator().manual_seed(first_id))
    for row, label in enumerate(labels.tolist()):
        pixels[row, :, 3 * label : 3 * label + 2] += 0.6
    return Samples("stripes", pixels, labels, ids, 3, mean=0.5, std=0.5, range=(0.0, 1.0))


def network(seed: int) -> Split:
    """Trained on stripes that no audit here has."""
    data = images(300, first_id=90_000)
    with use_seed(seed):
        front = nn.Sequential(Counted(3, 6, 3, 2, 1), nn.BatchNorm2d(6), nn.ReLU())
        net = nn.Sequential(front, nn.Conv2d(6, 6, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(96, 3))
        optimiser = torch.optim.Adam(net.parameters(), 0.01)
        for _ in range(40):
            optimiser.zero_grad()
            F.cross_entropy(net(data.batch(slice(None))), data.labels).backward()
            optimiser.step()
    return split(net.eval(), "0", data.batch(slice(0, 2)))


def times(fit: int, test: int, **choices: Any) -> float:
    """How often an audit shows the data to the fronts, in units of the data through two networks."""
    sender, receiver = network(0), network(1)
    Counted.shown = 0
    audited = audit(sender, receiver, images(fit), images(test, first_id=50_000), **choices)
    assert {"conflict", "mixing", "margin", "rank", "distribution", "symmetry"} <= set(audited.verdicts)
    return Counted.shown / (2 * (fit + test))


@pytest.mark.slow
def test_a_small_set_costs_less_all_the_same() -> None:
    """Changed inputs are as many as the test samples allow, up to some hundreds: of few samples, many times as many."""
    fit, test = 1000, 500
    assert times(fit, test) * (fit + test) <= 0.75 * BOUND * (4000 + 2000)


@pytest.mark.slow
def test_an_audit_with_all_defaults_runs_the_fronts_a_few_times() -> None:
    """As many samples as `seamripper audit` takes, three seeds, every control, audit, intervention and mixture."""
    assert times(4000, 2000) <= BOUND


FEW = {"audits": ("margin", "mixing"), "controls": ("self", "random_sender"), "seeds": (0, 1)}


class StopError(Exception):
    """What ends an audit in the middle."""


def test_a_stopped_audit_goes_on_where_it_was(tmp_path: Path) -> None:
    halves, samples = (network(0), network(1)), (images(120), images(60, first_id=50_000))
    trained: list[str] = []

    def watch(now: Progress) -> None:
        if now.task == "task matching" and now.done == now.total:
            trained.append(now.task)
        if now.task == StepTally.task and now.done == 4 and not (tmp_path / "go on").exists():
            raise StopError

    with pytest.raises(StopError):
        audit(*halves, *samples, **FEW, keep=tmp_path / "stitches", watch=watch)
    (tmp_path / "go on").touch()
    assert len(trained) == 4
    # One of them was damaged meanwhile, and is found again.
    next(iter((tmp_path / "stitches").iterdir())).write_bytes(b"cut short")
    resumed = audit(*halves, *samples, **FEW, keep=tmp_path / "stitches", watch=watch)
    assert len(trained) == 4 + 1 + 2
    whole = audit(*halves, *samples, **FEW)
    assert resumed.as_record() == whole.as_record()


def test_how_much_there_is_to_do_is_told_before_and_during() -> None:
    told: list[Progress] = []
    audited = audit(network(0), network(1), images(60), images(40, first_id=50_000), **FEW, watch=told.append)
    steps = [now for now in told if now.task == StepTally.task]
    total = 6 + len(audited.record["mixtures"])
    assert told[0] is steps[0]
    assert [(now.done, now.total) for now in steps] == [(done, total) for done in range(total + 1)]
    left = [now.left for now in steps]
    assert all(seconds is not None and seconds > 0 for seconds in left[:-1])
    assert left[-1] == 0


def test_nothing_is_silent_for_long() -> None:
    """Within the audits that change inputs, every change is told of."""
    told: list[Progress] = []
    choices = {"audits": ("conflict", "mixing"), "controls": ("self", "random_sender"), "seeds": (0,)}
    audited = audit(network(0), network(1), images(60), images(40, first_id=50_000), **choices, watch=told.append)
    for name, each in (
        ("conflict", 2 * len(audited.record["interventions"])),
        ("mixing", len(audited.record["mixtures"])),
    ):
        begun, ended = (place for place, now in enumerate(told) if now.task.endswith(f": {name}"))
        within = [now for now in told[begun:ended] if now.task == StepTally.task]
        assert len(within) >= each > 0


def test_the_time_left_is_that_of_the_steps_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    now, told = [0.0], list[Progress]()
    monkeypatch.setattr("seamripper.controls.tally.time.monotonic", lambda: now[0])
    tally = StepTally()
    tally.expect({"stitches": Steps(3, 10.0), "sets": Steps(2, 5.0)}, told.append)
    now[0] = 20.0
    tally.add("stitches", "a", told.append)
    tally.add("stitches", "a", told.append)
    now[0] = 21.0
    tally.add("sets", "b", told.append)
    tally.close(told.append, "stitches")
    tally.close(told.append)
    # Estimated; a stitch took twice as long, so sets will; a set took a second; no more stitches; nothing more.
    assert [moment.left for moment in told] == [40.0, 60.0, 41.0, 1.0, 0.0]
    assert [(moment.done, moment.total) for moment in told] == [(0, 5), (1, 5), (2, 5), (2, 3), (2, 2)]
