"""Tables G.1 and G.2: what a linear map reads off untrained networks."""

from __future__ import annotations

from typing import Any

from seamripper.experiment import ControlPart, Data, Experiment, Network
from seamripper.papers import Claim, Clause, Item, PaperTable, Profile, Select
from seamripper.papers.smith2025.setting import CUTS, LENET_CUTS, LENET_PLACES, NAMES, PLACES

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
_CUTS = {"lenet": LENET_CUTS, "resnet": CUTS}


def _experiment(own: Profile) -> Experiment:
    return Experiment(
        name="table-g1",
        about="linear probes of untrained networks (Smith et al. 2025, Tables G.1 and G.2)",
        models={
            "lenet": Network(load="zoo:lenet"),
            "resnet": Network(load=f"zoo:resnet18?width={own.width:g}"),
        },
        control=tuple(
            ControlPart(senders=(model,), receivers=(model,), cuts=cuts, seeds=own.cheap_seeds, controls=(_PROBE,),
                data=Data(name=f"mnist/{name}", n=own.probe_fit, n_test=own.test))
            for model, cuts in _CUTS.items() for name in ("colour-only", "greyscale")
        ),
    )  # fmt: skip


def _probe(model: str, data: str, cuts: Any = None) -> Select:
    cuts = _CUTS[model] if cuts is None else cuts
    return Select("top1", kind="control", receiver=model, receiver_cut=cuts, data=f"mnist/{data}")


CLAIMS = (
    Claim("Colours are linearly separable in an untrained ResNet-18, at every layer", "100 %; Table G.2",
        _probe("resnet", "colour-only"), "at least", bound=0.99),
    Claim("Digits are less so at the last cut than at the first",
        "98 % and 83 % in ResNet-18, 95 % and 86 % in LeNet; our reading of Tables G.1 and G.2",
        _probe("resnet", "greyscale", CUTS[0]), "above", Select(receiver_cut=CUTS[-1]),
        also=(Clause(_probe("lenet", "greyscale", LENET_CUTS[0]), "above", Select(receiver_cut=LENET_CUTS[-1])),)),
    Claim("Good separability of digits is found in untrained networks", "82.9 % at the least; Tables G.1 and G.2",
        _probe("resnet", "greyscale"), "at least", bound=0.8,
        also=(Clause(_probe("lenet", "greyscale"), "at least", bound=0.8),)),
)  # fmt: skip


def _table(title: str, model: str, places: tuple[str, ...], theirs: dict[str, Any]) -> PaperTable:
    rows: list[tuple[Any, ...]] = []
    for name, numbers in theirs.items():
        rows.append((name, "paper (± sd)", *(f"{mean / 100:.3f} ± {sd / 100:.3f}" for mean, sd in numbers)))
        rows.append((name, "ours", _probe(model, name)))
    return PaperTable(title, ("data", "whose", *places), tuple(rows))


SHOWS = (
    _table("Table G.1: probes of an untrained LeNet", "lenet", LENET_PLACES, _LENET),
    _table("Table G.2: probes of an untrained ResNet-18", "resnet", PLACES, _RESNET),
)
_DEPARTS = (
    "The probe is a logistic regression to convergence on flattened activations, where the authors train a linear "
    "layer for 20 epochs of SGD."
)
ITEM = Item("table-g1", ("Table G.1", "Table G.2"),
    "Linear probes of untrained LeNets and ResNets on Colour-Only and greyscale digits, every cut.", _experiment,
    CLAIMS, SHOWS, (_DEPARTS,), NAMES | {"receiver": {"lenet": "LeNet", "resnet": "ResNet-18"}})  # fmt: skip
