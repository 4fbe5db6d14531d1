"""How large the report of a study of 12 × 12 cuts and 6 measures is, and how long a browser takes to draw it.

    python benchmarks/report_draw.py --check

A real comparison of two small networks of 12 blocks, by 6 measures, on scikit-learn's digits. The file is opened by
headless Chromium (chromium and chromedriver must be there) five times; timed is from asking for the file to the second
frame behind its script, the median, and the seconds of CPU that all processes of the browser used meanwhile, which
hardly depend on what else the machine does. `--check` ends with exit code 1 above 6 MB or 2 s. `--file` opens a report
that is there, an older one, say.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from selenium import webdriver

from seamripper.experiment import Experiment, Local, run
from seamripper.report import report

LARGEST, SLOWEST = 6.0, 2.0
"""Megabytes, and seconds."""
NETWORK = """
from torch import nn

def deep():
    made = nn.Sequential(nn.Conv2d(3, 6, 7, stride=7))
    for k in range(12):
        made.add_module(f"block{k}", nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.Tanh()))
    made.append(nn.Flatten())
    made.append(nn.Linear(96, 10))
    return made
"""
STUDY = """
[data]
name = "digits/digit"

[models.a]
load = "mine.py:deep?seed=0"

[models.b]
load = "mine.py:deep?seed=1"

[[compare]]
senders = ["a"]
receivers = ["b"]
cuts = [CUTS]
measures = ["linear_cka", "opd", "cca_mean", "minibatch_cka", "mutual_knn", "procrustes"]
""".replace("CUTS", ", ".join(f'"block{k}"' for k in range(12)))
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


def main() -> None:
    """Measure, print, and check if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        path = options.file or _made(place)
        size, (seconds, busy, cells) = path.stat().st_size / 1e6, _drawn(path, place / "profile")
    print(f"{cells} cells in matrices, {size:.2f} MB, drawn in {seconds:.2f} s, {busy:.2f} s of CPU (medians of 5)")
    missed = [f"{size:.2f} MB, above {LARGEST:g}"] if size > LARGEST else []
    missed += [f"{seconds:.2f} s, above {SLOWEST:g}"] if seconds > SLOWEST else []
    missed += ["not 12 x 12 cells of 6 measures"] if cells != 6 * 144 else []
    print("\n".join(missed) or "every bound is met")
    if options.check and missed:
        sys.exit(1)


def _made(place: Path) -> Path:
    """The report of the study, which runs now."""
    (place / "mine.py").write_text(NETWORK)
    (place / "study.toml").write_text(STUDY)
    run(Experiment.read(place / "study.toml"), place / "store", engine=Local(1))
    return report(place / "store")


def _cpu(root: int) -> float:
    """The seconds of CPU that a process and all that descend from it have used so far (Linux)."""
    parents, used = dict[int, int](), dict[int, float]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(") ")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
            used[int(stat.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(used.get(pid, 0.0) for pid in family)


def _drawn(path: Path, profile: Path) -> tuple[float, float, int]:
    choices = webdriver.ChromeOptions()
    choices.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        choices.add_argument(flag)
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    browser = webdriver.Chrome(choices, service)
    try:
        times, busy = [], []
        for _ in range(5):
            before, begun = _cpu(service.process.pid), time.perf_counter()
            browser.get(path.resolve().as_uri())
            frames = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
            browser.execute_async_script(frames)
            times.append(time.perf_counter() - begun)
            busy.append(_cpu(service.process.pid) - before)
        cells = browser.execute_script("return document.querySelectorAll('#matrices g[data-pair]').length")
    finally:
        browser.quit()
    return statistics.median(times), statistics.median(busy), int(cells)


if __name__ == "__main__":
    main()
