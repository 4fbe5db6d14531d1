"""diff: two checkpoints of one architecture. Which layer diverged first, by how much, and does it matter?

One pass shows both models the same samples and takes the value of every layer that both have. At the cuts of the base,
the changed model's activations are then also compared by CKA, and handed to the base's tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from seamripper._devices import in_float64, move, to_memory, widen
from seamripper._doors import in_words, require_function, several
from seamripper._progress import Progress, Watcher, nobody
from seamripper.activations.activations import first_bad
from seamripper.activations.collect import require_finite
from seamripper.activations.sampling import rows_of
from seamripper.comparing.alignment import AlignedLayer, Alignment, TracedNetwork
from seamripper.comparing.difference import CutDifference, Difference, LayerDifference
from seamripper.comparing.functional import fit_and_held_out
from seamripper.comparing.request import SLICE, as_rule
from seamripper.cut.by_hooks import Taps
from seamripper.cut.flow import Spot
from seamripper.cut.frozen import seal
from seamripper.cut.halves import Context, Head, Tail
from seamripper.cut.many import heads
from seamripper.cut.place import LAYOUTS, Cut
from seamripper.cut.split import Split, as_model, split
from seamripper.data.padding import tokens_that_count, trim
from seamripper.data.samples import Inputs, Samples, batches_in
from seamripper.data.stream import data_record
from seamripper.data.yours import as_samples
from seamripper.errors import CutError, DataError, MeasureError, SeamripperError
from seamripper.estimate import Estimate, relative_size
from seamripper.matching import Functional, evaluate, match
from seamripper.matching.evaluate import functional
from seamripper.measures import Pair, score
from seamripper.measures.null import require_permutations
from seamripper.models.model import Model
from seamripper.models.running import answer_of, versions

FEWEST = 20
"""Samples: a fifth of them is held out from the stitches, and fewer than four tell nothing."""
ROUNDINGS = 16
"""How many times the precision of its numbers a layer may be off by rounding alone, as errors grow with depth."""
_NOT_FINITE = "NaN or Inf in the changed model, first for the sample with id {}"


def diff(
    base: nn.Module | Model | str,
    changed: nn.Module | Model | str,
    samples: Samples,
    *,
    cuts: Sequence[str] | str | None = None,
    tolerance: float | None = None,
    null: int = 200,
    watch: Watcher = nobody,
) -> Difference:
    """What changed between two checkpoints of one architecture, on these samples.

    A layer is the same if the upper end of its relative error's interval is within the `tolerance`, by default what
    rounding explains in the coarser of the two precisions. `cuts` of the base, by default behind each of its blocks,
    are also compared by CKA (with a `null` of so many permutations) and by stitching the changed model's front to the
    base's back. A model that does not say how it wants its inputs gets them as the other does.

    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    >>> toy = Samples("toy", torch.randn(40, 4), torch.arange(40) % 3, torch.arange(40), classes=3)
    >>> diff(net, net, toy, null=0)
    Difference(No layer diverges: all 3 layers are the same within 1.9e-06, on 40 samples.)
    """
    names = None if cuts is None else several(cuts, str, "cuts", error=CutError)
    models = with_contracts(as_model(base, "base"), as_model(changed, "changed"))
    _require(samples, tolerance, null, watch)
    samples = trim(samples)
    ours, theirs = (TracedNetwork.of(m, samples, role) for m, role in zip(models, ("base", "changed"), strict=True))
    cut_places = heads(ours.model, names, ours.example).cuts
    alignment = Alignment.of(ours, theirs)
    numbers = {layer.base.edge: k for k, layer in enumerate(alignment.layers)}
    places = {cut: numbers.get(ours.flow.find(cut.name).edge) for cut in cut_places}
    aligned = {cut: k for cut, k in places.items() if k is not None}
    lost = {cut.name: "no layer of both models returns the value at this cut" for cut in places.keys() - aligned.keys()}
    with seal({"base": ours.module, "changed": theirs.module}):
        seen = _observe(ours, theirs, alignment.layers, frozenset(aligned.values()), samples, watch)
    layers = tuple(map(_layer_difference, alignment.layers, seen.squares, seen.norms, seen.notes))
    answers, no_answers = _answers(seen, samples)
    at_cuts = _AtCuts(ours, theirs, samples, seen, null, readable=answers is not None)
    differences = []
    for cut, k in aligned.items():
        differences.append(at_cuts.difference(cut, alignment.layers[k], layers[k], k))
        watch(Progress("cuts", len(differences), len(aligned)))
    roundings = [ROUNDINGS * _precision(network.module) for network in (ours, theirs)]
    limit = max(roundings) if tolerance is None else float(tolerance)
    record = {**_record(ours, theirs, samples, at_cuts, null), "cuts": [cut.name for cut in cut_places]}
    unaligned = {**lost, **alignment.unaligned}
    return Difference(layers, tuple(differences), answers, limit, roundings[0], unaligned, record, no_answers)


def _require(samples: object, tolerance: object, null: int, watch: object) -> None:
    samples = as_samples(samples, "samples")
    assert isinstance(samples, Samples)
    if len(samples) < FEWEST:
        raise DataError(
            f"Expected at least {FEWEST} samples, as a fifth of them is held out to score stitches on, but "
            f"{samples.name} has {len(samples)}."
        )
    if tolerance is not None:
        number = isinstance(tolerance, (int, float)) and not isinstance(tolerance, bool)
        if not number or not 0 <= tolerance < math.inf:  # type: ignore[operator]
            raise MeasureError(
                f"Expected tolerance to be a relative error of at least 0, for example 0.01, but got "
                f"{in_words(tolerance)}. Leave it out to allow what rounding explains."
            )
    require_permutations(null)
    require_function(watch, "watch", error=MeasureError)


def with_contracts(base: Model, changed: Model) -> tuple[Model, Model]:
    """Both with an input contract, if one of them has it: a factory that quantises a checkpoint has lost it."""
    return replace(base, wants=base.wants or changed.wants), replace(changed, wants=changed.wants or base.wants)


def _precision(module: nn.Module) -> float:
    """The coarsest rounding among the weights, float32's if there are none: quantised layers have them elsewhere."""
    kinds = {p.dtype for p in module.parameters() if p.is_floating_point()} or {torch.float32}
    return max(torch.finfo(dtype).eps for dtype in kinds)


