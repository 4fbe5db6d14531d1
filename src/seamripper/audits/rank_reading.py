"""Ranks at the receiver's first layer behind the cut: of stitched activations, and of the receiver's own."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._devices import to_memory
from seamripper.activations.collect import require_finite
from seamripper.activations.sampling import rows_of
from seamripper.cut.halves import Context
from seamripper.cut.on_data import views_of
from seamripper.cut.place import Layout
from seamripper.cut.split import Split
from seamripper.cut.values import tensors_in
from seamripper.data.padding import padded_length, tokens_that_count
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import CutError, MeasureError
from seamripper.matching.match import Match
from seamripper.measures.effective_rank import effective_rank
from seamripper.measures.numerical_rank import numerical_rank
from seamripper.measures.pair import FoldMoments, Side, grain_of

_BATCH = 256
_NUMBERS = 2**27
"""How many numbers of a layer's output are kept (0.5 GB in float32): 2048 samples of 64 maps of 32 × 32."""


@dataclass(frozen=True)
class Ranks:
    """Numerical and effective rank of a layer's outputs, from n rows with so many columns.

    `layer` is None where the tail has no layer: then the rank is that of the activations at the cut. `unit` says what a
    row is: samples, or tokens.
    """

    rank: int
    effective: float
    n: int
    columns: int
    layer: str | None
    unit: str = "samples"

    @property
    def full(self) -> bool:
        """Whether n centred rows cannot have a higher rank: then it says how many rows there are, and nothing else."""
        return self.rank >= self.n - 1


@dataclass(frozen=True)
class RankReader:
    """Computes ranks from at most n samples, with one threshold."""

    n: int
    threshold: float

    def native_ranks(self, receiver: Split, samples: Samples) -> Ranks:
        """The ranks of the receiver's own activations."""
        view = self._draw(receiver, Paired.of(receiver.model.present(samples))).receiver
        return self._read(receiver, ((receiver.head(inputs), inputs) for inputs, _ in view.batches(_BATCH)), view)

    def stitched_ranks(self, match: Match, samples: Samples | Paired) -> Ranks:
        """The ranks of the stitched activations."""
        views = self._draw(match.receiver, views_of(samples, match.sender, match.receiver))
        sent = ((match.activations(inputs, given), inputs) for given, inputs in views.batches(_BATCH))
        return self._read(match.receiver, sent, views.receiver)

    def _draw(self, receiver: Split, samples: Paired) -> Paired:
        """As many of the samples as the layer's outputs can be kept for; always the same ones."""
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
                parts.append(to_memory(_token_rows(output, inputs) if tokens else output.flatten(1)))
                tokens = tokens and output.dim() > 2
        return self.of(torch.cat(parts), layer, unit="tokens" if tokens else "samples")

    def of(self, rows: Tensor, layer: str | None = None, *, unit: str = "samples") -> Ranks:
        """The ranks of these rows.

        >>> x = torch.tensor([[9.0, 1.0], [9.0, -1.0], [-9.0, 1.0], [-9.0, -1.0]])
        >>> RankReader(n=4, threshold=1e-3).of(x).rank, RankReader(n=4, threshold=0.1).of(x).rank
        (2, 1)
        """
        side = side_of(rows)
        try:
            effective = effective_rank(side)
        except MeasureError:
            # Constant rows: they have no direction at all.
            effective = math.nan
        rank = numerical_rank(side, threshold=self.threshold)
        return Ranks(rank, effective, len(rows), rows.shape[1], layer, unit)


def _token_rows(output: Tensor, inputs: Inputs) -> Tensor:
    """A layer's outputs for padded texts: one row per token that is not padding, or per text if it is a vector."""
    layouts: dict[int, Layout] = {2: "nd", 3: "ntd"}
    return rows_of(output, layouts.get(output.dim(), "nchw"), "positions", tokens_that_count(inputs))


_NORMS = (nn.LayerNorm, nn.RMSNorm)
"""Their weights may have several axes, but they are not maps."""


class _Reached(BaseException):
    """Carries the layer's output out and ends the run. Not an Exception, or a model's own `except` could catch it."""

    def __init__(self, output: Tensor) -> None:
        self.output = output


