"""The parts of a study that the tests need. Each kind of part is made here and nowhere else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seamripper.benchmark.bench_set import BenchSet
from seamripper.benchmark.contestants import MATCHINGS, Contestant
from seamripper.errors import ExperimentError
from seamripper.experiment import AuditPart, ComparePart, Data, Part, StitchPart, parts
from seamripper.measures.base import DIRECT


@dataclass(frozen=True)
class Meeting:
    """Families that meet: senders, receivers, which of their seeds, and the cuts."""

    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    cuts: tuple[str, ...]
    pairing: Literal["matched", "others", "all"] = "all"

    @property
    def pairs(self) -> dict[str, Any]:
        """As the table of a part has them."""
        return {"senders": self.senders, "receivers": self.receivers, "pairing": self.pairing}


def compare_parts(
    meeting: Meeting, contestants: Sequence[Contestant], *, data: str | Data | None = None
) -> Iterator[Part]:
    """[[compare]]: every structural measure between all cuts, one part for each sampling."""
    for sampling, words in _by_sampling(contestants).items():
        # An interval over samples says nothing here, where networks are the units.
        choices: dict[str, Any] = {"measures": words, "sampling": sampling, "data": data, "interval": False}
        yield ComparePart(**meeting.pairs, cuts=meeting.cuts, **choices)


def family_parts(bench_set: BenchSet, contestants: Sequence[Contestant], test: str) -> Iterator[Part]:
    """Every family with itself, all seeds and all cuts, for a test that needs two cuts or more."""
    for family in bench_set.models:
        cuts = bench_set.cut_names(family, least=2, what=f"The test {test!r}")
        meeting = Meeting((family,), (family,), cuts)
        yield from compare_parts(meeting, contestants)
        yield from functional_parts(meeting, contestants)


def functional_parts(meeting: Meeting, contestants: Sequence[Contestant]) -> Iterator[Part]:
    """[[functional]]: every functional measure between all cuts."""
    matchings = _matchings(contestants)
    if matchings:
        yield _part("functional")(**meeting.pairs, cuts=meeting.cuts, matchings=matchings)


def probe_parts(
    family: str, cuts: tuple[str, ...], *, ranks: tuple[int, ...] = (), contestants: Sequence[Contestant] = ()
) -> Iterator[Part]:
    """[[probe]]: probes of a family's layers and of their low-rank approximations, which measures compare.

    `direct_functional` is among them: the approximation, mapped back by direct matching, is fed into the network.
    """
    asked = _by_sampling(contestants) if ranks else {}
    if any(contestant.label == DIRECT for contestant in contestants) or not asked:
        direct = tuple(contestant.word for contestant in contestants if contestant.label == DIRECT)
        asked["positions"] = (*asked.get("positions", ()), *direct)
    for sampling, words in asked.items():
        yield _part("probe")(models=(family,), cuts=cuts, ranks=ranks, measures=words, sampling=sampling)


def stitch_parts(meeting: Meeting, contestants: Sequence[Contestant]) -> Iterator[Part]:
    """[[stitch]]: every functional measure at equal cuts."""
    matchings = _matchings(contestants)
    if matchings:
        yield StitchPart(**meeting.pairs, cuts=meeting.cuts, matchings=matchings)


def conflict_parts(meeting: Meeting, contestants: Sequence[Contestant], conflict: str | Data) -> Iterator[Part]:
    """[[audit]]: the stitches of every functional measure, fitted where cues agree and scored where they do not."""
    for matching in _matchings(contestants):
        few: dict[str, Any] = {"controls": ("self",), "audits": ("conflict",), "seeds": (0,)}
        yield AuditPart(**meeting.pairs, cuts=meeting.cuts, matching=matching, conflict=conflict, **few)


def audit_parts(meeting: Meeting, *, matching: str | None = None, conflict: str | Data | None = None) -> Iterator[Part]:
    """[[audit]]: whole audits, with a conflict set or with interventions; each receiver's other seeds are a control."""
    for receiver in meeting.receivers:
        pairs = {**meeting.pairs, "receivers": (receiver,)}
        yield AuditPart(**pairs, cuts=meeting.cuts, matching=matching, conflict=conflict, others=(receiver,))


def _by_sampling(contestants: Sequence[Contestant]) -> dict[str, tuple[str, ...]]:
    """The words of the structural measures by the samplings that they are computed with."""
    words: dict[str, list[str]] = defaultdict(list)
    for contestant in contestants:
        for sampling in contestant.samplings if contestant.kind == "structural" else ():
            words[sampling].append(contestant.word)
    return {sampling: tuple(some) for sampling, some in words.items()}


def _matchings(contestants: Sequence[Contestant]) -> tuple[str, ...]:
    return tuple(MATCHINGS[contestant.label] for contestant in contestants if contestant.kind == "functional")


def _part(name: str) -> type[Any]:
    """The part of a study of this name."""
    if name not in parts:
        raise ExperimentError(
            f"This needs the part [[{name}]] of a study, which is not installed here: leave out the tests and measures "
            "that need it. `seamripper list parts` shows the parts there are."
        )
    part: type[Any] = parts[name]
    return part
