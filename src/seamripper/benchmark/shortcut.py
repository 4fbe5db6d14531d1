"""The test `shortcut`: whether a measure sees that two networks use different information."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from seamripper.audits import matching_of
from seamripper.audits.rule import DIFFERENT, SAME
from seamripper.benchmark.base import ALL, BenchTest, Rating, rating_of
from seamripper.benchmark.bench_set import BenchSet, samples_of
from seamripper.benchmark.contestants import CONFLICT, MATCHINGS, MIXING, RULE, Contestant
from seamripper.benchmark.scores import Net, Row, StudyScores, net_of
from seamripper.benchmark.statistics import PairScores, separation
from seamripper.benchmark.study_parts import Meeting, audit_parts, compare_parts, conflict_parts, stitch_parts
from seamripper.errors import ExperimentError
from seamripper.experiment import Experiment, Part

AGREE, DISAGREE = "auroc, cues agree", "auroc, cues conflict"
WITH_SET = "audit with a conflict set"
"""The name of the audits' own matching where there is a conflict set: it tells their rows from those without one."""
_OWN = "audit's own"
Values = dict[tuple[Net, Net, str], float]


@dataclass(frozen=True)
class ShortcutTest(BenchTest):
    """Whether a measure tells pairs that use the same information from pairs that do not (Smith et al. 2025).

    Pairs are of different seeds (`pairing=others`), or of all (`all`): networks of one seed share their initialisation,
    and pairs of one family never do. Structural measures compare activations on data where the cues agree, and on the
    conflict set. Stitches are fitted where the cues agree; there their relative accuracy is the score, and on the
    conflict set their agreement with the receiver. An audit without a conflict set makes its own by interventions.
    Mixtures need none: `mixing` is rated where the cues agree, by the excess that decided, a distance.
    """

    name = "shortcut"
    about = (
        "How well a measure separates pairs of networks that use the same information from pairs that do not (AUROC, "
        "mean over cuts): 1 is best, 0.5 is chance, and below 0.5 it is inverted: it calls those more similar that use "
        "different information."
    )
    columns = (AGREE, DISAGREE)
    kinds = ("structural", "functional", "audit")

    pairing: Literal["others", "all"] = "others"

    def experiment(self, bench_set: BenchSet, contestants: Sequence[Contestant]) -> Experiment:
        """All families into the receivers at equal cuts, on both kinds of data."""
        _require(bench_set)
        families = tuple(bench_set.information)
        meeting = Meeting(families, bench_set.receivers or families, _common_cuts(bench_set, families), self.pairing)
        asked: list[Part] = [*compare_parts(meeting, contestants), *stitch_parts(meeting, contestants)]
        audits = any(contestant.kind == "audit" for contestant in contestants)
        asked += audit_parts(meeting) if audits else ()
        if bench_set.conflict is not None:
            asked += compare_parts(meeting, contestants, data=bench_set.conflict)
            asked += conflict_parts(meeting, contestants, bench_set.conflict)
            asked += audit_parts(meeting, matching=WITH_SET, conflict=bench_set.conflict) if audits else ()
        return bench_set.experiment(
            self.name, asked, about=self.about, matchings={WITH_SET: matching_of("task").label} if audits else {}
        )

    def rate(self, rows: Sequence[Row], bench_set: BenchSet, contestants: Sequence[Contestant]) -> Iterator[Rating]:
        """The AUROC where the cues agree, and where they do not."""
        scores, agree = StudyScores(rows), samples_of(bench_set.data).name
        for contestant in contestants:
            conditions = {AGREE: _values(scores, contestant, agree, with_set=False)}
            if bench_set.conflict is not None:
                conflict = samples_of(bench_set.conflict).name
                conditions[DISAGREE] = _values(scores, contestant, conflict, with_set=True)
            for name, values in conditions.items():
                pairs = _pair_scores(values, bench_set)
                statistic = None if pairs is None else separation(pairs)
                if statistic is not None and not math.isnan(statistic.value):
                    yield rating_of(statistic, self.label, name, ALL, contestant.label)


