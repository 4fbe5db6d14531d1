"""Agreement beyond chance between two networks' answers, and its spread over samples and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seamripper.cut.split import Split
from seamripper.data.padding import trim
from seamripper.data.samples import UNASKED, UNKNOWN, Samples
from seamripper.estimate import Estimate, jackknife, proportion
from seamripper.matching.evaluate import answers_of, answers_of_many, stitched_answers
from seamripper.matching.match import Match
from seamripper.matching.rows import sums_by_text
from seamripper.models.targets import targets_for, token_ids

_BATCH = 256
RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Asked:
    """Which answers to some samples are compared, and which would be right.

    A language model is asked at every token: `places` (n, tokens) says at which, and `text` gives the number of the
    text for each of them. Both are None where every sample has one answer.
    """

    right: NDArray[np.int64]
    places: Tensor | None = None

    @classmethod
    def of(cls, receiver: Split, samples: Samples, before: Samples | None = None) -> Asked:
        """What the receiver is asked on samples; `before` are the same before they were changed.

        Of a text that was changed, those tokens are asked that follow the first changed one, or are it: what comes
        before it is what it was.
        """
        samples = trim(samples)
        with torch.no_grad():
            answer = receiver.answer(receiver.model.present(samples).batch(slice(0, 2)))
        if answer.dim() == 2:
            return cls(np.asarray(samples.labels.numpy()))
        targets = targets_for(answer, samples)
        places = targets != UNASKED
        if before is not None:
            old, new = (token_ids(each.inputs) for each in (trim(before), samples))
            if old is not None and new is not None:
                places &= (old != new).cumsum(1) > 0
        return cls(np.asarray(targets[places].numpy()), places)

    @property
    def labelled(self) -> bool:
        """Whether it is known which answers would be right."""
        return bool((self.right != UNKNOWN).any())

    @property
    def text(self) -> NDArray[np.int64] | None:
        """The number of the text that each answer belongs to."""
        return None if self.places is None else np.asarray(self.places.nonzero()[:, 0].numpy())

    def answers(self, network: Split | Match, samples: Samples) -> NDArray[np.int64]:
        """The class, or the token, that a network, stitched or not, gives wherever it is asked."""
        named = answers(network, samples)
        return named if self.places is None else named[self.places.numpy()]

    def answers_together(self, networks: Sequence[Split | Match], samples: Samples) -> list[NDArray[np.int64]]:
        """What `answers` gives for each network; a front that several of them have is run once."""
        scores = answers_of_many(networks, samples, batch=_BATCH, keep=lambda answers, _: answers.argmax(-1))
        named = [np.asarray(each.numpy()) for each in scores]
        return named if self.places is None else [each[self.places.numpy()] for each in named]

    def agreement(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Agreement:
        """The agreement of two networks' answers wherever they are asked."""
        return Agreement.of(a, b, self.text)


def answers(network: Split | Match, samples: Samples) -> NDArray[np.int64]:
    """The class that a network, stitched or not, gives to each sample (n), or the token at each token (n, tokens)."""
    run = answers_of if isinstance(network, Split) else stitched_answers
    return np.asarray(run(network, samples, batch=_BATCH, keep=_answer_classes).numpy())  # type: ignore[arg-type]


def _answer_classes(answers: Tensor) -> Tensor:
    return answers.argmax(-1)


@dataclass(frozen=True, eq=False)
class Agreement:
    """Where two networks agree, sample by sample, and how often they would by chance.

    Chance is Cohen's (1960): e = Σ_c p(c) q(c), from how often either gives each class. κ = (share − e) / (1 − e) is 1
    for two networks that always agree and 0 for two that have nothing in common. Two that give the same class to every
    sample have κ = 0: their agreement shows nothing. If a text has many answers, `hits` are how many of them agree, and
    `sizes` how many there are; texts without any are left out.

    >>> a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    >>> Agreement.of(a, b).share, Agreement.of(a, b).kappa, Agreement.of(a * 0, a * 0).kappa
    (0.75, 0.5, 0.0)
    """

    hits: NDArray[np.float64]
    chance: float
    sizes: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, a: NDArray[np.int64], b: NDArray[np.int64], text: NDArray[np.int64] | None = None) -> Agreement:
        """The agreement of two networks' answers on the same samples; `text` is the number of each answer's text."""
        classes = int(max(a.max(), b.max())) + 1
        p, q = (np.bincount(x, minlength=classes) / len(x) for x in (a, b))
        hits = (a == b).astype(np.float64)
        if text is None:
            return cls(hits, float(p @ q))
        sums, sizes = (np.array(sums_by_text(values, text)) for values in (hits, np.ones_like(hits)))
        return cls(sums, float(p @ q), sizes)

    @property
    def share(self) -> float:
        """The share of samples, or of tokens, on which they agree."""
        return float(self.hits.mean() if self.sizes is None else self.hits.sum() / self.sizes.sum())

    @property
    def estimate(self) -> Estimate:
        """The share with its interval; texts are the units of that over tokens."""
        if self.sizes is None:
            return proportion(int(self.hits.sum()), len(self.hits))
        return jackknife(lambda a, n: a / n, self.hits.tolist(), self.sizes.tolist(), within=(0, 1), unit="texts")

    def resample_shares(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share in each resample, by how often each sample is in it."""
        shares = counts @ self.hits
        return np.asarray(shares if self.sizes is None else shares / (counts @ self.sizes))

    @property
    def kappa(self) -> float:
        """The share beyond chance."""
        return float(self.beyond(np.float64(self.share)))

    def beyond(self, share: NDArray[np.float64] | np.float64) -> NDArray[np.float64] | np.float64:
        """κ of a share; 0 where chance alone makes the two agree."""
        return share * 0 if self.chance >= 1 - 1e-12 else (share - self.chance) / (1 - self.chance)


class Bootstrap:
    """One bootstrap of samples for all networks compared on them: a sample that is hard for all widens nothing.

    If there are several seeds, they are drawn with replacement as well: they are the units above the samples.
    """

    def __init__(self, n: int, *, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._counts = self._rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n

    def kappa(self, seeds: Sequence[Agreement]) -> NDArray[np.float64]:
        """κ, the mean over seeds, in each resample."""
        kappas = np.stack([agreement.beyond(agreement.resample_shares(self._counts)) for agreement in seeds], axis=1)
        draws = self._rng.integers(0, len(seeds), size=kappas.shape)
        return np.asarray(np.take_along_axis(kappas, draws, axis=1).mean(1))


def mean_kappa(seeds: Sequence[Agreement]) -> float:
    """κ, the mean over seeds."""
    return float(np.mean([agreement.kappa for agreement in seeds]))
