"""Who takes part in the demo: a receiver, and senders of which it is known what they have to do with it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import seamripper as sr
from seamripper._progress import Progress, Watcher, nobody
from seamripper.errors import SeamripperError

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

    from seamripper.data import Paired

NETWORK = "zoo:resnet18?width=0.25"
SAME, _DIFFERENT = "same information", "different information"
_NOISE = "interchangeable, but so is noise: no evidence of similarity"
TRAINED = (
    ("Digit, other seed", "digit", 1, SAME),
    ("Greyscale", "greyscale", 0, SAME),
    ("Correlated", "correlated", 0, _DIFFERENT),
    ("Colour", "colour", 0, _DIFFERENT),
    ("Colour-Only", "colour-only", 0, _DIFFERENT),
)
"""Name, what it is trained on, from which seed, and what is known of it beside Digit of seed 0."""
COUNTERPARTS = (("Untrained", "random_sender", _DIFFERENT), ("Clustered noise", "clustered_noise", _NOISE))
"""Name, the control that makes it, and what is known of it."""

Step = tuple[str, int, int]
"""Which network has taken how many of its steps."""
_LOOK = 0.5
"""Seconds that a step is waited for before it is seen whether all networks have ended."""
_steps: Queue[Step] | None = None
"""In a worker: where it tells of its steps."""


@dataclass(frozen=True, eq=False)
class DemoSender:
    """A sender, the samples that it is matched and scored on, and the answer that is right for it."""

    name: str
    truth: str
    sender: sr.Split
    fit: sr.Samples | Paired
    test: sr.Samples | Paired


@dataclass(frozen=True)
class Cast:
    """The networks of the demo: trained on `n` images in float32, once, and kept in a folder; where they compute."""

    folder: Path
    n: int
    watch: Watcher = nobody
    device: str | None = None
    dtype: str | None = None

    def receivers(self, cut: str) -> tuple[sr.Split, sr.Split]:
        """Digit of seed 0, and its control: Digit of a seed that no sender has."""
        return sr.split(self.network("digit", 0), cut), sr.split(self.network("digit", 2), cut)

    def senders(self, digit: sr.Split, fit: sr.Samples, test: sr.Samples) -> Iterator[DemoSender]:
        """Trained networks, one that was never trained, and noise; each cut where the receiver is."""
        from seamripper.controls import Case, controls
        from seamripper.data import Paired

        for name, kind, seed, truth in TRAINED:
            yield DemoSender(name, truth, sr.split(self.network(kind, seed), digit.cut.name), fit, test)
        # From another seed than the controls of the same kind, to which they are held.
        case = Case(digit, digit, Paired.of(fit), Paired.of(test), seeds=(1,))
        for name, control, truth in COUNTERPARTS:
            for counterpart in controls.make(control).counterparts(case):
                yield DemoSender(name, truth, counterpart.sender, counterpart.fit, counterpart.test)

    def train_all(self) -> None:
        """Train what is not there yet, two networks at a time, each on a thread of its own.

        Two threads on one network this small wait for each other, most of all on a busy machine.
        """
        everyone = [("digit", 0), ("digit", 2), *((kind, seed) for _, kind, seed, _ in TRAINED)]
        missing = [who for who in everyone if not self._path(*who).exists()]
        if len(missing) < 2 or (os.cpu_count() or 1) < 2:
            return
        context = multiprocessing.get_context("spawn")
        steps: Queue[Step] = context.Queue()
        # A watcher cannot be sent to another process; the steps come back through the queue.
        silent = replace(self, watch=nobody)
        with context.Pool(2, _begin, (steps,)) as pool:
            ended = pool.map_async(silent.train_aside, missing, chunksize=1)
            self._watch_steps(steps, len(missing), ended.ready)
            ended.get()

    def _watch_steps(self, steps: Queue[Step], networks: int, ended: Callable[[], bool]) -> None:
        """Show the steps of all networks together as they come, until all have ended; they have equally many."""
        task, known, total = f"training {networks} networks", dict[str, int](), 0
        while not (ended() and steps.empty()):
            try:
                name, done, of = steps.get(timeout=_LOOK)
            except queue.Empty:
                continue
            known[name], total = done, networks * of
            self.watch(Progress(task, sum(known.values()), total))
        if sum(known.values()) < total:
            # A network that could not be trained takes no more steps, and the bar goes.
            self.watch(Progress(task, total, total))

    def train_aside(self, who: tuple[str, int]) -> None:
        """Train a network in another process. What goes wrong here goes wrong again where it can be told."""
        name, steps = f"{who[0]}-{who[1]}", _steps
        watch = self.watch if steps is None else lambda now: steps.put((name, now.done, now.total))
        with contextlib.suppress(SeamripperError):
            replace(self, watch=watch).network(*who)

    def network(self, kind: str, seed: int) -> sr.Model:
        """The network of a kind and seed, trained now if it is not there."""
        out = self._path(kind, seed)
        sr.train(NETWORK, self._images(kind), seed=seed, device=self.device, out=out, watch=self.watch)
        return sr.load(out, device=self.device, dtype=self.dtype)

    def _path(self, kind: str, seed: int) -> Path:
        # The name holds the data: after another --n, or digits in place of MNIST, a new network is trained.
        images = self._images(kind)
        return self.folder / f"{images.name.partition('/')[2]}-{seed}-{images.fingerprint[:8]}.safetensors"

    def _images(self, kind: str) -> sr.Samples:
        return sr.load_data(f"mnist/{kind}", "train", n=self.n)


def _begin(steps: Queue[Step]) -> None:
    """A worker is ended by whoever started it, leaves warnings to them, and tells them of every step."""
    # First of all: importing torch takes time enough for a Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    global _steps
    _steps = steps
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
