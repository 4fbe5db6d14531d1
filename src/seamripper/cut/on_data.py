"""Halves and real data: samples as each model wants them, and the proof that the halves make the model."""

from __future__ import annotations

import torch
from torch import Tensor

from seamripper.cut.flow import first_line
from seamripper.cut.frozen import seal
from seamripper.cut.split import FAILURES, Split
from seamripper.data.paired import Paired
from seamripper.data.samples import VIEW, Samples
from seamripper.errors import CutError, DataError, FrozenError

_ROUNDING = 100
"""How many times the precision of its numbers an answer may be off: larger batches may be added up in another order."""
_ROUNDING_OF_HALVES = 8
"""The same in half precision, where sums are rounded once: of bfloat16, 100 times would be most of the answer.

ResNet, EfficientNet, ViT and BERT, of 12 to 50 layers, are within 3.4 times of what their weights answer in float32.
"""


def views_of(samples: Samples | Paired, sender: Split, receiver: Split) -> Paired:
    """The samples as the sender and as the receiver wants them."""
    pair = Paired.of(samples)
    made_by = [half.model.wants.tokenizer for half in (sender, receiver) if half.model.wants is not None]
    if pair.same and len(set(filter(None, made_by))) > 1:
        raise DataError(
            f"The sender wants {sender.model.wants} and the receiver {receiver.model.wants}: the same ids stand for "
            "different words. Give each its own samples: Paired(sender=…, receiver=…)."
        )
    views = Paired(sender.model.present(pair.sender), receiver.model.present(pair.receiver))
    alike = all(getattr(views.sender, name) == getattr(views.receiver, name) for name in VIEW)
    return Paired.of(views.receiver) if pair.same and alike else views


def prove_pair(samples: Samples | Paired, sender: Split, receiver: Split, *, batch: int) -> Paired:
    """What `views_of` gives, once the halves of both models are proved on it; large inputs make smaller batches."""
    views = views_of(samples, sender, receiver)
    batch = views.fitting(batch)
    prove_halves(sender, views.sender, role="sender", batch=batch)
    prove_halves(receiver, views.receiver, role="receiver", batch=batch)
    return views


def prove_halves(half: Split, samples: Samples, *, role: str, batch: int, activations: Tensor | None = None) -> None:
    """Refuse halves that do not make the model on the first batch of these samples.

    `split` proves itself on a few inputs made from its example. A path that depends on the size of the batch, or on
    values that the example has not, shows on real data alone. For the same samples it is done once, and not for samples
    whose activations are known from before: they were proved then. `activations` are what the head shows of the first
    batch, where that is known.
    """
    key = samples.fingerprint, batch
    if not half.head.computes or key in half.proved:
        return
    inputs = samples.batch(slice(0, batch))
    if half.proved and half.head.knows(inputs):
        return
    try:
        with torch.no_grad(), seal({role: half.model.module}):
            answer = half.answer(inputs)
            passing = half.head(inputs) if activations is None else activations[:batch]
            joined = half.tail(passing, half.beside(inputs))
    except FrozenError:
        raise
    except FAILURES as e:
        raise _not_whole(half, samples, role, f"could not be run on them ({first_line(e)})") from e
    if not close(answer, joined):
        raise _not_whole(half, samples, role, f"give other answers than the model, by up to {_gap(answer, joined):.1e}")
    half.proved.add(key)


def close(expected: Tensor, got: Tensor) -> bool:
    """Whether two answers are equal but for rounding; what is not finite must be so in both."""
    if torch.equal(expected, got):
        return True
    largest = float(expected.nan_to_num(0.0, 0.0, 0.0).abs().max())
    return _gap(expected, got) <= _rounding(expected.dtype) * largest


def _rounding(dtype: torch.dtype) -> float:
    """The share of the largest number that an answer may be off by."""
    if not dtype.is_floating_point:
        return 0.0
    return torch.finfo(dtype).eps * (_ROUNDING if torch.finfo(dtype).bits > 16 else _ROUNDING_OF_HALVES)


def _gap(expected: Tensor, got: Tensor) -> float:
    if expected.shape != got.shape or not torch.equal(expected.isfinite(), got.isfinite()):
        return float("inf")
    # Whoever looks at the activations will say which sample and layer the NaN comes from.
    return float((expected - got).nan_to_num(0.0, 0.0, 0.0).abs().max())


def _not_whole(half: Split, samples: Samples, role: str, what: str) -> CutError:
    return CutError(
        f"On the first samples of {samples.name} the halves of the {role} ({half.model.source}, cut at "
        f"{half.cut.name!r}) {what}. They did make the model on inputs like its example, so its answer depends on the "
        "values of the inputs, on the size of the batch, or on what it was shown before. Cut it with an example from "
        "this data, split(model, cut, samples.batch(slice(0, 256)), way='hooks'), or cut it elsewhere."
    )
