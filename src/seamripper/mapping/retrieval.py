"""Search of an index in blocks: what each query finds, and where its own document stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seamripper._progress import Progress, Watcher
from seamripper.estimate import Estimate, proportion
from seamripper.mapping.embeddings import Embeddings
from seamripper.measures.retrieval import Nearness, nearness, own_nearness, rows_before

DEPTHS = (1, 10, 100)
"""The k of Recall@k."""
_CELLS = 1 << 23
"""Query × document scores that are held at once: 32 MB."""


@dataclass(frozen=True, eq=False)
class Search:
    """Of each query: the nearest documents by number, nearest first, its own left out; and the rank of its own."""

    nearest: Tensor
    rank: Tensor


@dataclass(frozen=True)
class Retrieval:
    """Recall@k by k, and the mean reciprocal rank, in which ranks above 100 count 0."""

    recall: Mapping[int, Estimate]
    mrr: Estimate

    @property
    def figures(self) -> dict[str, Estimate]:
        """All of them by name."""
        return {**{f"Recall@{k}": estimate for k, estimate in self.recall.items()}, "MRR": self.mrr}


def search(
    queries: Mapping[str, Tensor], own: Tensor, index: Embeddings, *, metric: Nearness, watch: Watcher
) -> dict[str, Search]:
    """Search the index with several sets of queries, of the documents `own`, in one pass over it."""
    depth = min(DEPTHS[-1], len(index) - 1)
    mine = index.take(own).float()
    # About a mean, Euclidean distances keep their digits; a cosine is about the origin.
    shift = mine.mean(0) if metric == "euclidean" else torch.zeros(index.width)
    running = {
        name: _Running.start(rows.float() - shift, mine - shift, metric, depth) for name, rows in queries.items()
    }
    for block in index.blocks(max(depth, _CELLS // len(own))):
        rows = index.take(block).float() - shift
        inside = ((own >= block.start) & (own < block.stop)).nonzero()[:, 0]
        for state in running.values():
            state.add(rows, block.start, inside, own[inside] - block.start)
        watch(Progress(f"search {index.name}", block.stop, len(index)))
    return {name: Search(state.numbers, state.before + 0.5) for name, state in running.items()}


@dataclass(eq=False)
class _Running:
    """One set of queries in the middle of a pass over an index."""

    queries: Tensor
    metric: Nearness
    own: Tensor
    slack: Tensor
    scores: Tensor
    numbers: Tensor
    before: Tensor

    @classmethod
    def start(cls, queries: Tensor, own: Tensor, metric: Nearness, depth: int) -> _Running:
        near, slack = own_nearness(queries, own, metric)
        size = (len(queries), depth)
        nothing = torch.full(size, -torch.inf), torch.full(size, -1)
        return cls(queries, metric, near, slack, *nothing, torch.zeros(len(queries)))

    def add(self, rows: Tensor, start: int, inside: Tensor, places: Tensor) -> None:
        """Take in a block of documents; `places` are those of the queries `inside` that have their own there."""
        near = nearness(self.queries, rows, self.metric)
        self.before += rows_before(near, self.own, self.slack)
        near[inside, places] = -torch.inf
        depth = self.scores.shape[1]
        scores, numbers = near.topk(min(depth, near.shape[1]), dim=1)
        scores, numbers = torch.cat([self.scores, scores], 1), torch.cat([self.numbers, numbers + start], 1)
        self.scores, order = scores.topk(depth, dim=1)
        self.numbers = numbers.gather(1, order)


def own_retrieval(ours: Search) -> Retrieval:
    """How often a query finds its own document."""
    reciprocal = torch.where(ours.rank <= DEPTHS[-1], 1 / ours.rank, 0.0)
    depths = _depths(ours)
    return Retrieval({k: share((ours.rank <= k).double()) for k in depths}, share(reciprocal))


def same_results(ours: Search, truth: Search) -> Retrieval:
    """How much of what `truth` finds is found: shares of its k nearest, and the rank of its nearest; own left out."""
    hits = ours.nearest == truth.nearest[:, :1]
    ranks = torch.where(hits.any(1), hits.int().argmax(1) + 1, torch.inf)
    return Retrieval({k: share(overlap(ours, truth, k)) for k in _depths(ours)}, share(1 / ranks))


def overlap(ours: Search, truth: Search, k: int) -> Tensor:
    """Of each query: the share of the k nearest documents that two searches have in common.

    >>> a, b = (Search(torch.tensor([numbers]), torch.ones(1)) for numbers in ([4, 2, 7], [2, 4, 9]))
    >>> overlap(a, b, 2), overlap(a, b, 1)
    (tensor([1.], dtype=torch.float64), tensor([0.], dtype=torch.float64))
    """
    # Query by query of one place at a time: all at once would be n × k × k.
    theirs = truth.nearest[:, :k]
    return sum((theirs == ours.nearest[:, place, None]).any(1).double() for place in range(k)) / k  # type: ignore


def _depths(ours: Search) -> list[int]:
    """The k for which there are more documents than k."""
    return [k for k in DEPTHS if k <= ours.nearest.shape[1]]


def share(values: Tensor) -> Estimate:
    """The mean of a number between 0 and 1 over queries, with its interval."""
    return replace(proportion(float(values.double().sum()), len(values)), unit="queries")
