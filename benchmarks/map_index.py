"""`seamripper map` on an index of many vectors: seconds and peak memory, beside a least squares by NumPy.

    python benchmarks/map_index.py                        # a million vectors of 384, twice 1.5 GB on disk
    python benchmarks/map_index.py --n 20000 --width 64

The vectors are noise of a falling spectrum, and the same turned with a little noise. NumPy's `lstsq` has all of the
pairs in memory, in double precision; with --no-numpy it is left out.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from seamripper.mapping import map_embeddings

BLOCK = 1 << 14


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--no-numpy", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "old.npy"), Path(folder, "new.npy")
        write(old, new, options.n, options.width)
        before, start = peak(), time.perf_counter()
        verdict = map_embeddings(old, new, queries=options.queries)
        seconds = time.perf_counter() - start
        size = 2 * old.stat().st_size / 1e9
        print(f"{options.n:,} vectors of {options.width}, {size:.2f} GB on disk, {torch.get_num_threads()} threads")
        print(
            f"map: {seconds:.1f} s, {verdict.answer} ({verdict.map.label}), peak memory {before:.2f} → {peak():.2f} GB"
        )
        if not options.no_numpy:
            start = time.perf_counter()
            x = np.c_[np.load(new).astype("f8"), np.ones(options.n)]
            np.linalg.lstsq(x, np.load(old).astype("f8"), rcond=None)
            print(f"numpy.linalg.lstsq: {time.perf_counter() - start:.1f} s, peak memory → {peak():.2f} GB")


def write(old: Path, new: Path, n: int, width: int) -> None:
    """Both files, block by block."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((width, width)))[0].astype("f4")
    files = [np.lib.format.open_memmap(path, "w+", "<f4", (n, width)) for path in (old, new)]
    for start in range(0, n, BLOCK):
        part = slice(start, min(start + BLOCK, n))
        rows = rng.standard_normal((part.stop - start, width), dtype="f4") * np.linspace(1, 0.1, width, dtype="f4")
        files[0][part] = rows
        files[1][part] = rows @ turn + 0.02 * rng.standard_normal(rows.shape, dtype="f4")


def peak() -> float:
    """The most memory that this process has held, in GB; pages of mapped files count while they are in use."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main()
