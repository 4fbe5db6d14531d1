"""What the items of Smith et al. 2025 have in common: sizes by profile, networks, cuts, and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from seamripper.experiment import Data, Network, NoisePart, StitchPart
from seamripper.papers import Claim, Gate, Profile, Select, Size, Variants, with_options

CUTS = ("maxpool", "layer1", "layer2", "layer3", "layer4", "before:fc")
"""Before each residual stage of a ResNet, before the pooling, and before the classifier."""
PLACES = ("Block 1", "Block 2", "Block 3", "Block 4", "Block 5", "Linear")
"""What the paper calls them."""
VGG_CUTS = ("features.1", "features.8", "features.22", "features.29", "features.35")
VGG_PLACES = ("features.2", "features.10", "features.23", "features.30", "classifier.0")
"""What the paper calls them: by the layer before which it cuts. A pooling between goes with the receiver."""
LENET_CUTS = ("conv1", "pool1", "conv2", "pool2")
LENET_PLACES = ("Conv 1", "Avg Pool 1", "Conv 2", "Avg Pool 2")
IMAGENET = {
    "resnet50": ("ResNet-50", CUTS),
    "efficientnet_lite0": (
        "EfficientNet-Lite0",
        ("act1", "blocks.1", "blocks.2", "blocks.4", "act2", "before:classifier"),
    ),
    "mobilenet_v2": (
        "MobileNetV2",
        ("features.0", "features.3", "features.6", "features.13", "features", "before:classifier"),
    ),
}
"""Networks, and for each six cuts that stand where a ResNet's Blocks 1 to 5 and its classifier begin."""
STITCH = "bn_affine"
"""BN – 1×1 convolution – BN; BN – linear – BN at a vector."""
TITLES = {
    "correlated": "Correlated",
    "digit": "Digit",
    "colour": "Colour",
    "colour-only": "Colour-Only",
    "greyscale": "Greyscale",
    "mix": "Mix",
    "clustered noise": "Clustered-Noise",
} | {name: title for name, (title, _) in IMAGENET.items()}
COLOURED = ("correlated", "colour", "colour-only")
"""The sets of which the colour tells the class."""
UNTRAINED = ("random-0", "random-1", "random-2")
WAYS = {"weights": "BN statistics adapt, the authors' way", "all": "strictly frozen"}
BOTH = ("all", "weights")
RANKS_APART = 3
"""Ranks that differ by no more are as good as the same, so that a claim of other ranks can fail; the paper has 100."""
NAMES: dict[str, Any] = {
    "receiver_cut": dict(zip((*CUTS, *LENET_CUTS), (*PLACES, *LENET_PLACES), strict=True)),
    "sender": TITLES,
    "receiver": TITLES,
    "model": TITLES,
    "freeze": {"weights": "in the authors' way", "all": "strictly frozen"},
    "radius": "radius {:g}",
    "classes": "{} classes",
}
VGG_NAMES = NAMES | {"receiver_cut": dict(zip(VGG_CUTS, VGG_PLACES, strict=True))}
LEAK = Variants("freeze", ("weights", "all"), ("with BN statistics that adapt", "strictly frozen"), "the leak")

# ---- sizes. The quick profile's stitches are trained at 2e-2, and at Block 2 at 5e-2: of five rates those with the
# least loss on samples held out of the fit, cut by cut, with networks of a seed that no item uses (rates.toml beside
# the record). They are trained until they rest over a horizon of two epochs; the authors' take 4,690 steps at 1e-4. Its
# batches are as large, as statistics that adapt want them, and its networks are trained at a rate that falls to 0, so
# that few steps end at rest.


def _sgd(lr: float, epochs: int, batch: int, decay: float = 0.01, *, rest: int = 0) -> str:
    word = f"task?optimiser=sgd&momentum=0.9&weight_decay={decay:g}&lr={lr:g}&epochs={epochs}&batch={batch}"
    return f"{word}&rest={rest}" if rest else word