def _require(bench_set: BenchSet) -> None:
    """Refuse a set in which no pair uses the same information, or none different."""
    what, use = "The test 'shortcut' needs", dict(bench_set.information)
    if not use:
        raise ExperimentError(
            f"{what} to know what each family uses: add a table [information] to {bench_set.name!r}, for example "
            f'{next(iter(bench_set.models))} = "digit".'
        )
    for receiver in bench_set.receivers:
        if receiver not in use:
            raise ExperimentError(f"{what} to know what the receiver {receiver!r} uses: name it in [information].")
    receivers = bench_set.receivers or tuple(use)
    alone = {family: len(bench_set.models[family].seeds) < 2 for family in use}
    same = any(use[s] == use[r] and (s != r or not alone[s]) for s in use for r in receivers)
    if not same or all(use[s] == use[r] for s in use for r in receivers):
        missing = "different information" if same else "the same information"
        words = ", ".join(f"{family}: {word}" for family, word in use.items())
        raise ExperimentError(
            f"{what} pairs that use the same information and pairs that do not, but no pair uses {missing} ({words}). "
            "Add a family, or a second seed of one."
        )
    if bench_set.conflict is not None and samples_of(bench_set.conflict).name == samples_of(bench_set.data).name:
        raise ExperimentError(f"{what} `conflict` to be other samples than `data`, but both are the same set.")


def _common_cuts(bench_set: BenchSet, families: Sequence[str]) -> tuple[str, ...]:
    """The cuts that all families have."""
    first, *others = ([cut.name for cut in bench_set.layouts[family]] for family in families)
    common = tuple(name for name in first if all(name in names for names in others))
    if not common:
        raise ExperimentError(
            f"The test 'shortcut' compares equal cuts, but the families {', '.join(families)} have no cut of the same "
            "name. Name networks of one architecture in [information], or cuts that all of them have in `cuts`."
        )
    return common


def _values(scores: StudyScores, contestant: Contestant, data: str, *, with_set: bool) -> Values:
    """The score of each pair at each cut under a condition; pairs of one and the same network are left out."""
    if contestant.kind == "structural" or (contestant.kind == "functional" and not with_set):
        cells = scores.cells(contestant, data).items()
        every = ((*pair, a, value) for pair, at_cuts in cells for (a, b), value in at_cuts.items() if a == b)
    else:
        every = (
            (net_of(row, "sender"), net_of(row, "receiver"), row["receiver_cut"], value)
            for row in scores.rows
            if (value := _audit_score(row, contestant, with_set=with_set)) is not None
        )
    return {(sender, receiver, cut): value for sender, receiver, cut, value in every if sender != receiver}


def _audit_score(row: Row, contestant: Contestant, *, with_set: bool) -> float | None:
    """What an audit's row says of similarity, if it is one for this measure and condition."""
    if row.get("kind") != "audit" or row.get("figure") is None:
        return None
    figure, audit, matching = row["figure"], row.get("audit"), row.get("matching")
    own = WITH_SET if with_set else _OWN
    if contestant.label == RULE and (audit, matching) == ("rule", own):
        conclusion = str(row.get("status"))
        # What cannot be decided stands between the two.
        return next((score for said, score in ((SAME, 1.0), (DIFFERENT, 0.0)) if conclusion.startswith(said)), 0.5)
    if contestant.label == CONFLICT and (audit, figure, matching) == ("conflict", "effect", own):
        return row.get("value")
    if contestant.label == MIXING and (audit, figure, matching) == ("mixing", "effect", _OWN) and not with_set:
        excess = row.get("value")
        return None if excess is None else -float(excess)
    if contestant.kind == "functional" and (audit, figure) == ("conflict", "observed"):
        return row.get("value") if matching == MATCHINGS[contestant.label] else None
    return None


def _pair_scores(values: Values, bench_set: BenchSet) -> PairScores | None:
    """The values as arrays; None if there are none."""
    if not values:
        return None
    nets = list(dict.fromkeys(net for sender, receiver, _ in values for net in (sender, receiver)))
    families, cuts = list(dict.fromkeys(net[0] for net in nets)), list(dict.fromkeys(cut for *_, cut in values))
    words = list(dict.fromkeys(bench_set.information.values()))
    place = {net: i for i, net in enumerate(nets)}
    return PairScores(
        np.array([place[sender] for sender, _, _ in values]),
        np.array([place[receiver] for _, receiver, _ in values]),
        np.array([cuts.index(cut) for *_, cut in values]),
        np.array(list(values.values()), dtype=float),
        np.array([words.index(bench_set.information[net[0]]) for net in nets]),
        np.array([families.index(net[0]) for net in nets]),
    )
