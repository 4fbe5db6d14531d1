"""What the engine itself costs: 2,000 jobs that do nothing, and the same study once more when all of it is done.

    python benchmarks/study_overhead.py --check

Overhead a job is the time of the whole command, start included, by the number of jobs; their own time (microseconds) is
not taken off. `--check` ends with exit code 1 if it is above 5 ms, or if the finished study takes more than 2 s to be
seen to be finished.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PER_JOB, RESUME = 5.0, 2.0
"""Milliseconds, and seconds."""


def main() -> None:
    """Measure, print, and check if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "mine.py").write_text("def f(k):\n    return {'k': k}\n")
        points = ", ".join(map(str, range(options.jobs)))
        (place / "study.toml").write_text(f'[[call]]\nfunction = "mine.py:f"\ngrid = {{ k = [{points}] }}\n')
        whole = _timed(place, options.workers)
        again = [_timed(place, options.workers) for _ in range(5)]
    resume, each = sorted(again)[2], 1e3 * whole / options.jobs
    print(f"{options.jobs} jobs that do nothing, {options.workers} workers: {whole:.2f} s, {each:.2f} ms a job")
    print(f"the finished study, run again: {resume:.2f} s (median of 5)")
    missed = [f"overhead of {each:.2f} ms a job, above {PER_JOB:g}"] if each > PER_JOB else []
    missed += [f"resuming takes {resume:.2f} s, above {RESUME:g}"] if resume > RESUME else []
    print("\n".join(missed) or "every bound is met")
    if options.check and missed:
        sys.exit(1)


def _timed(place: Path, workers: int) -> float:
    """The seconds that the command takes, from its start to its end."""
    own = [sys.executable, "-m", "seamripper", "run", "study.toml", "--quiet", "--engine", f"local?workers={workers}"]
    begun = time.perf_counter()
    subprocess.run(own, cwd=place, check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
