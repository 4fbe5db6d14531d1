"""Figure 4: autoencoders of clothes and of photographs into one of digits, by class mapping and embedding mapping."""

from __future__ import annotations

from seamripper.experiment import Data, Experiment, PicturesPart
from seamripper.papers import Claim, Gate, Item, PaperTable, Profile, Select
from seamripper.papers.smith2025.setting import SmithParts

_SENDERS = {"clothes": ("fashion", "Fashion-MNIST → MNIST", 28), "photos": ("cifar10", "CIFAR-10 → MNIST", 32)}
_TITLES = {name: title for name, (_, title, _) in _SENDERS.items()}
_WAYS = ("embedding mapping", "class mapping")
_FIGURES = (
    *("nearest", "nearest_own", "nearest_input", "contrast", "contrast_own"),
    *("judge_confidence", "judged_as_paired", "variety", "reconstructs"),
)
_PAIRS = {"kind": "pictures", "sender": tuple(_SENDERS)}


def _experiment(own: Profile) -> Experiment:
    smith = SmithParts(own)
    coders = {name: (data, size) for name, (data, _, size) in _SENDERS.items()} | {"digits": ("mnist", 28)}
    models = {
        name: smith.network(f"zoo:autoencoder?channels=3&size={size}", data, own.coder_training, n=own.coder_images)
        for name, (data, size) in coders.items()
    }
    models["judge"] = smith.network("zoo:lenet", "mnist", "?epochs=4&lr=0.02")
    return Experiment(
        name="fig-4",
        about="autoencoders of different data, stitched at the bottleneck (Smith et al. 2025, Fig. 4)",
        models=models,
        matchings={
            "embedding mapping": own.embedding_mapping,
            "class mapping": own.class_mapping,
        },
        pictures=tuple(
            PicturesPart(senders=(name,), receivers=("digits",), cuts=("encoder",), matchings=_WAYS, judge="judge",
                n=10, data=Data(name=data, n=own.fit, n_test=own.test),
                receiver_data=Data(name="mnist", n=own.fit, n_test=own.test))
            for name, (data, _, _) in _SENDERS.items()
        ),
    )  # fmt: skip


_REBUILDS = Gate("the autoencoder of digits reconstructs them: half of their variance or more",
    Select("reconstructs", matching=_WAYS, **_PAIRS), "at least", bound=0.5)  # fmt: skip
_VARY = Gate("the stitched images differ from each other: by a tenth of what digits do or more",
    Select("variety", matching=_WAYS, **_PAIRS), "at least", bound=0.1)  # fmt: skip
CLAIMS = (
    Claim("MNIST-like digits come out of clothes and photographs, by both mappings", "Fig. 4",
        Select("nearest", matching=_WAYS, **_PAIRS).with_name("distance to the nearest digit"), "below",
        Select("nearest_input").with_name("that of the inputs"),
        remark="The distance is the mean one to the nearest of 1,000 training digits. The test is weak, and ours: a "
        "blurred mean digit passes it.", gates=(_REBUILDS, _VARY)),
    Claim("Class mapping gives blurrier images, embedding mapping clearer ones", "Fig. 4, B.3",
        Select("contrast", matching=_WAYS[0], **_PAIRS), "above", Select(matching=_WAYS[1]),
        remark="Contrast, which is ours, is the deviation of lightness within an image.", gates=(_REBUILDS, _VARY)),
    Claim("Class mapping turns a class of clothes or photographs into its digit", "B.3",
        Select("judged_as_paired", matching=_WAYS[1], **_PAIRS).with_name("the share of images named as paired"),
        "at least", bound=0.2, beyond=True, remark="A classifier of digits names them; the bound is twice chance.",
        gates=(_REBUILDS,)),
)  # fmt: skip

_SHOWS = PaperTable(
    "Figure 4 in numbers (the paper has none)",
    ("pair", *(name.replace("_", " ") for name in _FIGURES)),
    tuple(
        (f"{title}, {way}", *(Select(name, kind="pictures", sender=sender, matching=way) for name in _FIGURES))
        for sender, title in _TITLES.items()
        for way in _WAYS
    ),
)
_DEPARTS = (
    "The paper's text says squared distances and its Algorithm 3 distances: squared ones here. Widths of the "
    "autoencoder are ours; the paper gives its parts and the bottleneck of 128. The stitch is an affine map without "
    "BN; the paper names none for autoencoders."
)
ITEM = Item("fig-4", ("Fig. 4",),
    "Autoencoders of Fashion-MNIST and CIFAR-10 into one of MNIST at the bottleneck, both mappings, with images.",
    _experiment, CLAIMS, (_SHOWS,), (_DEPARTS,), {"sender": _TITLES},
    tuple(f"{name}/0 " for name in _SENDERS))  # fmt: skip
