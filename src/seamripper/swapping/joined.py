"""JoinedNetwork: the new model's front, the stitch and the old model's back as one module with a forward of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from seamripper._words import word_list
from seamripper.cut import Split, split
from seamripper.cut.halves import context_of
from seamripper.data.samples import MASK, Inputs
from seamripper.errors import CutError, MatchError
from seamripper.matching import Match

if TYPE_CHECKING:
    from seamripper.models import Model


class JoinedNetwork(nn.Module):
    """A stitched network that needs nothing of seamripper to run: old tail ∘ stitch ∘ new head.

    It takes what the new model takes, as the new model wants it: one tensor, or several by position or by name.
    `JoinedNetwork.of` makes one of a match, `JoinedNetwork.load` one of a file that `Match.save` wrote.

    >>> from seamripper.data import Samples
    >>> from seamripper.matching import match
    >>> toy = Samples("toy", torch.eye(4), torch.arange(4) % 2, torch.arange(4), classes=2)
    >>> old, new = (nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)) for _ in range(2))
    >>> halves = [split(net, "1", torch.zeros(1, 4)) for net in (new, old)]
    >>> found = match(*halves, toy, matching="direct")
    >>> torch.equal(JoinedNetwork.of(found)(toy.inputs), found(toy.inputs))
    True
    """

    def __init__(self, sender: Split, receiver: Split, stitch: nn.Module) -> None:
        super().__init__()
        self.head, self.stitch, self.tail = sender.head, stitch, receiver.tail
        self.names: tuple[str, ...] = () if isinstance(sender.example, Tensor) else tuple(sender.example)
        """What its inputs are called, in the order in which they may be given; empty if there is only one."""
        self.ways = {"new": sender.way, "old": receiver.way}
        """How each half was cut out of its model."""
        self._beside = receiver.context
        # Only a stitch that pools has to know which tokens are padding; one that maps each token leaves them padding.
        self._masked = sender.cut.layout == "ntd" and getattr(stitch, "with_padding", "") == "masked"
        self.eval()

    @classmethod
    def of(cls, match: Match) -> JoinedNetwork:
        """The network of a match.

        Halves that run under hooks drag their whole model along; where they can be cut out by an export, they are.
        """
        joined = cls(_cut_out(match.sender), _cut_out(match.receiver), match.layer)
        with torch.no_grad():
            expected, got = match.answer(match.sender.example), joined.run(match.sender.example)
        if not torch.allclose(expected, got, rtol=1e-4, atol=1e-5 * float(expected.abs().max())):
            raise MatchError(
                f"The joined network of {match.sender.model.source} and {match.receiver.model.source} does not give "
                "the answers of the match. Please report this with the two models."
            )
        return joined

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        old: nn.Module | Model | str | None = None,
        new: nn.Module | Model | str | None = None,
    ) -> JoinedNetwork:
        """Read it from a file; models that the file cannot name are given here, with any weights (see `Match.load`)."""
        return cls.of(Match.load(path, sender=new, receiver=old))

    def forward(self, *given: Tensor, **named: Tensor) -> Tensor:
        """The answer of the old model's back to what the new model's front makes of these inputs."""
        inputs = self._inputs(given, named)
        mask = inputs[MASK] != 0 if self._masked and not isinstance(inputs, Tensor) and MASK in inputs else None
        carried = self.stitch.carry(self.head(inputs), mask)  # type: ignore[operator]
        answer: Tensor = self.tail(carried, context_of(inputs, self._beside))
        return answer

    def _inputs(self, given: tuple[Tensor, ...], named: dict[str, Tensor]) -> Inputs:
        """The inputs by name, or the only one; an error says what it takes."""
        if not self.names and len(given) == 1 and not named:
            return given[0]
        both = {**dict(zip(self.names, given, strict=False)), **named}
        if not both or len(both) < len(given) + len(named) or not set(both) <= set(self.names):
            takes = f"{word_list(self.names)}, by position or by name" if self.names else "one tensor"
            raise TypeError(f"Expected {takes}, but got {len(given)} by position and {list(named)} by name.")
        return both

    def run(self, inputs: Inputs) -> Tensor:
        """The answer to inputs as samples have them."""
        answer: Tensor = self(*self.arguments(inputs))
        return answer

    def arguments(self, inputs: Inputs) -> tuple[Tensor, ...]:
        """Inputs as samples have them, in the order of `forward`."""
        return (inputs,) if isinstance(inputs, Tensor) else tuple(inputs[name] for name in self.names)


def _cut_out(half: Split) -> Split:
    """The same half as a graph of its own; as it is, if no export gives one."""
    if half.way != "hooks":
        return half
    try:
        return split(half.model, half.cut.name, half.example, way="export")
    except CutError:
        return half
