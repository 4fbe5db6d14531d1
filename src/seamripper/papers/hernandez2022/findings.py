"""The five sentences that the page of Hernandez et al. 2022 begins with, worded before the run of record."""

from __future__ import annotations

from seamripper.papers.findings import Finding
from seamripper.papers.hernandez2022.fig_2 import mean_accuracy
from seamripper.papers.hernandez2022.hacking import DRIVEN, REAL, share_of_cells

_TRIANGLE = "below the diagonal stitched networks keep {below:.2f} of the receiver's accuracy, above it {above:.2f}"
_FAR = "from layers at least half the depth later they keep {far:.2f}, on the diagonal {diagonal:.2f}"
_UNTRAINED = (
    "over all layers the mean accuracy is {sender:.2f} from an untrained sender and {receiver:.2f} into an untrained "
    "receiver"
)
_WAYS = (
    "on the diagonal similarity-trained stitches keep {similarity:.2f} of the accuracy and vanilla ones {vanilla:.2f}"
)
_CELLS = (
    "by the conflict and mixing audits {real:.2f} of the cells backwards answer as the receiver does, and {driven:.2f} "
    "follow something else; the rest is not decided"
)
_RELATIVE = ("below", "above", "diagonal")

FINDINGS = (
    Finding(
        f"The triangle is there: {_TRIANGLE}.",
        f"The triangle is not there as the paper has it: {_TRIANGLE}.",
        f"Whether the triangle is there is open: {_TRIANGLE}.",
        ("The similarity matrix has a triangle", "It is there regardless of the architecture"),
        {place: ("fig-2", mean_accuracy(place)) for place in _RELATIVE[:2]},
    ),
    Finding(
        f"Layers stitch backwards over any distance: {_FAR}.",
        f"Layers do not stitch backwards over any distance without loss: {_FAR}.",
        f"Whether layers stitch backwards over any distance is open: {_FAR}.",
        ("Every layer of the sender is extremely similar", "Accuracy is high even if the layers are far apart"),
        {"far": ("fig-2", mean_accuracy("far below")), "diagonal": ("fig-2", mean_accuracy("diagonal"))},
    ),
    Finding(
        f"Untrained networks do not stitch: {_UNTRAINED}.",
        f"Untrained networks do stitch in some cases: {_UNTRAINED}.",
        f"Whether untrained networks stitch is open: {_UNTRAINED}.",
        ("Stitches never yield high similarity for untrained networks",),
        {end: ("fig-2", mean_accuracy("all", relative=False, case=f"random {end}")) for end in ("sender", "receiver")},
    ),
    Finding(
        f"Stitches that are trained to be similar are less accurate: {_WAYS}.",
        f"Stitches that are trained to be similar are not less accurate throughout: {_WAYS}.",
        f"Whether stitches that are trained to be similar are less accurate is open: {_WAYS}.",
        ("Similarity-trained stitches yield lower accuracy",),
        {way: ("table-1", mean_accuracy("diagonal", matching=way)) for way in ("similarity", "vanilla")},
    ),
    Finding(
        f"Beyond the paper: most stitches backwards are real; {_CELLS}.",
        f"Beyond the paper: most stitches backwards are not shown to be real; {_CELLS}.",
        f"Beyond the paper: whether stitches backwards are real is open; {_CELLS}.",
        ("Are most stitches backwards real",),
        {"real": ("hacking", share_of_cells(REAL, "backwards")),
         "driven": ("hacking", share_of_cells(DRIVEN, "backwards"))},
    ),
)  # fmt: skip
