"""Does a number tell networks with the same information from networks with another? On cues that are planted.

    python benchmarks/same_information.py --check                              # every cell, about two hours on one core
    python benchmarks/same_information.py --cells fashion:colour:resnet        # some of them
    python benchmarks/same_information.py --report                             # the tables of what is there

A cell is a data set, a cue of ten values planted in its images, and an architecture. The receiver is `shape`, trained
to tell the class where the cue is drawn by chance. All senders are stitched into it on images of `both`, where class
and cue agree. The same information have: `shape` of another seed, `shape` trained on other images, and `plain`, trained
on images without the cue. Different information have: `cue`, trained to tell the cue, `both`, trained where they agree,
and an untrained network. A sender counts only if it is what it is meant to be, by its own answers where the cue is
drawn by chance: `plain` must reach 90 % of the receiver's accuracy above chance, `both` must name the cue more often
than the class. For every number in use the table has the AUROC for telling the two kinds apart: 1 is without error, 0.5
is chance, below that it is inverted. Its interval is a bootstrap over training seeds.

The audit `mixing` has a rule with thresholds (`audits/mixing_reading.py`). They were chosen on the cells `CHOSEN_ON`,
and were fixed before any of the other cells was computed; the tables keep the two kinds of cells apart. What is
computed is kept in `--out`, group by group, and is not computed again.

`--check` ends with exit code 1 if a bound is missed in a cell: for mixing alone an AUROC of at least 0.98, at least
90 % of the pairs judged rightly and at most 1 % wrongly.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import seamripper as sr
from seamripper.audits import audit, matching_of
from seamripper.audits.rule import DIFFERENT, SAME
from seamripper.controls import Case, controls
from seamripper.models import predict

CHOSEN_ON = (
    *("mnist:place:resnet", "mnist:colour:resnet", "fashion:texture:resnet", "cifar10:place:resnet"),
    *("mnist:texture:vit", "fashion:brightness:vit"),
)
HELD_OUT = (
    *("mnist:texture:resnet", "mnist:brightness:resnet", "fashion:colour:resnet", "fashion:place:resnet"),
    *("fashion:brightness:resnet", "cifar10:colour:resnet", "cifar10:texture:resnet", "cifar10:brightness:resnet"),
    *("mnist:place:vit", "fashion:colour:vit", "cifar10:texture:vit"),
)
NETWORKS = {
    "resnet": ("zoo:R_1111?width=0.25", "?epochs={epochs}", ("layer1", "layer2", "layer3")),
    "vit": (
        "zoo:vit_tiny?dim=48&depth=4&heads=3&size=28&patch=7",
        "balogh?epochs=10&batch=64&schedule=cosine",
        ("blocks.0", "blocks.1", "blocks.2"),
    ),
}
TRAIN = {"mnist": (10_000, 4), "fashion": (10_000, 4), "cifar10": (20_000, 8)}
"""How many images a network is trained on, and a ResNet's epochs."""
SEEDS, FIT, TEST = 3, 2_000, 1_000
SAMES, OTHERS = ("shape, other seed", "shape, other images", "plain"), ("cue", "both", "untrained")
MEASURES = ("linear_cka", "pwcca_ding", "opd", "rsa", "mutual_knn", "regression_r2")
MIXING, ALL = "mixing", "whole audit"
SET, INTERVENTIONS = "conflict audit, conflict set", "conflict audit, interventions"
KEEPS, CHANCE = 0.9, 0.1
BOUNDS = {"AUROC": 0.98, "right": 0.9, "wrong": 0.01}


@dataclass
class Row:
    """One sender at one cut, for one receiver: what is known of it, its numbers, and what was said of it."""

    cell: str
    sender: str
    seed: int
    cut: str
    truth: str | None
    numbers: dict[str, float] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """A data set, a cue and an architecture, with the folder in which its networks and rows are kept."""

    word: str
    out: Path

    def data(self, variant: str, split: str, n: int, *, seed: int = 0) -> sr.Samples:
        """Images of a variant; `ready`, so that every network is shown the same pixels."""
        base, cue, _ = self.word.split(":")
        name = f"planted/{variant}?base={base}&cue={cue}&size=28"
        return sr.load_data(name, split, n=n, seed=seed, ready=True)

    @functools.cache  # noqa: B019
    def network(self, variant: str, seed: int, *, images: int = 0) -> sr.Model:
        """A network trained on a variant; `images` draws other images."""
        base, cue, kind = self.word.split(":")
        n, epochs = TRAIN[base]
        architecture, training, _ = NETWORKS[kind]
        samples = sr.load_data(f"planted/{variant}?base={base}&cue={cue}&size=28", "train", n=n, seed=images)
        name = f"{base}-{'none' if variant == 'plain' else cue}-{kind}-{variant}-{seed}{'-other' * bool(images)}"
        path = self.out / f"{name}.safetensors"
        return sr.train(architecture, samples, seed=seed, training=training.format(epochs=epochs), out=path)

    @property
    def cuts(self) -> tuple[str, ...]:
        """Where the networks are cut."""
        return NETWORKS[self.word.split(":")[2]][2]


