"""Table 1's row of task loss matching, and the matrices of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from seamripper.experiment import Experiment, FunctionalPart
from seamripper.papers.balogh2025.derived import identification_rates
from seamripper.papers.balogh2025.setting import CUTS, NAMES, good_enough, networks, samples
from seamripper.papers.balogh2025.table_1 import KINDS, share, table
from seamripper.papers.claims import Claim, Gate
from seamripper.papers.items import Item, PaperGrid, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Row, Select


def ring(kind: str, own: Profile) -> Iterator[FunctionalPart]:
    """Every network of some seeds into itself, and into the next one: each is once a sender and once a receiver.

    The paper's detector judges the first of those that are stitched into themselves, the fast audit all of them.
    """
    seeds = own.few_seeds
    for step in (0, 1):
        for k, seed in enumerate(seeds):
            slow = (own.energy,) if step == 0 and seed in own.detected_seeds else ()
            yield FunctionalPart(
                senders=(f"{kind}/{seed}",),
                receivers=(f"{kind}/{seeds[(k + step) % len(seeds)]}",),
                pairing="all",
                cuts=own.vit_cuts if kind == "vit" else CUTS[kind],
                matchings=("direct", "task"),
                ood=("distribution", *slow),
            )


def matrices(own: Profile, name: str, about: str) -> Experiment:
    """Task and direct matching within networks and between them, with detectors. Two items ask for it."""
    return Experiment(
        name=name,
        about=about,
        data=samples(own),
        models=networks(own, *KINDS),
        matchings={"task": own.task},
        functional=tuple(part for kind in KINDS for part in ring(kind, own)),
    )


def _experiment(own: Profile) -> Experiment:
    return matrices(own, "table-1-tlm", "layers identified by task loss matching (Balogh & Jelasity 2025, Table 1)")


def accuracy(kind: str, **labels: Any) -> Select:
    """Relative accuracies of stitches within a family."""
    return Select("relative_accuracy", kind="functional", sender=kind, receiver=kind, **labels)


def _derive(rows: Sequence[Row]) -> Iterator[Row]:
    yield from identification_rates(rows)
    yield from far_and_near(rows)


def at_rest(*kinds: str) -> tuple[Gate, ...]:
    """The gates of a claim about stitches that are trained on the task: their training has come to rest."""
    return tuple(
        Gate(
            f"of the task stitches into {NAMES['receiver'][kind]}, 80 % have come to rest",
            Select("at_rest", kind="functional", receiver=kind, matching="task"),
            "at least",
            bound=0.8,
        )
        for kind in kinds
    )


def far_and_near(rows: Sequence[Row]) -> Iterator[Row]:
    """For each network and matching: mean relative accuracy at the same layer, and between layers far apart."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        if row.get("kind") != "functional" or row["figure"] != "relative_accuracy":
            continue
        cuts = CUTS[row["receiver"]]
        steps = abs(cuts.index(row["sender_cut"]) - cuts.index(row["receiver_cut"]))
        name = "same layer" if steps == 0 else "far apart" if 2 * steps >= len(cuts) else None
        where = "within" if row["sender_seed"] == row["receiver_seed"] else "between"
        if name is not None:
            key = row["receiver"], row["receiver_seed"], row["matching"], where, name
            groups.setdefault(key, []).append(row["value"])
    for (receiver, seed, matching, where, name), values in groups.items():
        labels = {"receiver": receiver, "receiver_seed": seed, "matching": matching, "where": where, "layers": name}
        yield {**labels, "figure": "mean_relative_accuracy", "value": sum(values) / len(values), "n": len(values)}


def mean_accuracy(kind: Any, layers: str, matching: str = "task", where: str = "within") -> Select:
    """The mean relative accuracy of a network at the same layer, or between layers at least half the depth apart."""
    select = Select("mean_relative_accuracy", receiver=kind, matching=matching, where=where, layers=layers)
    words = "at the same layer" if layers == "same layer" else "between layers at least half the depth apart"
    return select.with_name(f"mean relative accuracy {words} by {NAMES['matching'][matching]}")


HALF = "The bound is half of the effect that the paper reports."
_RESNET, _BOTH = (*good_enough("resnet"), *at_rest("resnet")), (*good_enough(*KINDS), *at_rest(*KINDS))
CLAIMS = (
    Claim("Within a network, task loss matching often fails to find a layer most similar to itself",
        "64 % and 24 %; Table 1", share("TLM", "within", KINDS), "at most", bound=0.82, remark=HALF, gates=_BOTH),
    Claim("Task loss matching performs very poorly between networks", "35 % and 10 %; Table 1",
        share("TLM", "between", KINDS), "at most", bound=0.5, gates=_BOTH),
    Claim("Direct matching (func.) outperforms task loss matching between ResNets", "66 % and 35 %; section 3.2",
        share("DM (func.)", "between", "resnet"), "above", Select(measure="TLM").with_name("that of TLM"),
        bound=0.155, remark=HALF, gates=_RESNET),
    Claim("Does direct matching (func.) outperform it if it is the sender's layer that is looked for?", "",
        share("DM (func.)", "between", "resnet", of="receiver"), "above",
        Select(measure="TLM").with_name("that of TLM"), beyond=True, answers=("yes", "no"), gates=_RESNET,
        remark="The paper does not say in which direction layers are looked for; the claims look for the receiver's."),
    Claim("Task loss matching indicates high similarity between layers far apart", "Fig. 1a, section 3.3",
        mean_accuracy(KINDS, "far apart"), "at least", bound=0.8, gates=_BOTH),
    Claim("It is just as high as for the same layer", "section 3.3", mean_accuracy(KINDS, "far apart"), "no worse",
        Select(layers="same layer").with_name("that at the same layer"), bound=0.05, gates=_BOTH),
    Claim("Direct matching does not indicate it", "Fig. 2", mean_accuracy(KINDS, "far apart", "direct"), "below",
        Select(matching="task").with_name("that by task loss matching"), bound=0.05, gates=_BOTH),
)  # fmt: skip
SHOWS: tuple[PaperTable | PaperGrid, ...] = (
    table("Table 1: task loss matching and direct matching", ("TLM", "DM (func.)")),
    *(
        PaperGrid(f"{NAMES['receiver'][kind]} into itself: relative accuracy by {NAMES['matching'][matching]}",
            accuracy(kind, matching=matching, sender_seed=0, receiver_seed=0, sender_cut=CUTS[kind],
                receiver_cut=CUTS[kind]), sparse=True)
        for kind in KINDS for matching in ("task", "direct")
    ),
)  # fmt: skip
_DEPARTS = (
    "Each network is stitched into itself and into the next one, where the paper stitches every pair. Task "
    "stitches are trained on kept activations, so without the authors' augmentation."
)
ITEM = Item("table-1-tlm", ("Table 1", "Fig. 1a"),
    "Task loss matching, every layer to every layer, within networks and between them: which layer it finds most "
    "similar, and how well distant layers stitch.", _experiment, CLAIMS, SHOWS, (_DEPARTS,), NAMES,
    derive=_derive)  # fmt: skip
