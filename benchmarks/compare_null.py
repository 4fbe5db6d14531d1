"""What a null costs beside the comparison that it is about: seconds of the pass, the values, and the permutations.

    python benchmarks/compare_null.py                                 # ResNet-18, 1,000 images, 200 permutations
    python benchmarks/compare_null.py --width 0.25 --images 200 --permutations 20

Two networks of one kind, 4 × 4 stages, by `pool` and by `positions`, with measures of every kind: of moments, held out,
of rows and of minibatches. A permutation shows no network any image; it multiplies the two sides anew (by `positions`
all of their rows), and measures every cell.
"""

from __future__ import annotations

import argparse

import torch

from seamripper.comparing import Rule, batch_for, compare
from seamripper.data.samples import Samples
from seamripper.models import Architecture

STAGES = ["layer1", "layer2", "layer3", "layer4"]
MEASURES = {
    "linear_cka": ["linear_cka"],
    "of moments": ["linear_cka", "cca_mean", "opd", "svcca"],
    "held out": ["regression_r2"],
    "of rows": ["mutual_knn", "rsa"],
    "of minibatches": ["minibatch_cka"],
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--permutations", type=int, default=200)
    parser.add_argument("--width", type=float, default=1.0)
    options = parser.parse_args()
    images = torch.randn(options.images, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    samples = Samples("noise", images, torch.arange(len(images)) % 10, torch.arange(len(images)), classes=10)
    architecture = Architecture.parse(f"zoo:resnet18?stem=3x3&width={options.width}")
    nets = [architecture.build(seed=seed) for seed in (0, 1)]
    print(f"ResNet-18 x {options.width:g}, {options.images:,} images, {torch.get_num_threads()} threads")
    print(f"{'':>28} {'pass':>9} {'values':>9} {'null':>9}   a permutation, beside the pass")
    for sampling in ("pool", "positions"):
        for name, measures in MEASURES.items():
            rule = Rule(sampling=sampling, batch=batch_for(len(samples)))
            found = compare(
                *nets, samples, measures=measures, sender_cuts=STAGES, receiver_cuts=STAGES, rule=rule,
                null=options.permutations,
            )  # fmt: skip
            seconds = found.record["seconds"]
            parts = " ".join(f"{seconds[stage]:7.2f} s" for stage in ("pass", "measures", "null"))
            share = seconds["null"] / options.permutations / seconds["pass"]
            print(f"{sampling:>12} {name:>15} {parts}   {share:.3f}")


if __name__ == "__main__":
    main()
