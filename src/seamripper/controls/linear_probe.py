"""The control `linear_probe`: what a linear map can read from the sender's activations, without a receiver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seamripper._devices import to_memory
from seamripper._progress import Progress
from seamripper.activations.collect import require_finite
from seamripper.activations.sampling import Sampling, rows_of
from seamripper.controls.base import Case, Control, Counterpart, Outcome
from seamripper.controls.logistic import logistic_answers
from seamripper.controls.random_sender import RandomSender
from seamripper.cut.on_data import views_of
from seamripper.data.padding import tokens_that_count
from seamripper.data.paired import Paired
from seamripper.data.samples import batches_in
from seamripper.errors import DataError, InapplicableError
from seamripper.matching.evaluate import Functional, answers_of, functional
from seamripper.matching.inputs import count_shared

_BATCH = 256


@dataclass(frozen=True)
class LinearProbe(Control):
    """Multinomial logistic regression from the sender's activations to the labels: no stitch, no receiver's back.

    It shows how well the classes are separated at the cut already (Smith et al. 2025, appendix G.4). Activations are
    averaged over positions (padding excluded), or flattened if `pool` is false, and standardised by the samples of the
    fit. With `untrained` the random sender is probed in place of the sender, as in tables G.1 and G.2: there, greyscale
    digits are read from an untrained ResNet-18 with 98 % after its second block, and with 83 % at its end.
    """

    name = "linear_probe"
    paper = "Smith, Mannering, Marcu 2025, appendix G.4"
    formula = "min over W, b of mean(−log softmax(W h + b)[label]) + l2/2 · ‖W‖²"
    about = "no stitch: what a linear map can read from the sender's activations"
    known = "probe"
    least = {"l2": 0}

    pool: bool = True
    l2: float = 1e-3
    untrained: bool = False

    def stitches(self, case: Case) -> int:
        """None, as nothing is stitched."""
        return 0

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The sender once, as the probe has no seed; or an untrained one for each seed."""
        if self.untrained:
            yield from RandomSender().counterparts(case)
        else:
            yield Counterpart("sender", case.seeds[0], case.sender, case.fit, case.test)

    def outcomes(self, case: Case) -> Iterator[Outcome]:
        """The probe of each, scored against the receiver on the same samples."""
        for counterpart in self.counterparts(case):
            probed = replace(counterpart, label=f"linear probe of the {counterpart.label}")
            yield self.outcome(probed, self._probe(case, counterpart))

    def _probe(self, case: Case, counterpart: Counterpart) -> Functional:
        seen = count_shared(counterpart.fit.name, counterpart.fit.ids, counterpart.test)
        if seen:
            raise DataError(
                f"{seen} of the {len(counterpart.test)} samples of {counterpart.test.name} are among those that the "
                "probe is fitted on. Fit and score on different samples."
            )
        labels, targets = (case.targets(part) for part in (counterpart.fit, counterpart.test))
        if labels.dim() == 2:
            raise InapplicableError("A linear probe reads one label per sample, and here each token has one.")
        if bool((labels == labels[0]).all()):
            raise InapplicableError(
                f"{counterpart.fit.name} has samples of one class only: there is nothing to tell apart."
            )
        fit, test = (self._rows(case, counterpart, part) for part in (counterpart.fit, counterpart.test))
        classes = max(counterpart.fit.classes, int(labels.max()) + 1, int(targets.max()) + 1)
        answers = logistic_answers(fit, labels, test, classes=classes, l2=self.l2)
        native = answers_of(case.receiver, counterpart.test.receiver, batch=_BATCH)
        return functional(answers, native, counterpart.test.receiver, right=targets)

    def _rows(self, case: Case, counterpart: Counterpart, samples: Paired) -> Tensor:
        """The sender's activations, one row per sample, computed in batches so that whole maps are never kept."""
        parts, cut = [], counterpart.sender.cut
        with torch.no_grad():
            views = views_of(samples, counterpart.sender, case.receiver)
            for step, (given, _) in enumerate(views.batches(_BATCH), 1):
                activations = counterpart.sender.head(given)
                require_finite(activations, cut.name, samples.ids[(step - 1) * _BATCH :])
                sampling: Sampling = "pool" if self.pool else "flatten"
                rows = rows_of(activations, cut.layout, sampling, tokens_that_count(given))
                parts.append(to_memory(rows).double())
                case.watch(Progress("linear probe", step, batches_in(len(samples), _BATCH)))
        return torch.cat(parts)
