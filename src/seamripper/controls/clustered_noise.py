"""The control `clustered_noise`: noise in place of the sender's activations, one cluster per class."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seamripper.activations.recorded import VALUES
from seamripper.controls.base import Case, Control, Counterpart
from seamripper.controls.stand_in import AsTheyAre, stand_in
from seamripper.data.noise import clustered_noise
from seamripper.data.paired import Paired
from seamripper.data.samples import MASK, Inputs, Samples
from seamripper.errors import AuditError, DataError, InapplicableError

SWEEP = (0.1, 0.5, 0.9, 0.99, 1.0)
"""The radii of Smith et al. 2025, Table D.3, and that of their other trials."""
_BYTES = 1 << 30
"""The memory that the noise for one set of samples may take; beyond it, fewer samples are used."""


@dataclass(frozen=True)
class ClusteredNoise(Control):
    """Noise at the sender's cut, around a centre c for each class.

    It knows the label and nothing of the input (Smith et al. 2025, section 4.2): any sender whose activations are
    clustered by class can reach the same accuracy. In their trial that was 99.9 % and more for a radius of 0.1, and
    96 % for 1.0 (Table D.3). Centres are drawn by the case's seeds. `sweep` tries each of the radii 0.1, 0.5, 0.9, 0.99
    and 1.0. With `classes`, only samples of the first so many classes take part (D.4). The stitch is fitted and scored
    on at most `n` samples each, fewer where their noise would take more than a gigabyte.

    >>> ClusteredNoise(sweep=True).radii
    (0.1, 0.5, 0.9, 0.99, 1.0)
    """

    name = "clustered_noise"
    paper = "Smith, Mannering, Marcu 2025, section 4.2"
    formula = "clamp(c + radius · N(0, 1), 0, 1),  c ~ U[0, 1] for each class"
    about = "noise at the cut, one cluster per class: it knows the label and nothing about the input"
    known = "nothing"
    origin = "noise"
    draws = True
    least = {"radius": 0, "classes": 1, "n": 2}

    radius: float = 0.1
    classes: int | None = None
    sweep: bool = False
    n: int | None = 5000

    @property
    def radii(self) -> tuple[float, ...]:
        """The radii to try."""
        return SWEEP if self.sweep else (self.radius,)

    def stitches(self, case: Case) -> int:
        """One per radius and seed."""
        return len(self.radii) * len(case.seeds)

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """Noise for each radius and seed."""
        with torch.no_grad():
            dtype = case.receiver.head(case.receiver.example).dtype
        for radius in self.radii:
            for seed in case.seeds:
                fit, test = (
                    self._noisy(case, part, split=split, radius=radius, seed=seed, dtype=dtype)
                    for part, split in ((case.fit.receiver, "train"), (case.test.receiver, "test"))
                )
                example = _example(case, fit.sender.batch(slice(0, 2)))
                sender = stand_in(AsTheyAre(), example, fit.sender.source)
                yield Counterpart(f"noise of radius {radius:g}", seed, sender, fit, test)

    def _noisy(
        self, case: Case, samples: Samples, *, split: str, radius: float, seed: int, dtype: torch.dtype
    ) -> Paired:
        """The samples that take part, with noise of its class shown to the sender for each."""
        tokens, classes = _tokens(case), self._clusters(case.fit.receiver, case.test.receiver)
        # Of a thousand classes, samples may show a few: noise of the others would only take room and time.
        kinds = torch.cat([case.fit.labels, case.test.labels]).unique()  # type: ignore[no-untyped-call]
        kinds = kinds[kinds < classes]
        shape = case.sender.cut.shape if tokens is None else (tokens, case.sender.cut.width)
        if tokens is None:
            _require_shape(case, samples)
        used = _of_classes(samples, classes)
        most = max(2, _BYTES // (4 * math.prod(shape)))
        used = used.draw(most if self.n is None else min(most, self.n), seed=seed)
        rows, per_class = places(torch.searchsorted(kinds, used.labels), len(kinds))
        try:
            noise = clustered_noise(
                shape, classes=len(kinds), radius=radius, per_class=per_class, seed=seed, split=split
            )
        except DataError as e:
            raise InapplicableError(f"{e} Choose clustered_noise?n=… smaller.") from e
        shown = replace(noise.take(rows), labels=used.labels, ids=used.ids, classes=classes)
        assert isinstance(shown.inputs, Tensor)
        values = shown.inputs.to(dtype)
        if tokens is None:
            return Paired(replace(shown, inputs=values), used)
        assert isinstance(used.inputs, Mapping)
        mask = used.inputs[MASK]
        return Paired(replace(shown, inputs={VALUES: values[:, : mask.shape[1]], MASK: mask}), used)

    def _clusters(self, fit: Samples, test: Samples) -> int:
        for samples in (fit, test):
            samples.require_one_label(f"the control {self.name!r}")
        if self.classes is None:
            return fit.classes
        if self.classes > fit.classes:
            raise AuditError(
                f"Expected classes of the control {self.name!r} to be at most {fit.classes}, as many as {fit.name} "
                f"has, but got {self.classes}."
            )
        return self.classes


def _tokens(case: Case) -> int | None:
    """How many tokens noise has that stands for texts: as many as the longest; None if it has the shape of the cut."""
    both = (case.fit.receiver.inputs, case.test.receiver.inputs)
    masks = [inputs[MASK] for inputs in both if isinstance(inputs, Mapping) and MASK in inputs]
    if case.sender.cut.layout != "ntd" or len(masks) < 2 or any(mask.dim() != 2 for mask in masks):
        return None
    return max(mask.shape[1] for mask in masks)


def _example(case: Case, inputs: Inputs) -> Inputs:
    """An example of the noise to cut the stand-in with; texts have as many tokens as the sender was cut for."""
    if isinstance(inputs, Tensor):
        return inputs
    tokens = inputs[VALUES].new_zeros(2, *case.sender.cut.shape)
    return {VALUES: tokens, MASK: inputs[MASK].new_ones(tokens.shape[:2])}


def _require_shape(case: Case, samples: Samples) -> None:
    """Refuse samples for which the receiver's activations do not have the shape of the cut."""
    few = case.receiver.model.present(samples).batch(slice(0, 1))
    with torch.no_grad():
        here = tuple(case.receiver.head(few).shape[1:])
    if here != case.receiver.cut.shape:
        raise InapplicableError(
            f"Noise has the shape of the cut, {case.receiver.cut}, but on {samples.name} the receiver has {here} "
            "there. To compare texts with noise, give texts of one length or with an `attention_mask`."
        )


def _of_classes(samples: Samples, classes: int) -> Samples:
    """The samples of the first so many classes."""
    part = samples.labels < classes
    if not bool(part.any()):
        raise InapplicableError(
            f"None of the samples of {samples.name} is of the first {classes} classes. Choose more classes."
        )
    return samples if bool(part.all()) else samples.take(part)


def places(labels: Tensor, classes: int) -> tuple[Tensor, int]:
    """The row of noise for each sample, and how many rows per class are needed; row i has class i mod `classes`.

    >>> places(torch.tensor([2, 0, 0, 2, 0]), 3)
    (tensor([2, 0, 3, 5, 6]), 3)
    """
    order = labels.argsort(stable=True)
    counts = labels.bincount(minlength=classes)
    starts = counts.cumsum(0) - counts
    within_class = torch.empty_like(labels)
    within_class[order] = torch.arange(len(labels)) - starts[labels[order]]
    return labels + classes * within_class, int(counts.max())
