"""Section 5.1 and its rows of Tables 1 and F.1: networks of other texture and shape, ImageNet and Stylized."""

from __future__ import annotations

from typing import Any

from seamripper.experiment.spec import Experiment, Stitching
from seamripper.figures import Sheet
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import claim, denied, every, no_worse, some
from seamripper.papers.smith2025._natural import COLUMNS, baselines, network, rows, samples, smaller, way
from seamripper.papers.smith2025._setting import CUTS, PLACE, STITCH

_INTO_STYLED = (
    (58.39, 58.61, 61.53, 65.31, 70.43, 74.34, 60.18, 56.18),
    (80.57, 80.61, 83.28, 86.13, 89.78, 91.93, 82.60, 78.96),
)
_FROM_STYLED = (
    (10.61, 11.23, 17.60, 30.26, 45.45, 49.17, 7.15, 76.13),
    (22.65, 23.08, 34.34, 52.52, 69.57, 72.30, 15.87, 92.86),
)
"""Per cent: top-1 and top-5 at the six cuts, then the receiver on the sender's task and on its own."""
_PAIRS = {"photos → stylised": ("photos", "stylised"), "stylised → photos": ("stylised", "photos")}


def _experiment(profile: Profile) -> Experiment:
    joined: dict[str, Any] = {"cuts": CUTS, "matchings": ("theirs",), "stitches": (STITCH,), "freeze": ("weights",)}
    sets = {"photos": "cifar10", "stylised": "cifar10/stylised"}
    return Experiment(
        name="section-5.1",
        about="photographs and stylised photographs (Smith et al. 2025, section 5.1, Tables 1 and F.1)",
        models={name: network(profile, data) for name, data in sets.items()},
        matchings={"theirs": way(profile)},
        stitch=tuple(
            Stitching(senders=(a,), receivers=(b,), data=samples(profile, sets[a]), **joined)
            for a, b in _PAIRS.values()
        ),
    )


def _read(cells: Cells, profile: Profile) -> Finding:
    def checks(pair: str, *, hard: bool = False, own: bool = False) -> list[tuple[str, Any]]:
        sender, receiver = _PAIRS[pair]
        found = []
        for cut in CUTS:
            stitched, here, theirs = baselines(cells, cut, sender=sender, receiver=receiver)
            base = max((here, theirs), key=lambda one: one.value) if hard else theirs if own else here
            found.append((PLACE[cut], no_worse(stitched, base)))
        return found

    claims = (
        claim(
            "ImageNet stitches into Stylized at several layers, by the more competitive baseline (Table 1)",
            "In the authors' way, at two cuts or more (ours), accuracy is not below the better of the receiver's two "
            "accuracies.",
            some(checks("photos → stylised", hard=True), least=2),
        ),
        claim(
            "By the receiver's own accuracy, ImageNet stitches into Stylized at all layers (Table 1's caption)",
            "In the authors' way, at each of 6 cuts, accuracy is not below the receiver's on stylised images.",
            every(checks("photos → stylised", own=True)),
        ),
        claim(
            "Stylized does not stitch into ImageNet by the receiver's own accuracy (49.2 % against 76.1 %; Table 1)",
            "In the authors' way, at no cut accuracy is at or above the better of the receiver's two accuracies.",
            denied(some(checks("stylised → photos", hard=True))),
        ),
        claim(
            "By the weaker baseline, the receiver on the sender's task, it does at all layers (Table F.1)",
            "In the authors' way, at each of 6 cuts, accuracy is not below the receiver's on the stylised images.",
            every(checks("stylised → photos", hard=False)),
        ),
    )
    sheet = Sheet(
        "Table F.1: photographs and stylised photographs (paper: ImageNet and Stylized ImageNet)",
        COLUMNS,
        (
            *rows(cells, "photos → stylised", _INTO_STYLED, sender="photos", receiver="stylised"),
            *rows(cells, "stylised → photos", _FROM_STYLED, sender="stylised", receiver="photos"),
        ),
    )
    departs = (
        "CIFAR-10 for ImageNet; for Stylized ImageNet, CIFAR-10 with the amplitude spectrum of another image "
        "(cifar10/stylised), which is no style transfer. On your own: data = 'folder:PATH' for both, in a TOML study.",
        smaller(profile),
    )
    return Finding(claims, (sheet,), departs)


ITEM = Item(
    "section-5.1",
    ("Section 5.1", "Table 1", "Table F.1"),
    "Photographs and photographs with the texture of others (CIFAR-10 and a stylised CIFAR-10), both directions.",
    _experiment,
    _read,
    minutes=2.0,
    times=900.0,
)
