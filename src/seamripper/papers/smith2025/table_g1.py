"""Tables G.1 and G.2: what a linear map reads off untrained networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seamripper.estimate import Estimate
from seamripper.experiment.spec import Controlling, Data, Experiment, Network
from seamripper.figures import Sheet
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import above, claim, every, reaches
from seamripper.papers.smith2025._setting import CUTS, PLACES, setting, share
from seamripper.papers.smith2025.table_c2 import CUTS as LENET_CUTS
from seamripper.papers.smith2025.table_c2 import PLACES as LENET_PLACES

_PROBE = "linear_probe?pool=false&untrained=true"
_LENET = {
    "colour-only": ((95.33, 6.00), (98.88, 0.76), (96.94, 2.68), (88.20, 9.07)),
    "greyscale": ((95.12, 0.85), (92.78, 0.42), (90.04, 0.43), (86.15, 0.91)),
}
_RESNET = {
    "colour-only": ((100.0, 0.0),) * 6,
    "greyscale": ((97.94, 0.07), (98.33, 0.09), (98.26, 0.11), (97.01, 0.21), (93.77, 0.40), (82.88, 0.49)),
}
"""Per cent and standard deviation over 5 runs."""
_FIT = 800
"""Images of the quick profile."""


def _experiment(profile: Profile) -> Experiment:
    own = setting(profile)
    return Experiment(
        name="table-g1",
        about="linear probes of untrained networks (Smith et al. 2025, Tables G.1 and G.2)",
        models={
            "lenet": Network(load="zoo:lenet"),
            "resnet": Network(load=f"zoo:resnet18?width={own.width:g}"),
        },
        control=tuple(
            Controlling(
                senders=(model,),
                receivers=(model,),
                cuts=cuts,
                data=Data(name=f"mnist/{name}", n=_FIT if profile == "quick" else None, n_test=own.test),
                seeds=own.seeds,
                controls=(_PROBE,),
            )
            for model, cuts in (("lenet", LENET_CUTS), ("resnet", CUTS))
            for name in ("colour-only", "greyscale")
        ),
    )


def _read(cells: Cells, profile: Profile) -> Finding:
    def of(model: str, cut: str, name: str) -> Estimate:
        return cells.of("top1", kind="control", receiver=model, receiver_cut=cut, data=f"mnist/{name}")

    colours = [
        (f"ResNet-18 at {place}", reaches(of("resnet", cut, "colour-only"), 0.99))
        for cut, place in zip(CUTS, PLACES, strict=True)
    ]
    falls = [
        (title, above(of(model, first, "greyscale"), of(model, last, "greyscale")))
        for title, model, first, last in (
            ("ResNet-18, Block 1 against Linear", "resnet", "maxpool", "before:fc"),
            ("LeNet, Conv 1 against Avg Pool 2", "lenet", "conv1", "pool2"),
        )
    ]
    good = [
        (f"{title} at {place}", reaches(of(model, cut, "greyscale"), 0.8))
        for title, model, cuts, places in (
            ("ResNet-18", "resnet", CUTS, PLACES),
            ("LeNet", "lenet", LENET_CUTS, LENET_PLACES),
        )
        for cut, place in zip(cuts, places, strict=True)
    ]
    claims = (
        claim(
            "Colours are linearly separable in an untrained ResNet-18, at every layer (100 %; Table G.2)",
            "The probe's accuracy is at least 0.99 (ours) at each of 6 cuts (interval over untrained networks).",
            every(colours),
        ),
        claim(
            "Digits are less so at the last cut than at the first (98 % and 83 % in ResNet-18, 95 % and 86 % in "
            "LeNet; our reading of Tables G.1 and G.2)",
            "The probe's accuracy at the first cut is above that at the last (interval over untrained networks).",
            every(falls),
        ),
        claim(
            "Good separability of digits is found in untrained networks (82.9 % at the least; Tables G.1 and G.2)",
            "The probe's accuracy is at least 0.80 (ours) at each of 6 and of 4 cuts (interval over untrained "
            "networks).",
            every(good),
        ),
    )
    sheets = tuple(
        Sheet(title, ("data", "whose", *places), _rows(of, model, cuts, theirs))
        for title, model, cuts, places, theirs in (
            ("Table G.1: probes of an untrained LeNet", "lenet", LENET_CUTS, LENET_PLACES, _LENET),
            ("Table G.2: probes of an untrained ResNet-18", "resnet", CUTS, PLACES, _RESNET),
        )
    )
    own = setting(profile)
    images = f"{_FIT:,}" if profile == "quick" else "60,000"
    departs = (
        f"ResNet-18 of width {own.width:g}; {images} images. The probe is a logistic regression to convergence on "
        f"flattened activations, where the authors train a linear layer for 20 epochs of SGD; {len(own.seeds)} "
        "networks, where the authors have 5.",
    )
    return Finding(claims, sheets, departs)


def _rows(of: Any, model: str, cuts: Sequence[str], theirs: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    rows = []
    for name, values in theirs.items():
        rows.append((name, "paper (± sd)", *(f"{mean / 100:.3f} ± {sd / 100:.3f}" for mean, sd in values)))
        rows.append((name, "ours", *(share(of(model, cut, name)) for cut in cuts)))
    return tuple(rows)


ITEM = Item(
    "table-g1",
    ("Table G.1", "Table G.2"),
    "Linear probes of untrained LeNets and ResNets on Colour-Only and greyscale digits, every cut.",
    _experiment,
    _read,
    minutes=1.8,
    times=300.0,
)
