"""How much faster two workers are than one, and which way to use two cores is best.

    python benchmarks/study_workers.py --check

A real study of 24 stitches on MNIST (narrow ResNet-18, two senders × three cuts × four seeds, task matching for
five epochs on 4,000 images) with networks that are trained beforehand. In turn, three rounds, medians: one worker of
one thread, two workers of one thread, one worker of two threads; the whole command, start and planning included.
`--check` ends with exit code 1 if two workers are not 1.6 × as fast as one.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FASTER = 1.6
NETWORKS = """
threads = {threads}

[models.digit]
train = "zoo:resnet18?width=0.25"
data = "mnist/digit"
n = 2000
training = "?epochs=1"

[models.colour]
train = "zoo:resnet18?width=0.25"
data = "mnist/colour"
n = 2000
training = "?epochs=1"
"""
STITCHES = """
[data]
name = "mnist/correlated"
n = 4000
n_test = 2000

[matchings]
few = "task?epochs=5"

[[stitch]]
senders = ["colour", "digit"]
receivers = ["digit"]
cuts = ["layer1", "layer2", "layer3"]
matchings = ["few"]
seeds = [0, 1, 2, 3]
"""
WAYS = {"one worker, one thread": (1, 1), "two workers, one thread each": (2, 1), "one worker, two threads": (1, 2)}


def main() -> None:
    """Measure in turn, print, and check if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            for name, (workers, threads) in WAYS.items():
                times[name].append(_timed(Path(folder) / f"{number}-{workers}-{threads}", workers, threads))
    middle = {name: statistics.median(each) for name, each in times.items()}
    first = middle["one worker, one thread"]
    for name, seconds in middle.items():
        print(f"{name:>30}: {seconds:6.1f} s for 24 stitches, {first / seconds:.2f} x as fast as one worker")
    ratio = first / middle["two workers, one thread each"]
    missed = f"two workers are {ratio:.2f} x as fast as one, below {FASTER}" if ratio < FASTER else ""
    print(missed or "every bound is met")
    if options.check and missed:
        sys.exit(1)


def _timed(place: Path, workers: int, threads: int) -> float:
    """The seconds that the stitches take, with the networks there."""
    place.mkdir()
    networks = NETWORKS.format(threads=threads)
    (place / "networks.toml").write_text(networks)
    (place / "study.toml").write_text(networks.lstrip() + STITCHES)
    own = [sys.executable, "-m", "seamripper", "run"]
    more = ["--store", "store", "--engine", f"local?workers={workers}", "--quiet"]
    subprocess.run([*own, "networks.toml", *more], cwd=place, check=True)
    begun = time.perf_counter()
    subprocess.run([*own, "study.toml", *more], cwd=place, check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
