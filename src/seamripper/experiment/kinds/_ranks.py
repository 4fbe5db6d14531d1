"""Ranks beside a stitch: what the receiver's first layer behind the cut spans (Smith et al. 2025, B.2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from seamripper.experiment.kinds.base import Row, figure

if TYPE_CHECKING:
    from seamripper.data import Paired
    from seamripper.matching import Match

_SAMPLES, _THRESHOLD = 10_000, 1e-3
"""Smith's: of 10,000 test samples, singular values above 1e-3 of the largest count."""
_NAMES = ("rank", "rank_native")


def ranks_of(found: Match, test: Paired, *, native: bool = True) -> dict[str, Any]:
    """The numerical rank of what arrives by the stitch and, with `native`, of the receiver's own for these samples."""
    from seamripper.audits.rank_reading import RankReader

    reader = RankReader(_SAMPLES, _THRESHOLD)
    said = {"rank": vars(reader.stitched(found, test))}
    return {**said, "rank_native": vars(reader.native(found.receiver, test.receiver))} if native else said


def rank_rows(record: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of ranks that a record has.

    >>> [(row["figure"], row["value"]) for row in rank_rows({"rank": {"rank": 42, "effective": 9.5, "n": 2000}})]
    [('rank', 42.0), ('effective_rank', 9.5)]
    """
    for name in _NAMES:
        if name in record:
            one = record[name]
            yield {"figure": name, "value": float(one["rank"]), "n": one["n"]}
            yield from figure(f"effective_{name}", {"value": one["effective"], "interval": None, "n": one["n"]})
