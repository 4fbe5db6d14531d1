"""How often `seamripper swap` says of the same training with another seed that it works for another reason.

    python benchmarks/swap_alarms.py                                      # LeNet, a residual network and a ViT
    python benchmarks/swap_alarms.py --new digits/colour --data digits/correlated

Each network is trained on scikit-learn's digits from several seeds. Every seed is put under the head of every other,
with all that the command does by default. Nothing but the seed sets the two apart, so `other reason` is a false alarm.
With `--new` the fronts are of networks that were trained on something else, and are put under the heads of the others:
there `swap` is a miss. `--check` ends with exit code 1 if more than 5 % of the swaps that lose less than the tolerance
are false alarms, or misses.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from pathlib import Path

import seamripper as sr
from seamripper.swapping import SwapVerdict, swap

MOST = 0.05
TRAINING = {"zoo:lenet": 8, "zoo:R_1111?width=0.125": 8, "zoo:vit_tiny?dim=48&depth=3&heads=3": 12}
"""Networks, and how many epochs each is trained."""


def main() -> None:
    """Train or load, put every seed under the head of every other, print what was said, and check if asked to."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = range(options.first, options.first + options.seeds)
    answers: dict[str, Counter[str]] = {}
    for network in options.networks.split(","):
        epochs, begun = TRAINING.get(network, 8), time.process_time()
        olds, news = (
            {seed: _network(options, network, data, epochs, seed) for seed in seeds}
            for data in (options.old, options.new)
        )
        print(f"{network}: {options.seeds} seeds, {time.process_time() - begun:.0f} s of CPU", flush=True)
        answers[network], fit_and_test = Counter(), _samples(options.data, network)
        for old, new in itertools.permutations(seeds, 2):
            begun = time.process_time()
            verdict = swap(olds[old], news[new], *fit_and_test, tolerance=options.tolerance)
            answers[network][verdict.answer] += 1
            print(f"  {new} under {old}: {_words(verdict)}, {time.process_time() - begun:.0f} s", flush=True)
    for network, counts in answers.items():
        print(f"{network}: " + ", ".join(f"{answer} {n}" for answer, n in counts.most_common()))
    wrong, name = ("other reason", "false alarms") if options.old == options.new else ("swap", "misses")
    errors = sum(counts[wrong] for counts in answers.values())
    asked = sum(counts[a] for counts in answers.values() for a in ("swap", "other reason", "reason unknown"))
    print(f"{name}: {errors} of {asked}")
    if options.check and errors > MOST * asked:
        sys.exit(1)


def _words(verdict: SwapVerdict) -> str:
    """A verdict in a line: what is lost, what the audit says, and by which of its audits."""
    audits = {} if verdict.audit is None else verdict.audit.verdicts
    by = ", ".join(f"{name} {outcome.answer}" for name, outcome in audits.items())
    return (
        f"{verdict.answer} (at {verdict.chosen.old_cut.name}, {verdict.chosen.label}, lost "
        f"{verdict.loss.penalty}; {verdict.reason.partition(',')[0]}: {by})"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(TRAINING), help="words of the zoo, with commas between them")
    parser.add_argument("--old", default="digits/digit", help="what the networks with the heads are trained on")
    parser.add_argument("--new", default="digits/digit", help="what the networks with the fronts are trained on")
    parser.add_argument("--data", default="digits/digit", help="what stitches are fitted and tested on")
    parser.add_argument("--seeds", type=int, default=4, help="how many training seeds")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--tolerance", type=float, default=0.1)
    parser.add_argument("--out", type=Path, default=Path("runs/swap-alarms"))
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def _network(options: argparse.Namespace, network: str, data: str, epochs: int, seed: int) -> sr.Model:
    name = "".join(c if c.isalnum() else "-" for c in f"{network} {data}")
    file = options.out / f"{name}-{seed}.safetensors"
    if file.is_file():
        return sr.load(str(file))
    return sr.train(network, _samples(data, network)[0], training=f"?epochs={epochs}", seed=seed, out=file)


def _samples(data: str, network: str) -> tuple[sr.Samples, sr.Samples]:
    word = f"{data}?size=32" if "vit" in network else data
    train, test = (sr.load_data(word, split) for split in ("train", "test"))
    return train, test


if __name__ == "__main__":
    main()
