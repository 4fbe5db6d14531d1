"""Two networks on the same samples: estimates of what they differ by, paired sample by sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from seamripper.estimate import NORMAL, Estimate, bootstrap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RESAMPLES = 4000


def paired_estimate(
    a: NDArray[np.bool_], b: NDArray[np.bool_], figure: Callable[[Any, Any], Any], *, seed: int = 0
) -> Estimate:
    """`figure(accuracy of a, accuracy of b)` for two networks on the same samples, with a paired bootstrap interval.

    Samples are resampled together, so a sample that is hard for both networks widens neither. Only which of the two is
    right matters, so the bootstrap draws the four counts from a multinomial, which is equivalent and fast.

    >>> import numpy as np
    >>> a, b = np.array([True] * 90 + [False] * 10), np.array([True] * 80 + [False] * 20)
    >>> print(paired_estimate(a, b, lambda x, y: x - y))
    0.100 [0.050, 0.160]
    """
    import numpy as np

    n = len(a)
    shares = np.array([(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()]) / n
    draws = np.random.default_rng(seed).multinomial(n, shares, size=_RESAMPLES) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        value = figure(shares[0] + shares[1], shares[0] + shares[2])
        resamples = figure(draws[:, 0] + draws[:, 1], draws[:, 0] + draws[:, 2])
    finite = resamples[np.isfinite(resamples)]
    if not np.isfinite(value) or len(finite) == 0:
        return Estimate(math.nan, n=n, unit="samples")
    return bootstrap(float(value), finite, n)


def paired_difference(losses: int, gains: int, n: int) -> Estimate:
    """(losses − gains) / n of n paired samples, with Tango's score interval (1998), which has a width even at 0 of n.

    A loss is a sample that only the second of two networks gets right, a gain one that only the first gets right: the
    value is error(first) − error(second).

    >>> print(paired_difference(1, 7, 21), paired_difference(0, 0, 100))
    -0.286 [-0.517, -0.026] 0.000 [-0.037, 0.037]
    """
    value = (losses - gains) / n

    def end(z: float, low: float, high: float) -> float:
        # The statistic falls as the difference grows; sixty halvings are beyond float64.
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _tango(losses, gains, n, middle) > z else (low, middle)
        return (low + high) / 2

    return Estimate(value, end(NORMAL, -1.0, value), end(-NORMAL, value, 1.0), n, "samples", signed=True)


def paired_shares(a: NDArray[np.float64], b: NDArray[np.float64]) -> Estimate:
    """mean a − mean b of numbers between 0 and 1 on the same samples: shares of networks that get each sample right.

    Of one network on each side by Tango's score interval, of several by the error of the mean difference.

    >>> import numpy as np
    >>> print(paired_shares(np.ones(100), np.repeat([1.0, 0.0], [90, 10])), paired_shares(np.ones(9), np.full(9, 0.5)))
    0.100 [0.055, 0.174] 0.500 [0.500, 0.500]
    """
    import numpy as np

    gap, n = a - b, len(a)
    if set(np.unique(gap)) <= {-1.0, 0.0, 1.0}:
        return paired_difference(int((gap > 0).sum()), int((gap < 0).sum()), n)
    value, half = float(gap.mean()), NORMAL * float(gap.std(ddof=1)) / math.sqrt(n)
    return Estimate(value, value - half, value + half, n, "samples", signed=True)


def paired_difference_p(losses: int, gains: int, n: int, margin: float, *, above: bool = False) -> float:
    """The p-value of: the difference is at least `margin` (or, with `above`, at most), by Tango's score test (1998).

    A small one shows that the difference is below the margin (`above`: above it).

    >>> round(paired_difference_p(2, 2, 1000, 0.01), 4), round(paired_difference_p(30, 0, 1000, 0.01, above=True), 6)
    (0.002, 4e-06)
    """
    from scipy.special import ndtr

    z = _tango(losses, gains, n, margin)
    return float(ndtr(-z if above else z))


def _tango(losses: int, gains: int, n: int, margin: float) -> float:
    """Tango's score statistic (1998, eq. 6) of the hypothesis that the difference of paired shares is `margin`."""
    a, b, c = 2 * n, (2 * n - losses + gains) * margin - losses - gains, -gains * margin * (1 - margin)
    share = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
    spread = n * (2 * share + margin * (1 - margin))
    gap = losses - gains - n * margin
    if spread <= 0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / math.sqrt(spread)
