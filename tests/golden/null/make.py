"""Makes `calibrated.json` beside it: nulls by calibrated-similarity 0.1.1, which this project did not write.

    pip install --no-deps --target FOLDER calibrated-similarity==0.1.1
    PYTHONPATH=FOLDER python tests/golden/null/make.py

The similarities are written out here as well. What is shared is the inputs and the permutations: `inputs` draws the
one, and `sample_orders` of seamripper the other. The package keeps scores in float32.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seamripper.measures.null import sample_orders

PERMUTATIONS, FOLDS, FAR = 99, 5, 2.0
"""FAR turns a distance into a similarity of at most 2."""


def inputs() -> dict[str, tuple[list[Tensor], list[Tensor]]]:
    """By name, some layers of one network and of another: related, barely so, and not at all."""
    g = torch.Generator().manual_seed(0)
    normal = functools.partial(torch.randn, generator=g, dtype=torch.float64)
    x = [normal(60, 8), normal(60, 20)]
    close = [x[0] @ normal(8, 6) + normal(60, 6), normal(60, 9), x[1] @ normal(20, 12)]
    faint = [0.35 * x[0] @ normal(8, 7) / 8**0.5 + normal(60, 7), normal(60, 5)]
    return {"related": (x, close), "faint": (x, faint), "unrelated": (x, [normal(60, 16), normal(60, 40)])}


def cka(x: Tensor, y: Tensor) -> Tensor:
    """Linear CKA by Gram matrices."""
    k, l = ((z - z.mean(0)) @ (z - z.mean(0)).T for z in (x, y))  # noqa: E741
    return (k * l).sum() / (k.norm() * l.norm())


def neighbours(x: Tensor, y: Tensor, k: int = 10) -> float:
    """The share of the k nearest neighbours, by cosine, that are the same."""
    nearest = []
    for z in (x, y):
        unit = z / z.norm(dim=1, keepdim=True)
        nearest.append((unit @ unit.T).fill_diagonal_(-2).topk(k).indices.tolist())
    return sum(len(set(a) & set(b)) / k for a, b in zip(*nearest, strict=True)) / len(x)


def closeness(x: Tensor, y: Tensor) -> Tensor:
    """FAR less the Procrustes distance √(2 − 2‖xᵀy‖_*) of centred sides of unit norm."""
    x, y = ((z - z.mean(0)) / (z - z.mean(0)).norm() for z in (x, y))
    return FAR - (2 - 2 * torch.linalg.svdvals(x.T @ y).sum()).clamp(min=0).sqrt()


SIMILARITIES: dict[str, tuple[Callable[[Tensor, Tensor], Any], float]] = {
    "linear_cka": (cka, 1.0),
    "mutual_knn?k=10": (neighbours, 1.0),
    "procrustes": (closeness, FAR),
}


def _orders(n: int) -> Callable[[int, Any], Tensor]:
    orders: Iterator[Tensor] = sample_orders(torch.arange(n) % FOLDS, permutations=PERMUTATIONS, seed=0)
    return lambda _n, _device: next(orders)


def main() -> None:
    """Write what the package makes of every cell, and of the best one."""
    package = importlib.import_module("calibrated_similarity")
    found: dict[str, Any] = {}
    for name, (xs, ys) in inputs().items():
        for measure, (similarity, most) in SIMILARITIES.items():
            how = {"K": PERMUTATIONS, "smax": most}
            cells = [
                [[float(v) for v in package.calibrate(x, y, similarity, perm_fn=_orders(60), **how)] for y in ys]
                for x in xs
            ]
            best = [float(v) for v in package.calibrate_layers(xs, ys, similarity, perm_fn=_orders(60), **how)]
            found.setdefault(name, {})[measure] = {"cells": cells, "best": best}
    (Path(__file__).parent / "calibrated.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
