"""Reading ranks: what the receiver's first layer behind the cut spans, for its own activations and stitched ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.activations.collect import require_finite
from seamripper.activations.sampling import rows_of
from seamripper.audits._rank_layer import first_layer
from seamripper.audits._rank_side import side_of
from seamripper.cut.on_data import views_of
from seamripper.cut.place import Layout
from seamripper.cut.split import Split
from seamripper.data.padding import padded_length, tokens_that_count
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import MeasureError
from seamripper.matching.match import Match
from seamripper.measures.effective_rank import effective_rank
from seamripper.measures.numerical_rank import numerical_rank

_BATCH = 256
_NUMBERS = 2**27
"""How many of a layer's outputs are kept at once (0.5 GB in float32): 2048 samples of 64 maps of 32 × 32."""


@dataclass(frozen=True)
class Ranks:
    """What a layer's outputs span: numerical and effective rank, of n samples in so many columns.

    `layer` is None where the tail has no layer, and the activations at the cut were taken themselves. `unit` is what
    there are n of: samples, or tokens.
    """

    rank: int
    effective: float
    n: int
    columns: int
    layer: str | None
    unit: str = "samples"

    @property
    def full(self) -> bool:
        """Whether n centred rows could not have had a higher rank: then it tells of the samples."""
        return self.rank >= self.n - 1


@dataclass(frozen=True)
class Reader:
    """Reads ranks on at most n samples, with one threshold."""

    n: int
    threshold: float

    def native(self, receiver: Split, samples: Samples) -> Ranks:
        """Of the receiver's own activations."""
        view = self._some(receiver, Paired.of(receiver.model.present(samples))).receiver
        return self._read(receiver, ((receiver.head(inputs), inputs) for inputs, _ in view.batches(_BATCH)), view)

    def stitched(self, match: Match, samples: Samples | Paired) -> Ranks:
        """Of what the stitch makes of the sender's activations."""
        views = self._some(match.receiver, views_of(samples, match.sender, match.receiver))
        sent = ((match.stitched(inputs, given), inputs) for given, inputs in views.batches(_BATCH))
        return self._read(match.receiver, sent, views.receiver)

    def _some(self, receiver: Split, samples: Paired) -> Paired:
        """So many of the samples that the layer's outputs can be kept; always the same ones."""
        few = samples.receiver.batch(slice(0, 2))
        with torch.no_grad():
            _, output = first_layer(receiver, receiver.head(few), receiver.beside(few))
        return samples.draw(max(3, min(self.n, _NUMBERS // output[0].numel())))

    def _read(self, receiver: Split, batches: Iterable[tuple[Tensor, Inputs]], samples: Samples) -> Ranks:
        layer, parts = None, []
        tokens = padded_length(samples) is not None
        with torch.no_grad():
            for number, (activations, inputs) in enumerate(batches):
                layer, output = first_layer(receiver, activations, receiver.beside(inputs))
                require_finite(output, layer or receiver.cut.name, samples.ids[number * _BATCH :])
                parts.append(_as_rows(output, inputs) if tokens else output.flatten(1))
                tokens = tokens and output.dim() > 2
        return self.of(torch.cat(parts), layer, unit="tokens" if tokens else "samples")

    def of(self, rows: Tensor, layer: str | None = None, *, unit: str = "samples") -> Ranks:
        """The ranks of these rows.

        >>> x = torch.tensor([[9.0, 1.0], [9.0, -1.0], [-9.0, 1.0], [-9.0, -1.0]])
        >>> found = Reader(n=4, threshold=1e-3).of(x), Reader(n=4, threshold=0.1).of(x)
        >>> [(ranks.rank, round(ranks.effective, 3)) for ranks in found]
        [(2, 1.384), (1, 1.384)]
        """
        side = side_of(rows)
        try:
            effective = effective_rank(side)
        except MeasureError:
            # Constant rows: they have no direction at all.
            effective = math.nan
        rank = numerical_rank(side, threshold=self.threshold)
        return Ranks(rank, effective, len(rows), rows.shape[1], layer, unit)


def _as_rows(output: Tensor, inputs: Inputs) -> Tensor:
    """A layer's outputs for texts of which some tokens are padding: a row for each token that counts, or a vector."""
    layouts: dict[int, Layout] = {2: "nd", 3: "ntd"}
    return rows_of(output, layouts.get(output.dim(), "nchw"), "positions", tokens_that_count(inputs))
