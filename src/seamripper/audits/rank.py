"""The audit `rank`: how many directions the receiver's first layer uses for stitched activations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, TypeAlias

from seamripper.audits.base import Answer, Audit, Evidence, Verdict
from seamripper.audits.rank_reading import RankReader, Ranks
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError
from seamripper.estimate import BySeed, Estimate, difference, over_seeds
from seamripper.matching.match import Match
from seamripper.measures.numerical_rank import THRESHOLD

_RanksBySeed: TypeAlias = Sequence[tuple[int, Ranks]]


@dataclass(frozen=True)
class Rank(Audit):
    """Numerical rank at the receiver's first layer behind the stitch, native against stitched.

    The layer's outputs, before any normalisation, are flattened to c · h · w columns. The rank is the number of
    singular values of their covariance above `threshold` times the largest (Smith et al. 2025, Figure 2c and B.2.1,
    with 0.001); the effective rank (Roy & Vetterli 2007) is among the figures. If ranks differ, the receiver does not
    treat the two alike; if they do not, nothing follows. A stitch changes the rank by itself, even that of the receiver
    into itself (Figure C.1b). So "no" needs a rank beyond the native one and beyond that of every control with the same
    information, on the same side, by more than one direction and by more than seeds vary; "yes" is a rank between
    these. At most `n` samples are read, fewer of very large maps. Padding has no place in a flattened row: of padded
    texts each token that counts is a row.

    There is no p: nothing here has the distribution that the rank would have under chance.
    """

    name = "rank"
    paper = "Smith, Mannering, Marcu 2025, Figure 2c"
    formula = "rank = the number of i with λᵢ > threshold · λ₁,  stitched against native"
    question = "Does the receiver's first layer use as many directions for the stitched activations as for its own?"
    least, between = {"n": 3}, {"threshold": (0, 1)}

    n: int = 2000
    threshold: float = THRESHOLD

    def put(self, evidence: Evidence) -> Verdict:
        """The ranks, and whether the sender's is beyond those of the same information."""
        case, reader = evidence.case, RankReader(self.n, self.threshold)
        native = reader.native_ranks(case.receiver, case.test.receiver)
        sent = [(o.seed, reader.stitched_ranks(o.match, case.test)) for o in evidence.observed if o.match]
        if not sent:
            raise InapplicableError("There is no stitch here, so there is no stitched rank.")
        controls = {name: ranks for name in evidence.controls if (ranks := _control_ranks(evidence, name, reader))}
        references: dict[str, _RanksBySeed] = {"native": [(case.seeds[0], native)], **controls}
        estimates = {name: _estimates(ranks) for name, ranks in references.items()}
        same = [estimates[name] for name in controls if evidence.controls[name].known == "same"]
        full = native.full or any(ranks.full for _, ranks in sent)
        answer: Answer = "unknown" if full else answer_of(_estimates(sent), estimates["native"], same)
        observed = over_seeds([ranks.rank for _, ranks in sent], "stitch seeds")
        effect = difference(_estimates(sent), estimates["native"])
        sentence = _sentence(observed, native, {name: estimates[name] for name in controls}, effect)
        return self.verdict(
            answer,
            sentence + _meaning(answer, bool(same), native if full else None),
            observed=observed,
            effect=effect,
            controls={name: tuple(rank for _, rank in seeds) for name, seeds in estimates.items()},
            figures=_figures(native, {"sender": sent, **references}, self.threshold),
        )


def _control_ranks(evidence: Evidence, name: str, reader: RankReader) -> _RanksBySeed:
    """The ranks of a control with the same information, or of noise; none for any other control."""
    control = evidence.controls[name]
    noise = control.known == "nothing" and control.origin == "noise"
    outcomes = evidence.of(name) if control.known == "same" or noise else ()
    if not any(outcome.match for outcome in outcomes):
        return []
    # An outcome does not keep its samples, and noise is shown others than the case's: they are made again.
    pairs = zip(outcomes, control.counterparts(evidence.case), strict=True)
    return [
        (outcome.seed, reader.stitched_ranks(outcome.match, other.test)) for outcome, other in pairs if outcome.match
    ]


