"""Fig. 1b, 1c and 2: how strange stitched activations look to the receiver, and how well the stitched network does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seamripper._ranks import spearman
from seamripper.estimate import CORRELATION
from seamripper.experiment import Experiment
from seamripper.papers.balogh2025.derived import cuts_in
from seamripper.papers.balogh2025.setting import CUTS, NAMES, good_enough
from seamripper.papers.balogh2025.table_1 import KINDS
from seamripper.papers.balogh2025.tlm import accuracy, at_rest, matrices
from seamripper.papers.claims import Claim, Clause, Gate
from seamripper.papers.items import Item, PaperGrid
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Row, Select

Cell = tuple[str, str]
"""The cuts of a sender and a receiver."""
_FIGURES = ("relative_accuracy", "ood_energy", "ood_fast")


def _experiment(own: Profile) -> Experiment:
    return matrices(own, "fig-2", "out-of-distribution scores of stitched activations (Balogh & Jelasity 2025, Fig. 2)")


def summaries(rows: Sequence[Row]) -> Iterator[Row]:
    """For each network, matching and detector: mean AUROCs by place in the matrix, and rank correlations over cells."""
    tables: dict[tuple[Any, ...], dict[str, dict[Cell, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if row.get("kind") == "functional" and row["figure"] in _FIGURES:
            cell = row["sender_cut"], row["receiver_cut"]
            where = "within" if row["sender_seed"] == row["receiver_seed"] else "between"
            key = row["receiver"], row["receiver_seed"], row["matching"], where
            tables[key][row["figure"]][cell] = row["value"]
    for (receiver, seed, matching, where), figures in tables.items():
        labels = {"receiver": receiver, "receiver_seed": seed, "matching": matching, "where": where}
        for detector in ("energy", "fast"):
            scores = figures.get(f"ood_{detector}", {})
            if scores:
                means = _means(scores, cuts_in(scores, receiver))
                means["ood_similar"] = _most_similar(figures["relative_accuracy"], scores)
                same = {**labels, "detector": detector, "n": len(scores)}
                for name, value in means.items():
                    yield {**same, "figure": name, "value": value}
                value = _spearman(figures["relative_accuracy"], scores)
                yield {**same, "figure": "accuracy_and_ood", "value": value, "range": CORRELATION}
        if figures.get("ood_energy"):
            value = _spearman(figures["ood_fast"], figures["ood_energy"])
            n = len(figures["ood_energy"])
            yield {**labels, "figure": "detectors_agree", "value": value, "n": n, "range": CORRELATION}


def _means(scores: Mapping[Cell, float], cuts: Sequence[str]) -> dict[str, float]:
    """Mean AUROCs between different layers, and at the same layer: the first one, and the last quarter."""
    places = {
        "ood_elsewhere": [cell for cell in scores if cell[0] != cell[1]],
        "ood_first": [(cuts[0], cuts[0])],
        "ood_late": [(cut, cut) for cut in cuts[-max(1, len(cuts) // 4) :]],
    }
    return {name: float(np.mean([scores[cell] for cell in cells])) for name, cells in places.items()}


def _most_similar(accuracies: Mapping[Cell, float], scores: Mapping[Cell, float]) -> float:
    """The mean AUROC of the quarter of pairs of different layers that stitch best; a layer and itself always match."""
    others = sorted((cell for cell in scores if cell[0] != cell[1]), key=lambda cell: -accuracies[cell])
    return float(np.mean([scores[cell] for cell in others[: max(1, len(others) // 4)]]))


def _spearman(a: Mapping[Cell, float], b: Mapping[Cell, float]) -> float:
    """Spearman's ρ over the cells that both have; 0 if either is constant."""
    cells = sorted(a.keys() & b.keys())
    x, y = [a[cell] for cell in cells], [b[cell] for cell in cells]
    return spearman(x, y)[0]


def mean_auroc(
    figure: str, called: str, matching: str = "task", receiver: Any = KINDS, detector: str = "energy"
) -> Select:
    """A mean AUROC within networks, or a correlation with it, by one detector."""
    select = Select(figure, receiver=receiver, matching=matching, where="within", detector=detector)
    return select.with_name(f"{called} by {NAMES['matching'][matching]}")


def _gates(*kinds: str) -> tuple[Gate, ...]:
    """The networks are good enough, and their detectors tell native activations from those of other images."""
    detectors = tuple(
        Gate(
            f"detectors tell held-out activations of {NAMES['receiver'][kind]} from auxiliary ones with 0.8 or more",
            Select("detector_auxiliary", kind="functional", receiver=kind, detector="energy"),
            "at least",
            bound=0.8,
        )
        for kind in kinds
    )
    return (*good_enough(*kinds), *at_rest(*kinds), *detectors)


