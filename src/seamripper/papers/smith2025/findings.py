"""The five sentences that the page of Smith et al. 2025 begins with, worded before the run of record."""

from __future__ import annotations

from typing import Any

from seamripper.papers.findings import Finding
from seamripper.papers.results import Select
from seamripper.papers.smith2025.setting import of_stitch

_OTHER = (
    "on images where colour and digit agree, Colour's front at Block 3 gives Digit's back an accuracy of {colour}, "
    "noise gives it {noise}, and Digit alone has {digit}"
)
_NOTHING = (
    "on images without a digit, Colour-Only at Block 3 gives the network of greyscale digits {patches}; noise at Block "
    "4 gives a ResNet-50 of ImageNet {imagenet} of top-1"
)
_SHIFTED = "with classes shifted by one, Greyscale stitched into itself has {early} at Block 1 and {late} at Block 5"
_BETTER = "at Block 1 Colour-Only gives Digit {into}, and Digit gives Colour-Only {back}"
_TOLD = (
    "where colour and digit disagree, the stitched network with Colour's front agrees with Digit on {colour} of the "
    "images, with Digit's own front on {digit}"
)
_AUDIT: dict[str, Any] = {"kind": "audit", "audit": "conflict", "receiver": "digit", "receiver_cut": "layer2"}


def _number(item: str, sender: str, receiver: str, cut: str, **labels: Any) -> tuple[str, Select]:
    return item, of_stitch(sender=sender, receiver=receiver, receiver_cut=cut, **labels)


FINDINGS = (
    Finding(
        f"Networks that use other information stitch into Digit, and beat it: {_OTHER}.",
        f"Networks that use other information do not beat Digit at every layer here: {_OTHER}.",
        f"Whether networks that use other information beat Digit at every layer is open or not testable: {_OTHER}.",
        ("At all layers, Correlated, Colour, Colour-Only and noise, stitched into Digit",),
        {
            "colour": _number("table-c1", "colour", "digit", "layer2"),
            "noise": _number("table-c1", "clustered noise", "digit", "layer2", kind="noise"),
            "digit": ("table-c1", Select("receiver_here", kind="stitch", sender="digit", receiver="digit",
                receiver_cut="maxpool", freeze="all")),
        },
    ),
    Finding(
        f"So does what holds nothing of the task: {_NOTHING}.",
        f"What holds nothing of the task does not stitch everywhere here: {_NOTHING}.",
        f"Whether what holds nothing of the task stitches everywhere is open or not testable: {_NOTHING}.",
        ("Colour-Only stitches into greyscale MNIST on images without", "Clustered noise stitches into Digit",
         "Noise of 1000 classes stitches into a ResNet-50"),
        {
            "patches": _number("section-4.2", "colour-only", "greyscale", "layer2"),
            "imagenet": ("table-1", Select("top1", kind="noise", receiver="resnet50", receiver_cut="layer3",
                freeze="weights")),
        },
    ),
    Finding(
        f"A network stitches into itself with its classes shifted, in the later layers without loss: {_SHIFTED}.",
        f"A network loses by being stitched into itself with its classes shifted, in the later layers too: {_SHIFTED}.",
        f"Whether shifted classes cost a network anything in the later layers is open: {_SHIFTED}.",
        ("A network stitched into itself with classes shifted by one is compatible",),
        {
            name: _number("fig-3", "greyscale", "greyscale", cut, matching="offset 1")
            for name, cut in (("early", "maxpool"), ("late", "layer4"))
        },
    ),
    Finding(
        f"“Better than the baseline” contradicts itself, as each of two networks is better than the other: {_BETTER}.",
        f"That each of two networks is better than the other does not come out here: {_BETTER}.",
        f"Whether each of two networks is better than the other is open or not testable: {_BETTER}.",
        ("Colour-Only is “better than” Digit, and Digit is “better than” Colour-Only",),
        {
            "into": _number("table-c1", "colour-only", "digit", "maxpool"),
            "back": _number("table-c1", "digit", "colour-only", "maxpool"),
        },
    ),
    Finding(
        f"Beyond the paper: inputs on which the cues disagree tell the senders apart: {_TOLD}.",
        f"Beyond the paper: inputs on which the cues disagree do not tell the senders apart at every cut: {_TOLD}.",
        f"Beyond the paper: whether inputs on which the cues disagree tell the senders apart is open: {_TOLD}.",
        ("Do stitched networks with fronts that use colour agree with Digit less",),
        {
            sender: ("table-c1", Select("observed", sender=sender, **_AUDIT)) for sender in ("colour", "digit")
        },
    ),
)  # fmt: skip
