"""Targets: what counts as a right answer, for each sample or for each token of a text.

A model that answers with scores (n, classes) is asked once per sample, and the sample's label is right. One that
answers with scores (n, tokens, classes) is asked at every token. If the samples have a label for each token, that is
right: so a tagger is trained and used. Otherwise the next token of the text is right: so a causal language model is.
Targets have the shape of the questions, (n) or (n, tokens). Where no answer is asked for (at padding, at a token that
has no label, and, of next tokens, at the last of a text), the target is `UNASKED`.

Data for language models may have labels that repeat the tokens, as transformers has them, which shifts them inside its
models. They are not the answers at their places, so they too stand for the next token, where they are not -100. Labels
that were shifted already are the answers at their places. Either way nobody may see the next token.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from seamripper._words import shape_text
from seamripper.data.padding import counting_labels, has_other_text, tokens_that_count
from seamripper.data.samples import UNASKED, Inputs, Samples
from seamripper.errors import DataError

_FEW = 8
"""Samples on which a model is seen to look at later tokens, or not to."""
_ROUNDING = 1e-4


def targets_for(answer: Tensor, samples: Samples, labels: Tensor | None = None) -> Tensor:
    """The targets of a model that gives such an `answer` to some of the samples: labels, of tokens too, or next tokens.

    `labels` are used in place of the samples' own, if given. A target that the model has no score for is refused.

    >>> text = Samples("text", torch.tensor([[7, 5, 6]]), torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> targets_for(torch.zeros(1, 2), text), targets_for(torch.zeros(1, 3, 8), text)
    (tensor([0]), tensor([[   5,    6, -100]]))
    >>> tags = Samples("tags", torch.tensor([[7, 5, 6]]), torch.tensor([[0, 1, -100]]))
    >>> targets_for(torch.zeros(1, 3, 2), tags)
    tensor([[   0,    1, -100]])
    """
    if samples.per_token and not asks_next_token(answer, samples):
        return _token_labels(answer, samples, labels)
    if answer.dim() == 3 and _has_tokens(samples.inputs, answer.shape[1]):
        targets = next_tokens(samples)
        _require_scores(targets, answer, f"tokens of {samples.name}")
        return targets
    if labels is None and answer.dim() == 2:
        samples.require_labels("an accuracy")
    right = samples.labels if labels is None else labels
    require_classes(right, answer, samples.name)
    return right


def asks_next_token(answer: Tensor, samples: Samples) -> bool:
    """Whether a model that gives such an `answer` at every token is asked for the next one, and not for a label.

    >>> text = Samples("text", torch.tensor([[7, 5, 6]]), torch.tensor([[-100, 5, 6]]))
    >>> asks_next_token(torch.zeros(1, 3, 8), text), asks_next_token(torch.zeros(1, 3, 6), text)
    (True, False)
    """
    if answer.dim() != 3 or not _has_tokens(samples.inputs, answer.shape[1]):
        return False
    if not samples.per_token:
        return True
    ids, given = token_ids(samples.inputs), samples.labels != UNASKED
    if ids is None or ids.shape != samples.labels.shape or not bool(given.any()):
        return False
    return bool((samples.labels == ids)[given].all()) and int(ids.max()) < answer.shape[2]


def predicts_next_token(answer: Tensor, samples: Samples) -> bool:
    """Whether the next token is what is right: it is asked for, or given as the label of each token.

    A model that sees it need predict nothing, so here sender and receiver must be causal.

    >>> text = Samples("text", torch.tensor([[7, 5, 6]]), torch.tensor([[5, 6, 3]]))
    >>> predicts_next_token(torch.zeros(1, 3, 8), text), asks_next_token(torch.zeros(1, 3, 8), text)
    (True, False)
    """
    if asks_next_token(answer, samples) or not samples.per_token or answer.dim() != 3:
        return asks_next_token(answer, samples)
    ids = None if has_other_text(samples.inputs) else token_ids(samples.inputs)
    if ids is None or ids.shape != samples.labels.shape:
        return False
    labels, counts = counting_labels(samples, samples.labels), tokens_that_count(samples.inputs)
    # What follows the last token of a text is not among its tokens.
    given = labels[:, :-1] != UNASKED if counts is None else (labels[:, :-1] != UNASKED) & counts[:, 1:]
    return bool(given.any()) and bool((labels[:, :-1] == ids[:, 1:])[given].all())


def _token_labels(answer: Tensor, samples: Samples, labels: Tensor | None) -> Tensor:
    """The labels of tokens that count; refused of a model that does not answer at each of these."""
    right = samples.labels if labels is None else labels
    if answer.dim() != 3 or answer.shape[1] != right.shape[1]:
        raise DataError(
            f"{samples.name} has labels for each of {right.shape[1]} tokens, but the receiver's answer to a sample has "
            f"the shape {shape_text(answer.shape[1:])}, and not scores for each of these tokens. Give data with one "
            "label per sample, or a receiver that answers at each token."
        )
    targets = counting_labels(samples, right)
    _require_scores(targets, answer, f"labels of {samples.name}")
    return targets


def require_classes(labels: Tensor, answer: Tensor, name: str) -> None:
    """Refuse labels that the receiver has no class for, and a receiver that does not answer once per sample."""
    if labels.dim() == 2:
        raise DataError(f"{name} has a label for each token, and here one for each sample is needed.")
    if answer.dim() != 2:
        raise DataError(
            f"Expected the receiver to answer with a score for each class, but its answer has shape "
            f"{tuple(answer.shape[1:])} per sample, and not at each token of a text, so there is no accuracy. 'direct' "
            "and 'regression' match without labels. A network that answers at places of an image is scored there if it "
            "answers (n, places, classes), with labels (n, places)."
        )
    _require_scores(labels, answer, f"labels of {name}")


def _require_scores(targets: Tensor, answer: Tensor, what: str) -> None:
    asked = targets[targets != UNASKED]
    if len(asked) == 0:
        return
    if int(asked.max()) >= answer.shape[-1] or int(asked.min()) < 0:
        raise DataError(
            f"The {what} go from {int(asked.min())} to {int(asked.max())}, but the receiver has {answer.shape[-1]} "
            f"classes (0 … {answer.shape[-1] - 1}). Give a label_map, or other data."
        )


def next_tokens(samples: Samples) -> Tensor:
    """The token that follows each token (n, tokens), where both count; elsewhere `UNASKED`."""
    ids = token_ids(samples.inputs)
    assert ids is not None
    counts = tokens_that_count(samples.inputs)
    counts = torch.ones_like(ids, dtype=torch.bool) if counts is None else counts
    targets = torch.full_like(ids, UNASKED, dtype=torch.int64)
    asked = counts[:, :-1] & counts[:, 1:]
    if samples.per_token:
        asked &= samples.labels[:, 1:] != UNASKED
    targets[:, :-1] = torch.where(asked, ids[:, 1:], UNASKED)
    if not bool((targets != UNASKED).any()):
        raise DataError(f"No text of {samples.name} has two tokens, so none has a next token to be predicted.")
    return targets


def token_ids(inputs: Inputs) -> Tensor | None:
    """The token ids (n, tokens) among these inputs; None if they are no texts."""
    ids = inputs if isinstance(inputs, Tensor) else inputs.get("input_ids")
    if ids is not None and ids.dtype == torch.uint8 and not isinstance(inputs, Tensor):
        # A small vocabulary kept in bytes. One tensor of bytes alone is pixels.
        ids = ids.long()
    return ids if ids is not None and ids.dim() == 2 and ids.dtype in (torch.int32, torch.int64) else None


def _has_tokens(inputs: Inputs, n: int) -> bool:
    ids = None if has_other_text(inputs) else token_ids(inputs)
    return ids is not None and ids.shape[1] == n


def looks_ahead(run: Callable[[Inputs], Tensor], samples: Samples) -> bool:
    """Whether what `run` gives at a token depends on later tokens; if it gives nothing token by token, on any.

    A causal language model does not look ahead. One that does sees the next token, which it is to predict.
    """
    few = samples.batch(slice(0, _FEW))
    ids = token_ids(few)
    assert ids is not None
    counts = tokens_that_count(few)
    counts = torch.ones_like(ids, dtype=torch.bool) if counts is None else counts
    last = ids.shape[1] - 1 - counts.flip(1).int().argmax(1)
    rows = torch.arange(len(ids), device=ids.device)
    changed = ids.clone()
    # Any other token of these texts: of the whole vocabulary nothing is known here.
    others = ids.unique()  # type: ignore[no-untyped-call]
    changed[rows, last] = others[(torch.searchsorted(others, ids[rows, last]) + 1) % len(others)]
    with torch.no_grad():
        before, after = run(few), run(changed if isinstance(few, Tensor) else {**few, "input_ids": changed})
    if before.dim() == 3 and before.shape[1] == ids.shape[1]:
        earlier = (torch.arange(ids.shape[1], device=ids.device) < last[:, None]) & counts
        before, after = before[earlier], after[earlier]
    return bool((before - after).abs().max() > _ROUNDING * before.abs().max()) if before.numel() else False


def require_causal(run: Callable[[Inputs], Tensor], samples: Samples, source: str) -> None:
    """Refuse a language model that sees the next token, which it is to predict."""
    if looks_ahead(run, samples):
        raise DataError(
            f"{source} answers at every token, and its answers depend on later tokens: it is no causal language model, "
            "so the next token is not what it is asked for, and there is no accuracy. 'direct' and 'regression' match "
            "without labels; to score it, give it a head that answers once per text, or a label for each token that is "
            "not the token itself."
        )


def last_asked(answers: Tensor, inputs: Inputs) -> Tensor:
    """One answer per text, (n, vocabulary): the one that is asked for its last token, and that all others may change.

    What answers once per sample already is returned as it is.

    >>> answers = torch.arange(8.0).reshape(1, 4, 2)
    >>> last_asked(answers, {"input_ids": torch.tensor([[7, 5, 6, 0]]), "attention_mask": torch.tensor([[1, 1, 1, 0]])})
    tensor([[2., 3.]])
    """
    if answers.dim() == 2:
        return answers
    counts = tokens_that_count(inputs)
    if counts is None:
        return answers[:, max(0, answers.shape[1] - 2)]
    last = counts.shape[1] - 1 - counts.flip(1).int().argmax(1)
    return answers[torch.arange(len(answers), device=answers.device), (last - 1).clamp(min=0)]


def rows_asked(answers: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Answers and targets, one row for each answer that is asked for: (rows, classes) and (rows).

    >>> rows_asked(torch.zeros(1, 3, 8), torch.tensor([[5, 6, UNASKED]]))[1]
    tensor([5, 6])
    """
    if targets.dim() == 1:
        return answers, targets
    asked = targets != UNASKED
    return answers[asked], targets[asked]
