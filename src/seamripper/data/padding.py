"""Padding: which tokens of a text count. Only this module decides that.

An `attention_mask` (n, tokens) among named inputs says it: a token counts where the mask is not 0. Two mechanisms
follow from it, and both are needed:

- `trim` cuts off the places that are padding in every sample. Each public call does so first, so networks compute
  the very same numbers whichever length the samples were padded to.
- `tokens_that_count` is the mask for what is left, as shorter samples still end in padding. By it padding makes no row
  of a measure, a matching or an audit, enters no average and no batch statistics, and is never drawn.

At a cut whose activations are tokens, as many as the mask has, the mask tells which of them count. A vector always
counts. Of other positions (frames of speech, patches, latent tokens) the mask cannot tell which are padding, so what
would make rows of them is refused: see `seamripper.activations.sampling.counting`. Where sender and receiver are shown
different texts, token i of one is paired with token i of the other, as far as both count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from seamripper.data.paired import Paired
from seamripper.data.samples import MASK, UNASKED, Inputs, Samples
from seamripper.errors import DataError

_POSITIONS = "position_ids"
_OTHER_TEXT = "decoder_"
"""Inputs so named are of another text, with a mask of its own, even where that has as many tokens."""


def tokens_that_count(inputs: Inputs) -> Tensor | None:
    """Which tokens of these inputs count, (n, tokens) of bool; None if all do, or if there is no mask.

    >>> tokens_that_count({"attention_mask": torch.tensor([[1, 1, 0], [1, 1, 1]])})
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    >>> tokens_that_count({"attention_mask": torch.ones(2, 3)}) is None, tokens_that_count(torch.zeros(2, 3)) is None
    (True, True)
    """
    mask = _mask(inputs)
    if mask is None:
        return None
    # One that is added to the attention, 0 and -10000 or -inf, would be read the wrong way round.
    if mask.dim() != 2 or bool((mask < 0).any()):
        raise DataError(
            f"Expected `{MASK}` to be 1 for a token that counts and 0 for padding, of shape (samples, tokens), but got "
            f"{tuple(mask.shape)} with values from {float(mask.min()):g} to {float(mask.max()):g}. The mask must say "
            "which tokens count: give one of that form, as tokenizers do."
        )
    counts = mask != 0
    return None if bool(counts.all()) else counts


def require_tokens(samples: Samples) -> Tensor | None:
    """What `tokens_that_count` gives for the samples; one of which no token counts is refused."""
    counts = tokens_that_count(samples.inputs)
    empty = None if counts is None else ~counts.any(1)
    if empty is not None and bool(empty.any()):
        first = int(empty.nonzero()[0])
        raise DataError(
            f"Sample {first} of {samples.name} (id {int(samples.ids[first])}) has no token that counts: its "
            f"`{MASK}` is 0 throughout. Drop such samples."
        )
    return counts


def padded_length(samples: Samples) -> int | None:
    """How many tokens the samples have, if some of them are padding; None if all count, or if there is no mask."""
    mask = tokens_that_count(samples.inputs)
    return None if mask is None else mask.shape[1]


def mask_length(samples: Samples) -> int | None:
    """How many tokens the samples' mask has, whether or not some of them are padding; None if there is no mask."""
    mask = _mask(samples.inputs)
    return None if mask is None else mask.shape[1]


def counting_labels(samples: Samples, labels: Tensor) -> Tensor:
    """Labels of tokens (n, tokens), with `UNASKED` at padding.

    Labels of another text than that of the mask, which a decoder is shown, have a mask of their own or none.

    >>> inputs = {"input_ids": torch.tensor([[5, 6, 0]]), "attention_mask": torch.tensor([[1, 1, 0]])}
    >>> tagged = Samples("tagged", inputs, torch.tensor([[2, 1, 2]]))
    >>> counting_labels(tagged, tagged.labels)
    tensor([[   2,    1, -100]])
    """
    inputs = samples.inputs
    if has_other_text(samples.inputs):
        assert isinstance(inputs, Mapping)
        other = inputs.get(f"{_OTHER_TEXT}{MASK}")
        counts = None if other is None else tokens_that_count({MASK: other})
    else:
        counts = tokens_that_count(inputs)
    if counts is None or counts.shape != labels.shape:
        return labels
    return torch.where(counts, labels, UNASKED)


