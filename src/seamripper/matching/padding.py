"""Padding in a match: which tokens of a pair of samples count, and the stitches that cannot leave padding out."""

from __future__ import annotations

from torch import Tensor

from seamripper.activations.sampling import counting
from seamripper.cut.place import Cut
from seamripper.data.padding import tokens_that_count, trimmed
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import DataError, MatchError
from seamripper.matching.base import Problem
from seamripper.stitches.base import Layer, Stitch


def without_padding(samples: Samples, stitch: Stitch, layer: Layer, sender: Cut, receiver: Cut) -> Samples:
    """The samples, without the places that are padding in all of them (see `trimmed`).

    Samples with any padding at all are refused where the stitch would mix it with tokens that count.
    """
    if layer.with_padding == "refused":
        require_no_padding(stitch, sender, receiver, samples.inputs, samples.for_sender.inputs)
    return trimmed(samples)


def require_no_padding(stitch: Stitch, sender: Cut, receiver: Cut, *given: Inputs) -> None:
    """Refuse inputs with padding for a stitch that would mix it with tokens that count."""
    if sender.layout == receiver.layout == "nd" or all(tokens_that_count(inputs) is None for inputs in given):
        return
    other = "'affine'" if receiver.layout == "ntd" else "'pool_linear'"
    works = f"Use {other}, or give samples without padding."
    if sender.layout != "ntd" or receiver.layout == "nchw":
        works = "Choose cuts with one position for each token, or behind the pooling, or give samples without padding."
    raise MatchError(
        f"Some tokens of these samples are padding, and the stitch {stitch.name!r} from {sender} to {receiver} would "
        f"count them. {works}"
    )


def tokens_joined(sender: Cut, receiver: Cut, x: Tensor, inputs: Inputs, shown: Inputs) -> Tensor | None:
    """Which tokens of the sender's activations x (n, …) count in a match, (n, tokens); None if all of them do.

    Into a vector, those of what the sender is `shown`. Into tokens, those that are also counted of the `inputs` that
    the receiver is shown: token i is joined to token i.
    """
    theirs = counting(x, sender.layout, tokens_that_count(shown), repr(sender.name))
    if receiver.layout == "nd" or inputs is shown:
        return theirs
    own = tokens_that_count(inputs)
    if own is None:
        return theirs
    if sender.layout != "ntd" or x.shape[1] != own.shape[1]:
        raise DataError(
            f"The receiver is shown {own.shape[1]} tokens a sample, of which some are padding, and {sender.name!r} of "
            f"the sender has other positions ({tuple(x.shape[1:])} a sample), so token i of one is not joined to token "
            "i of the other. Show both the same tokens, or choose cuts behind the pooling."
        )
    return own if theirs is None else theirs & own


def tokens_paired(problem: Problem, x: Tensor, y: Tensor, inputs: Inputs, shown: Inputs) -> Tensor | None:
    """Which tokens of the sender's activations x, and so of the receiver's y, are compared; None if all of them are."""
    sender, receiver = problem.sender.cut, problem.receiver.cut
    counting(y, receiver.layout, tokens_that_count(inputs), repr(receiver.name))
    return tokens_joined(sender, receiver, x, inputs, shown)