# ---- the pass


@dataclass(eq=False)
class _Seen:
    """What the pass has kept: by layer, per sample, ‖h_changed − h_base‖² and ‖h_base‖²; pooled rows; the answers."""

    squares: list[list[float]]
    norms: list[list[float]]
    notes: list[str]
    rows: dict[int, tuple[list[Tensor], list[Tensor]]]
    """Of the layers at cuts alone, by their numbers."""
    answers: tuple[list[Tensor], list[Tensor]] = field(default_factory=lambda: ([], []))


def _observe(
    base: TracedNetwork,
    changed: TracedNetwork,
    layers: Sequence[AlignedLayer],
    at_cuts: frozenset[int],
    samples: Samples,
    watch: Watcher,
) -> _Seen:
    """Show both models the same samples, and compare what their layers make of them; some of the layers are cuts."""
    size = range(len(layers))
    rows: dict[int, tuple[list[Tensor], list[Tensor]]] = {k: ([], []) for k in at_cuts}
    seen = _Seen([[] for _ in size], [[] for _ in size], [layer.misfit for layer in layers], rows)
    taps = (
        Taps(base.module, [layer.base for layer in layers]),
        Taps(changed.module, [layer.changed for layer in layers]),
    )
    views = [network.model.present(samples).batches(SLICE) for network in (base, changed)]
    counted, steps = tokens_that_count(samples.inputs), batches_in(len(samples), SLICE)
    with torch.no_grad():
        for step, ((x, _), (y, _)) in enumerate(zip(*views, strict=True)):
            part = slice(step * SLICE, (step + 1) * SLICE)
            mask = None if counted is None else move(counted[part], base.model.device)
            pairs = zip(taps[0](x), taps[1](y), strict=True)
            for k, (ours, theirs) in enumerate(pairs):
                _add(seen, k, layers[k], widen(ours), widen(move(theirs, ours.device)), mask, samples.ids[part])
            for kept, network, inputs in zip(seen.answers, (base, changed), (x, y), strict=True):
                kept.append(widen(to_memory(answer_of(network.module, inputs))))
            watch(Progress("layers", step + 1, steps))
    return seen


def _add(
    seen: _Seen, k: int, layer: AlignedLayer, ours: Tensor, theirs: Tensor, mask: Tensor | None, ids: Tensor
) -> None:
    """Add a batch of layer k: its squares and, at a cut, its rows, pooled so that they take little room."""
    require_finite(ours, layer.name, ids)
    bad = first_bad(theirs)
    if bad is not None:
        seen.notes[k] = seen.notes[k] or _NOT_FINITE.format(int(ids[bad]))
    if k in seen.rows and layer.same_layout:
        for kept, values in zip(seen.rows[k], (ours, theirs), strict=True):
            counted = mask if _has_tokens(values, mask) else None
            kept.append(to_memory(rows_of(values, LAYOUTS[values.dim()], "pool", counted)).float())
    if layer.misfit:
        return
    gap, ours = in_float64(theirs) - in_float64(ours), in_float64(ours)
    if _has_tokens(ours, mask):
        assert mask is not None
        counted = move(mask, gap.device)[:, :, None]
        gap, ours = gap * counted, ours * counted
    seen.squares[k] += gap.flatten(1).square().sum(1).tolist()
    seen.norms[k] += ours.flatten(1).square().sum(1).tolist()


def _has_tokens(values: Tensor, mask: Tensor | None) -> bool:
    """Whether the values are tokens, one for each place of the mask, so that it tells which are padding."""
    return mask is not None and values.dim() == 3 and values.shape[1] == mask.shape[1]


