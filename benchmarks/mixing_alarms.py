"""How often the audit `mixing` calls networks different that were trained alike, and how often the ones that differ.

    python benchmarks/mixing_alarms.py --check        # coloured digits of 8 × 8 pixels, five seeds, about 10 minutes
    python benchmarks/mixing_alarms.py --data mnist --network "zoo:resnet18?width=0.25" --cuts layer1,layer2,layer3

Networks are trained on Digit (the shape names the class, colours are drawn by chance) and on Colour (the other way
round), one of each for each seed, and stitched on Correlated images, where shape and colour agree. Every Digit is the
receiver of every other Digit, and of the Colour and an untrained network of each other seed. The control is the
receiver itself (0 other seeds), or one, or several Digits that are neither sender nor receiver. `--check` ends with
exit code 1 if more than 5 % of the same-information pairs are called different.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import seamripper as sr
from seamripper.audits import Evidence, Verdict, matching_of
from seamripper.audits.mixing import Mixing
from seamripper.audits.mixtures import chosen_mixtures
from seamripper.controls import Case, controls

MOST = 0.05


def main() -> None:
    """Train or load, put the audit to every pair, print what it said, and check if asked to."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    said: dict[tuple[int, str], list[Verdict]] = {}
    begun = time.perf_counter()
    for cut, receiver in itertools.product(options.cuts.split(","), range(options.seeds)):
        for others, kind, verdict in _verdicts(options, cut, receiver):
            said.setdefault((others, kind), []).append(verdict)
        print(f"{time.perf_counter() - begun:6.0f} s  receiver {receiver} at {cut}", flush=True)
    for (others, kind), verdicts in sorted(said.items()):
        answers = Counter(verdict.answer for verdict in verdicts)
        largest = sorted(verdict.effect.value for verdict in verdicts)
        p = sum(verdict.p is not None and verdict.p < MOST for verdict in verdicts)
        print(
            f"{others} other seeds, sender {kind:10}  n {len(verdicts):3}  no {answers['no']:3}  "
            f"yes {answers['yes']:3}  unknown {answers['unknown']:3}  p < 0.05 {p:3}  "
            f"largest excess {largest[0]:.3f} … {largest[-1]:.3f}"
        )
    same = [verdict for (_, kind), verdicts in said.items() if kind == "digit" for verdict in verdicts]
    alarms = sum(verdict.answer == "no" for verdict in same)
    print(f"false alarms: {alarms} of {len(same)}")
    if options.check and alarms > MOST * len(same):
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="digits")
    parser.add_argument("--network", default="zoo:R_1111?width=0.125")
    parser.add_argument("--cuts", default="layer2,layer3")
    parser.add_argument("--out", type=Path, default=Path("runs/mixing-alarms"))
    parser.add_argument("--seeds", type=int, default=5, help="training seeds, 4 or more")
    parser.add_argument("--train", type=int, default=4000)
    parser.add_argument("--fit", type=int, default=1000)
    parser.add_argument("--test", type=int, default=500)
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def _network(options: argparse.Namespace, kind: str, seed: int) -> sr.Model:
    samples = sr.load_data(f"{options.data}/{kind}", "train", n=options.train)
    return sr.train(options.network, samples, seed=seed, out=options.out / f"{options.data}-{kind}-{seed}.safetensors")


def _verdicts(options: argparse.Namespace, cut: str, receiver: int) -> Iterator[tuple[int, str, Verdict]]:
    """What the audit says of every sender into one receiver, by the number of other seeds that it was given."""
    fit, test = (
        sr.load_data(f"{options.data}/correlated", split, n=n, ready=True)
        for split, n in (("train", options.fit), ("test", options.test))
    )
    digits = [sr.split(_network(options, "digit", seed), cut) for seed in range(options.seeds)]
    memo: dict[str, Any] = {}
    for seed in set(range(options.seeds)) - {receiver}:
        rest = [half for other, half in enumerate(digits) if other not in (seed, receiver)]
        senders = {"digit": digits[seed], "colour": sr.split(_network(options, "colour", seed), cut)}
        case = Case(digits[seed], digits[receiver], fit, test, seeds=(1000 + seed,))
        senders["untrained"] = next(iter(controls.make("random_sender").counterparts(case))).sender
        for (kind, sender), count in itertools.product(senders.items(), (0, 1, len(rest))):
            others = tuple(rest[:count])
            case = Case(sender, digits[receiver], fit, test, matching_of("task"), seeds=(0,), others=others, memo=memo)
            evidence = Evidence(
                case,
                controls=("self", "other_seed", "random_sender"),
                mixtures=chosen_mixtures("default", test),
            )
            yield count, kind, Mixing().put(evidence)


if __name__ == "__main__":
    main()
