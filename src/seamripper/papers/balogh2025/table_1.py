"""Table 1 but for its row of task loss matching: which layer is the most similar one, by each index."""

from __future__ import annotations

from typing import Any, Literal

from seamripper.experiment import ComparePart, Experiment
from seamripper.papers.balogh2025.derived import identification_rates
from seamripper.papers.balogh2025.setting import CUTS, NAMES, comparison_data, good_enough, networks
from seamripper.papers.claims import Claim, Clause
from seamripper.papers.items import Item, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Select

THEIRS = {
    "PWCCA": (1.0, 1.0, 0.1250, 0.0833),
    "OPD": (1.0, 1.0, 0.1917, 0.1833),
    "LCKA": (1.0, 1.0, 0.9611, 0.3481),
    "TLM": (0.6375, 0.2417, 0.3528, 0.1000),
    "DM (struct.)": (1.0, 1.0, 0.9250, 0.2519),
    "DM (func.)": (1.0, 1.0, 0.6639, 0.1185),
}
"""Shares within ResNet-18 and ViT-Ti, and between them."""
KINDS = ("resnet", "vit")
_PAIRINGS: tuple[Literal["matched", "others"], ...] = ("matched", "others")
"""A network with itself, and with those of other seeds."""
_SAMPLINGS: dict[Literal["positions", "flatten", "pool"], tuple[str, ...]] = {
    "positions": ("linear_cka", "pwcca_ding", "opd", "direct_structural", "direct_functional"),
    "flatten": ("linear_cka",),
    "pool": ("pwcca_ding", "opd"),
}


def comparisons(families: dict[str, str], **more: Any) -> tuple[ComparePart, ...]:
    """Every network of each family with itself and with every other, by every sampling that a rule needs.

    Of two folds, direct stitches are fitted on the first and scored on the second.
    """
    return tuple(
        ComparePart(senders=(family,), receivers=(family,), pairing=pairing, cuts=CUTS[kind], measures=measures,
            sampling=sampling, folds=2, interval=False, **more)
        for family, kind in families.items()
        for sampling, measures in _SAMPLINGS.items()
        for pairing in _PAIRINGS
    )  # fmt: skip


def _experiment(own: Profile) -> Experiment:
    own = own.using(seeds="pair_seeds")
    families = {kind: kind for kind in KINDS}
    return Experiment(
        name="table-1",
        about="layers identified within and between networks (Balogh & Jelasity 2025, Table 1)",
        data=comparison_data(own),
        models=networks(own, *KINDS),
        compare=comparisons(families),
    )


def share(measure: str, where: str, receiver: Any, rule: str = "authors", of: str = "sender") -> Select:
    """The share of layers identified by an index."""
    return Select("identified", measure=measure, where=where, receiver=receiver, rule=rule, of=of).with_name(
        f"the share of layers that {measure} identifies {NAMES['where'][where]}"
    )


def _against(measure: str) -> Select:
    return Select(measure=measure).with_name(f"that of {measure}")


_RESNET, _VIT = good_enough("resnet"), good_enough("vit")
CLAIMS = (
    Claim("Within a network, direct matching (func.) finds every layer most similar to itself", "100 %; Table 1",
        share("DM (func.)", "within", KINDS), "at least", bound=0.95, gates=(*_RESNET, *_VIT),
        remark="Where a layer stitches into most others without loss, as in ViTs of this size, what the network does "
        "cannot tell layers apart."),
    Claim("So do PWCCA, OPD, LCKA and direct matching (struct.)", "100 %; Table 1",
        share("LCKA", "within", KINDS), "at least", bound=1.0,
        also=tuple(Clause(share(m, "within", KINDS), "at least", bound=1.0) for m in ("PWCCA", "OPD", "DM (struct.)")),
        remark="For these indices it holds by definition, so that it tells of their code alone."),
    Claim("Between ResNets, LCKA performs very well", "96 %; Table 1", share("LCKA", "between", "resnet"), "at least",
        bound=0.8, gates=_RESNET),
    Claim("PWCCA and OPD struggle between ResNets", "12.5 % and 19 %, LCKA 96 %; Table 1",
        share("PWCCA", "between", "resnet"), "below", _against("LCKA"),
        also=(Clause(share("OPD", "between", "resnet"), "below", _against("LCKA")),), gates=_RESNET),
    Claim("Direct matching (struct.) is comparable to LCKA between ResNets", "92.5 % and 96 %; section 3.2",
        share("DM (struct.)", "between", "resnet"), "similar", _against("LCKA"), bound=0.15, gates=_RESNET),
    Claim("All methods struggle on the ViT", "Table 1, section 3.2", share("LCKA", "between", "vit"), "below",
        Select(receiver="resnet").with_name("that for ResNet-18"),
        also=tuple(Clause(share(m, "between", "vit"), "below",
            Select(receiver="resnet").with_name("that for ResNet-18")) for m in ("DM (struct.)", "DM (func.)")),
        gates=(*_RESNET, *_VIT),
        remark="In the paper, PWCCA and OPD struggle on both; task loss matching has an item of its own."),
    Claim("Does the authors' sampling, which depends on shape, make the difference between OPD and LCKA?", "",
        share("OPD", "between", "resnet", "positions"), "above",
        Select(rule="authors").with_name("that by the authors' rule"), beyond=True, answers=("yes", "no"),
        gates=_RESNET),
    Claim("Does direct matching (struct.) find more layers if, for each of the receiver's, it looks for the sender's?",
        "", share("DM (struct.)", "between", "resnet", of="receiver"), "above",
        Select(of="sender").with_name("the other way round"), beyond=True, answers=("yes", "no"), gates=_RESNET,
        remark="A residual is relative to the receiver's layer, so that only then all of them have one divisor."),
)  # fmt: skip


def table(title: str, measures: tuple[str, ...]) -> PaperTable:
    """The paper's shares beside ours, by the authors' rule and by positions throughout."""
    places = [(where, kind) for where in ("within", "between") for kind in KINDS]
    rows: list[tuple[Any, ...]] = []
    for measure in measures:
        rows.append((measure, "paper", *THEIRS[measure]))
        for rule, of, words in (
            ("authors", "sender", "ours, authors' rule"),
            ("authors", "receiver", "the same, of the receiver's layers"),
            ("positions", "sender", "ours, by positions"),
        ):
            cells = tuple(share(measure, where, kind, rule, of) for where, kind in places)
            rows.append((measure, words, *cells))
    columns = ("index", "whose", *(f"{NAMES['receiver'][kind]} {NAMES['where'][where]}" for where, kind in places))
    return PaperTable(title, columns, tuple(rows))


_INDICES = tuple(measure for measure in THEIRS if measure != "TLM")
_DEPARTS = (
    "Direct stitches are fitted on one half of the test images and scored on the other, where the authors fit on 100 "
    "training images. The authors' rule of sampling "
    "depends on the shapes of two maps; beside it stands one rule for the whole table, every position a row."
)
ITEM = Item("table-1", ("Table 1",),
    "Layers identified within and between networks by PWCCA, OPD, LCKA and direct matching, for ResNet-18 and ViT-Ti.",
    _experiment, CLAIMS, (table("Table 1: share of layers that are identified", _INDICES),), (_DEPARTS,), NAMES,
    derive=identification_rates)  # fmt: skip
