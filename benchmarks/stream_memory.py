"""Peak memory of a comparison, a direct match and its score, over n samples and over 10 n, streamed and in memory.

    python benchmarks/stream_memory.py            # n = 1,000 and 10,000 images of 3x32x32, each way in its own process

What is shown is the highest resident memory of the process, less what it has before it is given data: the library, the
two networks, and one run over 1,000 samples, of which measures keep rows. Memory does not depend on how busy the
machine is; the seconds are of CPU.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SHAPE = (3, 32, 32)
WAYS = ("npy", "generator", "DataLoader", "in memory")


def write(path: Path, n: int) -> None:
    """An array of n images in a file, written in parts."""
    draws = np.random.default_rng(0)
    array = np.lib.format.open_memmap(path, "w+", np.float32, (n, *SHAPE))
    for start in range(0, n, 500):
        stop = min(start + 500, n)
        array[start:stop] = draws.standard_normal((stop - start, *SHAPE), np.float32)
    array.flush()


def data_of(way: str, path: Path) -> Any:
    """The images of the file, given in one of the ways."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    import seamripper as sr

    if way == "npy":
        return sr.load_data(f"npy:{path}", stream=True)
    if way == "in memory":
        return sr.Samples(path.name, torch.from_numpy(np.load(path)))
    n = len(np.load(path, mmap_mode="r"))

    def coming() -> Iterator[torch.Tensor]:
        draws = torch.Generator().manual_seed(0)
        for _ in range(n):
            yield torch.randn(SHAPE, generator=draws)

    if way == "generator":
        return coming()

    class Images(TensorDataset):
        def __init__(self) -> None:
            pass

        def __len__(self) -> int:
            return n

        def __getitem__(self, k: int) -> torch.Tensor:
            return torch.randn(SHAPE, generator=torch.Generator().manual_seed(k))

    return DataLoader(Images(), batch_size=64)


def peak() -> float:
    """The highest resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(way: str, path: Path) -> None:
    """Compare, match and score once, and print megabytes and seconds."""
    import torch
    from torch import nn

    import seamripper as sr

    torch.set_num_threads(1)
    torch.manual_seed(0)
    nets = [
        nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(2048, 10),
        ).eval()
        for _ in range(2)
    ]
    halves = [sr.split(net, "3", torch.zeros(2, *SHAPE)) for net in nets]

    def work(data: Any, test: Any) -> None:
        sr.compare(
            *nets,
            data,
            measures=["linear_cka", "opd", "cca_mean", "rsa"],
            sender_cuts=["1", "3"],
            receiver_cuts=["1", "3"],
        )
        if way != "generator":
            match = sr.match(*halves, data, matching="direct")
            sr.evaluate(match, test)

    few = sr.Samples("few", torch.randn(1000, *SHAPE))
    work(few, sr.Samples("others", torch.randn(300, *SHAPE)))
    del few
    before, start = peak(), time.process_time()
    work(data_of(way, path), data_of(way, path.with_name(f"test-{path.name}")))
    print(f"{peak() - before:.0f} {time.process_time() - start:.1f}")


def main() -> None:
    """Each way and each size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run[0], Path(options.run[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = {n: Path(folder) / f"{n}.npy" for n in (options.n, 10 * options.n)}
        for n, path in paths.items():
            write(path, n)
            write(path.with_name(f"test-{path.name}"), n)
        print(f"{'':12}" + "".join(f"{f'n = {n:,}':>24}" for n in paths))
        for way in WAYS:
            figures = []
            for path in paths.values():
                command = [sys.executable, __file__, "--run", way, str(path)]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                figures.append(f"{out[0]:>8} MB, {out[1]:>6} s")
            print(f"{way:12}" + "".join(f"{figure:>24}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