_ELSEWHERE = "the mean AUROC between different layers"
_SIMILAR = "the mean AUROC of the quarter of pairs of different layers with the highest relative accuracy"
_LATE, _FIRST = "the mean AUROC at the same layer, in the last quarter of the network,", "the AUROC at the first layer"
_DIRECT = Select(matching="direct").with_name("that by direct matching")
_RHO = "the rank correlation of relative accuracy with AUROC over all cells"
CLAIMS = (
    Claim("Task loss matching results in representations that are predominantly out of distribution",
        "Fig. 2, section 4.2", mean_auroc("ood_elsewhere", _ELSEWHERE), "at least", bound=0.8, gates=_gates(*KINDS)),
    Claim("Only where an early layer is matched to itself they are not", "Fig. 1b, section 4.2",
        mean_auroc("ood_first", _FIRST, receiver="resnet"), "at most", bound=0.65,
        also=(Clause(mean_auroc("ood_elsewhere", _ELSEWHERE, receiver="resnet"), "above", 0.65),),
        gates=_gates("resnet")),
    Claim("It creates out-of-distribution representations for the same layer towards the end of ResNets and in ViTs",
        "Fig. 1b and 2", mean_auroc("ood_late", _LATE), "above", _DIRECT, gates=_gates(*KINDS)),
    Claim("Direct matching prefers representations in distribution", "Fig. 2, section 4.2",
        mean_auroc("ood_similar", _SIMILAR, "direct"), "at most", bound=0.65, gates=_gates(*KINDS),
        remark="A layer is matched with itself by the identity, so that only different layers can tell."),
    Claim("Where direct matching indicates high similarity its representations are in distribution, and where they "
        "are not it indicates low similarity", "Fig. 2, section 4.2",
        mean_auroc("accuracy_and_ood", _RHO, "direct"), "at most", bound=-0.5, gates=_gates(*KINDS)),
    Claim("Does the fast two-sample audit say the same as the detector of the paper?", "",
        Select("detectors_agree", receiver=KINDS, matching="task", where="within").with_name(
            "the rank correlation of both AUROCs over all cells of task loss matching"),
        "at least", bound=0.5, beyond=True, answers=("yes", "no"), gates=_gates(*KINDS),
        also=(Clause(Select("detectors_agree", receiver=KINDS, matching="direct", where="within").with_name(
            "the same of direct matching"), "at least", bound=0.5),),
        remark="Where the fast audit tells nearly every activation, its AUROCs are all about 1, and their order says "
        "little."),
)  # fmt: skip


def _grids() -> Iterator[PaperGrid]:
    figures = {"relative_accuracy": "relative accuracy", "ood_energy": "AUROC of the energy", "ood_fast": "AUROC, fast"}
    for kind in KINDS:
        for words, receiver in (("into itself", 0), ("into another", 1)):
            for matching in ("task", "direct"):
                for figure, called in figures.items():
                    labels = accuracy(kind, matching=matching, sender_seed=0, receiver_seed=receiver,
                        sender_cut=CUTS[kind], receiver_cut=CUTS[kind]).labels  # fmt: skip
                    if figure == "ood_energy" and receiver:
                        continue
                    title = f"{NAMES['receiver'][kind]} {words}, {NAMES['matching'][matching]}: {called}"
                    yield PaperGrid(title, Select(figure, **labels), sparse=True)


_ENERGIES = tuple(
    f"Energies of native, auxiliary and stitched activations at {cut}: {kind}/0 → {kind}/0, "
    f"from every cut by {matching}"
    for kind, cut in (("resnet", CUTS["resnet"][0]), ("vit", CUTS["vit"][1]))
    for matching in ("task", "direct")
)
"""Fig. 1c: what each cut's stitch makes at the first cut of a network."""
_DEPARTS = (
    "The auxiliary images of the energy detector are ours, where the paper has 300,000 random images. Detectors are "
    "trained for networks into themselves; between networks there is the fast audit alone."
)
ITEM = Item("fig-2", ("Fig. 1", "Fig. 2"),
    "Similarity and out-of-distribution scores of every layer into every layer, by task loss matching and by direct "
    "matching: the detector of the paper beside the fast audit.", _experiment, CLAIMS, tuple(_grids()), (_DEPARTS,),
    NAMES, derive=summaries, pictures=_ENERGIES)  # fmt: skip