def main() -> None:
    """Compute what is not there yet, print the tables, and check if asked to."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    words = options.cells or [*CHOSEN_ON, *HELD_OUT]
    begun = time.perf_counter()
    for word, seed in itertools.product(() if options.report else words, range(SEEDS)):
        cell = Cell(word, options.out)
        for cut in cell.cuts:
            path = options.out / f"rows-{word.replace(':', '-')}-{seed}-{cut}.json"
            if not path.exists():
                rows = list(_rows(cell, seed, cut))
                path.write_text(json.dumps([vars(row) for row in rows]))
                said = ", ".join(f"{row.sender}: {row.answers[MIXING]}" for row in rows)
                print(f"{time.perf_counter() - begun:6.0f} s  {word} seed {seed} {cut}  {said}", flush=True)
    rows = [Row(**row) for path in sorted(options.out.glob("rows-*.json")) for row in json.loads(path.read_text())]
    missed = _report([row for row in rows if row.cell in words])
    print("\n".join(missed) or "every bound is met")
    if options.check and missed:
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="*", metavar="SET:CUE:NETWORK", choices=[*CHOSEN_ON, *HELD_OUT])
    parser.add_argument("--out", type=Path, default=Path("runs/same-information"))
    parser.add_argument("--report", action="store_true", help="compute nothing")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


# ---- one receiver at one cut


def _rows(cell: Cell, seed: int, cut: str) -> Iterator[Row]:
    """Every sender into the receiver of this seed; the networks of the two seeds left are its control."""
    fit, test = cell.data("both", "train", FIT, seed=1), cell.data("both", "test", TEST)
    conflict = cell.data("shape", "test", TEST)
    receiver = sr.split(cell.network("shape", seed), cut)
    other, *rest = ((seed + k) % (SEEDS + 1) for k in range(1, SEEDS + 1))
    senders = {
        "shape, other seed": cell.network("shape", other),
        "shape, other images": cell.network("shape", other, images=1),
        **{variant: cell.network(variant, seed) for variant in ("plain", "cue", "both")},
    }
    halves = {name: sr.split(model, cut) for name, model in senders.items()}
    # Drawn from another seed than those of the audit's own controls.
    case = Case(receiver, receiver, fit, test, seeds=(1000 + seed,))
    halves["untrained"] = next(iter(controls.make("random_sender").counterparts(case))).sender
    common: dict[str, Any] = {
        "others": [sr.split(cell.network("shape", k), cut) for k in rest],
        "seeds": [0],
        "controls": ("self", "other_seed", "random_sender"),
        "memo": {},
    }
    for name, half in halves.items():
        row = Row(cell.word, name, seed, cut, _truth(cell, name, seed))
        _put(row, half, receiver, (fit, test, conflict), common)
        _numbers(row, half, receiver, (fit, test))
        yield row


def _truth(cell: Cell, name: str, seed: int) -> str | None:
    """What is known of a sender: "same", "different", or None if it is not what it was trained to be."""
    if name == "plain":
        ours, theirs = (_answers(cell, variant, seed)[0] - CHANCE for variant in ("plain", "shape"))
        return "same" if ours >= KEEPS * theirs else None
    if name == "both":
        shape, cue = _answers(cell, "both", seed)
        return "different" if cue > shape else None
    return "same" if name in SAMES else "different"


@functools.cache
def _answers(cell: Cell, variant: str, seed: int) -> tuple[float, float]:
    """How often a network names the class, and how often the cue, where the cue is drawn by chance."""
    named = predict(cell.network(variant, seed).module, cell.data("shape", "test", TEST)).argmax(1)
    shape, cue = (
        float((named == cell.data(labels, "test", TEST).labels).float().mean()) for labels in ("shape", "cue")
    )
    return shape, cue


def _put(row: Row, half: sr.Split, receiver: sr.Split, data: Sequence[sr.Samples], common: dict[str, Any]) -> None:
    """What the audits say of a sender, without and with the conflict set."""
    fit, test, conflict = data
    blind = audit(half, receiver, fit, test, audits=["margin", "conflict?n=500", "mixing"], **common)
    informed = audit(half, receiver, fit, test, conflict=conflict, audits=["margin", "conflict?n=500"], **common)
    mixing = blind.verdicts.get("mixing")
    said = "unknown" if mixing is None else mixing.answer
    row.answers[MIXING] = {"yes": "same", "no": "different"}.get(said, "unknown")
    for how, result in ((ALL, blind), (SET, informed)):
        row.answers[how] = {SAME: "same", DIFFERENT: "different"}.get(result.conclusion, "unknown")
    if mixing is not None:
        looks = mixing.figures["looks"].values()
        row.numbers[MIXING] = -max(look["excess"].value for look in looks if look["counts"])
    for how, result in ((INTERVENTIONS, blind), (SET, informed)):
        if "conflict" in result.verdicts:
            row.numbers[how] = result.verdicts["conflict"].figures["score"].value
    functional = blind.outcomes[0].result
    row.numbers |= {"task accuracy": functional.top1.value, "task agreement": functional.agreement.value}


def _numbers(row: Row, half: sr.Split, receiver: sr.Split, data: tuple[sr.Samples, sr.Samples]) -> None:
    """The other numbers in use."""
    fit, test = data
    for name in ("direct", "downstream"):
        result = sr.evaluate(sr.match(half, receiver, fit, matching=matching_of(name)), test)
        row.numbers |= {f"{name} accuracy": result.top1.value, f"{name} agreement": result.agreement.value}
    cut = receiver.cut.name
    compared = sr.compare(half.model, receiver.model, test, measures=MEASURES, sender_cuts=[cut], receiver_cuts=[cut])
    for name in MEASURES:
        score = compared[name].scores[0][0]
        sign = -1 if compared[name].direction == "distance" else 1
        row.numbers[name] = math.nan if score is None else sign * score.value


# ---- tables


def _report(rows: Sequence[Row]) -> list[str]:
    """Print the tables; return the bounds that are missed."""
    missed: list[str] = []
    for title, words in (("cells that the thresholds were chosen on", CHOSEN_ON), ("cells held out", HELD_OUT)):
        kind = [row for row in rows if row.cell in words]
        if not kind:
            continue
        print(f"\n{title}\n{'cell':<28}{'pairs':>6}{'left out':>9}  {'mixing: AUROC':<24}{'right':>6}{'wrong':>6}"
              f"{'unknown':>8}   whole audit: right wrong   with a conflict set: right wrong")  # fmt: skip
        for word in words:
            missed += _cell([row for row in kind if row.cell == word], word)
        counted = [row for row in kind if row.truth]
        same = [row for row in counted if row.truth == "same"]
        alarms = sum(row.answers[MIXING] == "different" for row in same)
        print(f"mixing calls {alarms} of {len(same)} same-information pairs different")
        print(f"\n{'number':<32} mean AUROC over cells [95 % over training seeds], lowest cell")
        for name in [name for name in counted[0].numbers if any(name in row.numbers for row in counted)]:
            value, low, high, lowest = _mean_auroc(counted, name)
            print(f"{name:<32} {value:.3f} [{low:.3f}, {high:.3f}]  {lowest:.3f}")
    return missed


def _cell(rows: Sequence[Row], word: str) -> list[str]:
    """One line on a cell, and the bounds that it misses."""
    if not rows:
        return []
    counted = [row for row in rows if row.truth]
    value, low, high, _ = _mean_auroc(counted, MIXING)
    shares = {how: _shares(counted, how) for how in (MIXING, ALL, SET)}
    right, wrong, unknown = shares[MIXING]
    auroc = f"{value:.3f} [{low:.3f}, {high:.3f}]"
    left_out = len(rows) - len(counted)
    print(f"{word:<28}{len(counted):>6}{left_out:>9}  {auroc:<24}{right:>6.2f}{wrong:>6.2f}{unknown:>8.2f}"
          f"{shares[ALL][0]:>22.2f}{shares[ALL][1]:>6.2f}{shares[SET][0]:>29.2f}{shares[SET][1]:>6.2f}")  # fmt: skip
    figures = {"AUROC": value, "right": right, "wrong": wrong}
    return [
        f"{word}: {name} of mixing is {figure:.3f}, the bound {BOUNDS[name]:g}"
        for name, figure in figures.items()
        if (figure > BOUNDS[name] if name == "wrong" else figure < BOUNDS[name])
    ]


def _shares(rows: Sequence[Row], how: str) -> tuple[float, float, float]:
    """The shares of pairs that were judged rightly, wrongly, and not at all."""
    said = Counter("unknown" if row.answers[how] == "unknown" else row.answers[how] == row.truth for row in rows)
    return said[True] / len(rows), said[False] / len(rows), said["unknown"] / len(rows)


def _mean_auroc(rows: Sequence[Row], name: str) -> tuple[float, float, float, float]:
    """The mean over cells of the AUROC for same against different, its interval over training seeds, and the lowest."""
    cells = sorted({row.cell for row in rows})

    def of(seeds: Sequence[int]) -> list[float]:
        chosen = [row for seed in seeds for row in rows if row.seed == seed]
        values = (_auroc([row for row in chosen if row.cell == cell], name) for cell in cells)
        return [value for value in values if not math.isnan(value)]

    every, rng = of(range(SEEDS)), np.random.default_rng(0)
    resamples = [np.mean(of(rng.integers(0, SEEDS, SEEDS).tolist())) for _ in range(100)]
    low, high = np.quantile(resamples, [0.025, 0.975])
    return float(np.mean(every)), float(low), float(high), min(every)


def _auroc(rows: Sequence[Row], name: str) -> float:
    ours, theirs = (
        np.array([row.numbers[name] for row in rows if row.truth == kind and name in row.numbers])
        for kind in ("same", "different")
    )
    ours, theirs = (side[np.isfinite(side)] for side in (ours, theirs))
    if not len(ours) or not len(theirs):
        return math.nan
    return float(np.mean((ours[:, None] > theirs) + 0.5 * (ours[:, None] == theirs)))


if __name__ == "__main__":
    main()
