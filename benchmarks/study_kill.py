"""Kill a study, run it again, and see that nothing was lost, nothing done twice, and not a byte has changed.

    python benchmarks/study_kill.py                  # the driver, at 20 random moments
    python benchmarks/study_kill.py --engine ray     # a worker of a Ray cluster, at random moments
    python benchmarks/study_kill.py --moments 100 --seed 7

A study of 60 jobs on real data (trained networks, stitches, controls, a comparison in parts) is run undisturbed. Then
it is run again in another folder, and its driver is killed (SIGKILL) as many times as asked, behind a random number of
jobs and a random time each, and started again each time. With `--engine ray` the driver is left alone, and worker
processes of a cluster of two nodes are killed, at most as many as asked.

Exit code 1 if the results tables differ in a byte, if a finished job ran again, or if a finished result was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

STUDY = """
[data]
name = "digits/correlated"
n = 400
n_test = 200

[models.digit]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
seeds = [0, 1]
training = "?epochs=4"

[models.colour]
train = "zoo:R_1111?width=0.125"
data = "digits/colour"
seeds = [0, 1]
training = "?epochs=4"

[matchings]
fast = "task?init=direct&epochs=2"

[[stitch]]
senders = ["colour", "digit"]
receivers = ["digit"]
cuts = ["layer1", "layer2"]
matchings = ["direct", "fast"]
seeds = [0]
controls = ["random_sender"]

[[compare]]
senders = ["colour"]
receivers = ["digit"]
measures = ["linear_cka", "opd", "minibatch_cka", "mutual_knn"]
parts = 3
"""
JOBS = 60
HELPERS = ("activations", "pass")


def main() -> None:
    """Run, kill, run again, compare."""
    options = _options()
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "study.toml").write_text(STUDY)
        whole, seconds = _undisturbed(place, options)
        print(f"undisturbed, engine local: {_jobs(whole)} jobs in {seconds:.1f} s, {len(rows(whole))} results")
        broken = place / "killed"
        if options.engine == "ray":
            kills = _kill_workers(place, broken, options, moments)
        else:
            kills = _kill_driver(place, broken, options, moments)
        missed = compared(whole, broken)
        print(f"killed {kills} times, with {_done(broken)} jobs done in all, helpers again where they were let go of")
        print(
            "\n".join(missed) or "the results table is the same to the byte, no finished job ran again, none was lost"
        )
        if missed:
            sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["local", "ray"], default="local")
    parser.add_argument("--moments", type=int, default=20, help="how many times to kill")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    return parser.parse_args()


def _command(place: Path, store: Path, engine: str) -> list[str]:
    own = [sys.executable, "-m", "seamripper", "run", str(place / "study.toml"), "--store", str(store)]
    return [*own, "--engine", engine, "--quiet"]


def _undisturbed(place: Path, options: argparse.Namespace) -> tuple[Path, float]:
    store, begun = place / "whole", time.perf_counter()
    # By the engine `local` whichever is killed: both give the same numbers.
    subprocess.run(_command(place, store, "local"), check=True)
    return store, time.perf_counter() - begun


def _kill_driver(place: Path, store: Path, options: argparse.Namespace, moments: random.Random) -> int:
    """Start the study again and again, and kill its driver at a random moment: behind so many jobs, and a bit more."""
    kept: set[str] = set()
    behind = sorted(moments.randrange(JOBS - 1) for _ in range(options.moments))
    for number, target in enumerate(behind, 1):
        driver = subprocess.Popen(_command(place, store, "local"))
        while driver.poll() is None and _done(store) < target:
            time.sleep(0.005)
        # A job takes some tenths of a second, and so does a start: a moment within either.
        time.sleep(moments.uniform(0, 0.3 if _done(store) else 3))
        driver.send_signal(signal.SIGKILL)
        code = driver.wait()
        now = finished(store)
        if not kept <= now:
            sys.exit(f"moment {number}: {len(kept - now)} finished results are gone")
        kept = now
        how = "killed" if code == -signal.SIGKILL else "had ended"
        print(f"  moment {number:>2}: {how} behind {_done(store):>2} jobs, {len(kept)} results kept", flush=True)
    subprocess.run(_command(place, store, "local"), check=True)
    return options.moments


def _kill_workers(place: Path, store: Path, options: argparse.Namespace, moments: random.Random) -> int:
    """Run the study on a Ray cluster of two nodes and kill workers of it at random moments."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    kills = 0
    try:
        driver = subprocess.Popen(_command(place, store, f"ray?address={cluster.address}"))
        while driver.poll() is None:
            time.sleep(moments.uniform(1, 5))
            workers = _actors()
            if workers and kills < options.moments:
                os.kill(moments.choice(workers), signal.SIGKILL)
                kills += 1
        if driver.returncode:
            sys.exit(f"the study ended with exit code {driver.returncode}")
    finally:
        cluster.shutdown()
    return kills


def _actors() -> list[int]:
    """The processes of this machine that are workers of ours in a Ray cluster."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if words.startswith(b"ray::_Actor"):
            pids.append(int(path.parent.name))
    return pids


def rows(store: Path) -> list[tuple[object, ...]]:
    """The results that stand, in the order of their keys, without their circumstances."""
    from seamripper.experiment import Store
    from seamripper.experiment.job import canonical

    with Store(store) as there:
        return [(r.key, r.kind, r.state, canonical(r.record), canonical(r.tensors)) for r in there.results()]


def headers(store: Path) -> list[dict[str, str]]:
    """The header of every result that was ever finished, from the lines of all journals."""
    lines = [line for path in sorted((store / "journals").glob("*.jsonl")) for line in path.open("rb")]
    every = [json.loads(line)[1] for line in lines if line.endswith(b"]\n")]
    return [header for header in every if "takes_back" not in header]


def finished(store: Path) -> set[str]:
    """The keys of what was finished; what only helps others may be let go of."""
    return {header["key"] for header in headers(store) if header["kind"] not in HELPERS}


def _jobs(store: Path) -> int:
    return len({header["key"] for header in headers(store)})


def _done(store: Path) -> int:
    return len(headers(store))


def compared(whole: Path, broken: Path) -> list[str]:
    """What is not as it should be."""
    missed = []
    if _jobs(whole) != JOBS:
        missed.append(f"the study has {_jobs(whole)} jobs, and not {JOBS}")
    if rows(whole) != rows(broken):
        missed.append("the results tables differ")
    again = [key for key, n in Counter(h["key"] for h in headers(broken) if h["kind"] not in HELPERS).items() if n > 1]
    if again:
        missed.append(f"{len(again)} finished jobs ran again")
    lost = finished(broken) - {row[0] for row in rows(broken)}
    if lost:
        missed.append(f"{len(lost)} finished results were lost")
    return missed


if __name__ == "__main__":
    main()