def first_layer(split: Split, activations: Tensor, context: Context | None = None) -> tuple[str | None, Tensor]:
    """The name of the first layer of the tail that the activations reach, and its output for them.

    A layer is a module with a matrix of weights: a convolution, a linear map. A tail by hooks is the whole model with
    its front stubbed, and constants may pass through layers of their own; so only a layer counts whose input depends on
    the activations, which autograd knows. If several are given the same tensor (the first convolution of a block and
    that of its shortcut), the first in the model's own order counts, whichever is called first. Without any such layer
    the name is None, and the activations are returned unchanged.

    >>> from seamripper.cut import split
    >>> net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> name, output = first_layer(split(net, "0", torch.zeros(2, 4)), torch.ones(5, 3))
    >>> name, tuple(output.shape)
    ('2', (5, 2))
    """
    few = {key: value[:2] for key, value in (context or {}).items()}
    calls: list[tuple[nn.Module, Tensor]] = []
    with _hooks(_layers(split.tail), lambda layer, given, output: calls.append((layer, given))):
        _run(split, activations[:2], few)
    if not calls:
        return None, activations
    names = {id(module): name for name, module in split.model.module.named_modules()}
    rank = {key: place for place, key in enumerate(names)}
    together = [layer for layer, given in calls if given is calls[0][1]]
    first = min(together, key=lambda layer: rank.get(id(layer), len(rank)))
    return names.get(id(first), type(first).__name__), _output(split, first, activations, context)


def _output(split: Split, layer: nn.Module, activations: Tensor, context: Context | None) -> Tensor:
    """The output of the layer; the run of the tail ends there."""

    def stop(_: nn.Module, given: Tensor, output: Tensor) -> None:
        raise _Reached(output)

    try:
        with _hooks([layer], stop):
            _run(split, activations, context)
    except _Reached as reached:
        return reached.output.detach()
    raise CutError(
        "A layer of the tail is reached by a few of the activations, but not by all of them: the path depends on the "
        "data. Choose another cut."
    )


def _run(split: Split, activations: Tensor, context: Context | None) -> None:
    # A copy: the first operation may write into them, which is forbidden for a leaf that requires a gradient.
    with torch.enable_grad():
        split.tail(activations.detach().requires_grad_().clone(), context)


def _layers(tail: nn.Module) -> Iterator[nn.Module]:
    for module in tail.modules():
        weight = getattr(module, "weight", None)
        if isinstance(weight, Tensor) and weight.dim() > 1 and not isinstance(module, _NORMS):
            yield module


@contextlib.contextmanager
def _hooks(layers: Iterable[nn.Module], notify: Callable[[nn.Module, Tensor, Tensor], None]) -> Iterator[None]:
    """Within, `notify` is called for each call of these layers whose input depends on the activations."""

    def hook(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        # A stub that returns the activations was itself given blanks, and so does not count.
        given = next((tensor for tensor in tensors_in((args, kwargs)) if tensor.requires_grad), None)
        if given is not None and isinstance(output, Tensor) and output.requires_grad:
            notify(layer, given, output)

    handles = [layer.register_forward_hook(hook, with_kwargs=True) for layer in layers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


_COLUMNS = 4096
"""How many columns are converted to float64 at once."""


def side_of(rows: Tensor) -> Side:
    """A side with the spectrum of these rows (n, columns), for figures that depend on nothing else.

    X Xᵀ (n × n) has the eigenvalues of Xᵀ X (columns × columns), except for zeros; X is first centred column by column
    in float64, so that a large mean costs no digits.

    >>> side_of(torch.tensor([[1.0, 2.0, 2.0], [-1.0, -2.0, -2.0]])).eigen[0].tolist()
    [18.0, 0.0]
    """
    n, columns = rows.shape
    means = torch.cat([part.double().mean(0) for part in rows.split(_COLUMNS, 1)])  # type: ignore[no-untyped-call]
    if columns <= n:
        centred = rows.double() - means
        return Side(grain_of([rows]), (FoldMoments(n, means, centred.T @ centred),))
    products = torch.zeros(n, n, dtype=torch.float64)
    for part, mean in zip(rows.split(_COLUMNS, 1), means.split(_COLUMNS), strict=True):  # type: ignore[no-untyped-call]
        centred = part.double() - mean
        products += centred @ centred.T
    # A side only uses the length of the mean, to know how finely the rows were rounded.
    length = torch.zeros(n, dtype=torch.float64)
    length[0] = means.norm()
    return Side(grain_of([rows]), (FoldMoments(n, length, products),))
