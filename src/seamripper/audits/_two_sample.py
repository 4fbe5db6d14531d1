"""The classifier two-sample test: can a classifier tell native from stitched rows that it was not trained on?"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from seamripper.audits._ood_figures import Scores
from seamripper.controls._logistic import logistic_answers


def told_apart(native: Tensor, stitched: Tensor, *, folds: int = 5, l2: float = 0.01, seed: int = 0) -> Scores:
    """Scores x·w + b of rows (n, d), each by a logistic regression that saw neither version of that sample.

    Lopez-Paz & Oquab 2017, with folds by sample: row i of both is of one input, and the two are always in one fold. A
    regression minimises mean log(1 + exp(−y (x·w + b))) + l2/2 ‖w‖² with y = ±1, its rows brought to mean 0 and
    deviation 1 over both kinds, which takes no notice of which is which.

    >>> rows = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> told_apart(rows, rows).auroc, told_apart(rows, rows + 9).auroc
    (0.5, 1.0)
    """
    n = len(native)
    rows, kinds = torch.cat([native, stitched]), (torch.arange(2 * n) >= n).long()
    parts = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tensor_split(folds)
    found = rows.new_empty(2 * n)
    for part in parts:
        tested = torch.zeros(2 * n, dtype=torch.bool)
        tested[part] = tested[part + n] = True
        # Twice the penalty, as it is shared by the weights of two classes, w/2 and −w/2.
        answers = logistic_answers(rows[~tested], kinds[~tested], rows[tested], classes=2, l2=2 * l2)
        found[tested] = answers[:, 1] - answers[:, 0]
    scores = found.numpy()
    return Scores(scores[:n], scores[n:], tuple(np.sort(part.numpy()) for part in parts))
