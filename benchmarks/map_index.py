"""`seamripper map` on an index of many vectors: CPU seconds and peak memory, beside a least squares by NumPy.

    python benchmarks/map_index.py                        # a million vectors of 384, twice 1.5 GB on disk
    python benchmarks/map_index.py --n 20000 --width 64

The vectors are noise of a falling spectrum, and the same turned with a little noise. Each side runs in a process of its
own, so that neither counts the other's memory. NumPy's `lstsq` has all of the pairs in memory, and copies them to
double precision (17 GB for a million of 384); with --no-numpy it is left out.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
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
    parser.add_argument("--folder", help="Where the two files are written (default: the system's temporary folder).")
    parser.add_argument("--no-numpy", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        old, new = Path(folder, "old.npy"), Path(folder, "new.npy")
        write(old, new, options.n, options.width)
        size = 2 * old.stat().st_size / 1e9
        print(f"{options.n:,} vectors of {options.width}, {size:.2f} GB on disk, {torch.get_num_threads()} threads")
        print(f"map: {apart(run_map, old, new, options.queries)}", flush=True)
        if not options.no_numpy:
            print(f"numpy.linalg.lstsq: {apart(run_numpy, old, new, options.queries)}", flush=True)


def run_map(old: Path, new: Path, queries: int) -> str:
    """The verdict of `map`."""
    verdict = map_embeddings(old, new, queries=queries)
    return f"{verdict.answer} ({verdict.map.label}), own Recall@1 {verdict.tests['map'].own.recall[1]}"


def run_numpy(old: Path, new: Path, queries: int) -> str:
    """One affine map of all pairs, and its error on them."""
    y, x = np.load(old), np.load(new)
    _, residuals, rank, _ = np.linalg.lstsq(np.c_[x, np.ones(len(x), x.dtype)], y, rcond=None)
    return f"affine, rank {rank}, residual {float(residuals.sum()):.4g}"


def apart(run: Callable[[Path, Path, int], str], *arguments: object) -> str:
    """What a function returns in a process of its own, with its CPU seconds and peak memory."""
    receiver, sender = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_report, args=(sender, run, *arguments))
    process.start()
    sender.close()
    line: str = receiver.recv()
    process.join()
    return line


def _report(sender: Connection, run: Callable[..., str], *arguments: object) -> None:
    before, cpu, start = own_memory(), time.process_time(), time.perf_counter()
    sizes, done = [before], threading.Event()
    watcher = threading.Thread(target=_watch, args=(sizes, done))
    watcher.start()
    line = run(*arguments)
    seconds, wall = time.process_time() - cpu, time.perf_counter() - start
    done.set()
    watcher.join()
    memory = f"memory of its own {before:.2f} → {max(sizes):.2f} GB, with the pages of mapped files {peak():.2f} GB"
    sender.send(f"{seconds:.1f} s of CPU ({wall:.1f} s), {memory}; {line}")


def _watch(sizes: list[float], done: threading.Event) -> None:
    while not done.wait(0.1):
        sizes.append(own_memory())


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


def own_memory() -> float:
    """What this process holds now, in GB, without the pages of mapped files, which the system may take back."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1e6


def peak() -> float:
    """The most memory that this process has held, in GB, pages of mapped files included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main()