_FIVE = (0, 1, 2, 3, 4)
SIZES = {
    "width": Size("ResNet-18 of width {}", 0.25, 1.0),
    # Digit has to reach 98 %; what names the colour has reached its end, 0.999 and 1.000, on 10,000 images.
    "images": Size("networks trained on {} images", None, None),
    "colour_images": Size("those that can name the colour on {}", 10_000, None),
    "training": Size("with {}", "?epochs=4&schedule=cosine", "?epochs=4"),
    "lenet_training": Size("with {}", "?epochs=4&schedule=cosine&lr=0.02", "?epochs=4&lr=0.02"),
    "seeds": Size("{#} seeds", (0, 1, 2), _FIVE, _FIVE),
    "cheap_seeds": Size("{#} seeds", _FIVE, _FIVE),
    "fit": Size("stitches fitted on {} images", 2_000, None, 4_000),
    "test": Size("scored on {}", 1_500, None, 5_000),
    "test_alone": Size("one network scored on {}", 10_000, None),
    "stitch": Size("stitches trained with {}", _sgd(0.02, 24, 128, rest=32), _sgd(0.0001, 10, 128)),
    "rates": Size("at Block 2 with learning rate 0.05", {"layer1": 0.05}, {}),
    # For L1 the length counts: what it takes off a weight grows with the learning rate × the steps.
    "l1_stitch": Size("stitches with L1 trained with {}", _sgd(0.02, 24, 128), _sgd(0.0001, 10, 128)),
    "l1_scale": Size("λ of the paper × {}, as learning rate × steps are larger by as much", 0.061, 1.0),
    "lenet_stitch": Size("stitches trained with {}", _sgd(0.02, 96, 128, rest=64), _sgd(0.0001, 10, 128)),
    "noise": Size("stitches from noise trained with {}", _sgd(0.02, 12, 64, rest=47), _sgd(0.0001, 4, 64)),
    "per_class": Size("noise of {} samples per class", 300, 6_000),
    "per_class_test": Size("scored on {} per class", 100, 1_000),
    "offset_fit": Size("strictly frozen, all offsets on {} images", 1_000, None),
    "offset_test": Size("scored on {}", 1_000, None),
    "offset_stitch": Size("and trained with {}", _sgd(0.01, 24, 64, rest=32), _sgd(0.0001, 10, 128)),
    "offset_cuts": Size("strictly frozen, offsets 2 to 9 at Block 1 alone, and none of Correlated", CUTS[:1], CUTS),
    "offset_names": Size("", ("greyscale", "colour-only"), ("greyscale", "colour-only", "correlated")),
    "offset_places": Size("in the authors' way, offsets 2 to 9 of Colour-Only at Block 1 alone, and none of Correlated",
        {"greyscale": CUTS, "colour-only": CUTS[:1]}, dict.fromkeys(("greyscale", "colour-only", "correlated"), CUTS)),
    "back_cuts": Size("Digit as a sender at Block 1 alone", CUTS[:1], CUTS),
    "vgg_width": Size("VGG19 of width {}", 0.125, 1.0),
    "vgg_images": Size("trained on {} images", 5_000, None),
    # In few epochs, colours are learnt with Adam alone.
    "vgg_training": Size("with {}", "?optimiser=adam&lr=0.0005&batch=64&epochs=6",
        "?optimiser=sgd&lr=0.01&batch=64&epochs=50&weight_decay=0.0001"),
    "vgg_seeds": Size("{#} seeds", (0, 1, 2), (0, 1, 2, 3), _FIVE),
    "vgg_fit": Size("stitches fitted on {} images", 1_000, None),
    "vgg_test": Size("scored on {}", 1_000, None),
    # Batches of 64 and weight decay 1e-4 are what the paper gives for its networks and for noise (D.1).
    "vgg_stitch": Size("stitches trained with {}", _sgd(0.01, 12, 32, 1e-4, rest=64), _sgd(0.001, 50, 64, 1e-4)),
    "vgg_noise": Size("stitches trained with {}", _sgd(0.01, 12, 32, 1e-4, rest=47), _sgd(0.01, 50, 64, 1e-4)),
    "restarts": Size("{#} restarts of a stitch from noise", (0, 1, 2), _FIVE),
    "vgg_per_class": Size("noise of {} samples per class", 150, 6_000),
    "photo_network": Size("networks: {}", "zoo:resnet18?width=0.25", "zoo:resnet50"),
    "photo_images": Size("on {} photographs", 25_000, None),
    "photo_training": Size("trained with {}", "?epochs=6&lr=0.05&schedule=cosine", "?epochs=20&lr=0.01"),
    "speech_training": Size("with {} on recordings", "?epochs=20&lr=0.05&schedule=cosine", "?epochs=20&lr=0.01"),
    # So few that the network is about as good as that of photographs: the paper's are as good as each other.
    "speech_images": Size("the network of recordings trained on {} of them", 150, None),
    "speech_test": Size("scored on {} recordings", 700, None),
    "photo_stitch": Size("stitches trained with {}", _sgd(0.02, 24, 128, 1e-4, rest=32),
        _sgd(0.0001, 20, 128, 1e-4)),
    "imagenet_places": Size("with the other networks at the last two cuts alone",
        {"resnet50": (0, 1, 2, 3, 4, 5), "efficientnet_lite0": (4, 5), "mobilenet_v2": (4, 5)},
        dict.fromkeys(IMAGENET, tuple(range(6)))),
    "imagenet_input": Size("inputs of 64 × 64, and so smaller maps", (3, 64, 64), ()),
    # What fits into 4 GB at each cut. The authors' 6,000 take terabytes.
    "imagenet_per_class": Size("samples per class at the six cuts: {}", (3, 3, 4, 4, 4, 4), (1, 1, 2, 5, 10, 60)),
    "imagenet_stitch": Size("stitches trained with {}", _sgd(0.1, 4, 128, 1e-4),
        _sgd(0.0001, 20, 128, 1e-4)),
    "imagenet_first": Size("at Blocks 1 and 2 with {}", _sgd(0.1, 4, 128, 1e-4, rest=23), _sgd(0.0001, 20, 128, 1e-4)),
    "imagenet_early": Size("at Block 3 with {}", _sgd(0.1, 8, 128, 1e-4, rest=31), _sgd(0.0001, 20, 128, 1e-4)),
    "few_input": Size("inputs of 64 × 64", (3, 64, 64), ()),
    # Together, so that an epoch has as many steps for any number of classes: 94, as the authors' has with two.
    "few_samples": Size("1,500 samples of all classes together", 1_500, None),
    "few_stitch": Size("stitches trained with {}", _sgd(0.1, 3, 16, 1e-4, rest=94), _sgd(0.0001, 20, 16, 1e-4)),
    "draws": Size("{#} draws of noise", (0, 1, 2), _FIVE),
    "coder_images": Size("autoencoders trained on {} images", 2_500, None),
    "coder_training": Size("with {}", "?epochs=5&lr=0.001", "?epochs=25&lr=0.0001"),
    # The loss of embedding mapping is a sum over a batch and its 128 columns: at ten times this rate it runs away.
    "embedding_mapping": Size("",
        *(("embedding_mapping?momentum=0.9&weight_decay=0.01&lr=0.00001&epochs=25&batch=128",) * 2)),
    "class_mapping": Size("class mapping trained with {}",
        "class_mapping?momentum=0.9&weight_decay=0.01&lr=0.05&epochs=10&batch=128",
        "class_mapping?momentum=0.9&weight_decay=0.01&lr=0.01&epochs=20&batch=128"),
    "probe_fit": Size("probes fitted on {} images", 10_000, None),
}  # fmt: skip
SIX_CUTS = "Six cuts: the paper's five for MNIST, and Block 5, before the pooling, as in its other tables."
ONE_DRAW = "One draw of noise for all receivers of a cut, where the authors draw anew for each test."
VGG_FROZEN = (
    "VGG19 has no BN, so that no statistics adapt: strictly frozen. The authors leave the whole network in training "
    "mode, so that dropout, if theirs has it, stays on while the stitch is trained; here it is off."
)
PRETRAINED = (
    "The networks are trained here, with several seeds, where the paper has one pretrained ResNet-50 of each. Claims "
    "are about top-1; top-5 is in the table."
)

