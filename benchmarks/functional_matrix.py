"""What the direct functional matrix costs, as a multiple of its tails' forward passes.

    python benchmarks/functional_matrix.py                          # 512 held-out images of 2,560
    python benchmarks/functional_matrix.py --images 10000 --check

ResNet-18 × ResNet-18 (3×3 stem, 32×32, 8 × 8 blocks). Timed in turn, cell by cell, and compared by sums:

  ours          all 64 cells from the moments of the pass on: the sender's activations and the receiver's own answers on
                the held-out fold, the splits, the maps, the stitches, the tails, the intervals
  bare tails    the 64 plain tails alone, on activations of the receiver's own shape, as many and in the same batches
  folded tails  the same with batch normalisation folded, which is how ours run

The pass that gives the moments serves all the other measures as well; its time is shown, and is not part of ours.
`--check` ends with exit code 1 if ours against the bare tails misses its bound.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from seamripper._progress import Progress
from seamripper.comparing import Request, Rule, Sums
from seamripper.comparing.accumulate import accumulate
from seamripper.comparing.functional import DIRECT, FunctionalMatrices
from seamripper.comparing.sums import PassPlan
from seamripper.cut import split
from seamripper.cut.fast import fast
from seamripper.cut.halves import Tail
from seamripper.cut.many import Heads, heads
from seamripper.data.samples import Samples
from seamripper.models import Architecture

BLOCKS = [f"layer{stage}.{block}" for stage in (1, 2, 3, 4) for block in (0, 1)]
AGAINST_TAILS = 1.2


def main() -> None:
    """Measure, print, and check if asked to."""
    options = _options()
    samples = _images(options.images)
    architecture = Architecture.parse("zoo:resnet18?stem=3x3")
    example = samples.batch(slice(0, 2))
    a, b = (heads(architecture.build(seed=seed), options.cuts, example, optimise=True) for seed in (0, 1))
    times, held_out = _measure(a, b, samples, Rule(batch=options.batch))
    threads, n = torch.get_num_threads(), len(a.cuts)
    print(
        f"ResNet-18 x ResNet-18, {n} x {n} blocks, {held_out} held-out images, batch {options.batch}, {threads} threads"
    )
    whole = times["bare tails"]
    for name, seconds in times.items():
        print(f"{name:>14} {seconds:9.2f} s {seconds / whole:7.2f} x the bare tails")
    print(f"ours is {times['ours'] / times['folded tails']:.2f} x the folded tails")
    ratio = times["ours"] / whole
    missed = ratio > AGAINST_TAILS
    print(f"ours: {ratio:.2f} x the bare tails, above {AGAINST_TAILS}" if missed else "every bound is met")
    if options.check and missed:
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=2560, help="in the pass; a fifth of them is held out")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--cuts", nargs="+", default=BLOCKS)
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def _images(n: int) -> Samples:
    images = torch.randn(n, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    return Samples("random images", images, torch.arange(n) % 10, torch.arange(n), classes=10)


def _measure(a: Heads, b: Heads, samples: Samples, rule: Rule) -> tuple[dict[str, float], int]:
    times = {"ours": 0.0, "bare tails": 0.0, "folded tails": 0.0}
    columns = sorted(range(len(b.cuts)), key=lambda j: b.cuts[j].grid)
    cells = 0
    since = 0.0

    def watch(now: Progress) -> None:
        # Called after every cell of ours: note it, then let the tails of the same column take their turn.
        nonlocal since, cells
        if now.task != DIRECT:
            return
        times["ours"] += time.perf_counter() - since
        for name, run in zip(("bare tails", "folded tails"), tails[columns[cells // len(a.cuts)]], strict=True):
            times[name] += _timed(run)
        cells += 1
        since = time.perf_counter()

    matrices = FunctionalMatrices([DIRECT], a, b, Request(a.model, b.model, samples, announce=print, watch=watch), rule)
    sums = Sums(PassPlan.of(a.cuts, b.cuts, [], rule, moments=True))
    passed = _timed(lambda: (accumulate(sums, a, b, samples), sums.settle()))
    tails = [_tails(b, j, matrices.held_out, rule.batch) for j in range(len(b.cuts))]
    since = time.perf_counter()
    matrices.matrices(sums.moments)
    times["ours"] += time.perf_counter() - since
    return {**times, "(the pass)": passed}, len(matrices.held_out)


def _tails(b: Heads, j: int, samples: Samples, batch: int) -> list[Callable[[], None]]:
    """Runs the plain and the folded tail over the receiver's own activations, after a first batch to warm up."""
    half = split(b.model, b.cuts[j].name, samples.batch(slice(0, 2)))
    with torch.no_grad():
        values = torch.cat([half.head(inputs) for inputs, _ in samples.batches(batch)])
    runs = []
    for tail in (half.tail, fast(half).tail):
        _run(tail, values[:batch], batch)
        runs.append(lambda tail=tail: _run(tail, values, batch))
    return runs


@torch.no_grad()
def _run(tail: Tail, values: Tensor, batch: int) -> None:
    for rows in values.split(batch):
        tail(rows)


def _timed(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
