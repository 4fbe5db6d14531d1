"""StreamingScore: a measure's score of two representations that come in batches, in memory that does not grow.

`update`, `compute`, `merge_state` and `reset` are the protocol of torchmetrics, which is not needed for it;
`seamripper.comparing.streaming_metric` makes a real `torchmetrics.Metric` of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

import torch
from safetensors.torch import load as read_tensors, save as write_tensors
from torch import Tensor

from seamripper._devices import to_memory
from seamripper._doors import require
from seamripper._frames import Row
from seamripper._words import shape_text, word_list
from seamripper.activations.activations import first_bad
from seamripper.cards import WithMethods
from seamripper.comparing.forms import Batch
from seamripper.comparing.methods import measure_sentence, stream_method, stream_sentences
from seamripper.comparing.request import Rule
from seamripper.comparing.sources import Sources
from seamripper.comparing.sums import PassPlan, Sums
from seamripper.cut.place import LAYOUTS, Cut
from seamripper.errors import MeasureError
from seamripper.estimate import Estimate
from seamripper.measures.base import Measure, measures
from seamripper.measures.pair import FOLDS
from seamripper.measures.score import score

StreamSampling = Literal["positions", "pool"]
"""How maps and tokens become rows; flattened, they would have too many columns for moments."""
_RULE = {"folds": FOLDS, "keep": 0, "products": "float64"}
_EMPTY = torch.empty(0, dtype=torch.uint8)


class StreamingScore(WithMethods):
    """The score of one measure that is computed from moments (`seamripper list measures` says which are).

    Samples are dealt to folds in turn, as `score` does, and merging goes on where this one stands. So value and
    interval are those of one call over all samples, in whatever batches they come; only rounding differs, in float64.

    >>> x, y = torch.randn(2, 60, 4, generator=torch.Generator().manual_seed(0)).unbind()
    >>> first, second = StreamingScore("linear_cka"), StreamingScore("linear_cka")
    >>> first.update(x[:7], y[:7])
    >>> second.update(x[7:], y[7:])
    >>> first.merge_state(second)
    >>> print(first.compute(), first.n)
    0.094 [0.023, 0.165] 60
    """

    kind: ClassVar[str] = "stream"
    axes: ClassVar[tuple[str, ...]] = ("measure",)

    def __init__(
        self,
        measure: Measure | str,
        *,
        sampling: StreamSampling | None = None,
        interval: bool = True,
        sources: Sources | None = None,
    ) -> None:
        """`sampling` says how maps and tokens become rows; vectors are rows, and need none.

        `sources` say what the activations are of, for the methods card.
        """
        self.measure, self.sampling, self.interval = measures.make(measure), sampling, interval
        needs = self.measure.claims.needs
        if needs != "moments":
            raise MeasureError(
                f"{self.measure.label} is computed from {needs}, and only measures that are computed from moments can "
                "be added up batch by batch. Keep the activations, and use `score`."
            )
        if sampling is not None and sampling not in get_args(StreamSampling):
            raise MeasureError(
                f"Expected sampling to be {word_list(get_args(StreamSampling), last='or')}, but got {sampling!r}. "
                "Flattened maps have too many columns to be added up: for these, use `compare`."
            )
        require(interval, bool, "interval", error=MeasureError)
        if sources is not None:
            require(sources, Sources, "sources", error=MeasureError, advice="Sources(sender=…, receiver=…) makes one.")
        self.sources = {} if sources is None else sources.as_record()
        self._sums: Sums | None = None

    def __repr__(self) -> str:
        return f"StreamingScore({self.measure.label!r}, n = {self.n})"

    @property
    def n(self) -> int:
        """How many samples there have been."""
        return 0 if self._sums is None else self._sums.n

    @property
    def higher_is_better(self) -> bool:
        """Whether more is more alike."""
        return self.measure.claims.direction == "similarity"

    def update(self, x: Tensor, y: Tensor, mask: Tensor | None = None) -> None:
        """Take in the sender's activations `x` and the receiver's `y` on the same samples.

        Both are vectors (n, d), tokens (n, t, d) or maps (n, c, h, w). The `mask` (n, t) is 0 where a token does not
        count.
        """
        x, y = (_require_rows(values, name) for values, name in ((x, "x"), (y, "y")))
        if len(x) != len(y):
            raise MeasureError(f"Expected as many samples in x as in y, but got {len(x)} and {len(y)}.")
        mask = None if mask is None else _require_mask(mask, len(x))
        sums, ids = self._sums_for(x, y, mask), self.n + torch.arange(len(x))
        for start in range(min(FOLDS, len(x))):
            turn = slice(start, None, FOLDS)
            fold = int(ids[start]) % FOLDS
            sums.add(Batch([x[turn]], [y[turn]], ids[turn], fold, None if mask is None else mask[turn]))

    def compute(self) -> Estimate:
        """The score of all samples so far."""
        pair = self._known.pair("moments", 0, 0)
        return score(self.measure, pair, sampling=self._row_rule, interval=self.interval)

    def merge_state(self, other: StreamingScore) -> None:
        """Take in what another one has seen, as if its samples came after these; the other stays as it is."""
        require(other, StreamingScore, "other", error=MeasureError)
        if self.sources != other.sources:
            raise MeasureError(
                "Expected a score with the same sources, but they differ. Parts of one pass have the sources of the "
                "whole; scores of different networks or samples are not merged."
            )
        ours, theirs = ((s.measure.label, s.sampling) for s in (self, other))
        if ours != theirs:
            raise MeasureError(
                f"Expected a score of the same measure and sampling, {ours[0]!r} and {ours[1]!r}, but got "
                f"{theirs[0]!r} and {theirs[1]!r}."
            )
        self.merge_packed(other.packed())

    def reset(self) -> None:
        """Forget all samples."""
        self._sums = None

    # ---- how it was made

    def rows(self) -> list[Row]:
        """The score as the one row of a table."""
        return [{"measure": self.measure.label, "direction": self.measure.claims.direction, **self.compute().as_row()}]

    def method(self) -> dict[str, Any]:
        """All that decides the score, and what the activations were of as far as the sources say it."""
        data, n = self.sources.get("data"), self._known.n
        if data is not None and data["n"] != n:
            raise MeasureError(
                f"The sources name {data['n']:,} samples of {data['name']}, but the score has seen {n:,}: its card "
                "would not be true. Update it with each of them once, in their order, or name the samples that it has "
                "seen."
            )
        plan = self._known.plan
        return stream_method(
            self.sources,
            shapes=[list(form.cut.shape) for form in (*plan.senders, *plan.receivers)],
            n=n,
            sampling=self._row_rule,
            padded=plan.padded is not None,
            interval=self.interval,
        )

    def sentences(self) -> list[str]:
        """How the score was made."""
        return stream_sentences(self.method())

    def figure_sentences(self) -> dict[str, str]:
        """What the measure is."""
        return {self.measure.label: measure_sentence(self.measure.label, self.measure.claims.direction)}

    @property
    def _known(self) -> Sums:
        """The sums of what there was; an error if there was nothing."""
        if self._sums is None:
            raise MeasureError(f"{self.measure.label} has seen no samples yet: call `update` first.")
        return self._sums

    @property
    def _row_rule(self) -> str:
        """How the activations became rows."""
        plan = self._known.plan
        rows = all(form.cut.layout == "nd" for form in (*plan.senders, *plan.receivers))
        return "rows" if rows else str(self.sampling)

    # ---- as bytes

    def packed(self) -> Tensor:
        """All that was added up, as one tensor of bytes (safetensors): to be sent, or kept and taken up again."""
        if self._sums is None:
            return _EMPTY
        tensors, record = self._sums.as_tensors()
        plan = self._sums.plan
        shapes = [list(form.cut.shape) for form in (*plan.senders, *plan.receivers)]
        words = {"record": record, "shapes": shapes, "padded": plan.padded, "sampling": self.sampling}
        whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
        return torch.frombuffer(bytearray(write_tensors(whole, {"state": json.dumps(words)})), dtype=torch.uint8)

    def merge_packed(self, packed: Tensor) -> None:
        """Take in what `packed` gave, as if those samples came after these."""
        if packed.numel() == 0:
            return
        words, tensors = _unpack(packed)
        if words["sampling"] != self.sampling:
            raise MeasureError(f"Expected sums of the sampling {self.sampling!r}, but got {words['sampling']!r}.")
        sums = Sums.of_tensors(self._plan(*words["shapes"], padded=words["padded"]), tensors, words["record"])
        if self._sums is None:
            self._sums = sums
            return
        assert sums.moments is not None
        sums.moments.rotate_folds(self.n)
        self._sums.merge(sums)

    # ---- checks

    def _sums_for(self, x: Tensor, y: Tensor, mask: Tensor | None) -> Sums:
        """The sums that these belong to; made now, if they are the first."""
        shapes = [tuple(values.shape[1:]) for values in (x, y)]
        padded = None if mask is None else int(mask.shape[1])
        if self._sums is None:
            self._sums = Sums(self._plan(*shapes, padded=padded))
        plan = self._sums.plan
        known = [form.cut.shape for form in (*plan.senders, *plan.receivers)]
        if known != shapes:
            before, now = (" and ".join(shape_text(shape) for shape in sizes) for sizes in (known, shapes))
            raise MeasureError(f"Expected samples of {before}, as before, but got {now}. `reset` begins anew.")
        if padded != plan.padded:
            raise MeasureError(
                "Expected a mask of the same tokens in every update, or in none: where all tokens count, give ones."
            )
        return self._sums

    def _plan(self, x: Sequence[int], y: Sequence[int], *, padded: int | None) -> PassPlan:
        cuts = [Cut(name, tuple(shape), LAYOUTS[1 + len(shape)]) for name, shape in (("x", x), ("y", y))]
        if self.sampling is None and any(cut.layout != "nd" for cut in cuts):
            words = word_list(get_args(StreamSampling), last="or")
            raise MeasureError(f"These are maps or tokens: say how they become rows, with the sampling {words}.")
        rule: dict[str, Any] = {**_RULE, "sampling": self.sampling or "positions"}
        return PassPlan.of(cuts[:1], cuts[1:], [self.measure], Rule(**rule), padded=padded)


def _require_rows(values: Tensor, name: str) -> Tensor:
    require(values, Tensor, name, error=MeasureError, advice="torch.as_tensor(rows) makes one from an array.")
    if values.dim() not in LAYOUTS or not values.is_floating_point() or len(values) == 0:
        raise MeasureError(
            f"Expected {name} to be floats of shape (n, d), (n, t, d) or (n, c, h, w) with n ≥ 1, but got "
            f"{str(values.dtype).removeprefix('torch.')} of {tuple(values.shape)}."
        )
    values = to_memory(values.detach())
    bad = first_bad(values)
    if bad is not None:
        raise MeasureError(f"{name} holds NaN or Inf, first in sample {bad} of this update, counted from 0.")
    return values


def _require_mask(mask: Tensor, n: int) -> Tensor:
    """Which tokens count (n, tokens); refused, if it does not say that of each sample, or leaves nothing of one."""
    require(mask, Tensor, "mask", error=MeasureError)
    mask = to_memory(mask.detach())
    counts = mask != 0
    if mask.dim() != 2 or len(mask) != n or bool((mask < 0).any()) or not bool(counts.any(1).all()):
        raise MeasureError(
            f"Expected mask to be 1 for a token that counts and 0 for padding, of shape ({n}, tokens), with a token "
            f"that counts in each sample, but got a shape of {tuple(mask.shape)}, with values from "
            f"{float(mask.min()):g} to {float(mask.max()):g}."
        )
    return counts


def _unpack(packed: Tensor) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The words and the tensors of a packed state; whatever is wrong with it becomes a sentence."""
    try:
        data = to_memory(packed).numpy().tobytes()
        size = int.from_bytes(data[:8], "little")
        words = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["state"])
        return words, read_tensors(data)
    except Exception as e:
        raise MeasureError(f"Expected bytes that `packed` gave, but these could not be read: {e}") from e