# ---- parts of experiments


@dataclass(frozen=True)
class SmithParts:
    """Networks, samples and stitches of the paper's kind, in the sizes of a profile."""

    own: Profile

    def network(self, train: str, data: str, training: str, **sizes: Any) -> Network:
        """A network that is trained here, on the images and with the seeds of the profile, unless others are given."""
        plain = {"n": self.own.images} if "n" not in sizes else {}
        plain |= {"seeds": self.own.seeds} if "seeds" not in sizes else {}
        return Network(train=train, data=data, training=training, **plain, **sizes)

    def resnets(self, *names: str, **sizes: Any) -> dict[str, Network]:
        """ResNets trained on sets of digits as the authors train them: SGD 0.1, 4 epochs, batches of 128."""
        train = f"zoo:resnet18?width={self.own.width:g}"
        n = {name: self.own.colour_images if name in COLOURED else self.own.images for name in names}
        return {name: self.network(train, f"mnist/{name}", self.own.training, n=n[name], **sizes) for name in names}

    def vggs(self, *names: str) -> dict[str, Network]:
        """VGG19 on images of 32 × 32."""
        train, sizes = (
            f"zoo:vgg19?width={self.own.vgg_width:g}",
            {"n": self.own.vgg_images, "seeds": self.own.vgg_seeds},
        )
        return {n: self.network(train, f"mnist/{n}?size=32", self.own.vgg_training, **sizes) for n in names}

    def photographs(self, data: str, **sizes: Any) -> Network:
        """A residual network of photographs: ResNet-50 in the paper, a narrow ResNet-18 in the quick profile."""
        word = with_options(self.own.photo_network, classes=10)
        return self.network(word, data, self.own.photo_training, n=self.own.photo_images, **sizes)

    def untrained_networks(self, word: str) -> dict[str, Network]:
        """Three networks that nothing was ever shown to."""
        return {name: Network(load=with_options(word, seed=100 + k)) for k, name in enumerate(UNTRAINED)}

    def samples(self, name: str) -> Data:
        """Samples of a set of digits for the stitch."""
        return Data(name=f"mnist/{name}", n=self.own.fit, n_test=self.own.test, ready=True)

    def vgg_samples(self, name: str) -> Data:
        """Samples of a set of digits, of 32 × 32."""
        return Data(name=f"mnist/{name}?size=32", n=self.own.vgg_fit, n_test=self.own.vgg_test, ready=True)

    def stitches(self, senders: Sequence[str], receivers: Sequence[str], **part: Any) -> StitchPart:
        """Stitches of the authors' kind; at every cut of a ResNet, unless others are given."""
        fixed: dict[str, Any] = {"cuts": CUTS, "matchings": ("theirs",), "stitches": (STITCH,)}
        return StitchPart(senders=tuple(senders), receivers=tuple(receivers), **{**fixed, **part})

    def rated_stitches(self, senders: Sequence[str], receivers: Sequence[str], **part: Any) -> StitchPart:
        """The same of ResNets of digits, with the learning rates that were chosen cut by cut."""
        stitches = self.stitches(senders, receivers, **part)
        rates = {cut: rate for cut, rate in self.own.rates.items() if cut in stitches.cuts}
        return stitches.model_copy(update={"rates": rates})

    def noises(self, receivers: Sequence[str], **part: Any) -> NoisePart:
        """Stitches from clustered noise; at every cut of a ResNet, with ranks, unless something else is given."""
        fixed: dict[str, Any] = {"cuts": CUTS, "matchings": ("from noise",), "stitches": (STITCH,), "rank": True}
        if "per_class" not in part:
            fixed |= {"per_class": self.own.per_class, "per_class_test": self.own.per_class_test}
        return NoisePart(receivers=tuple(receivers), **{**fixed, **part})


