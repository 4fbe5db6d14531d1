"""EfficientNet-Lite1 under a head of Lite0, for `seamripper swap`: Lite0 with a head for CIFAR-10, as a file.

    python benchmarks/swap_images.py FOLDER         # about a minute on one core
    seamripper swap 'zoo:efficientnet_lite0?classes=10&normalise=lite&weights=FOLDER/lite0.safetensors' \
        'imagenet:efficientnet_lite1?input=3x96x96' --data cifar10 \
        --tolerance 0.05 --n 1000 --n-test 1000 --old-cuts before:classifier,blocks --new-cuts before:classifier,blocks

The old network is Lite0 as published, with a linear layer for the ten classes in place of its own, fitted by logistic
regression to 2,500 train images at 96×96.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from safetensors.torch import save_file

import seamripper as sr
from seamripper.controls.logistic import fit_logistic

SIZE, IMAGES, SEED = 96, 2500, 1


def main() -> None:
    """Fit the head, and write all weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--n", type=int, default=IMAGES, help="train images")
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    model = sr.load(f"imagenet:efficientnet_lite0?input=3x{SIZE}x{SIZE}")
    fit, test = sr.load_data("cifar10", "train", n=options.n, seed=SEED), sr.load_data("cifar10", "test", n=1000)
    half = sr.split(model, "before:classifier")
    rows, others = (sr.collect(half, samples).values.double() for samples in (fit, test))
    weight, bias = fit_logistic(rows, fit.labels, l2=1e-3)
    right = (others @ weight.T + bias).argmax(1) == test.labels
    state = model.module.state_dict()
    state |= {"classifier.weight": weight.float().contiguous(), "classifier.bias": bias.float()}
    save_file({key: value.contiguous() for key, value in state.items()}, folder / "lite0.safetensors")
    print(f"{folder}/lite0.safetensors: right on {float(right.double().mean()):.3f} of 1,000 test images")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
