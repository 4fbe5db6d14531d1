"""Who takes part in the demo: a receiver, and senders of which it is known what they have to do with it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seamripper._progress import Progress, Watcher, nobody
from seamripper.errors import SeamripperError

if TYPE_CHECKING:
    from seamripper.cut import Split
    from seamripper.data import Paired, Samples
    from seamripper.models import Model

NETWORK = "zoo:resnet18?width=0.25"
SAME, _DIFFERENT = "same information", "different information"
_NOISE = "interchangeable, but so is noise: no evidence of similarity"
_TRAINED = (
    ("Digit, other seed", "digit", 1, SAME),
    ("Greyscale", "greyscale", 0, SAME),
    ("Correlated", "correlated", 0, _DIFFERENT),
    ("Colour", "colour", 0, _DIFFERENT),
    ("Colour-Only", "colour-only", 0, _DIFFERENT),
)
"""Name, what it is trained on, from which seed, and what is known of it beside Digit of seed 0."""
_DRAWN = (("Untrained", "random_sender", _DIFFERENT), ("Clustered noise", "clustered_noise", _NOISE))
"""Name, the control that makes it, and what is known of it."""


@dataclass(frozen=True, eq=False)
class Part:
    """A sender, the samples that it is matched and scored on, and the answer that is right for it."""

    name: str
    truth: str
    sender: Split
    fit: Samples | Paired
    test: Samples | Paired


def receivers(out: Path, n: int, cut: str, watch: Watcher) -> tuple[Split, Split]:
    """Digit of seed 0, trained on `n` images, and its control: Digit of a seed that no sender has."""
    return _cut("digit", 0, out, n, cut, watch), _cut("digit", 2, out, n, cut, watch)


def senders(digit: Split, fit: Samples, test: Samples, out: Path, n: int, watch: Watcher) -> Iterator[Part]:
    """Networks trained on `n` images, one that was never trained, and noise; each cut where the receiver is."""
    from seamripper.controls import Case, controls
    from seamripper.data import Paired

    for name, kind, seed, truth in _TRAINED:
        yield Part(name, truth, _cut(kind, seed, out, n, digit.cut.name, watch), fit, test)
    # From another seed than the controls of the same kind, to which they are held.
    case = Case(digit, digit, Paired.of(fit), Paired.of(test), seeds=(1,))
    for name, control, truth in _DRAWN:
        for one in controls.make(control).counterparts(case):
            yield Part(name, truth, one.sender, one.fit, one.test)


def train_all(out: Path, n: int, watch: Watcher) -> None:
    """Train what is not there yet, two networks at a time, each on a thread of its own.

    Two threads on one network this small wait for each other, most of all on a busy machine.
    """
    everyone = [("digit", 0), ("digit", 2), *((kind, seed) for _, kind, seed, _ in _TRAINED)]
    missing = [(kind, seed, out, n) for kind, seed in everyone if not _path(_data(kind, n), seed, out).exists()]
    if len(missing) < 2 or (os.cpu_count() or 1) < 2:
        return
    watch(Progress("training networks", 0, len(missing)))
    with multiprocessing.get_context("spawn").Pool(2, _begin) as pool:
        for done, _ in enumerate(pool.imap_unordered(_train_aside, missing), 1):
            watch(Progress("training networks", done, len(missing)))


def _begin() -> None:
    """A worker is ended by whoever started it, and leaves warnings to them."""
    # First of all: importing torch takes time enough for a Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)


def _train_aside(job: tuple[str, int, Path, int]) -> None:
    # What goes wrong here goes wrong again where it can be told.
    with contextlib.suppress(SeamripperError):
        _trained(*job, nobody)


def _cut(kind: str, seed: int, out: Path, n: int, cut: str, watch: Watcher) -> Split:
    from seamripper.cut import split

    return split(_trained(kind, seed, out, n, watch), cut)


def _trained(kind: str, seed: int, out: Path, n: int, watch: Watcher) -> Model:
    from seamripper.models import train

    samples = _data(kind, n)
    return train(NETWORK, samples, seed=seed, out=_path(samples, seed, out), watch=watch)


def _path(samples: Samples, seed: int, out: Path) -> Path:
    # The name holds the data: after another --n, or digits in place of MNIST, a new network is trained.
    return out / f"{samples.name.partition('/')[2]}-{seed}-{samples.fingerprint[:8]}.safetensors"


def _data(kind: str, n: int) -> Samples:
    from seamripper.data import load_data

    return load_data(f"mnist/{kind}", "train", n=n)
