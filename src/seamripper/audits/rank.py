"""The audit `rank`: how many directions the receiver's first layer uses for what the stitch gives it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, TypeAlias

from seamripper._options import require_options
from seamripper.audits.base import Answer, Audit, Evidence, Verdict
from seamripper.audits.rank_reading import RankReader, Ranks
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import AuditError, InapplicableError
from seamripper.estimate import BySeed, Estimate, difference, over_seeds
from seamripper.matching.match import Match
from seamripper.measures.numerical_rank import THRESHOLD

_NOISE, _SEEDS = "clustered_noise", "stitch seeds"
_Read: TypeAlias = Sequence[tuple[int, Ranks]]
"""Ranks, seed by seed."""


@dataclass(frozen=True)
class Rank(Audit):
    """Numerical rank at the receiver's first layer behind the stitch, native against stitched.

    The layer's outputs, before any normalisation, are flattened to c · h · w columns. The rank is the number of
    singular values of their covariance above `threshold` times the largest (Smith et al. 2025, Figure 2c and B.2.1);
    the effective rank (Roy & Vetterli 2007) is told beside it. Where ranks differ, the receiver does not take the two
    for the same; where they do not, nothing follows. A stitch changes the rank by itself, even that of the receiver
    into itself (Figure C.1b). So "no" needs a rank beyond the native one and beyond that of every control with the same
    information, on the same side, by more than one direction and by more than seeds vary; "yes" is a rank between
    these. At most `n` samples are read, fewer of very large maps. Padding has no place in a flattened row: of padded
    texts each token that counts is a row.

    There is no p: nothing here has the distribution that the rank would have under chance.
    """

    name = "rank"
    question = "Does the receiver's first layer use as many directions as for its own activations?"

    n: int = 2000
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        require_options(self, f"the audit {self.name!r}", error=AuditError, n=3)
        if not 0 < self.threshold < 1:
            raise AuditError(
                f"Expected threshold of the audit {self.name!r} to lie between 0 and 1, but got {self.threshold}. "
                f"Smith et al. 2025 have {THRESHOLD}."
            )

    def put(self, evidence: Evidence) -> Verdict:
        """The ranks, and whether the sender's is beyond those of the same information."""
        case, reader = evidence.case, RankReader(self.n, self.threshold)
        native = reader.native(case.receiver, case.test.receiver)
        sent = [
            (outcome.seed, reader.stitched(outcome.match, case.test)) for outcome in evidence.observed if outcome.match
        ]
        if not sent:
            raise InapplicableError("There is no stitch here, so there is no stitched rank.")
        controls = {name: read for name in evidence.controls if (read := _of_control(evidence, name, reader))}
        same = {name: read for name, read in controls.items() if evidence.controls[name].known == "same"}
        full = any(ranks.full for ranks in (native, *(ranks for _, ranks in sent)))
        answer: Answer = "unknown" if full else _answer(sent, native, list(same.values()))
        every: dict[str, _Read] = {"native": [(case.seeds[0], native)], **controls}
        observed, effect = over_seeds([ranks.rank for _, ranks in sent], _SEEDS), _beyond(sent, every["native"])
        figures = _figures(native, {"sender": sent, **every}, self.threshold)
        said = _said(observed, native, controls, effect) + _meaning(answer, bool(same), native if full else None)
        shown = {name: tuple(_estimate(ranks) for _, ranks in read) for name, read in every.items()}
        return Verdict(self.name, self.question, answer, observed, shown, effect, said, None, figures)


def _of_control(evidence: Evidence, name: str, reader: RankReader) -> _Read:
    """The ranks of a control that holds the same information, or of noise; nothing for any other."""
    control = evidence.controls[name]
    outcomes = evidence.of(name) if control.known == "same" or name == _NOISE else ()
    if not any(outcome.match for outcome in outcomes):
        return []
    # An outcome does not keep its samples, and noise is shown others than the case's: they are made again.
    pairs = zip(outcomes, control.counterparts(evidence.case), strict=True)
    return [(outcome.seed, reader.stitched(outcome.match, other.test)) for outcome, other in pairs if outcome.match]


