"""Where two networks listen, side by side, by place and by frequency: for a terminal and for a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seamripper._notebook import Html, line, table

WHO = {"receiver": "the receiver", "stitched": "the stitched network"}
BY_PLACE = "How much each follows the other input where this place comes from there"
BY_FREQUENCY = "How much each follows the other input where these frequencies come from there"
_SHADES = " ░▒▓█"


def as_text(figures: Mapping[str, Any]) -> Iterator[str]:
    """The maps of a verdict of `mixing`, in lines; none if it has no maps.

    >>> print("\\n".join(as_text({"places": {"receiver": [[0.0, 1.0]], "stitched": [[1.0, 0.5]]}})))
    How much each follows the other input where this place comes from there (░ 0.25, █ 1):
      the receiver  the stitched network
        ██          ██▒▒
    """
    places, frequencies = figures.get("places"), figures.get("frequencies")
    if places:
        yield f"{BY_PLACE} (░ 0.25, █ 1):"
        widths = [max(len(words), 2 * len(places[who][0])) for who, words in WHO.items()]
        yield "  " + "  ".join(words.ljust(width) for words, width in zip(WHO.values(), widths, strict=True)).rstrip()
        for rows in zip(*(places[who] for who in WHO), strict=True):
            cells = ("".join(2 * _shade(share) for share in row) for row in rows)
            yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
    if frequencies:
        yield f"{BY_FREQUENCY}:"
        for who, words in WHO.items():
            bands = (f"{band} {share:.2f}" for band, share in frequencies[who].items())
            yield f"  {words}: {', '.join(bands)}"


def as_html(figures: Mapping[str, Any]) -> Iterator[Html]:
    """The same for a notebook."""
    places, frequencies = figures.get("places"), figures.get("frequencies")
    if places:
        yield line(BY_PLACE, faint=True)
        for who, words in WHO.items():
            rows = places[who]
            shown = [(f"row {k}", *row) for k, row in enumerate(rows, 1)]
            yield table((words, *(str(k + 1) for k in range(len(rows[0])))), shown, shades=rows)
    if frequencies:
        yield line(BY_FREQUENCY, faint=True)
        shares: Sequence[Sequence[float]] = [list(frequencies[who].values()) for who in WHO]
        rows_ = [(words, *row) for words, row in zip(WHO.values(), shares, strict=True)]
        yield table(("", *frequencies["receiver"]), rows_, shades=shares)


def _shade(share: float) -> str:
    return "·" if math.isnan(share) else _SHADES[round(4 * min(1.0, max(0.0, share)))]
