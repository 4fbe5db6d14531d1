"""What a task-matching step costs at each block of ResNet-18 (3×3 stem, 32×32 images), as ratios in one run.

    python benchmarks/task_step.py                 # all blocks, both ratios, and what each optimisation buys
    python benchmarks/task_step.py --blocks 2 8 --check

Three things are timed in turn, interleaved, and compared by their medians:

  ours        a step of `Task` as users run it: rows of the kept activations, stitch, frozen tail, backward, optimiser
  bare tail   the plain tail's forward, loss, and gradient with respect to its input, on the same kept activations
  hooks       both whole networks run at each step, activations taken and put in by hooks (the usual way)

`--check` ends with exit code 1 if a ratio misses its bound.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import seamripper as sr
from seamripper._progress import Progress
from seamripper.cut.fast import fast, plain
from seamripper.data.samples import Samples
from seamripper.matching import Task
from seamripper.models import Architecture
from seamripper.stitches import stitches

BLOCKS = ["layer1.0", "layer1.1", "layer2.0", "layer2.1", "layer3.0", "layer3.1", "layer4.0", "layer4.1"]
AGAINST_BARE_TAIL = 1.15
AGAINST_HOOKS = {2: 1.8, 4: 3.0, 6: 5.0, 8: 50.0}


def main() -> None:
    """Measure, print, and check if asked to."""
    options = _options()
    architecture = Architecture.parse("zoo:resnet18?stem=3x3")
    sender, receiver = architecture.build(seed=0).eval(), architecture.build(seed=1).eval()
    samples = _images(options.batch * 2)
    setting = f"batch {options.batch}, {torch.get_num_threads()} threads, median of {options.steps} steps"
    print(f"ResNet-18, 3x3 stem, 32x32, {setting}")
    print(f"{'block':>10} {'ours ms':>9} {'bare ms':>9} {'hooks ms':>9} {'ours/bare':>10} {'hooks/ours':>11}")
    missed = []
    for block in options.blocks:
        ours, bare, hooks = _measure(sender, receiver, BLOCKS[block - 1], samples, options)
        to_bare, to_hooks = ours / bare, hooks / ours
        name = f"{block} {BLOCKS[block - 1]}"
        print(f"{name:>10} {1e3 * ours:9.1f} {1e3 * bare:9.1f} {1e3 * hooks:9.1f} {to_bare:10.2f} {to_hooks:11.1f}")
        if to_bare > AGAINST_BARE_TAIL:
            missed.append(f"block {block}: {to_bare:.2f} x the bare tail, above {AGAINST_BARE_TAIL}")
        if to_hooks < AGAINST_HOOKS.get(block, 0):
            missed.append(f"block {block}: {to_hooks:.1f} x faster than hooks, below {AGAINST_HOOKS[block]}")
    if not options.no_parts:
        _parts(receiver, samples, options)
    print("\n".join(missed) or "every bound is met")
    if options.check and missed:
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, nargs="+", default=list(range(1, 9)))
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--no-parts", action="store_true", help="leave out what each optimisation buys")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def _images(n: int) -> Samples:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(n, 3, 32, 32, generator=generator)
    return Samples("random images", images, torch.arange(n) % 10, torch.arange(n), classes=10)


def _measure(
    sender: nn.Module, receiver: nn.Module, cut: str, samples: Samples, options: argparse.Namespace
) -> tuple[float, float, float]:
    example = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    front, back = sr.split(sender, cut, example), sr.split(receiver, cut, example)
    kept = sr.collect(front, samples)
    index = torch.arange(options.batch)
    bare = _bare_step(back, kept.values, samples.labels, index)
    hooks = _hook_step(sender, receiver, cut, samples, index)
    times: dict[str, list[float]] = {"ours": [], "bare": [], "hooks": []}
    since = 0.0

    def watch(now: Progress) -> None:
        # Called after every step of ours: note it, then let the other two take their turn.
        nonlocal since
        if now.task != "task matching":
            return
        times["ours"].append(time.perf_counter() - since)
        times["bare"].append(_timed(bare))
        times["hooks"].append(_timed(hooks))
        since = time.perf_counter()

    # The first two steps warm up and are left out; an epoch has two steps, so one between is never an epoch's first.
    training = sr.Training(epochs=(options.steps + 2 + 1) // 2, batch=options.batch)
    sr.match(front, back, samples, matching=Task(training=training), watch=watch)
    ours, plain, usual = (statistics.median(times[key][2:]) for key in ("ours", "bare", "hooks"))
    return ours, plain, usual


def _bare_step(back: sr.Split, values: Tensor, labels: Tensor, index: Tensor) -> Callable[[], None]:
    def step() -> None:
        rows = values[index].requires_grad_()
        torch.autograd.grad(F.cross_entropy(back.tail(rows), labels[index]), rows)

    return step


def _hook_step(sender: nn.Module, receiver: nn.Module, cut: str, samples: Samples, index: Tensor) -> Callable[[], None]:
    for model in (sender, receiver):
        model.requires_grad_(False)
    example = torch.randn(2, 3, 32, 32)
    stitch = stitches.make("affine").build(sr.split(sender, cut, example).cut, sr.split(receiver, cut, example).cut)
    optimiser = torch.optim.Adam(stitch.parameters())

    def step() -> None:
        taken: list[Tensor] = []
        images, labels = samples.batch(index), samples.labels[index]
        handle = sender.get_submodule(cut).register_forward_hook(lambda m, a, out: taken.append(out))
        with torch.no_grad():
            sender(images)
        handle.remove()
        handle = receiver.get_submodule(cut).register_forward_hook(lambda m, a, out: stitch(taken[0]))
        loss = F.cross_entropy(receiver(images), labels)
        handle.remove()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def _timed(step: Callable[[], None]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def _parts(receiver: nn.Module, samples: Samples, options: argparse.Namespace) -> None:
    """What folding the norms of a frozen tail buys: forward and input gradient, against the plain tail."""
    cut = "layer1.1"
    back = sr.split(receiver, cut, torch.randn(2, 3, 32, 32))
    values = sr.collect(back, samples).values
    index = torch.arange(options.batch)
    steps = {}
    for name, make in {"plain": plain, "BN folded": fast}.items():
        made = make(back)
        halves = type("Half", (), {"tail": made.tail})
        steps[name] = (_bare_step(halves, values, samples.labels, index), made.difference)
        steps[name][0]()
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(options.steps):
        for name, (step, _) in steps.items():
            times[name].append(_timed(step))
    whole = statistics.median(times["plain"])
    print(f"\nthe tail behind {cut}, forward + input gradient:")
    for name, (_, difference) in steps.items():
        middle = statistics.median(times[name])
        gain = f"{whole / middle:5.2f} x the plain tail"
        print(f"{name:>15} {1e3 * middle:8.1f} ms   {gain}   differs by {difference:.0e}")
    print()


if __name__ == "__main__":
    main()
