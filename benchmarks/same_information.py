"""Does a number tell networks with the same information from networks with another? On senders with a known answer.

    python benchmarks/same_information.py --check                    # MNIST, three seeds, three cuts
    python benchmarks/same_information.py --data fashion --check     # the same on Fashion-MNIST

The receiver is Digit, which names the shape. Digit of another seed and greyscale have the same information; Correlated,
Colour, Colour-Only and an untrained network do not. All are stitched into Digit on Correlated images, in which shape
and colour agree. For every number in use, and for the conflict audit, the table has the AUROC for telling the two kinds
apart: 1 is without error, 0.5 is chance, and below that it is inverted. Its interval is a bootstrap over training
seeds. The audit runs twice: with the conflict set (colour drawn independently of the shape), and with all built-in
interventions instead, of which the audit chooses the one that decides. Trained networks are kept in `--out`, and are
not trained again.

`--check` ends with exit code 1 if a bound is missed: AUROC of at least 0.98 with the conflict set and 0.95 by
interventions alone, at least 95 % of judgements right, noise never called the same and self always.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import seamripper as sr
from seamripper.audits import audit
from seamripper.audits.rule import DIFFERENT, SAME
from seamripper.controls import Case, Counterpart, controls
from seamripper.data import load_data
from seamripper.matching import Direct

NETWORK = "zoo:resnet18?width=0.25"
SAMES, OTHERS = ("digit, other seed", "greyscale"), ("correlated", "colour", "colour-only", "random")
CUTS = ("layer1", "layer2", "layer3")
CONTROLS = ("self", "other_seed", "random_sender?seeds=3", "clustered_noise")
SET, ALONE = "conflict audit, conflict set", "conflict audit, interventions"
BOUNDS = {SET: 0.98, ALONE: 0.95}
RIGHT = 0.95


@dataclass
class Row:
    """One sender at one cut, of one training seed: its numbers and its judgements."""

    sender: str
    seed: int
    cut: str
    numbers: dict[str, float] = field(default_factory=dict)
    judgements: dict[str, str] = field(default_factory=dict)
    decided_by: dict[str, str] = field(default_factory=dict)


def main() -> None:
    """Train or load, audit every pair, print the tables, and check if asked to."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    rows, begun = [], time.perf_counter()
    for seed, cut in itertools.product(range(options.seeds), CUTS):
        for row in _audit_senders(options, seed, cut):
            rows.append(row)
            print(f"{time.perf_counter() - begun:6.0f} s  {_line(row)}", flush=True)
    (options.out / f"{options.data}.json").write_text(json.dumps([vars(row) for row in rows], indent=1))
    missed = _report(rows, options)
    print("\n".join(missed) or "every bound is met")
    if options.check and missed:
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=["mnist", "fashion"], default="mnist")
    parser.add_argument("--out", type=Path, default=Path("runs/same-information"))
    parser.add_argument("--seeds", type=int, default=3, help="training seeds, 3 or more")
    parser.add_argument("--n", type=int, default=10_000, help="images that a network is trained on")
    parser.add_argument("--fit", type=int, default=4_000, help="images that a stitch is fitted on")
    parser.add_argument("--test", type=int, default=1_000)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.seeds < 3:
        parser.error("Expected --seeds to be 3 or more: sender, receiver and control are Digits of different seeds.")
    return options


def _network(options: argparse.Namespace, kind: str, seed: int) -> sr.Model:
    samples = load_data(f"{options.data}/{kind}", "train", n=options.n)
    return sr.train(NETWORK, samples, seed=seed, out=options.out / f"{options.data}-{kind}-{seed}.safetensors")


_Sender = tuple[sr.Split, sr.Samples, sr.Samples]


def _senders(options: argparse.Namespace, case: Case, seed: int, cut: str) -> dict[str, _Sender]:
    """Each sender, with the samples that it is fitted and scored on."""
    kinds = {kind: _network(options, kind, seed) for kind in ("greyscale", "correlated", "colour", "colour-only")}
    kinds["digit, other seed"] = _network(options, "digit", (seed + 1) % options.seeds)
    senders = {name: (sr.split(model, cut), case.fit, case.test) for name, model in kinds.items()}
    # Drawn from other seeds than those of the audit's own controls.
    for name, control in (("random", "random_sender"), ("noise", "clustered_noise")):
        counterpart = next(iter(controls.make(control).counterparts(_with_seed(case, 1000 + seed))))
        assert isinstance(counterpart, Counterpart)
        senders[name] = counterpart.sender, counterpart.fit, counterpart.test
    return senders | {"self": (case.receiver, case.fit, case.test)}


def _with_seed(case: Case, seed: int) -> Case:
    return Case(case.sender, case.receiver, case.fit, case.test, seeds=(seed,))


