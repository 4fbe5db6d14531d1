"""How long work tells of itself: the library calls, whoever is in front of a person draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """One moment of long work: `done` of `total` units of `task`, with figures to show (a loss, say).

    `left` are the seconds that the others will take, where more is known of them than how many there are.
    """

    task: str
    done: int
    total: int
    figures: dict[str, float] = field(default_factory=dict)
    left: float | None = None


Watcher = Callable[[Progress], None]


def nobody(_: Progress) -> None:
    """The watcher that looks away."""