def _estimates(ranks_by_seed: _RanksBySeed) -> BySeed:
    return [(seed, Estimate(ranks.rank, n=ranks.n, unit=ranks.unit)) for seed, ranks in ranks_by_seed]


def _mean(ranks: BySeed) -> float:
    return fmean(rank.value for _, rank in ranks)


def answer_of(sent: BySeed, native: BySeed, same: Sequence[BySeed]) -> Answer:
    """By the sender's ranks, the native one, and those of each control with the same information.

    >>> def ranks(*values):
    ...     return [(seed, Estimate(value, n=500, unit="samples")) for seed, value in enumerate(values)]
    >>> senders = ranks(12, 13, 12), ranks(35, 36, 34), ranks(29, 33, 28)
    >>> [answer_of(sent, ranks(40), [ranks(30, 32, 31)]) for sent in senders]
    ['no', 'yes', 'unknown']
    """
    references = [native, *same]
    means = [_mean(ranks) for ranks in references]
    if min(means) <= _mean(sent) <= max(means):
        return "yes"
    gaps = [difference(sent, ranks) for ranks in references]
    more = all(gap.low > 0 and gap.value > 1 for gap in gaps)
    fewer = all(gap.high < 0 and gap.value < -1 for gap in gaps)
    return "no" if same and (more or fewer) else "unknown"


def _figures(native: Ranks, ranks: Mapping[str, _RanksBySeed], threshold: float) -> dict[str, Any]:
    effective = {name: over_seeds([r.effective for _, r in seeds], "stitch seeds") for name, seeds in ranks.items()}
    return {
        "layer": native.layer,
        "columns": native.columns,
        "n": native.n,
        "threshold": threshold,
        "effective_rank": effective,
        "ranks": {name: [{"seed": seed, **asdict(r)} for seed, r in seeds] for name, seeds in ranks.items()},
    }


def _sentence(observed: Estimate, native: Ranks, controls: Mapping[str, BySeed], effect: Estimate) -> str:
    where = f"the receiver's first layer behind the cut ({native.layer!r})"
    if native.layer is None:
        where = "the cut itself, as the receiver's tail calls no layer by name,"
    others = "".join(f", {name!r} has {_mean(ranks):.1f}" for name, ranks in controls.items())
    interval = "" if math.isnan(effect.low) else f" [{effect.low:.1f}, {effect.high:.1f}]"
    return (
        f"At {where} the stitched activations have rank {observed.value:.1f}, the receiver's own {native.rank}{others} "
        f"({native.n} {native.unit}, {native.columns} columns): a difference of {effect.value:+.1f}{interval}."
    )


def _meaning(answer: Answer, compared: bool, full: Ranks | None) -> str:
    if full is not None:
        return (
            f" {full.n} centred {full.unit} have no more than {full.n - 1} directions, so these ranks only show how "
            f"many {full.unit} there are: give more of them."
        )
    if answer == "no":
        return (
            " That is more than the stitch by itself changes for the same information: the receiver does not treat "
            "the two alike (Smith et al. 2025)."
        )
    if answer == "yes":
        return " Equal ranks are no evidence of equal information."
    if not compared:
        return " A stitch by itself can change the rank, and no control with the same information shows by how much."
    return " The difference is no larger than what the stitch and its seeds cause by themselves."


_SMITH = RankReader(10_000, 1e-3)
"""Smith et al. 2025 (B.2.1): from 10,000 test samples, singular values above 1e-3 of the largest count."""


def ranks_behind(match: Match, samples: Samples | Paired, *, native: bool = True) -> dict[str, Any]:
    """The numerical rank at the receiver's first layer behind the cut: `rank`, of the stitched activations.

    With `native`, `rank_native` is that of the receiver's own activations for these samples.
    """
    ranks = {"rank": vars(_SMITH.stitched_ranks(match, samples))}
    if native:
        own = samples.receiver if isinstance(samples, Paired) else samples
        ranks["rank_native"] = vars(_SMITH.native_ranks(match.receiver, own))
    return ranks
