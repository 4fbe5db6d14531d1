"""Table 2: does an index notice that a low-rank approximation has lost information?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamripper.experiment import Data, Experiment, ProbePart
from seamripper.papers.balogh2025.derived import sensitive
from seamripper.papers.balogh2025.setting import CUTS, NAMES, SETS, good_enough, networks, second_networks
from seamripper.papers.claims import Claim
from seamripper.papers.items import Item, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Select

MEASURES = ("LCKA", "PWCCA", "OPD", "DM (func.)", "DM (struct.)")
FAMILIES = {"resnet": "cifar10", "vit": "cifar10", "resnet-fashion": "fashion", "vit-fashion": "fashion"}
"""Families of networks, and their data."""
_WORDS = ("linear_cka", "pwcca_ding?remainder=true", "opd", "direct_structural", "direct_functional")
_LAST = {"resnet": CUTS["resnet"][-4:], "vit": CUTS["vit"][-6:]}
THEIRS = {
    "resnet": (0.5687, 0.7217, 0.6276, 0.7767, 0.5484, 0.7176, 0.7896, 0.9169, 0.6583, 0.8068),
    "vit": (0.4851, 0.6320, 0.8260, 0.9453, 0.7321, 0.8621, 0.7448, 0.8885, 0.7856, 0.9057),
}
"""On CIFAR-10: τ and ρ of each index."""


def probe_data(own: Profile, which: str) -> Data:
    """The samples that probes are fitted on, and those that they and all indices are scored on."""
    return Data(name=SETS[which], n=own.probed, n_test=own.scored)


def families(own: Profile) -> dict[str, Any]:
    """All networks of both tests: on CIFAR-10 and on the second set."""
    return {**networks(own, "resnet", "vit"), **second_networks(own, "resnet", "vit")}


def _experiment(own: Profile) -> Experiment:
    return Experiment(
        name="table-2",
        about="the sensitivity test (Balogh & Jelasity 2025, Table 2)",
        models=families(own),
        probe=tuple(
            ProbePart(
                models=(family,),
                cuts=_LAST[family.partition("-")[0]],
                ranks=own.ranks,
                measures=_WORDS,
                data=probe_data(own, which),
            )
            for family, which in FAMILIES.items()
        ),
    )


def correlation(test: str, measure: Any, receiver: Any, which: str = "kendall", **labels: Any) -> Select:
    """A rank correlation of a test, by an index or several."""
    letter = "Kendall's τ" if which == "kendall" else "Spearman's ρ"
    name = f"{letter} of {measure if isinstance(measure, str) else 'each index'}"
    return Select(f"{test}_{which}", measure=measure, receiver=receiver, **labels).with_name(name)


_GATES = good_enough("resnet", "vit")
_ALL = tuple(FAMILIES)
ALL_GOOD = good_enough(*_ALL)
_MONOTONE = (
    "An approximation that is fitted once keeps the first directions of the layer, each rank those of the ranks below. "
    "So a structural index falls with the rank at every layer, all of them have one correlation, and the test cannot "
    "tell them apart: LCKA and OPD are here as good as the probe is monotone. The authors fit it on each batch."
)
CLAIMS = (
    Claim("Functional direct matching achieves consistently high rank correlations in the sensitivity test",
        "ρ 0.86 to 0.92; Table 2", correlation("sensitivity", "DM (func.)", _ALL, "spearman"), "at least", bound=0.7,
        gates=ALL_GOOD),
    Claim("LCKA performs poorly in the sensitivity test", "τ 0.57 and 0.49 on CIFAR-10, DM (func.) 0.79 and 0.74",
        correlation("sensitivity", "LCKA", ("resnet", "vit")), "below",
        Select(measure="DM (func.)").with_name("that of DM (func.)"), gates=_GATES, remark=_MONOTONE),
    Claim("OPD shows inconsistent results", "below DM (func.) on ResNet; Table 2",
        correlation("sensitivity", "OPD", "resnet"), "below",
        Select(measure="DM (func.)").with_name("that of DM (func.)"), gates=good_enough("resnet"),
        remark="The same number as LCKA's, for the same reason."),
)  # fmt: skip


def table(title: str, test: str, theirs: Mapping[str, tuple[float, ...]], **labels: Any) -> PaperTable:
    """The paper's correlations on CIFAR-10 beside ours, on both sets."""
    rows: list[tuple[Any, ...]] = []
    for family in FAMILIES:
        if family in theirs:
            rows.append((NAMES["receiver"][family], "paper", *theirs[family]))
        cells = [
            correlation(test, measure, family, which, **labels)
            for measure in MEASURES
            for which in ("kendall", "spearman")
        ]
        rows.append((NAMES["receiver"][family], "ours", *cells))
    columns = ("networks", "whose", *(f"{measure} {letter}" for measure in MEASURES for letter in "τρ"))
    return PaperTable(title, columns, tuple(rows))


_DEPARTS = (
    "The approximation is fitted once on training rows, where the authors' is fitted on each batch. Fashion-MNIST "
    "stands for SVHN and ImageNet. An index is scored on other images than the reference is chosen with, and by "
    "positions throughout, where the authors flatten maps for LCKA."
)
ITEM = Item("table-2", ("Table 2",), "Low-rank approximations against probing accuracy, by each index.", _experiment,
    CLAIMS, (table("Table 2: rank correlations of the sensitivity test", "sensitivity", THEIRS),), (_DEPARTS,), NAMES,
    derive=sensitive)  # fmt: skip
