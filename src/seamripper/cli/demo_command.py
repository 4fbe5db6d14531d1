"""seamripper demo: senders of known truth, stitched into one small network on real MNIST, and judged."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seamripper.cli._cast import NETWORK, SAME, Part, receivers, senders, train_all
from seamripper.cli._parse import json_option
from seamripper.cli._reported import print_report, reported
from seamripper.cli._show import print_json, print_table, progress

if TYPE_CHECKING:
    from seamripper._progress import Watcher
    from seamripper.audits import Audited
    from seamripper.cut import Split
    from seamripper.data import Samples
    from seamripper.estimate import Estimate
    from seamripper.experiment.single import Single

_FIT, _TEST = 2000, 1000
_AUDITS = ("margin", "conflict")
_COLUMNS = [
    "sender into Digit",
    "what is known",
    "accuracy, cues agree",
    "agreement, cues disagree",
    "judged with a conflict set",
    "judged by interventions",
]
_TOLD = ("Colour", "Digit, other seed")
"""Whose judgements are printed; the report has all."""


@dataclass(frozen=True, eq=False)
class _Judged:
    """What came of one sender: judged with the conflict set, and by the built-in interventions alone."""

    name: str
    truth: str
    test: Samples
    conflict: Audited
    interventions: Audited

    @property
    def accuracy(self) -> Estimate:
        return self.conflict.outcomes[0].result.top1

    @property
    def agreement(self) -> Estimate | None:
        """With the receiver on the conflict set; noise looks at no inputs, so there it has none."""
        found = self.conflict.verdicts.get("conflict")
        return None if found is None else found.observed

    def row(self) -> list[str]:
        agreement = "–" if self.agreement is None else str(self.agreement)
        said = [_short(found.conclusion) for found in (self.conflict, self.interventions)]
        return [self.name, _short(self.truth), str(self.accuracy), agreement, *said]

    def results(self, folder: Path, digit: Split, conflict: Samples) -> list[Single]:
        """Both audits as a study keeps them; those with the conflict set first."""
        from seamripper.audits import chosen_audits, deciding_set
        from seamripper.experiment.single import audit_result

        results = []
        for audited, samples in ((self.conflict, conflict), (self.interventions, None)):
            decided = deciding_set(audited, self.test, samples, chosen_audits(_AUDITS), None)
            names = (self.name, "Digit")
            results.append(audit_result(folder, audited, digit, decided, names=names, known=self.truth))
        return results

    def as_record(self) -> dict[str, Any]:
        found = {"conflict": self.conflict, "interventions": self.interventions}
        return {
            "sender": self.name,
            "truth": self.truth,
            "accuracy": self.accuracy.as_record(),
            "agreement": self.agreement and self.agreement.as_record(),
            **{way: audited.as_record()["judgement"] for way, audited in found.items()},
        }


@click.command("demo")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default="runs/demo", show_default=True,
              help="The folder for the networks and the report.")  # fmt: skip
@click.option("--n", type=click.IntRange(min=100), default=10_000, show_default=True, help="Training samples.")
@click.option("--cut", default="layer2", show_default=True)
@json_option
def command(out: Path, n: int, cut: str, as_json: bool) -> None:
    """Train small networks on real MNIST, stitch each into one that knows the digit, and judge what that is worth.

    Of each sender it is known whether it knows the digit too. Networks are kept in the folder, and trained once.
    """
    from seamripper.data import load_data

    fit = load_data("mnist/correlated", "train", n=min(n, _FIT))
    test, conflict = (load_data(f"mnist/{kind}", "test", n=_TEST) for kind in ("correlated", "digit"))
    memo: dict[str, Any] = {}
    started = time.time()
    with progress(quiet=as_json) as watch, _one_thread():
        train_all(out, n, watch)
        digit, other = receivers(out, n, cut, watch)
        cast = senders(digit, fit, test, out, n, watch)
        found = [_judged(part, digit, other, conflict, memo, watch) for part in cast]
        story = _story(found)
        results = [result for one in found for result in one.results(out, digit, conflict)]
    made = f"Networks {NETWORK}, trained for 4 epochs on {n:,} images or as many as there are."
    report = reported(out, "demo", results, started=started, about=f"Who knows what Digit knows? {story} {made}")
    if as_json:
        print_json({"report": str(report), "results": [one.as_record() for one in found]})
        return
    rows = [one.row() for one in found]
    print_table(f"Who knows what Digit knows? Cut at {cut}; [95 % interval]", _COLUMNS, rows, left=len(_COLUMNS))
    for one in found:
        if one.name in _TOLD:
            print(f"\n{one.name}: {one.conflict}")
    print(f"\n{story}")
    print_report(report)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Within, torch computes on one thread, so that the figures do not depend on how many cores there are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _judged(part: Part, digit: Split, other: Split, conflict: Samples, memo: dict[str, Any], watch: Watcher) -> _Judged:
    from seamripper.audits import audit
    from seamripper.data import Paired

    def audited(conflict: Samples | None) -> Audited:
        return audit(
            part.sender,
            digit,
            part.fit,
            part.test,
            conflict=conflict,
            others=[other],
            seeds=(0,),
            controls=("self", "other_seed", "random_sender", "clustered_noise"),
            audits=_AUDITS,
            # The controls are the same for every sender of one architecture.
            memo=memo,
            watch=watch,
        )

    return _Judged(part.name, part.truth, Paired.of(part.test).receiver, audited(conflict), audited(None))


def _story(found: Sequence[_Judged]) -> str:
    """What the table shows, in this run's own figures."""
    alone = found[0].conflict.outcomes[0].result.receiver_here
    if alone.low <= 0.5:
        return "These networks are too weak to show what the demo is about; take more samples (--n)."
    best = max(found, key=lambda one: one.accuracy.value)
    fooled = "" if best.truth == SAME else ", which does not have Digit's information: such an accuracy is no evidence"
    by_set = sum(one.conflict.conclusion == one.truth for one in found)
    by_changes = sum(one.interventions.conclusion == one.truth for one in found)
    return (
        f"Where the cues agree, Digit alone is right on {alone.value:.1%}, and the best of the stitched networks, with "
        f"{best.name} in front, on {best.accuracy.value:.1%}{fooled}. Judged as they are: "
        f"{by_set} of {len(found)} with the conflict set, {by_changes} of {len(found)} by interventions alone."
    )


def _short(conclusion: str) -> str:
    return conclusion.partition(":")[0]
