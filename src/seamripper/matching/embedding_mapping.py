"""Embedding mapping: the stitch trained to the receiver's activations, each sample to the one that it is assigned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from seamripper._devices import in_float64, move, to_memory, widen
from seamripper.activations.collect import activations_of
from seamripper.errors import MatchError
from seamripper.matching.base import Findings, Matching, Problem
from seamripper.matching.descent import descend, orders
from seamripper.models.training import Training

_APART = 2**32
"""Added to the seed, for an order of the receiver's samples that has nothing to do with that of the sender's."""


@dataclass(frozen=True)
class EmbeddingMapping(Matching):
    """Minimise, in each batch, the distances from stitched activations to the receiver's own in the cheapest pairing.

    For two autoencoders of different data sets (Smith et al. 2025, section 6, appendix B.3 and Algorithm 3). With s_i =
    stitch(head(x_i)) of a batch of the sender's samples and e_j, the receiver's own activations of a batch of its
    samples, π runs over one-to-one pairings. The paper disagrees with itself: twice its text says squared distances,
    and Algorithm 3 has the distances themselves, which is `squared=False`. The training's defaults are the paper's,
    which gives no batch; the loss is a sum, so another batch is another step.

    No labels are used. The receiver's samples are shuffled apart from the sender's, in every epoch anew. The sender's
    set is the sender's side of the samples, `Paired(clothes, digits)`, and rows need not belong together. Plain samples
    are both sets. Maps are compared as vectors.

    >>> import seamripper as sr
    >>> images = sr.load_data("digits/digit", "train", n=64)
    >>> half = sr.split(sr.load("zoo:autoencoder?channels=3"), "encoder")
    >>> found = sr.match(half, half, images, matching="embedding_mapping?epochs=1")
    >>> found(images.batch(slice(0, 2))).shape
    torch.Size([2, 3, 28, 28])
    """

    name: ClassVar[str] = "embedding_mapping"
    paper = "Smith, Mannering, Marcu 2025, section 6"
    formula = "min over pairings π of Σᵢ ‖sᵢ − e_π(i)‖²"
    holds_out: ClassVar[bool] = False

    training: Training = Training(optimiser="sgd", lr=1e-5, weight_decay=1e-2, epochs=25, batch=128)
    squared: bool = True

    def find(self, problem: Problem) -> Findings:
        """Train the layer; the receiver's tail is not needed."""
        layer, fit = problem.layer, problem.fit
        sent = activations_of(problem.sender, fit.sender, watch=problem.watch)
        own = activations_of(problem.receiver, fit.receiver, watch=problem.watch)
        if own.mask is not None:
            raise MatchError(
                "The matching 'embedding_mapping' compares whole samples as vectors, in which padding has no place, "
                f"and some tokens of {fit.name} are padding. Cut the receiver behind its pooling, or use 'regression'."
            )
        carry = problem.carrier(sent, sent.counting_tokens())
        others = self._batches(len(fit), self.training.epochs, problem.seed + _APART)

        def loss_between(index: Tensor, other: Tensor) -> Tensor:
            sent_here = widen(carry(index))
            native = widen(move(own.values[other], sent_here.device))
            return assigned_distance(sent_here, native, squared=self.squared)

        def loss_now() -> float:
            # Over the batches of one epoch, the same before and after; the mean, to stand beside the loss of a step.
            layer.eval()
            pairs = zip(*(self._batches(len(fit), 1, problem.seed + apart) for apart in (0, _APART)), strict=True)
            with torch.no_grad():
                losses = [float(loss_between(index, other)) for index, other in pairs]
            return math.fsum(losses) / len(losses) + float(self.training.penalty(layer))

        return descend(
            problem, self.training, lambda index: loss_between(index, next(others)), loss_now, task="embedding mapping"
        )

    def _batches(self, n: int, epochs: int, seed: int) -> Iterator[Tensor]:
        for _, chunks in orders(n, self.training.batch, epochs=epochs, seed=seed):
            yield from chunks


def assigned_distance(sent: Tensor, own: Tensor, *, squared: bool = True) -> Tensor:
    """min over pairings π of Σᵢ ‖sent_i − own_π(i)‖², or without the square: Smith et al. 2025, Algorithm 3.

    The pairing is found in float64 and is no part of the gradient, which goes through the distances alone.

    >>> sent, own = torch.tensor([[0.0], [10.0], [4.0]]), torch.tensor([[9.0], [1.0], [7.0]])
    >>> assigned_distance(sent, own), assigned_distance(sent, own, squared=False)
    (tensor(11.), tensor(5.))
    """
    sent, own = sent.flatten(1), own.flatten(1)
    with torch.no_grad():
        cost = to_memory(torch.cdist(in_float64(sent), in_float64(own)))
        cost = cost.square() if squared else cost
    # Where a cost is not finite there is no cheapest pairing, and with any pairing the loss shows that.
    pairs = linear_sum_assignment(cost.numpy())[1] if bool(torch.isfinite(cost).all()) else range(len(own))
    apart = sent - own[move(torch.as_tensor(pairs), own.device)]
    return apart.square().sum() if squared else torch.linalg.vector_norm(apart, dim=1).sum()
