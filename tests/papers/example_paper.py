"""The smallest complete paper: four items in one file. Copy it to write another.

It is sizes (`SIZES`), an `Experiment` for each item, claims with their gates as rows, and findings. Rules, tables,
figures, planted results and where the quick profile departs from the paper are derived from these. Register `PAPER`
under the entry point group `seamripper.papers`, and `seamripper reproduce example2021` runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seamripper.experiment import Data, Experiment, Network, NoisePart, StitchPart
from seamripper.papers import (
    ALONE,
    TRAINED,
    Claim,
    Clause,
    Finding,
    Gate,
    Item,
    Paper,
    PaperGrid,
    PaperPlot,
    PaperTable,
    Profile,
    Select,
    Size,
)

# ---- what the items have in common: each size in the quick profile and in the paper's, and words for labels

SIZES = {
    "width": Size("networks of width {}", 0.125, 1.0),
    "seeds": Size("{#} seeds", (0, 1, 2), (0, 1, 2, 3, 4)),
    "training": Size("trained with {}", "?epochs=3", "?epochs=30"),
    "fit": Size("stitches fitted on {} images", 200, None),
    "stitch": Size("and trained with {}", "task?lr=0.01&epochs=2", "task?lr=0.001&epochs=20"),
    "per_class": Size("noise of {} samples per class", 20, 500),
}
CUTS = ("layer1", "layer2", "layer3")
NAMES = {
    "receiver_cut": {"layer1": "Stage 1", "layer2": "Stage 2", "layer3": "Stage 3"},
    "sender": {"colour": "Colour", "digit": "Digit"},
    "receiver": {"digit": "Digit"},
}
INTO_DIGIT = {"kind": "stitch", "receiver": "digit", "receiver_cut": CUTS}


def networks(own: Profile, *names: str) -> dict[str, Network]:
    """Small residual networks, each trained on a set of digits of its name."""
    word = f"zoo:R_1111?width={own.width:g}"
    return {n: Network(train=word, data=f"digits/{n}", training=own.training, seeds=own.seeds) for n in names}


# ---- Table 1: a table of the paper's own numbers beside ours, and a gate: without it, nothing is said of the claim


def stitches(own: Profile) -> Experiment:
    """Colour and Digit into Digit. Two items ask for it; what they share is run once."""
    return Experiment(
        name="table-1",
        about="Colour and Digit stitched into Digit",
        data=Data(name="digits/correlated", n=own.fit),
        models=networks(own, "colour", "digit"),
        matchings={"theirs": own.stitch},
        stitch=(StitchPart(senders=("colour", "digit"), receivers=("digit",), cuts=CUTS, matchings=("theirs",)),),
    )


TRAINED_WELL = Gate("Digit itself has learnt digits", Select("accuracy", kind="train", model="digit"), "at least",
                    bound=0.8)  # fmt: skip
TABLE_1 = Item(
    "table-1",
    ("Table 1",),
    "Colour and Digit into Digit, three cuts.",
    stitches,
    (
        Claim("Colour stitches into Digit at every cut", "Table 1", Select("top1", sender="colour", **INTO_DIGIT),
              "no worse", ALONE, bound=0.01, gates=(TRAINED_WELL,)),
        Claim("Digit reaches 90 % at one cut or more", "Table 1", Select("top1", sender="digit", **INTO_DIGIT),
              "at least", bound=0.9, over="some"),
    ),
    (
        PaperTable(
            "Table 1: accuracy of the stitched network",
            ("sender", "whose", *NAMES["receiver_cut"].values()),
            (
                ("Colour", "paper", 0.99, 0.99, 1.0),
                ("Colour", "ours", Select("top1", sender="colour", **INTO_DIGIT)),
                ("Digit", "paper", 0.91, 0.93, 0.96),
                ("Digit", "ours", Select("top1", sender="digit", **INTO_DIGIT)),
            ),
        ),
    ),
    ("The paper trains on 60,000 digits, where these are 1,437.",),
    NAMES,
)  # fmt: skip

# ---- Fig. 1: lines over cuts, the receiver alone as a baseline; a matrix; and rows that are derived from others


def ahead(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """For each seed, the share of cuts at which Colour is ahead of Digit."""
    top1 = {(r["sender"], r["receiver_cut"], r["receiver_seed"]): r["value"] for r in rows if r["figure"] == "top1"}
    for seed in sorted({seed for _, _, seed in top1}):
        share = sum(top1["colour", cut, seed] > top1["digit", cut, seed] for cut in CUTS) / len(CUTS)
        yield {"figure": "share_ahead", "value": share, "receiver_seed": seed}


FIG_1 = Item(
    "fig-1",
    ("Fig. 1",),
    "The same as lines over cuts.",
    lambda own: stitches(own).model_copy(update={"name": "fig-1"}),
    (
        Claim("Colour is the better sender", "Fig. 1", Select("top1", sender="colour", **INTO_DIGIT), "above",
              Select(sender="digit")),
        Claim("Colour is ahead at most cuts", "Fig. 1", Select("share_ahead"), "above", bound=0.5),
    ),
    (
        PaperPlot(
            "Fig. 1: into Digit",
            (Select("top1", sender=("colour", "digit"), **INTO_DIGIT),),
            {"Digit alone": Select("receiver_here", kind="stitch", sender="digit", receiver="digit")},
            {"Colour": (0.99, 0.99, 1.0)},
        ),
        PaperGrid("Fig. 1: the same as a matrix", Select("top1", sender=("colour", "digit"), **INTO_DIGIT), "sender"),
    ),
    names=NAMES,
    derive=ahead,
)  # fmt: skip

# ---- Fig. 2: noise; an item that shows nothing of its own shows the figures of its claims


def noise(own: Profile) -> Experiment:
    """Clustered noise into Digit."""
    part = NoisePart(receivers=("digit",), cuts=CUTS, matchings=("theirs",), radius=(0.1, 1.0), per_class=own.per_class)
    return Experiment(name="fig-2", models=networks(own, "digit"), matchings={"theirs": own.stitch}, noise=(part,))


NOISE = Select("top1", kind="noise", receiver="digit", receiver_cut=CUTS, radius=0.1)
FIG_2 = Item(
    "fig-2",
    ("Fig. 2",),
    "Clustered noise into Digit, tight and wide.",
    noise,
    (
        Claim("Tight clusters stitch into Digit, and wide ones less well", "Fig. 2", NOISE, "no worse", TRAINED,
              also=(Clause(NOISE, "above", Select(radius=1.0)),)),
    ),
    names=NAMES | {"radius": "radius {:g}"},
)  # fmt: skip

# ---- Section 5: a claim without a figure, and a question that the paper does not ask


def trainings(own: Profile) -> Experiment:
    """The two networks alone."""
    return Experiment(name="section-5", models=networks(own, "colour", "digit"))


ALONE_ON_DATA = Select("accuracy", kind="train", model="colour")
SECTION_5 = Item(
    "section-5",
    ("Section 5",),
    "The networks alone, each on its own task.",
    trainings,
    (
        Claim("Colours are easier than digits", "Section 5", ALONE_ON_DATA, "above",
              Select("accuracy", kind="train", model="digit").with_name("that of Digit")),
        Claim("Is colour learnt perfectly?", "", ALONE_ON_DATA, "at least", bound=0.99, beyond=True,
              answers=("yes", "no")),
    ),
    names=NAMES,
)  # fmt: skip

# ---- what the page begins with: each sentence in the wording that its claims support

FINDINGS = (
    Finding(
        "Colour fits Digit wherever it is stitched into it, with an accuracy of {deep:.2f} at Stage 3.",
        "Colour does not fit Digit everywhere: its accuracy is {deep:.2f} at Stage 3.",
        "Whether Colour fits Digit is open; its accuracy is {deep:.2f} at Stage 3.",
        ("Colour stitches into Digit", "Colour is the better sender"),
        {"deep": ("table-1", Select("top1", sender="colour", **INTO_DIGIT).with_labels(receiver_cut="layer3"))},
    ),
)

PAPER = Paper("example2021", "An Example (Nobody 2021)", (TABLE_1, FIG_1, FIG_2, SECTION_5), SIZES, findings=FINDINGS)
