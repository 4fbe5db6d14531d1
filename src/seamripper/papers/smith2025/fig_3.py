"""Figures 3 and E.1: a network stitched into itself with class labels shifted, three data sets, all offsets."""

from __future__ import annotations

from seamripper.experiment import Experiment
from seamripper.papers import ALONE, Claim, Clause, Item, PaperPlot, PaperTable, Profile, Range, Select, with_options
from seamripper.papers.smith2025.setting import CUTS, NAMES, SIX_CUTS, TITLES, WAYS, SmithParts, of_stitch

_NAMES = ("greyscale", "colour-only", "correlated")
_OFFSETS = tuple(range(1, 10))
_ADAPTING = tuple(f"offset {k}" for k in _OFFSETS)
_FROZEN = tuple(f"offset {k}, strictly frozen" for k in _OFFSETS)
_GREY = (0.907, 0.965, 0.985, 0.991, 0.992, 0.992)
"""Greyscale, offset 1, at the six cuts: from the authors' results."""


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    # The authors' way costs more, as the sender runs at each step. There are many offsets that are strictly frozen, and
    # fewer images make fewer steps, unless batches are smaller; no statistics adapt that would mind.
    shifts = {k: tuple((c + k) % 10 for c in range(10)) for k in _OFFSETS}
    adapting = {f"offset {k}": with_options(own.stitch, label_map=shifts[k]) for k in _OFFSETS}
    frozen = {_FROZEN[k - 1]: with_options(own.offset_stitch, label_map=shifts[k]) for k in _OFFSETS}
    parts = []
    for name in _NAMES:
        data = smith.samples(name)
        few = data.model_copy(update={"n": own.offset_fit, "n_test": own.offset_test})
        parts.append(smith.rated_stitches((name,), (name,), matchings=_ADAPTING[:1], data=data, freeze=("weights",)))
        parts.append(smith.stitches((name,), (name,), matchings=_FROZEN[:1], data=few))
        if name in own.offset_places:
            way = {"data": data, "freeze": ("weights",), "cuts": own.offset_places[name]}
            parts.append(smith.rated_stitches((name,), (name,), matchings=_ADAPTING[1:], **way))
        if name in own.offset_names:
            parts.append(smith.stitches((name,), (name,), matchings=_FROZEN[1:], data=few, cuts=own.offset_cuts))
    return Experiment(
        name="fig-3",
        about="self-stitch with class offset (Smith et al. 2025, Fig. 3 and E.1)",
        models=smith.resnets(*_NAMES),
        matchings=adapting | frozen,
        stitch=tuple(parts),
    )


_EARLY = {"receiver": "greyscale", "receiver_cut": "maxpool"}
_COLOURS = {"receiver": "colour-only", "receiver_cut": "maxpool"}
CLAIMS = (
    Claim("A network stitched into itself with classes shifted by one is compatible in the later layers", "Fig. 3",
        of_stitch(receiver=_NAMES, receiver_cut=("layer4", "before:fc"), matching="offset 1"), "no worse", ALONE,
        bound=0.01),
    Claim("Greyscale always suffers at early layers", "90.7 % at Block 1 in the authors' results; Fig. 3, Appendix E",
        of_stitch(matching="offset 1", **_EARLY), "below", ALONE,
        also=(Clause(of_stitch(freeze="all", matching=_FROZEN, **_EARLY), "below", ALONE),)),
    Claim("Offsets other than zero give similar curves", "greyscale, Appendix E",
        of_stitch(receiver="greyscale", receiver_cut=CUTS, matching=Range(_ADAPTING)), "at most", bound=0.05),
    Claim("Colour-Only is sometimes perfect even at Block 1", "Appendix E",
        of_stitch(freeze="all", matching=_FROZEN, **_COLOURS), "at least", bound=0.999, over="best",
        also=(Clause(of_stitch(matching=_ADAPTING, **_COLOURS), "at least", bound=0.999),)),
)  # fmt: skip


def _offset_1(freeze: str, matching: str) -> PaperPlot:
    where = {"kind": "stitch", "matching": matching, "freeze": freeze}
    alone = {f"{TITLES[name]} alone": Select(*ALONE.figures, receiver=name, **where) for name in _NAMES}
    select = Select("top1", receiver=_NAMES, receiver_cut=CUTS, **where)
    return PaperPlot(f"Fig. 3: offset 1, {WAYS[freeze]}", (select,), alone, {"Greyscale": _GREY})


SHOWS = (
    _offset_1("weights", "offset 1"),
    _offset_1("all", _FROZEN[0]),
    PaperPlot(
        "Fig. E.1: Greyscale, all offsets", (of_stitch(receiver="greyscale", matching=_ADAPTING, receiver_cut=CUTS),)
    ),
    PaperTable(
        "Fig. E.1: all offsets at Block 1",
        ("network", "way", *(f"offset {k}" for k in _OFFSETS)),
        tuple(
            (TITLES[name], said, Select("top1", kind="stitch", freeze=freeze, receiver=name, receiver_cut=CUTS[0],
                matching=words))
            for name in _NAMES[:2] for freeze, said, words in (
                ("weights", "BN adapts", _ADAPTING), ("all", "strictly frozen", _FROZEN))
        ),
    ),
)  # fmt: skip
_WORDS = {"matching": {name: name.partition(",")[0] for name in _FROZEN}, "noun": {"matching": "offset"}}
ITEM = Item("fig-3", ("Fig. 3", "Fig. E.1"),
    "A network stitched into itself, classes shifted by an offset: three data sets, all nine offsets, six cuts.",
    _experiment, CLAIMS, SHOWS, (SIX_CUTS,), NAMES | _WORDS)  # fmt: skip
