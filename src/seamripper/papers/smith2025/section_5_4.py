"""Section 5.4 and its rows of Tables 1 and F.1: photographs into a network of recordings."""

from __future__ import annotations

from typing import Any

from seamripper.experiment.spec import Experiment, Stitching
from seamripper.figures import Sheet
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import below, claim, every, no_worse, some
from seamripper.papers.smith2025._natural import COLUMNS, baselines, network, rows, samples, smaller, way
from seamripper.papers.smith2025._setting import CUTS, PLACE, STITCH

_TABLE = (
    (15.40, 19.00, 25.00, 46.20, 75.60, 88.40, 6.59, 77.98),
    (63.80, 68.40, 76.40, 88.60, 98.60, 99.80, 50.40, 96.07),
)
"""Per cent: top-1 and top-5 at the six cuts, then the receiver on the sender's task and on its own."""


def _experiment(profile: Profile) -> Experiment:
    joined: dict[str, Any] = {"cuts": CUTS, "matchings": ("theirs",), "stitches": (STITCH,), "freeze": ("weights",)}
    return Experiment(
        name="section-5.4",
        about="photographs into a network of recordings (Smith et al. 2025, section 5.4, Tables 1 and F.1)",
        models={
            "photos": network(profile, "cifar10"),
            "recordings": network(profile, "speech", classes=8, epochs=20),
        },
        matchings={"theirs": way(profile)},
        stitch=(
            Stitching(
                senders=("photos",), receivers=("recordings",), data=samples(profile, "cifar10?classes=8"), **joined
            ),
            Stitching(senders=("recordings",), receivers=("photos",), data=samples(profile, "speech"), **joined),
        ),
    )


def _read(cells: Cells, profile: Profile) -> Finding:
    def at(cut: str) -> Any:
        stitched, _, own = baselines(cells, cut, sender="photos", receiver="recordings")
        return no_worse(stitched, own)

    ways = (("photos", "recordings"), ("recordings", "photos"))
    either = []
    for sender, receiver in ways:
        for cut in CUTS:
            one, _, base = baselines(cells, cut, sender=sender, receiver=receiver)
            either.append((f"{sender} into {receiver} at {PLACE[cut]}", no_worse(one, base)))
    into = {cut: baselines(cells, cut, sender="photos", receiver="recordings") for cut in CUTS}
    own, last = into[CUTS[-1]][2], into[CUTS[-1]][0]
    early = [(f"{PLACE[cut]} against the receiver", below(into[cut][0], own)) for cut in CUTS[:5]]
    claims = (
        claim(
            "Photographs stitch into a network of recordings, before the classifier (88.4 % against 78.0 %; Table 1)",
            "In the authors' way, accuracy at Linear is not below the receiver's on recordings (interval over seeds).",
            at("before:fc"),
        ),
        claim(
            "They do not before Blocks 1 to 5 (15.4 % to 75.6 %), and do better at Linear than at Block 1 (Table 1, "
            "B.5)",
            "In the authors' way, accuracy at each of the five is below the receiver's on recordings, and at Block 1 "
            "below that at Linear (interval over seeds).",
            every([*early, ("Block 1 against Linear", below(into[CUTS[0]][0], last))]),
        ),
        claim(
            "By the weaker baseline, the receiver's accuracy on photographs (6.6 %), they do at all layers (Table F.1)",
            "In the authors' way, at each of 6 cuts accuracy is not below the receiver's on photographs (interval over "
            "seeds).",
            every((PLACE[cut], no_worse(one, here)) for cut, (one, here, _) in into.items()),
        ),
        claim(
            "Beyond the table: models of different tasks and modalities can be stitched, in one direction or the other",
            "At one cut or more of either direction, accuracy is not below the receiver's on its own task (not "
            "corrected for 12 looks).",
            some(either),
            beyond=True,
        ),
    )
    back = tuple((float("nan"),) * 8 for _ in range(2))
    reverse = rows(cells, "recordings → photos", back, sender="recordings", receiver="photos")  # type: ignore[arg-type]
    sheet = Sheet(
        "Table F.1: photographs and recordings (paper: 10-class ImageNet to birdsong)",
        COLUMNS,
        (
            *rows(cells, "photos → recordings", _TABLE, sender="photos", receiver="recordings"),
            *(row for row in reverse if row[1] == "ours"),
        ),
    )
    photos = cells.of("accuracy", kind="train", model="photos")
    departs = (
        "Spoken words in eight languages for bird song, the label being the language, which goes with the speaker; "
        "CIFAR-10 (its first eight classes) for ImageNet. On your own: data = 'recordings:PATH' and 'folder:PATH'.",
        smaller(profile, recordings=True),
        f"These stand-ins are not as hard as each other: the network of photographs is right on {photos.value:.2f} of "
        f"its own, that of recordings on {own.value:.2f} (the paper's on 0.78). By the paper's section 7 such a gap "
        "alone can keep a stitch from being compatible.",
    )
    return Finding(claims, (sheet,), departs)


ITEM = Item(
    "section-5.4",
    ("Section 5.4", "Table 1", "Table F.1"),
    "Photographs into a network of recordings as spectrograms (CIFAR-10 and spoken words), and back.",
    _experiment,
    _read,
    minutes=1.5,
    times=900.0,
)
