"""seamripper demo: senders of known truth, stitched into one small network on real MNIST, and judged."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import seamripper as sr
from seamripper.cli.demo_cast import NETWORK, SAME, Cast, DemoSender
from seamripper.cli.inputs import FOLDER, asked_device, device_options, json_option
from seamripper.cli.output import print_json, print_table, print_written, progress, save_report, say

if TYPE_CHECKING:
    from seamripper.experiment.single import Single

FIT, TEST = 2000, 1000
"""Images that stitches are fitted and scored on."""
_AUDITS = ("margin", "conflict")
_COLUMNS = [
    "sender into Digit",
    "what is known",
    "accuracy, cues agree",
    "agreement, cues disagree",
    "judged with a conflict set",
    "judged by interventions",
]
_PRINTED = ("Colour", "Digit, other seed")
"""Whose judgements are printed; the report has all."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What came of one sender: judged with the conflict set, and by the built-in interventions alone."""

    name: str
    truth: str
    test: sr.Samples
    conflict: sr.Audited
    interventions: sr.Audited

    @property
    def accuracy(self) -> sr.Estimate:
        """Of the network with this sender in front, where the cues agree."""
        return self.conflict.outcomes[0].result.top1

    @property
    def agreement(self) -> sr.Estimate | None:
        """With the receiver on the conflict set; noise looks at no inputs, so there it has none."""
        verdict = self.conflict.verdicts.get("conflict")
        return None if verdict is None else verdict.observed

    def row(self) -> list[str]:
        """The sender as a row of the table."""
        agreement = "–" if self.agreement is None else str(self.agreement)
        answers = [_short(audited.conclusion) for audited in (self.conflict, self.interventions)]
        return [self.name, _short(self.truth), str(self.accuracy), agreement, *answers]

    def results(self, folder: Path, digit: sr.Split, conflict: sr.Samples) -> Iterator[Single]:
        """Both audits as a study keeps them; the one with the conflict set first."""
        from seamripper.audits import chosen_audits, deciding_set
        from seamripper.experiment.single import audit_result

        for audited, samples in ((self.conflict, conflict), (self.interventions, None)):
            decided = deciding_set(audited, self.test, samples, chosen_audits(_AUDITS), None)
            yield audit_result(folder, audited, digit, decided, names=(self.name, "Digit"), known=self.truth)

    def as_record(self) -> dict[str, Any]:
        """The sender as JSON has it."""
        return {
            "sender": self.name,
            "truth": self.truth,
            "accuracy": self.accuracy.as_record(),
            "agreement": self.agreement and self.agreement.as_record(),
            "conflict": self.conflict.as_record()["judgement"],
            "interventions": self.interventions.as_record()["judgement"],
        }


@click.command("demo")
@click.option("--out", type=FOLDER, default="runs/demo", show_default=True,
              help="The folder for the networks and the report.")  # fmt: skip
@click.option("--n", type=click.IntRange(min=100), default=10_000, show_default=True, help="Training samples.")
@click.option("--cut", default="layer2", show_default=True)
@device_options
@json_option
def command(out: Path, n: int, cut: str, as_json: bool) -> None:
    """Train small networks on real MNIST, stitch each into a network that knows the digit, and judge the result.

    For each sender we know in advance whether it knows the digit, too. Networks are kept in the folder and trained only
    once.
    """
    fit = sr.load_data("mnist/correlated", "train", n=min(n, FIT))
    test, conflict = (sr.load_data(f"mnist/{kind}", "test", n=TEST) for kind in ("correlated", "digit"))
    started = time.time()
    with progress(quiet=as_json) as watch, _one_thread():
        cast = Cast(out, n, watch, **asked_device())
        cast.train_all()
        digit, other = cast.receivers(cut)
        # The controls are the same for every sender of one architecture.
        shared: dict[str, Any] = {"others": [other], "memo": {}, "watch": watch}
        outcomes = [_judge(candidate, digit, conflict, shared) for candidate in cast.senders(digit, fit, test)]
        summary = story(outcomes)
        results = [result for outcome in outcomes for result in outcome.results(out, digit, conflict)]
    made = f"Networks {NETWORK}, trained for 4 epochs on {n:,} images or as many as there are."
    report = save_report(out, "demo", results, started=started, about=f"Who knows what Digit knows? {summary} {made}")
    if as_json:
        print_json({"report": str(report), "results": [outcome.as_record() for outcome in outcomes]})
        return
    rows = [outcome.row() for outcome in outcomes]
    print_table(f"Who knows what Digit knows? Cut at {cut}; [95 % interval]", _COLUMNS, rows, left=len(_COLUMNS))
    for outcome in outcomes:
        if outcome.name in _PRINTED:
            say(f"\n{outcome.name}: {outcome.conflict}")
    say(f"\n{summary}")
    print_written(None, report)


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


def _judge(candidate: DemoSender, digit: sr.Split, conflict: sr.Samples, shared: dict[str, Any]) -> Judged:
    from seamripper.data import Paired

    audits = [
        sr.audit(
            candidate.sender,
            digit,
            candidate.fit,
            candidate.test,
            conflict=samples,
            seeds=(0,),
            controls=("self", "other_seed", "random_sender", "clustered_noise"),
            audits=_AUDITS,
            **shared,
        )
        for samples in (conflict, None)
    ]
    return Judged(candidate.name, candidate.truth, Paired.of(candidate.test).receiver, *audits)


def story(outcomes: Sequence[Judged]) -> str:
    """What the table shows, in this run's own figures."""
    alone = outcomes[0].conflict.outcomes[0].result.receiver_here
    if alone.low <= 0.5:
        return "These networks are too weak to show what the demo is about; take more samples (--n)."
    best = max(outcomes, key=lambda outcome: outcome.accuracy.value)
    fooled = "" if best.truth == SAME else ", which does not have Digit's information: such an accuracy is no evidence"
    by_set = sum(outcome.conflict.conclusion == outcome.truth for outcome in outcomes)
    by_changes = sum(outcome.interventions.conclusion == outcome.truth for outcome in outcomes)
    return (
        f"Where the cues agree, Digit alone is right on {alone.value:.1%}, and the best of the stitched networks, with "
        f"{best.name} in front, on {best.accuracy.value:.1%}{fooled}. Judged correctly: {by_set} of {len(outcomes)} "
        f"with the conflict set, {by_changes} of {len(outcomes)} by interventions only."
    )


def _short(conclusion: str) -> str:
    return conclusion.partition(":")[0]