def _audit_senders(options: argparse.Namespace, seed: int, cut: str) -> list[Row]:
    # All networks, the greyscale one included, are shown the set with its own normalisation, as in Smith's code.
    fit = load_data(f"{options.data}/correlated", "train", n=options.fit, ready=True)
    test, conflict = (
        load_data(f"{options.data}/{kind}", "test", n=options.test, ready=True) for kind in ("correlated", "digit")
    )
    receiver = sr.split(_network(options, "digit", seed), cut)
    other = sr.split(_network(options, "digit", (seed + 2) % options.seeds), cut)
    memo: dict[str, Any] = {}
    rows = []
    for name, (sender, shown, tested) in _senders(options, Case(receiver, receiver, fit, test), seed, cut).items():
        row, common = Row(name, seed, cut), {"others": [other], "seeds": [0], "controls": CONTROLS, "memo": memo}
        for how, with_set in ((SET, conflict), (ALONE, None)):
            result = audit(sender, receiver, shown, tested, conflict=with_set, audits=["margin", "conflict"], **common)
            row.judgements[how] = result.conclusion
            if "conflict" in result.verdicts:
                row.numbers[how] = result.verdicts["conflict"].figures["score"].value
                row.decided_by[how] = result.verdicts["conflict"].figures["decided_by"]
            row.numbers["task accuracy"] = result.outcomes[0].result.top1.value
        if name != "noise":
            direct = sr.match(sender, receiver, shown, matching=Direct())
            row.numbers["direct accuracy"] = sr.evaluate(direct, tested).top1.value
            same = sr.compare(sender.model, receiver.model, test, sender_cuts=[cut], receiver_cuts=[cut])
            score = same["linear_cka"].scores[0][0]
            row.numbers["linear CKA"] = float("nan") if score is None else score.value
        rows.append(row)
    return rows


def _line(row: Row) -> str:
    numbers = "  ".join(f"{name} {value:.3f}" for name, value in row.numbers.items())
    return f"seed {row.seed} {row.cut} {row.sender:<18} {numbers}  | {' | '.join(row.judgements.values())}"


def _report(rows: list[Row], options: argparse.Namespace) -> list[str]:
    """Print both tables; return the bounds that are missed."""
    pairs, missed = [row for row in rows if row.sender in (*SAMES, *OTHERS)], []
    print(f"\n{options.data}: {len(pairs)} pairs, {options.seeds} training seeds, cuts {', '.join(CUTS)}; "
          f"fitted on {options.fit} images, scored on {options.test}; one stitch seed")  # fmt: skip
    print(f"{'number':<32} AUROC [95 % over training seeds]")
    for name in ("task accuracy", "direct accuracy", "linear CKA", SET, ALONE):
        value, low, high = _auroc(pairs, name, options.seeds)
        print(f"{name:<32} {value:.3f} [{low:.3f}, {high:.3f}]")
        if value < BOUNDS.get(name, 0):
            missed.append(f"AUROC of {name}: {value:.3f}, below {BOUNDS[name]}")
    for how in (SET, ALONE):
        right = [row.judgements[how] == (SAME if row.sender in SAMES else DIFFERENT) for row in pairs]
        print(f"judgements right, {how}: {sum(right)} of {len(right)}")
        if np.mean(right) < RIGHT:
            missed.append(f"judgements right, {how}: {np.mean(right):.3f}, below {RIGHT}")
        if any(row.judgements[how] == SAME for row in rows if row.sender == "noise"):
            missed.append(f"noise was called the same ({how})")
        if any(row.judgements[how] != SAME for row in rows if row.sender == "self"):
            missed.append(f"self was not called the same ({how})")
        deciding = sorted({row.decided_by[how] for row in pairs})
        print(f"  decided by: {', '.join(f'{d} ({sum(r.decided_by[how] == d for r in pairs)})' for d in deciding)}")
    return missed


def _auroc(rows: list[Row], name: str, seeds: int) -> tuple[float, float, float]:
    """AUROC for same against other information, and its interval: a bootstrap over training seeds."""

    def of(chosen: list[Row]) -> float:
        ours, theirs = (np.array([r.numbers[name] for r in chosen if r.sender in kind]) for kind in (SAMES, OTHERS))
        return float(np.mean((ours[:, None] > theirs) + 0.5 * (ours[:, None] == theirs)))

    rng = np.random.default_rng(0)
    by_seed = [[row for row in rows if row.seed == seed] for seed in range(seeds)]
    resamples = [of([r for k in rng.integers(0, seeds, seeds) for r in by_seed[k]]) for _ in range(1000)]
    low, high = np.quantile(resamples, [0.025, 0.975])
    return of(rows), float(low), float(high)


if __name__ == "__main__":
    main()
