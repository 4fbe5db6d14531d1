"""Section 5.4 and its rows of Tables 1 and F.1: photographs into a network of recordings."""

from __future__ import annotations

from seamripper.experiment import Data, Experiment
from seamripper.papers import ALONE, OWN, Claim, Clause, Gate, Item, PaperTable, Profile, Select, with_options
from seamripper.papers.smith2025.setting import (
    CUTS,
    NAMES,
    PRETRAINED,
    TABLE_F1,
    SmithParts,
    of_stitch,
    ours_and_theirs,
)

_TABLE = (
    (15.40, 19.00, 25.00, 46.20, 75.60, 88.40, 6.59, 77.98),
    (63.80, 68.40, 76.40, 88.60, 98.60, 99.80, 50.40, 96.07),
)
"""Per cent: top-1 and top-5 at the six cuts, then the receiver on the sender's task and on its own."""
_INTO = {"sender": "photos", "receiver": "recordings"}
_BACK = {"sender": "recordings", "receiver": "photos"}


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    recordings = smith.network(
        with_options(own.photo_network, classes=8),
        "speech",
        own.speech_training,
        n=own.speech_images,
        seeds=own.cheap_seeds,
    )
    data = {
        "photos": Data(name="cifar10?classes=8", n=own.fit, n_test=own.test),
        "recordings": Data(name="speech", n_test=own.speech_test),
    }
    return Experiment(
        name="section-5.4",
        about="photographs into a network of recordings (Smith et al. 2025, section 5.4, Tables 1 and F.1)",
        models={"photos": smith.photographs("cifar10", seeds=own.cheap_seeds), "recordings": recordings},
        matchings={"theirs": own.photo_stitch},
        stitch=tuple(
            smith.stitches((sender,), (receiver,), data=data[sender], freeze=("weights",))
            for sender, receiver in (_INTO.values(), _BACK.values())
        ),
    )


_AS_GOOD = Gate("the sender is as good at its task as the receiver at its own, within 0.1",
    Select("accuracy", kind="train", model="photos"), "no worse",
    Select("accuracy", kind="train", model="recordings").with_name("that of the network of recordings"),
    bound=0.1)  # fmt: skip
CLAIMS = (
    Claim("Photographs stitch into a network of recordings, before the classifier", "88.4 % against 78.0 %; Table 1",
        of_stitch(receiver_cut="before:fc", **_INTO), "no worse", OWN, gates=(_AS_GOOD,)),
    Claim("They do not before Blocks 1 to 5 (15.4 % to 75.6 %), and do better at Linear than at Block 1",
        "Table 1, B.5", of_stitch(receiver_cut=CUTS[:5], **_INTO), "below", OWN,
        also=(Clause(of_stitch(receiver_cut="maxpool", **_INTO), "below", Select(receiver_cut="before:fc")),),
        gates=(_AS_GOOD,)),
    Claim("By the weaker baseline, the receiver's accuracy on photographs (6.6 %), they do at all layers", "Table F.1",
        of_stitch(receiver_cut=CUTS, **_INTO), "no worse", ALONE),
    Claim("Beyond the table: models of different tasks and modalities can be stitched, in one direction or the other",
        "", of_stitch(receiver_cut=CUTS, **_INTO), "no worse", OWN, over="some",
        also=(Clause(of_stitch(receiver_cut=CUTS, **_BACK), "no worse", OWN),), beyond=True),
)  # fmt: skip

SHOWS = (
    PaperTable("Table F.1: photographs and recordings (paper: 10-class ImageNet to birdsong)", TABLE_F1,
        (*ours_and_theirs("photos → recordings", _TABLE, **_INTO),
        *ours_and_theirs("recordings → photos", (), **_BACK))),
    PaperTable("The networks alone, on their own tasks", ("network", "paper", "ours"),
        (("photos", None, Select("accuracy", kind="train", model="photos")),
        ("recordings", 0.7798, Select("accuracy", kind="train", model="recordings"))),
        "These stand-ins are not as hard as each other. By the paper's section 7 such a gap alone can keep a stitch "
        "from being compatible."),
)  # fmt: skip

_DEPARTS = (
    "Spoken words in eight languages for bird song, the label being the language, which goes with the speaker; "
    "CIFAR-10 (its first eight classes) for ImageNet. On your own: data = 'recordings:PATH' and 'folder:PATH'."
)
ITEM = Item("section-5.4", ("Section 5.4", "Table 1", "Table F.1"),
    "Photographs into a network of recordings as spectrograms (CIFAR-10 and spoken words), and back.", _experiment,
    CLAIMS, SHOWS, (_DEPARTS, PRETRAINED), NAMES)  # fmt: skip
