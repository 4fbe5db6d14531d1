"""Fig. 6: images, by stitches into the very first layer."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import Data, Experiment, PicturesPart
from seamripper.papers.claims import Claim
from seamripper.papers.hernandez2022.setting import IMAGE, LAYERS, NAMES, good_enough, matchings, rounds, trained_nets
from seamripper.papers.items import Item, PaperPlot
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Select

_NETWORK = "R_1212"
_WAYS = ("vanilla", "direct")
_CUTS = LAYERS[_NETWORK]


def _experiment(own: Profile) -> Experiment:
    return Experiment(
        name="fig-6",
        about="images by stitching into the first layer (Hernandez et al. 2022, Fig. 6)",
        data=Data(name="cifar10", n=own.pictured, n_test=own.scored),
        models=trained_nets(own, _NETWORK),
        matchings={"vanilla": matchings(own)["vanilla"]},
        pictures=tuple(
            PicturesPart(senders=(f"{_NETWORK}/{a}",), receivers=(f"{_NETWORK}/{b}",), pairing="all",
                cuts=tuple(f"{cut} -> {IMAGE}" for cut in _CUTS), matchings=_WAYS, stitch="strided", n=12)
            for a, b in rounds(own.seeds)
        ),
    )  # fmt: skip


def _images(figure: str, cut: Any, matching: str) -> Select:
    return Select(figure, kind="pictures", sender_cut=cut, matching=matching)


_GATES = (good_enough(_NETWORK),)
_DETAIL = "the share of detail in the images"
CLAIMS = (
    Claim("Images lose granularity as the layers progress", "Fig. 6",
        _images("detail", _CUTS[-1], "vanilla").with_name(f"{_DETAIL} made from the last layer"), "below",
        Select(sender_cut=_CUTS[0]).with_name("that from the first"), gates=_GATES,
        remark="Detail, which is ours, is the squared difference of neighbouring pixels over twice their variance. A "
        "layer's map bounds it: its positions are copied into squares of pixels, and in the quick profile the last map "
        "is one position, so that its image is flat by construction."),
    Claim("Is the image also lost to a stitch that is made to restore it?", "",
        _images("reconstruction_error", _CUTS[-1], "direct").with_name(
            "the error of images that least squares stitches restore from the last layer"), "above",
        Select(sender_cut=_CUTS[0]).with_name("that from the first"), beyond=True, answers=("yes", "no"),
        gates=_GATES),
    Claim("Do the images of vanilla stitches look like the inputs less than those of stitches made to restore them?",
        "", _images("reconstruction_error", _CUTS, "vanilla"), "above",
        Select(matching="direct").with_name("that of least squares stitches"), beyond=True, answers=("yes", "no"),
        gates=_GATES),
)  # fmt: skip
_SHOWS = tuple(
    PaperPlot(title, tuple(_images(figure, _CUTS, way).with_name(NAMES["matching"][way]) for way in _WAYS), baselines,
        along="sender_cut")
    for title, figure, baselines in (
        ("Detail of the images by the sender's layer", "detail",
            {"the images shown": Select("detail_input", kind="pictures", matching="direct")}),
        ("Error of the images by the sender's layer", "reconstruction_error", {}),
    )
)  # fmt: skip
_DEPARTS = (
    "The paper does not say which networks its images are of: here R_1212 sends, and another seed of it receives. "
    "Beside the vanilla stitches stand least squares stitches, which restore as much of the image as a stitch can."
)
ITEM = Item("fig-6", ("Fig. 6",), "Images that stitches from each layer into the very first one make.", _experiment,
    CLAIMS, _SHOWS, (_DEPARTS,), NAMES | {"sender_cut": NAMES["receiver_cut"]},
    pictures=(f"{_NETWORK}/0 → {_NETWORK}/1",))  # fmt: skip