def has_other_text(inputs: Inputs) -> bool:
    """Whether a decoder is shown a text of its own, at whose tokens it answers."""
    return isinstance(inputs, Mapping) and any(name.startswith(_OTHER_TEXT) for name in inputs)


def trim(samples: Samples) -> Samples:
    """The samples without the places that are padding in all of them; the very same samples if there are none.

    These are cut off behind the last token that counts in any sample. Before the first one they are cut off only if the
    samples have `position_ids`: without them a model would take the first place that is left for its position 0.

    >>> inputs = {"input_ids": torch.tensor([[5, 6, 0, 0], [7, 0, 0, 0]])}
    >>> inputs["attention_mask"] = (inputs["input_ids"] > 0).long()
    >>> trim(Samples("two", inputs, torch.tensor([0, 1]), torch.arange(2), classes=2)).inputs["input_ids"]
    tensor([[5, 6],
            [7, 0]])
    """
    return _keep(samples, _places(samples))


def trim_pair(pair: Paired) -> Paired:
    """Both sets without the places that are padding in all of their samples; sets of one length keep one length."""
    if pair.same:
        return Paired.of(trim(pair.receiver))
    own, theirs = _places(pair.receiver), _places(pair.sender)
    if own is not None and theirs is None and _as_long(pair.sender, len(own)):
        # What the sender is shown may have a value for each token, and no mask to cut it off by.
        return pair
    if own is not None and theirs is not None and len(own) == len(theirs):
        own = theirs = own | theirs
    return Paired(_keep(pair.sender, theirs), _keep(pair.receiver, own))


def _mask(inputs: Inputs) -> Tensor | None:
    return inputs.get(MASK) if isinstance(inputs, Mapping) else None


def _places(samples: Samples) -> Tensor | None:
    """Which places to keep, (tokens) of bool; None without a mask of two axes."""
    mask = _mask(samples.inputs)
    if mask is None or mask.dim() != 2:
        return None
    counts = require_tokens(samples)
    if counts is None:
        return mask.new_ones(mask.shape[1], dtype=torch.bool)
    used = counts.any(0)
    if _POSITIONS not in samples.inputs:
        used[: int(used.nonzero()[-1])] = True
    return used


def _as_long(samples: Samples, tokens: int) -> bool:
    values = [samples.inputs] if isinstance(samples.inputs, Tensor) else samples.inputs.values()
    return any(value.dim() > 1 and value.shape[1] == tokens for value in values)


def _keep(samples: Samples, used: Tensor | None) -> Samples:
    """The samples at these places of their tokens: all that has a value for each token of the mask."""
    mask = _mask(samples.inputs)
    if used is None or mask is None or bool(used.all()):
        return samples
    assert isinstance(samples.inputs, Mapping)
    first, last = (int(used.nonzero()[end]) for end in (0, -1))
    # Most often one stretch of places: a view of it, as a copy of a large corpus would take its memory again.
    kept = slice(first, last + 1) if bool(used[first : last + 1].all()) else used
    inputs: Inputs = {
        name: value[:, kept]
        if value.dim() in (2, 3) and value.shape[:2] == mask.shape and not name.startswith(_OTHER_TEXT)
        else value
        for name, value in samples.inputs.items()
    }
    labels = samples.labels
    if samples.per_token and labels.shape == mask.shape and not has_other_text(samples.inputs):
        labels = labels[:, kept]
    return replace(samples, inputs=inputs, labels=labels)