# ---- parts of claims and tables


def reaches(model: str, bound: float) -> Gate:
    """That a network is as good on its own task as a claim needs it to be."""
    title = TITLES.get(model, model)
    says = f"{title} alone reaches {bound:.0%}"
    return Gate(says, Select("accuracy", kind="train", model=model), "at least", bound=bound)


DIGIT_IS_GOOD = reaches("digit", 0.98)
"""The paper asks for more than 98 % of Digit."""
VGG_HAS_LEARNT = reaches("digit", 0.9)
"""What a VGG19 of Digit has to reach here; the bound is ours, the paper's has 98 %."""


def leak(claim: Claim, says: str) -> Claim:
    """Whether a claim depends on BN statistics that adapt."""
    says = f"{says}: does it depend on BN statistics that adapt?"
    return replace(claim, says=says, where="", depends=LEAK, beyond=True, remark="")


def of_stitch(figure: str = "top1", /, **labels: Any) -> Select:
    """Values of stitched networks, in the authors' way unless something else is said."""
    return Select(figure, **{"kind": "stitch", "freeze": "weights", **labels})


def shares(*per_cent: float | None) -> tuple[float | None, ...]:
    """The authors' per cent as shares."""
    return tuple(None if value is None else value / 100 for value in per_cent)


def ours_and_theirs(title: str, theirs: tuple[tuple[Any, ...], ...], **labels: Any) -> tuple[tuple[Any, ...], ...]:
    """The rows of Table F.1 of a pair: the paper's and ours, top-1 and top-5, with both baselines."""
    rows: list[tuple[Any, ...]] = []
    for figure, numbers in zip(("top1", "top5"), theirs or ((), ()), strict=True):
        said = f"{title}, {figure.replace('p', 'p-')}"
        rows += [(said, "paper", shares(*numbers))] if numbers else []
        bases: tuple[Any, ...] = (None, None)
        if figure == "top1":
            pairs = (("receiver_unadapted", "receiver_here"), ("own_unadapted", "receiver_own"))
            bases = tuple(Select(*names, kind="stitch", receiver_cut=CUTS[0], **labels) for names in pairs)
        rows.append((said, "ours", Select(figure, kind="stitch", receiver_cut=CUTS, **labels), *bases))
    return tuple(rows)


TABLE_F1 = ("pair", "whose", *PLACES, "sender baseline", "receiver baseline")
