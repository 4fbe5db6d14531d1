"""Widths that mobile networks like: multiples of eight."""

from __future__ import annotations


def rounded(width: float) -> int:
    """The multiple of 8 nearest to `width`, but at least 8 and not more than a tenth below it.

    As the published code of MobileNetV2 and EfficientNet rounds a width after a factor.

    >>> [rounded(width) for width in (2, 17.6, 26.4, 44, 123.2, 11)]
    [8, 16, 24, 48, 120, 16]
    """
    nearest = max(8, int(width + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * width else nearest
