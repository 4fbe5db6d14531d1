"""What `compare` takes of two ResNet-50s at 224 × 224: time against two forward passes, and peak memory.

    python benchmarks/large_compare.py --check                       # 2,000 images: an hour or more on two cores
    python benchmarks/large_compare.py --images 32 --parts 1 --no-values    # memory of the pass, which does not grow

All blocks of both networks, every measure that needs moments. The images are shown in parts, and in each part the two
sides take turns: both networks, plain and eager, as many images at once as the comparison shows them; then the pass of
the comparison. The values of the measures, which cost the same for any number of images, are timed apart and counted on
our side. Peak memory is of the whole process, the images and both sides of the comparison included; of it the
comparison may plan with `--memory`, so that its sums stand on disk. CPU seconds are compared, not the clock.

`--check` ends with exit code 1 if a bound is missed: 1.3 × two forward passes, and 6 GB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import torch

from seamripper.comparing import Rule, Sums
from seamripper.comparing.compare import PreparedPass
from seamripper.comparing.request import Request
from seamripper.data.samples import Samples
from seamripper.measures import measures
from seamripper.models import Model, load

AGAINST_FORWARDS, MEMORY = 1.3, 6e9


def main() -> None:
    """Measure, print, and check if asked to."""
    options = _options()
    samples = _images(options.images, options.side)
    spec = f"{options.model}{'&' if '?' in options.model else '?'}input=3x{options.side}x{options.side}"
    models = [load(f"{spec}&seed={seed}") for seed in (0, 1)]
    names = [name for name in measures if measures.make(name).claims.needs == "moments"]
    rule = Rule(folds=options.folds, batch=options.batch, sampling=options.sampling)
    prepared = PreparedPass.of(Request(*models, samples, measures=names, rule=rule, memory=options.memory))
    prepared.require_memory(print)
    sums = Sums(prepared.plan)
    plain = ours = 0.0
    for part in range(options.parts):
        bounds = [len(samples) * (part + k) // options.parts for k in (0, 1)]
        plain += _cpu(lambda bounds=bounds: _forwards(models, samples.take(slice(*bounds)), prepared.plan.slice))
        ours += _cpu(lambda part=part: prepared.add_to(sums, part=part, parts=options.parts))
        print(f"part {part + 1} of {options.parts}: two forwards {plain:.1f} s, the pass {ours:.1f} s", flush=True)
    print(f"peak memory of the pass {_peak() / 1e9:.2f} GB", flush=True)
    if options.no_values:
        return
    values = _cpu(lambda: prepared.comparison(sums))
    peak = _peak()
    ratio = (ours + values) / plain
    print(f"{len(prepared.a.cuts)} × {len(prepared.b.cuts)} cuts, {len(names)} measures, {len(samples)} images")
    print(f"CPU: two forwards {plain:.1f} s; the pass {ours:.1f} s, the values {values:.1f} s: {ratio:.2f} ×")
    print(f"peak memory {peak / 1e9:.2f} GB")
    missed = [f"missed: at most {AGAINST_FORWARDS} ×"] * (ratio > AGAINST_FORWARDS)
    missed += [f"missed: less than {MEMORY / 1e9:.0f} GB"] * (peak >= MEMORY)
    print("\n".join(missed) or "every bound is met")
    if options.check and missed:
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--model", default="zoo:resnet50")
    parser.add_argument("--folds", type=int, default=2, help="of the intervals; each has sums of its own")
    parser.add_argument("--batch", type=int, default=16, help="of the comparison")
    parser.add_argument("--sampling", choices=["positions", "pool", "flatten"], default="positions")
    parser.add_argument("--memory", type=float, default=5e9, help="bytes that the comparison may plan with")
    parser.add_argument("--no-values", action="store_true", help="the pass alone, which is not checked")
    parser.add_argument("--parts", type=int, default=8, help="how many times the two sides take turns")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def _images(n: int, side: int) -> Samples:
    pixels = torch.randint(256, (n, 3, side, side), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    return Samples("noise", pixels, torch.arange(n) % 10, torch.arange(n), classes=10, mean=0.5, std=0.25)


@torch.no_grad()
def _forwards(models: list[Model], samples: Samples, batch: int) -> None:
    for model in models:
        for inputs, _ in model.present(samples).batches(batch):
            model.module(inputs)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _cpu(work: object) -> float:
    start = time.process_time()
    work()  # type: ignore[operator]
    return time.process_time() - start


if __name__ == "__main__":
    main()
