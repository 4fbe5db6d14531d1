"""Padding in a match: which tokens of a pair of samples count, and the stitches that cannot leave padding out."""

from __future__ import annotations

from torch import Tensor

from seamripper._devices import move
from seamripper.activations.sampling import counting
from seamripper.cut.place import Cut
from seamripper.data.padding import tokens_that_count, trim_pair
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs
from seamripper.errors import DataError, MatchError
from seamripper.matching.base import Problem
from seamripper.stitches.base import Layer, Stitch


def without_padding(pair: Paired, stitch: Stitch, layer: Layer, sender: Cut, receiver: Cut) -> Paired:
    """The samples, without the places that are padding in all of them (see `trim_pair`).

    Samples with any padding at all are refused where the stitch would mix it with tokens that count.
    """
    require_no_padding(stitch, layer, sender, receiver, pair.sender.inputs, pair.receiver.inputs)
    return trim_pair(pair)


def require_no_padding(stitch: Stitch, layer: Layer, sender: Cut, receiver: Cut, *given: Inputs) -> None:
    """Refuse inputs with padding for a stitch that would mix it with tokens that count."""
    if layer.with_padding != "refused" or sender.layout == receiver.layout == "nd":
        return
    if all(tokens_that_count(inputs) is None for inputs in given):
        return
    other = "'affine'" if receiver.layout == "ntd" else "'pool_linear'"
    works = f"Use {other}, or give samples without padding."
    if sender.layout != "ntd" or receiver.layout == "nchw":
        works = "Choose cuts with one position for each token, or behind the pooling, or give samples without padding."
    raise MatchError(
        f"Some tokens of these samples are padding, and the stitch {stitch.name!r} from {sender} to {receiver} would "
        f"count them. {works}"
    )


def tokens_carried(sender: Cut, receiver: Cut, x: Tensor, inputs: tuple[Inputs, Inputs]) -> Tensor | None:
    """Which tokens of the sender's activations x (n, …) count in a match, (n, tokens); None if all of them do.

    `inputs` are the sender's and the receiver's. Into a vector, those tokens count that count for the sender. Into
    tokens, they must count for the receiver as well: token i is joined to token i.
    """
    given, wanted = inputs
    theirs = counting(x, sender.layout, tokens_that_count(given), repr(sender.name))
    if receiver.layout == "nd" or given is wanted:
        return theirs
    own = tokens_that_count(wanted)
    if own is None:
        return theirs
    if sender.layout != "ntd" or x.shape[1] != own.shape[1]:
        raise DataError(
            f"The receiver is shown {own.shape[1]} tokens per sample, some of them padding, and {sender.name!r} of the "
            f"sender has other positions ({tuple(x.shape[1:])} per sample), so token i of one is not joined to token i "
            "of the other. Show both the same tokens, or choose cuts behind the pooling."
        )
    return own if theirs is None else move(theirs, own.device) & own


def mask_for(layer: Layer, sender: Cut, receiver: Cut, x: Tensor, inputs: tuple[Inputs, Inputs]) -> Tensor | None:
    """What `tokens_carried` gives, for a layer that has to be told; None for any other."""
    return tokens_carried(sender, receiver, x, inputs) if layer.with_padding == "masked" else None


def tokens_compared(problem: Problem, x: Tensor, y: Tensor, inputs: tuple[Inputs, Inputs]) -> Tensor | None:
    """Which tokens of the sender's activations x, and so of the receiver's y, are compared; None if all of them are."""
    sender, receiver = problem.sender.cut, problem.receiver.cut
    counting(y, receiver.layout, tokens_that_count(inputs[1]), repr(receiver.name))
    return tokens_carried(sender, receiver, x, inputs)
