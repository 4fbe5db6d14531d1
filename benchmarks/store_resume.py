"""How long it takes to see that a finished study of 10,000 jobs is finished, and to open its store for reading.

    python benchmarks/store_resume.py --check

The study calls a tiny function 10,000 times. Its results are entered through the store's own calls, so that building
the store takes seconds. Each figure is the time of a fresh process, from its start to its end, as the median of five
runs: `seamripper run study.toml` (there is nothing left to do), `seamripper status`, and `seamripper results` written
to a file. `--check` ends with exit code 1 if finding the study finished takes more than 2 s.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RESUME = 2.0
"""Seconds."""
BUILD = """
from seamripper.experiment import Experiment, Store, plan
from seamripper.experiment.result import Result

experiment = Experiment.read("study.toml")
with Store("runs/study", write=True, name="built") as store:
    graph = plan(experiment, store).graph
    store.remember(experiment.name, experiment.model_dump(mode="json", exclude={"folder"}), graph)
    for k, job in enumerate(graph):
        record = {"figures": {"k": k, "word": "x" * 100}}
        store.enter(Result(job.key, job.kind, "done", record, {}, {}, 0.001, 1e9, "local-1", "built"))
"""


def main() -> None:
    """Measure, print, and check if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    commands = {
        "run, nothing left to do": ["run", "study.toml", "--quiet"],
        "status": ["status", "runs/study"],
        "results to a file": ["results", "runs/study", "--to", "all.csv"],
        "no command (--version)": ["--version"],
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "mine.py").write_text("def f(k):\n    return {'k': k}\n")
        points = ", ".join(map(str, range(options.jobs)))
        (place / "study.toml").write_text(f'[[call]]\nfunction = "mine.py:f"\ngrid = {{ k = [{points}] }}\n')
        built = _seconds([sys.executable, "-c", BUILD], place)
        print(f"a store of {options.jobs} results, built in {built:.1f} s")
        medians = {}
        for name, words in commands.items():
            command = [sys.executable, "-m", "seamripper", *words]
            medians[name] = statistics.median(_seconds(command, place) for _ in range(options.rounds))
            print(f"{name}: {medians[name]:.2f} s (median of {options.rounds})", flush=True)
    slow = medians["run, nothing left to do"] > RESUME
    print(f"resuming takes more than {RESUME:g} s" if slow else "every bound is met")
    if options.check and slow:
        sys.exit(1)


def _seconds(command: list[str], place: Path) -> float:
    """The seconds that a command takes, from its start to its end."""
    begun = time.perf_counter()
    subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL, env=os.environ)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
