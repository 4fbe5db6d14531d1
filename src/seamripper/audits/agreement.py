"""Agreement beyond chance between two networks' answers, and its spread over samples and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seamripper.cut.split import Split
from seamripper.data.samples import Samples
from seamripper.matching.evaluate import answers_of, stitched_answers
from seamripper.matching.match import Match

_BATCH = 256
RESAMPLES = 1000


def answers(network: Split | Match, samples: Samples) -> NDArray[np.int64]:
    """The class that a network, stitched or not, gives to each sample."""
    if isinstance(network, Split):
        scores = answers_of(network, samples, batch=_BATCH)
    else:
        scores = stitched_answers(network, samples, batch=_BATCH)
    return np.asarray(scores.argmax(1).numpy())


@dataclass(frozen=True, eq=False)
class Agreement:
    """Where two networks agree, sample by sample, and how often they would by chance.

    Chance is Cohen's (1960): e = Σ_c p(c) q(c), from how often either gives each class. κ = (share − e) / (1 − e) is 1
    for two networks that always agree and 0 for two that have nothing in common. Two that give the same class to every
    sample have κ = 0: their agreement shows nothing.

    >>> a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    >>> Agreement.of(a, b).share, Agreement.of(a, b).kappa, Agreement.of(a * 0, a * 0).kappa
    (0.75, 0.5, 0.0)
    """

    hits: NDArray[np.float64]
    chance: float

    @classmethod
    def of(cls, a: NDArray[np.int64], b: NDArray[np.int64]) -> Agreement:
        """The agreement of two networks' answers on the same samples."""
        classes = int(max(a.max(), b.max())) + 1
        p, q = (np.bincount(x, minlength=classes) / len(x) for x in (a, b))
        return cls((a == b).astype(np.float64), float(p @ q))

    @property
    def share(self) -> float:
        """The share of samples on which they agree."""
        return float(self.hits.mean())

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
        kappas = np.stack([agreement.beyond(self._counts @ agreement.hits) for agreement in seeds], axis=1)
        draws = self._rng.integers(0, len(seeds), size=kappas.shape)
        return np.asarray(np.take_along_axis(kappas, draws, axis=1).mean(1))


def mean_kappa(seeds: Sequence[Agreement]) -> float:
    """κ, the mean over seeds."""
    return float(np.mean([agreement.kappa for agreement in seeds]))
