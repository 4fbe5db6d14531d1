"""Table 3: does an index ignore which seed a layer comes from?"""

from __future__ import annotations

from seamripper.experiment import Experiment, ProbePart
from seamripper.papers.balogh2025.derived import cuts_of, specific
from seamripper.papers.balogh2025.setting import NAMES, comparison_data
from seamripper.papers.balogh2025.table_1 import comparisons
from seamripper.papers.balogh2025.table_2 import ALL_GOOD, FAMILIES, MEASURES, correlation, families, probe_data, table
from seamripper.papers.claims import Claim
from seamripper.papers.items import Item
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Select

THEIRS = {
    "resnet": (0.8590, 0.9699, 0.7285, 0.8959, 0.7678, 0.9202, 0.8571, 0.9698, 0.8760, 0.9749),
    "vit": (0.7189, 0.8701, 0.6502, 0.7848, 0.5314, 0.6818, 0.7818, 0.9207, 0.6639, 0.8019),
}


def _experiment(own: Profile) -> Experiment:
    own = own.using(seeds="pair_seeds")
    by_set = {
        which: {family: family.partition("-")[0] for family, data in FAMILIES.items() if data == which}
        for which in dict.fromkeys(FAMILIES.values())
    }
    return Experiment(
        name="table-3",
        about="the specificity test (Balogh & Jelasity 2025, Table 3)",
        models=families(own),
        probe=tuple(
            ProbePart(models=(family,), cuts=cuts_of(family), data=probe_data(own, which))
            for family, which in FAMILIES.items()
        ),
        compare=tuple(
            part for which, group in by_set.items() for part in comparisons(group, data=comparison_data(own, which))
        ),
    )


_RULE = {"rule": "authors"}
CLAIMS = (
    Claim("Functional direct matching achieves consistently high rank correlations in the specificity test",
        "ρ 0.89 to 0.98; Table 3", correlation("specificity", "DM (func.)", tuple(FAMILIES), "spearman", **_RULE),
        "at least", bound=0.7, gates=ALL_GOOD),
    Claim("PWCCA achieves low rank correlations in the specificity test", "below LCKA throughout; Table 3",
        correlation("specificity", "PWCCA", tuple(FAMILIES), **_RULE), "below",
        Select(measure="LCKA").with_name("that of LCKA"), gates=ALL_GOOD),
    Claim("Direct matching (func.) is close to the leader where it is not the highest", "Table 3",
        correlation("specificity", "DM (func.)", tuple(FAMILIES), **_RULE), "no worse",
        tuple(Select(measure=name).with_name(f"that of {name}") for name in MEASURES if name != "DM (func.)"),
        bound=0.1, gates=ALL_GOOD),
)  # fmt: skip
_DEPARTS = (
    "The reference is chosen by the probe on one half of the test images, and everything is reported on the other; the "
    "unit is the network, so a correlation is over the layers of one network with the reference, where the paper pools "
    "all networks. Fashion-MNIST stands for SVHN and ImageNet."
)
ITEM = Item("table-3", ("Table 3",), "All layers of all networks against probing accuracy, by each index.", _experiment,
    CLAIMS, (table("Table 3: rank correlations of the specificity test", "specificity", THEIRS, **_RULE),),
    (_DEPARTS,), NAMES, derive=specific)  # fmt: skip
