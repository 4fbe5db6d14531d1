"""What `match_many` buys: stitches from all cuts of a sender into one cut of a receiver, against one at a time.

    python benchmarks/task_many.py                # three networks, three receiver cuts each
    python benchmarks/task_many.py --check

ResNet-18 (an eighth of the width, whose maps are 8×8 at most; a quarter of it with a 3×3 stem; 8 sender cuts each) and
a small ViT (8 blocks) on 32×32 images. Both ways are run in turn, several times, and compared by their medians:

  one at a time   `match` for each sender cut: tail, training, and the proof that nothing changed
  together        `match_many` for all of them

The sender's activations were computed before (`replay`), as they are in a [[functional]] table. `group` is how many
stitches go through the tail in one batch; where it is 1, the tail is so large that more would take longer. `--check`
ends with exit code 1 if all the cuts of a network, taken together, are not faster by as much as its bound says.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import torch

import seamripper as sr
from seamripper.activations import collect, replay
from seamripper.data import Paired
from seamripper.matching import Match, Task, match_many
from seamripper.matching.many import group_size
from seamripper.models import Architecture

STAGES = [f"layer{stage}.{block}" for stage in (1, 2, 3, 4) for block in (0, 1)]
BLOCKS = [f"blocks.{block}" for block in range(8)]
SMALL, RESNET, VIT = (
    "zoo:resnet18?width=0.125",
    "zoo:resnet18?stem=3x3&width=0.25",
    "zoo:vit_tiny?patch=8&dim=48&depth=8",
)
NETWORKS = {
    SMALL: (STAGES, ["layer1.0", "layer2.1", "layer4.0"]),
    RESNET: (STAGES, ["layer2.1", "layer3.1", "layer4.0"]),
    VIT: (BLOCKS, ["blocks.1", "blocks.4", "blocks.6"]),
}
BOUNDS = {SMALL: 1.3, RESNET: 1.0, VIT: 1.0}


def main() -> None:
    """Measure, print, and check if asked to."""
    options = _options()
    task = Task(sr.Training(epochs=options.epochs, batch=options.batch))
    setting = f"{options.images} images, {options.epochs} epochs of batches of {options.batch}"
    print(f"{setting}, {torch.get_num_threads()} threads, median of {options.rounds}")
    print(f"{'receiver cut':>14} {'group':>6} {'one at a time':>14} {'together':>10} {'ratio':>6}")
    missed = []
    for spec, (senders, receivers) in NETWORKS.items():
        print(spec)
        alone, together = _network(spec, senders, receivers, task, options)
        ratio = alone / together
        print(f"{'all':>14} {'':>6} {alone:12.2f} s {together:8.2f} s {ratio:6.2f}")
        if ratio < BOUNDS[spec]:
            missed.append(f"{spec}: {ratio:.2f} x as fast, below {BOUNDS[spec]}")
    print("\n".join(missed) or "every bound is met")
    if options.check and missed:
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def _network(
    spec: str, senders: list[str], receivers: list[str], task: Task, options: argparse.Namespace
) -> tuple[float, float]:
    """Seconds for all receiver cuts, one at a time and together."""
    n = options.images
    images = torch.randn(n, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    samples = sr.Samples("random images", images, torch.arange(n) % 10, torch.arange(n), classes=10)
    example, architecture = images[:2], Architecture.parse(spec)
    sender, receiver = architecture.build(seed=0), architecture.build(seed=1)
    halves = [sr.split(sender, cut, example) for cut in senders]
    replayed = [replay(half, samples, collect(half, samples)) for half in halves]
    totals = [0.0, 0.0]
    for cut in receivers:
        times = _column(replayed, sr.split(receiver, cut, example), task, options.rounds)
        group = min(len(senders), group_size(sr.split(receiver, cut, example).cut, options.batch))
        print(f"{cut:>14} {group:>6} {times[0]:12.2f} s {times[1]:8.2f} s {times[0] / times[1]:6.2f}")
        totals = [total + seconds for total, seconds in zip(totals, times, strict=True)]
    return totals[0], totals[1]


def _column(
    replayed: list[tuple[sr.Split, Paired]], receiver: sr.Split, task: Task, rounds: int
) -> tuple[float, float]:
    """Seconds for the stitches into one cut, one at a time and together."""
    alone: list[float] = []
    together: list[float] = []
    for k in range(rounds + 1):
        start = time.perf_counter()
        matches = [sr.match(half, receiver, pair, matching=task) for half, pair in replayed]
        middle = time.perf_counter()
        outcomes = match_many([half for half, _ in replayed], receiver, [pair for _, pair in replayed], matching=task)
        end = time.perf_counter()
        if k:
            # The first round warms up.
            alone.append(middle - start)
            together.append(end - middle)
    for one, other in zip(matches, outcomes, strict=True):
        assert isinstance(other, Match)
        assert abs(one.figures["loss_end"] - other.figures["loss_end"]) < 1e-3 * one.figures["loss_end"]
    return statistics.median(alone), statistics.median(together)


if __name__ == "__main__":
    main()
