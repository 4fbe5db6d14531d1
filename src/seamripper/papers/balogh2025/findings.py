"""The five sentences that the page of Balogh & Jelasity 2025 begins with, worded before the run of record."""

from __future__ import annotations

from seamripper.papers.balogh2025.fooled import CLAIMS as FOOLED
from seamripper.papers.balogh2025.ood import mean_auroc
from seamripper.papers.balogh2025.table_1 import share
from seamripper.papers.balogh2025.table_2 import correlation
from seamripper.papers.balogh2025.tlm import mean_accuracy
from seamripper.papers.findings import Finding

_BETWEEN = "of the layers of another ResNet LCKA identifies {lcka:.2f}, PWCCA {pwcca:.2f} and OPD {opd:.2f}"
_FAR = (
    "between layers of a ResNet that lie at least half its depth apart, task loss matching keeps {task:.2f} of the "
    "receiver's accuracy and direct matching {direct:.2f}"
)
_STRANGE = (
    "a detector tells what task loss matching makes of other layers of a ResNet from its own activations with an AUROC "
    "of {elsewhere:.2f}, and what direct matching makes of those that it finds most similar with {similar:.2f}"
)
_RANKS = (
    "on ResNets, functional direct matching ranks layers as probing does with ρ {specific:.2f}, and low-rank "
    "approximations with {sensitive:.2f}"
)

FINDINGS = (
    Finding(
        f"Structural indices differ as the paper says: {_BETWEEN}.",
        f"Structural indices do not differ as the paper says: {_BETWEEN}.",
        f"Whether structural indices differ as the paper says is open: {_BETWEEN}.",
        ("Between ResNets, LCKA performs", "PWCCA and OPD struggle between ResNets"),
        {
            name.lower(): ("table-1", share(name, "between", "resnet"))
            for name in ("LCKA", "PWCCA", "OPD")
        },
    ),
    Finding(
        f"Task loss matching calls distant layers alike, and direct matching does not: {_FAR}.",
        f"Task loss matching does not call distant layers alike here as it does in the paper: {_FAR}.",
        f"Whether task loss matching calls distant layers alike is open: {_FAR}.",
        ("Task loss matching indicates high similarity between layers", "Direct matching does not indicate it"),
        {name: ("table-1-tlm", mean_accuracy("resnet", "far apart", name)) for name in ("task", "direct")},
    ),
    Finding(
        f"Task loss matching drives the receiver with activations that it never has, and direct matching does not: "
        f"{_STRANGE}.",
        f"It is not as the paper says that task loss matching alone leaves the receiver's distribution: {_STRANGE}.",
        f"Whether task loss matching alone leaves the receiver's distribution is open: {_STRANGE}.",
        ("Task loss matching results in representations that", "Direct matching prefers representations"),
        {
            "elsewhere": ("fig-2", mean_auroc("ood_elsewhere", "", receiver="resnet")),
            "similar": ("fig-2", mean_auroc("ood_similar", "", "direct", "resnet")),
        },
    ),
    Finding(
        f"Functional direct matching follows the information in a layer: {_RANKS}.",
        f"Functional direct matching does not follow the information in a layer throughout: {_RANKS}.",
        f"Whether functional direct matching follows the information in a layer is open: {_RANKS}.",
        (
            "Functional direct matching achieves consistently high rank correlations in the sensitivity test",
            "Functional direct matching achieves consistently high rank correlations in the specificity test",
        ),
        {
            "specific": ("table-3", correlation("specificity", "DM (func.)", "resnet", "spearman", rule="authors")),
            "sensitive": ("table-2", correlation("sensitivity", "DM (func.)", "resnet", "spearman")),
        },
    ),
    Finding(
        "Beyond the paper: its cure is fooled as well. At the last block, direct matching lets a network that knows "
        "nothing but colour stand for one that knows shape, on both data sets and in both architectures.",
        "Beyond the paper: its cure is not fooled everywhere. In one case or more of two data sets and two "
        "architectures, direct matching at the last block tells a network that knows nothing but colour from one that "
        "knows shape.",
        "Beyond the paper: whether its cure is fooled, by a network that knows nothing but colour at the last block, "
        "is open in one case or more of two data sets and two architectures.",
        tuple(claim.says for claim in FOOLED),
    ),
)  # fmt: skip