def _beyond(sent: _Read, other: _Read) -> Estimate:
    return difference(_seeded(sent), _seeded(other))


def _seeded(read: _Read) -> BySeed:
    return [(seed, _estimate(ranks)) for seed, ranks in read]


def _estimate(ranks: Ranks) -> Estimate:
    return Estimate(ranks.rank, n=ranks.n, unit=ranks.unit)


def _answer(sent: _Read, native: Ranks, same: Sequence[_Read]) -> Answer:
    """By the sender's ranks, the native one, and those of each control with the same information.

    >>> def read(*ranks):
    ...     return [(seed, Ranks(rank, float(rank), 500, 64, "conv")) for seed, rank in enumerate(ranks)]
    >>> native, itself = read(40)[0][1], read(30, 32, 31)
    >>> [_answer(sent, native, [itself]) for sent in (read(12, 13, 12), read(35, 36, 34), read(29, 33, 28))]
    ['no', 'yes', 'unknown']
    """
    references: list[_Read] = [[(sent[0][0], native)], *same]
    means = [_mean(read) for read in references]
    if min(means) <= _mean(sent) <= max(means):
        return "yes"
    gaps = [_beyond(sent, read) for read in references]
    more = all(gap.low > 0 and gap.value > 1 for gap in gaps)
    fewer = all(gap.high < 0 and gap.value < -1 for gap in gaps)
    return "no" if same and (more or fewer) else "unknown"


def _mean(read: _Read) -> float:
    return fmean(ranks.rank for _, ranks in read)


def _figures(native: Ranks, every: Mapping[str, _Read], threshold: float) -> dict[str, Any]:
    return {
        "layer": native.layer,
        "columns": native.columns,
        "n": native.n,
        "threshold": threshold,
        "effective_rank": {
            name: over_seeds([r.effective for _, r in read], "stitch seeds") for name, read in every.items()
        },
        "ranks": {name: [{"seed": seed, **asdict(ranks)} for seed, ranks in read] for name, read in every.items()},
    }


def _said(observed: Estimate, native: Ranks, controls: Mapping[str, _Read], effect: Estimate) -> str:
    where = f"the receiver's first layer behind the cut ({native.layer!r})"
    if native.layer is None:
        where = "the cut itself, as the receiver's tail calls no layer by name,"
    others = "".join(f", {name!r} has {_mean(read):.1f}" for name, read in controls.items())
    interval = "" if math.isnan(effect.low) else f" [{effect.low:.1f}, {effect.high:.1f}]"
    return (
        f"At {where} the stitched activations have rank {observed.value:.1f}, the receiver's own {native.rank}{others} "
        f"({native.n} {native.unit}, {native.columns} columns): {effect.value:+.1f}{interval}."
    )


def _meaning(answer: Answer, compared: bool, full: Ranks | None) -> str:
    if full is not None:
        return (
            f" {full.n} centred {full.unit} have no more than {full.n - 1} directions, so these ranks tell of them: "
            "give more of them."
        )
    if answer == "no":
        return (
            " That is more than the stitch itself does to the same information: the receiver does not take the two for "
            "the same (Smith et al. 2025)."
        )
    if answer == "yes":
        return " Equal ranks are no evidence of equal information."
    if not compared:
        return " A stitch alone can change the rank, and no control with the same information shows by how much."
    return " The difference is within what the stitch and its seeds do by themselves."


_SMITH = RankReader(10_000, 1e-3)
"""Smith et al. 2025 (B.2.1): of 10,000 test samples, singular values above 1e-3 of the largest count."""


def ranks_behind(match: Match, samples: Samples | Paired, *, native: bool = True) -> dict[str, Any]:
    """The numerical rank at the receiver's first layer behind the cut: `rank` of what arrives by the stitch.

    With `native`, `rank_native` is that of the receiver's own activations for these samples.
    """
    ranks = {"rank": vars(_SMITH.stitched(match, samples))}
    if native:
        own = samples.receiver if isinstance(samples, Paired) else samples
        ranks["rank_native"] = vars(_SMITH.native(match.receiver, own))
    return ranks
