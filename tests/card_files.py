"""What the tests of methods cards share: two networks, samples, and a number made again from a card on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import seamripper as sr
from seamripper.cards import Card
from seamripper.remaking import remake

NETS = ("zoo:lenet?channels=3&seed=0", "zoo:lenet?channels=3&seed=1")


def digits(split: str = "test", n: int = 80) -> sr.Samples:
    return sr.load_data("digits/digit", split, n=n, seed=3)


def again(card: Card, folder: Path, **given: Any) -> Any:
    """The number of a card that has been to a file and back, so that nothing but JSON is left of it."""
    card.save(folder / "card.json")
    return remake(Card.load(folder / "card.json"), **given)
