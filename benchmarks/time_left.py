"""How honest the time left is: what a training, an audit and a study showed, beside what they then took.

    python benchmarks/time_left.py --check

Small networks on scikit-learn's digits. Every report of progress is kept with its moment; after the end it is known
how long was really left. Told are the median of shown / real, and the largest error as a share of the whole time, both
of reports after the first tenth and before the last tenth of the time. `--check` ends with exit code 1 if a median is
not within 0.5 … 2. A machine whose load changes in between makes any estimate wrong: measure on a quiet one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import seamripper as sr
from seamripper._progress import Progress

NETWORK = "zoo:R_1111?width=0.25"
BOUNDS = (0.5, 2.0)
STUDY = """
[data]
name = "digits/correlated"
n = 400
n_test = 200
[models.digit]
train = "zoo:R_1111?width=0.25"
data = "digits/digit"
training = "?epochs=2"
seeds = [0, 1, 2]
[models.colour]
train = "zoo:R_1111?width=0.25"
data = "digits/colour"
training = "?epochs=2"
seeds = [0, 1, 2]
[[stitch]]
senders = ["colour"]
receivers = ["digit"]
cuts = ["layer1", "layer2", "layer3"]
matchings = ["task?init=direct&epochs=4&lr=0.01"]
[[compare]]
senders = ["colour"]
receivers = ["digit"]
"""

Shown = list[tuple[float, float]]
"""Moments, and the seconds that were shown to be left."""


def train(folder: Path, show: Callable[[float], None]) -> None:
    """One training; the command line shows the time so far divided by the steps so far, times the steps left."""
    begun: list[tuple[float, int]] = []

    def watch(now: Progress) -> None:
        begun.append((time.monotonic(), now.done))
        (start, first), (moment, _) = begun[0], begun[-1]
        if now.done > first:
            show((moment - start) / (now.done - first) * (now.total - now.done))

    samples = sr.load_data("digits/digit", "train")
    sr.train(NETWORK, samples, training="?epochs=6", seed=0, out=folder / "digit.safetensors", watch=watch)


def audit(folder: Path, show: Callable[[float], None]) -> None:
    """One audit of two networks, with all audits of the default."""
    networks = []
    for kind in ("digit", "colour"):
        out = folder / f"{kind}-small.safetensors"
        samples = sr.load_data(f"digits/{kind}", "train", n=400)
        networks.append(sr.train(NETWORK, samples, training="?epochs=2", seed=0, out=out))
    digit, colour = (sr.split(network, "layer2") for network in networks)
    fit, test = (sr.load_data("digits/correlated", split, n=300) for split in ("train", "test"))
    conflict = sr.load_data("digits/digit", "test", n=300)
    watch = lambda now: None if now.left is None else show(now.left)  # noqa: E731
    sr.audit(colour, digit, fit, test, conflict=conflict, watch=watch)


def study(folder: Path, show: Callable[[float], None]) -> None:
    """A study of trainings, stitches and comparisons, on one worker."""
    (folder / "study.toml").write_text(STUDY)
    watch = lambda now: None if now.left is None else show(now.left)  # noqa: E731
    sr.run(sr.Experiment.read(folder / "study.toml"), folder / "store", engine="local?workers=1", watch=watch)


def record(work: Callable[[Path, Callable[[float], None]], None], folder: Path) -> tuple[Shown, float]:
    """What a piece of work showed, and when it ended; the time begins with what it first shows."""
    shown: Shown = []
    work(folder, lambda left: shown.append((time.monotonic(), left)))
    return shown, time.monotonic()


def main() -> None:
    """Measure, print, and check if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    missed = []
    for work in (train, audit, study):
        with tempfile.TemporaryDirectory() as folder:
            shown, end = record(work, Path(folder))
        whole = end - shown[0][0]
        middle = [(left, end - at) for at, left in shown if 0.1 <= (at - shown[0][0]) / whole <= 0.9]
        ratio = statistics.median(left / real for left, real in middle)
        error = max(abs(left - real) for left, real in middle) / whole
        words = f"shown / real {ratio:.2f} (median of {len(middle)}), at most {error:.0%} of the whole wrong"
        print(f"{work.__name__}: {whole:.1f} s, at first {shown[0][1]:.1f} s shown; {words}")
        if not BOUNDS[0] <= ratio <= BOUNDS[1]:
            missed.append(f"{work.__name__}: {ratio:.2f} is not within {BOUNDS[0]} … {BOUNDS[1]}")
    print("\n".join(missed) or "every bound is met")
    if options.check and missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
