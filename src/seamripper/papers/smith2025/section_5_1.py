"""Section 5.1 and its rows of Tables 1 and F.1: networks of other texture and shape, ImageNet and Stylized."""

from __future__ import annotations

from seamripper.experiment import Data, Experiment
from seamripper.papers import ALONE, OWN, Claim, Item, PaperTable, Profile
from seamripper.papers.smith2025.setting import (
    CUTS,
    NAMES,
    PRETRAINED,
    TABLE_F1,
    TOP1,
    SmithParts,
    of_stitch,
    ours_and_theirs,
)

_INTO_STYLED = (
    (58.39, 58.61, 61.53, 65.31, 70.43, 74.34, 60.18, 56.18),
    (80.57, 80.61, 83.28, 86.13, 89.78, 91.93, 82.60, 78.96),
)
_FROM_STYLED = (
    (10.61, 11.23, 17.60, 30.26, 45.45, 49.17, 7.15, 76.13),
    (22.65, 23.08, 34.34, 52.52, 69.57, 72.30, 15.87, 92.86),
)
"""Per cent: top-1 and top-5 at the six cuts, then the receiver on the sender's task and on its own."""
_SETS = {"photos": "cifar10", "stylised": "cifar10/stylised"}
_INTO = {"sender": "photos", "receiver": "stylised"}
_FROM = {"sender": "stylised", "receiver": "photos"}


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    return Experiment(
        name="section-5.1",
        about="photographs and stylised photographs (Smith et al. 2025, section 5.1, Tables 1 and F.1)",
        models={name: smith.photographs(data) for name, data in _SETS.items()},
        matchings={"theirs": own.photo_stitch},
        stitch=tuple(
            smith.stitches(
                (sender,), (receiver,), data=Data(name=_SETS[sender], n=own.fit, n_test=own.test), freeze=("weights",)
            )
            for sender, receiver in (_INTO.values(), _FROM.values())
        ),
    )


CLAIMS = (
    Claim("ImageNet stitches into Stylized at several layers, by the more competitive baseline", "Table 1",
        of_stitch(receiver_cut=CUTS, **_INTO), "no worse", (ALONE, OWN), over=2,
        remark="Two cuts are our reading of “several”."),
    Claim("By the receiver's own accuracy, ImageNet stitches into Stylized at all layers", "Table 1's caption",
        of_stitch(receiver_cut=CUTS, **_INTO), "no worse", OWN),
    Claim("Stylized does not stitch into ImageNet by the receiver's own accuracy", "49.2 % against 76.1 %; Table 1",
        of_stitch(receiver_cut=CUTS, **_FROM), "below", (ALONE, OWN)),
    Claim("By the weaker baseline, the receiver on the sender's task, it does at all layers", "Table F.1",
        of_stitch(receiver_cut=CUTS, **_FROM), "no worse", ALONE),
)  # fmt: skip

_SHOWS = PaperTable(
    "Table F.1: photographs and stylised photographs (paper: ImageNet and Stylized ImageNet)",
    TABLE_F1,
    (
        *ours_and_theirs("photos → stylised", _INTO_STYLED, **_INTO),
        *ours_and_theirs("stylised → photos", _FROM_STYLED, **_FROM),
    ),
)
_DEPARTS = (
    "CIFAR-10 for ImageNet; for Stylized ImageNet, CIFAR-10 with the amplitude spectrum of another image "
    "(cifar10/stylised), which is no style transfer. On your own: data = 'folder:PATH' for both, in a TOML study."
)
ITEM = Item("section-5.1", ("Section 5.1", "Table 1", "Table F.1"),
    "Photographs and photographs with the texture of others (CIFAR-10 and a stylised CIFAR-10), both directions.",
    _experiment, CLAIMS, (_SHOWS,), (_DEPARTS, PRETRAINED, TOP1), NAMES)  # fmt: skip