def _layer_difference(layer: AlignedLayer, squares: list[float], norms: list[float], note: str) -> LayerDifference:
    error = Estimate(math.inf, note=note) if note else relative_size(squares, norms)
    return LayerDifference(layer.name, error, layer.complete, note)


def _answers(seen: _Seen, samples: Samples) -> tuple[Functional | None, str]:
    """What the changed model answers beside the base; or why that cannot be said."""
    ours, theirs = map(torch.cat, seen.answers)
    if first_bad(theirs) is not None:
        return None, "those of the changed model hold NaN or Inf."
    if ours.shape != theirs.shape:
        return None, f"they have {tuple(ours.shape[1:])} numbers in the base and {tuple(theirs.shape[1:])} here."
    try:
        return functional(theirs, ours, samples), ""
    except DataError as e:
        return None, str(e)


# ---- at the cuts


class _ChangedFront(Head):
    """The changed model up to a cut, its activations in the base's precision."""

    computes: ClassVar[bool] = False
    """For the base's tail: there is no tail of its own to prove it by."""

    def __init__(self, module: nn.Module, spot: Spot, dtype: torch.dtype) -> None:
        super().__init__()
        self.module, self._taps, self._dtype = module, Taps(module, [spot]), dtype

    def forward(self, inputs: Inputs) -> Tensor:
        """The activations at the cut."""
        return widen(self._taps(inputs)[0]).to(self._dtype)


class _NoBack(Tail):
    """A quantised model need not have a tail that can be cut off, and none is needed."""

    def forward(self, activations: Tensor, context: Context | None = None) -> Tensor:
        """Nobody asks."""
        raise CutError("Only the front of the changed model is used.")


class _AtCuts:
    """Compares the two at the cuts of the base: by CKA, and by what the base makes of the changed activations."""

    def __init__(
        self, base: TracedNetwork, changed: TracedNetwork, samples: Samples, seen: _Seen, null: int, *, readable: bool
    ) -> None:
        self.base, self.changed, self.seen, self.null, self.readable = base, changed, seen, null, readable
        self.fit, self.held_out = fit_and_held_out(samples, as_rule(None, len(samples)))
        own = torch.cat(seen.answers[0])[torch.isin(samples.ids, self.held_out.ids)]
        # At every token, they are answers to longer texts where the longest text is one of the fit.
        self.own = own if trim(self.held_out) is self.held_out else None

    def difference(self, cut: Cut, layer: AlignedLayer, known: LayerDifference, k: int) -> CutDifference:
        """All that is known at a cut."""
        parts: dict[str, Any] = {}
        failed: list[str] = []
        for name, find in self._questions(cut, layer, k).items():
            try:
                parts[name] = find()
            except SeamripperError as e:
                failed.append(f"{name}: {e}")
        return CutDifference(cut.name, known.error, **parts, failed=tuple(failed))

    def _questions(self, cut: Cut, layer: AlignedLayer, k: int) -> dict[str, Callable[[], Estimate | Functional]]:
        """What can be asked here: nothing about NaN, no splice of other shapes, no agreement without classes."""
        if self.seen.notes[k] != layer.misfit or not layer.same_layout:
            return {}
        questions: dict[str, Callable[[], Estimate | Functional]] = {"cka": lambda: self._cka(k)}
        if self.readable and not layer.misfit:
            questions["spliced"] = lambda: self._joined_result(cut, layer, "identity")
        if self.readable:
            questions["stitched"] = lambda: self._joined_result(cut, layer, "auto")
        return questions

    def _cka(self, k: int) -> Estimate:
        x, y = map(torch.cat, self.seen.rows[k])
        return score("linear_cka", Pair.of(x, y), sampling="pool", null=self.null)

    def _joined_result(self, cut: Cut, layer: AlignedLayer, stitch: str) -> Functional:
        """The changed model's front and the base's back, joined by the stitch that direct matching finds."""
        receiver = split(self.base.model, cut.name, self.base.example)
        with torch.no_grad():
            dtype = receiver.head(self.base.example).dtype
        shape = layer.changed.shape
        front = _ChangedFront(self.changed.module, layer.changed, dtype).eval()
        place = Cut(cut.name, shape[1:], LAYOUTS[len(shape)])
        sender = Split(self.changed.model, place, front, _NoBack().eval(), "hooks", self.changed.example)
        joined = match(sender, receiver, self.fit, stitch=stitch, matching="direct", held_out=self.held_out)
        return evaluate(joined, self.held_out, receiver=self.own)


def _record(
    base: TracedNetwork, changed: TracedNetwork, samples: Samples, at_cuts: _AtCuts, null: int
) -> dict[str, Any]:
    models = {
        role: {"source": network.model.source, "fingerprint": network.model.fingerprint}
        for role, network in (("base", base), ("changed", changed))
    }
    return {
        **models,
        "data": data_record(samples),
        "n": len(samples),
        "padded": tokens_that_count(samples.inputs) is not None,
        "fitted": len(at_cuts.fit),
        "held_out": len(at_cuts.held_out),
        "cka": {"sampling": "pool", "null": null},
        "versions": versions(),
    }
